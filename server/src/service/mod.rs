//! What do the endpoints, the pages, the commands and the metrics share? The running service.

mod maintenance;
mod metrics;
mod shared;
mod usage;

pub use maintenance::Maintenance;
pub use metrics::{
    Counter, LATENCY_BUCKETS_US, Metrics, Refusal, Route, RouteMetrics, STATUSES, WorkerMetrics,
};
pub use shared::{Phase, Service};
pub use usage::{UsageQueue, UsageSums};
