//! Nodes of a cluster, each a program of its own, over a real log.

mod balancers;
mod cut_off;
mod departures;
#[path = "../../../../tests/src/described.rs"]
mod described;
mod directories;
mod divergence;
mod files;
mod fixture;
#[path = "../../../../tests/src/log_services.rs"]
mod log_services;
mod identity;
mod kills;
mod outages;
mod proxy;
mod races;
mod reseeds;
mod sharing;
mod writers;
