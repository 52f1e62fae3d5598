//! Fuzzes `gateway_events`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::gateway_events(input));
