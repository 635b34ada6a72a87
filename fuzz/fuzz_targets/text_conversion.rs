//! Fuzzes the conversion of texts.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subcat_fuzz::bodies::text_conversion(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    subcat_fuzz::replay::replay("text_conversion", subcat_fuzz::bodies::text_conversion)
}
