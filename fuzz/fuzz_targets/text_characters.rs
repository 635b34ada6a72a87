//! Fuzzes the decoding of texts.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subcat_fuzz::bodies::text_characters(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    subcat_fuzz::replay::replay("text_characters", subcat_fuzz::bodies::text_characters)
}
