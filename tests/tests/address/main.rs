//! Addresses of programs that take nothing else (rules of `server/API.md`).

mod bazarr;
mod files;
mod keys;
mod stremio;
