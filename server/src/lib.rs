//! The subtitle catalog service: bytes become typed requests, the engine answers, answers become
//! bytes.
//!
//! Modules are declared bottom-up; a module imports only from modules above it. `runtime` knows
//! nothing of the API; `request` and `respond` are pure; [`service`] holds what endpoints share.

pub mod limits;
pub mod config;
pub mod runtime;
pub mod limiter;
pub mod auth;
pub mod request;
pub mod files;
pub mod respond;
pub mod cache;
pub mod upstream;
pub mod cluster;
pub mod traces;
pub mod service;
pub mod rows;
pub mod ops;
pub mod api;
pub mod address;
pub mod web;
pub mod http;
pub mod admin;
pub mod command;
