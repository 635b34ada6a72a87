//! Benchmarks, catalog generator, load program and comparisons.
