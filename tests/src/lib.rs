//! Tests that judge the service from outside.

pub mod rules;
