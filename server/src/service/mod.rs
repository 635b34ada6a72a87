//! The running service: the state that endpoints, pages, commands and metrics share.

mod background;
mod credentials;
mod cluster_node;
mod count_message;
mod empty_searches;
mod history;
mod hourly_use;
mod language_counts;
mod maintenance;
mod metrics;
mod observed_time;
mod periodic;
mod sealing;
mod settings;
mod served_files;
mod shared;
mod shared_counts;
mod slow_searches;
mod usage;

pub use background::{BackgroundHealth, BackgroundTask, FailingTask};
pub use cluster_node::{ACCEPTS_NOTHING, ClusterNode, ClusterState, ClusterThreads};
pub use credentials::{Actor, Credentials};
pub use empty_searches::{EmptySearch, EmptySearches};
pub use history::{Figures, Gain, History, Period, latency_quantile_us};
pub use hourly_use::{HOUR_SECONDS, HourlyUse};
pub use language_counts::LanguageCounts;
pub use maintenance::{Maintenance, log_damage};
pub use metrics::{
    Counter, LATENCY_BUCKETS_US, LimitRejection, Metrics, Route, RouteMetrics, STATUS_CLASSES,
    STATUSES, WorkerMetrics,
};
pub use served_files::{ContentSet, ServedFiles};
pub use settings::{LiveAccessLog, LiveRateLimits};
pub use shared::{Phase, ProcessHooks, REGISTRATION_SETTING, ReloadFn, Reloaded, Service};
pub use shared_counts::SharedCounts;
pub use slow_searches::{SLOW_SEARCH_US, SlowSearch, SlowSearches};
pub use usage::{UsageQueue, UsageSums};
