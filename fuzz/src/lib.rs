//! Fuzz bodies, run by libfuzzer and by plain tests.
