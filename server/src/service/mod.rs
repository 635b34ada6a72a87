//! What do the endpoints, the pages, the commands and the metrics share? The running service.

mod credentials;
mod maintenance;
mod metrics;
mod rounds;
mod shared;
mod slow_searches;
mod usage;

pub use credentials::{Actor, Credentials};
pub use maintenance::Maintenance;
pub use metrics::{
    Counter, LATENCY_BUCKETS_US, Metrics, Refusal, Route, RouteMetrics, STATUSES, WorkerMetrics,
};
pub use shared::{Phase, Service};
pub use slow_searches::{SLOW_SEARCH_US, SlowSearch, SlowSearches};
pub use usage::{UsageQueue, UsageSums};
