//! Main function of a target that is built without libfuzzer: it replays files.

use std::process::ExitCode;

/// Passes every file that the command line names to the body, so that a crash can be debugged in an
/// ordinary build.
pub fn replay(name: &str, body: fn(&[u8])) -> ExitCode {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    if paths.is_empty() {
        eprintln!("usage: {name} FILE...\nTo fuzz, run: scripts/fuzz {name}");
        return ExitCode::from(2);
    }
    for path in paths {
        match std::fs::read(&path) {
            Ok(data) => body(&data),
            Err(error) => {
                eprintln!("could not read {}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
