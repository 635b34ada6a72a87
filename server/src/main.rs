//! The `subcat` program.
fn main() {}
