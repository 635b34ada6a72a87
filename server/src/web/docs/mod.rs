//! The documentation: reference of the API, samples, OpenAPI document, changes.

pub(super) mod changes;
pub(super) mod openapi;
pub(super) mod reference;
pub(super) mod samples;
