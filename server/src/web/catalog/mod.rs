//! Pages of the catalog: front page, search, records and their files, titles, uploaders, feeds.

pub(super) mod download;
pub(super) mod feed;
pub(super) mod feed_link;
pub(super) mod front;
pub(super) mod language_badge;
pub(super) mod language_filter;
pub(super) mod look;
pub(super) mod record_view;
pub(super) mod release_words;
pub(super) mod result_order;
pub(super) mod results;
pub(super) mod routes;
pub(super) mod search_box;
pub(super) mod search_form;
pub(super) mod title;
pub(super) mod uploader;
