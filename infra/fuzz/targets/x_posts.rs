//! Fuzzes `x_posts`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::x_posts(input));
