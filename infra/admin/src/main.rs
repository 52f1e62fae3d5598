//! The administration tool's entry.
fn main() {}
