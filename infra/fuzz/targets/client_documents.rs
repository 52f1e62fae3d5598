//! Fuzzes `client_documents`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::client_documents(input));
