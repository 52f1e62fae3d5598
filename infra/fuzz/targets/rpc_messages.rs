//! Fuzzes `rpc_messages`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::rpc_messages(input));
