//! Fuzzes ranges and conditions.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subcat_fuzz::bodies::conditional_headers(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    subcat_fuzz::replay::replay(
        "conditional_headers",
        subcat_fuzz::bodies::conditional_headers,
    )
}
