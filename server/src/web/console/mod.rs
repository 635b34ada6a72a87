//! Pages of administrators, and the status page.

pub(super) mod accounts;
pub(super) mod admin;
pub(super) mod audit;
pub(super) mod audit_filter;
pub(super) mod cluster_view;
pub(super) mod figure;
pub(super) mod files;
pub(super) mod links;
pub(super) mod first_steps;
pub(super) mod history_view;
pub(super) mod question;
pub(super) mod routes;
pub(super) mod settings;
pub(super) mod status;
pub(super) mod upstream_view;
