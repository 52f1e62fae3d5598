//! Fuzzes `compound_files`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::compound_files(input));
