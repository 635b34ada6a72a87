//! Load on one HTTP/1.1 server of this machine, over keep-alive connections.
//!
//! Closed loop: every connection asks again as soon as it has its answer: throughput. Open loop:
//! requests fall due at a fixed rate whether or not the server keeps up, and latency counts from
//! the moment a request was due, so that a stall is seen by every request that it delays.

mod answer;
mod connection;
mod driver;
mod idle;
mod plan;
mod report;
mod run;

pub use idle::{IdleReport, hold_idle};
pub use plan::{Expectation, Extent, Order, Pace, Plan, Url};
pub use report::{Counts, Report};
pub use run::run;
