//! Fuzzes the choice of a text.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subcat_fuzz::bodies::text_choice(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    subcat_fuzz::replay::replay("text_choice", subcat_fuzz::bodies::text_choice)
}
