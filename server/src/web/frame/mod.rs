//! Everything that the pages share: request and answer, sessions, forms, errors, language, charts.

pub(super) mod answer;
pub(super) mod assets;
pub(super) mod chart;
pub(super) mod error;
pub(super) mod form_rejection;
pub(super) mod form_tokens;
pub(super) mod group_commit;
pub(super) mod hashing;
pub(super) mod hashing_share;
pub(super) mod language;
pub(super) mod notice;
pub(super) mod origin;
pub(super) mod page_frame;
pub(super) mod params;
pub(super) mod password;
pub(super) mod secret;
pub(super) mod session;
pub(super) mod setup;
pub(super) mod site;
pub(super) mod spark;
pub(super) mod throttle;
pub(super) mod usage_span;
pub(super) mod user_agent;
pub(super) mod viewer;
pub(super) mod web_request;
