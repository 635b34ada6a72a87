//! Addresses: `/a/<key>/…`, for programs that send neither a key nor a field (API.md 20).
//!
//! Two thin adapters over the API: the interface of Bazarr's provider Subsarr (`info`,
//! `languages`, `search`, `download`) and the add-on of Stremio (`manifest`, `subtitles`, `file`).
//! They translate: searches, downloads, keys and limits are those of `api`.

mod base_url;
mod call;
mod dispatch;
mod download;
mod file;
mod info;
mod item;
mod item_request;
mod item_title;
mod item_writer;
mod json;
mod languages;
mod manifest;
mod record;
mod release_names;
mod search;
mod subtitles;
mod title_names;

pub use base_url::AddressPlace;
pub use dispatch::answer;
