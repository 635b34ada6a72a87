//! The pages as a browser without a script asks for them.

mod account;
mod admin;
mod base;
mod catalog;
mod docs;
mod files;
mod forms;
mod large;
mod limits;
mod links;
mod pages;
mod public;
mod routes;
mod sessions;
mod stored;
mod texts;
mod titles;
mod uploaders;
