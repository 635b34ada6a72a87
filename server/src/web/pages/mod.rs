//! The pages: one file each, or one for a family. `route` holds the table of their paths.

mod accounts;
mod admin;
mod audit;
mod audit_filter;
mod catalog;
mod console;
mod docs;
mod download;
mod feed;
mod figure;
mod files;
mod first_steps;
mod form_rejection;
mod front;
mod key;
mod key_list;
mod key_new;
mod key_roll;
mod link;
mod look;
mod profile;
mod record_view;
mod release_words;
mod route;
mod samples;
mod scope_names;
mod settings;
mod second_step;
mod search_box;
mod search_form;
mod sign_in;
mod status;
mod title;
mod upstream_view;

pub(crate) use route::{form_page, route};
