//! Fuzzes searches: the engine against the oracle.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subcat_fuzz::bodies::engine_and_oracle(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    subcat_fuzz::replay::replay("engine_and_oracle", subcat_fuzz::bodies::engine_and_oracle)
}
