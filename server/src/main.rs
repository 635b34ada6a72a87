//! The `subcat` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    subcat_server::command::main(std::env::args_os())
}
