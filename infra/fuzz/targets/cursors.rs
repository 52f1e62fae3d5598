//! Fuzzes `cursors`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::cursors(input));
