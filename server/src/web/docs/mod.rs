//! The documentation: reference of the API, samples, OpenAPI document, changes.

pub(super) mod changes;
pub(super) mod openapi_file;
pub(super) mod reference;
pub(super) mod routes;
pub(super) mod samples;
