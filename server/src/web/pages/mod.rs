//! Which page is it? One file per page or family of pages; the table of paths stands in `route`.

mod accounts;
mod admin;
mod audit;
mod catalog;
mod download;
mod sign_in;
mod front;
mod record_view;
mod key;
mod key_list;
mod key_new;
mod docs;
mod profile;
mod route;
mod upstream_view;

pub(crate) use route::route;
