//! Fuzzes `request_bodies`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::request_bodies(input));
