//! The web interface: pages rendered on the server, in Spanish and English.
//!
//! [`handle`] answers a request outside `/api`; [`Site`] is the state that all of them share.
//! `frame` holds what pages share, the folders after it are families of pages by what a person does
//! there, `route` holds the table of their paths.

mod frame;
mod docs;
mod catalog;
mod keys;
mod account;
mod console;
mod route;
mod error_page;
mod based_answer;
mod handle;

pub use frame::answer::PageBody;
pub use frame::password::{Password, PasswordRejection};
pub use frame::site::Site;
pub use handle::{FileRefusal, PageAnswer, handle, refuse};
pub use route::page_rules;
