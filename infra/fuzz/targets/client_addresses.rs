//! Fuzzes `client_addresses`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::client_addresses(input));
