//! Fuzzes `import_files`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::import_files(input));
