//! Which page is it? One file per page or family of pages; the table of paths stands in `route`.

mod accounts;
mod admin;
mod audit;
mod catalog;
mod download;
mod entry;
mod front;
mod hit;
mod key;
mod key_list;
mod key_new;
mod manual;
mod profile;
mod route;
mod upstream_view;

pub(crate) use route::route;
