//! Fuzzes `redirect_uris`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::redirect_uris(input));
