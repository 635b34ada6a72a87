//! Tests that judge the service from outside.
