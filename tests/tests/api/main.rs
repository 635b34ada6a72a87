//! The contract of the API over a socket, an endpoint a file.

mod download;
mod files;
mod flags;
mod health;
mod http;
mod keys;
mod limit;
mod raw;
mod record;
mod release;
mod routes;
mod search;
mod searcher;
