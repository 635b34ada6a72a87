//! Fuzzes the directories of archives.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| subcat_fuzz::bodies::archive_listing(data));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    subcat_fuzz::replay::replay("archive_listing", subcat_fuzz::bodies::archive_listing)
}
