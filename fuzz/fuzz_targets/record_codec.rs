//! Fuzzes stored records.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subcat_fuzz::bodies::record_codec(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    subcat_fuzz::replay::replay("record_codec", subcat_fuzz::bodies::record_codec)
}
