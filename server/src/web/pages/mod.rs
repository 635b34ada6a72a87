//! The pages: one file each, or one for a family. `route` holds the table of their paths.

mod accounts;
mod admin;
mod audit;
mod catalog;
mod docs;
mod download;
mod figure;
mod files;
mod form_rejection;
mod front;
mod key;
mod key_list;
mod key_new;
mod profile;
mod record_view;
mod route;
mod search_form;
mod sign_in;
mod upstream_view;

pub(crate) use route::{form_page, route};
