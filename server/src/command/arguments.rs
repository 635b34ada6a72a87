//! The arguments of the program and what they lead to.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use super::context::{Context, Stop};
use super::{
    account, backup, check, completions, demo, explain, export, import, key, man, record, restore,
    serve, stats, verify, version,
};

/// A subtitle catalog service: search in microseconds, files from a content-addressed cache, API
/// keys and rate limits, one binary.
#[derive(Debug, Parser)]
#[command(name = "subcat", version, propagate_version = false)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// What every subcommand takes.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Common {
    /// Read settings from this file [default: /etc/subcat/subcat.toml if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The data directory [default: ./subcat-data, of demo ./subcat-demo]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<String>,
    /// Set any setting, such as --set upstream.timeout_seconds=10 (see subcat check)
    #[arg(long, global = true, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Answer in JSON
    #[arg(long, global = true)]
    pub json: bool,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write NAME=VALUE, such as workers=2")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// The subcommands; what each is for stands at its own arguments.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Demo(demo::Demo),
    Serve(serve::Serve),
    Import(import::Import),
    Export(export::Export),
    Record(record::Record),
    Key(key::Key),
    Account(account::Account),
    Explain(explain::Explain),
    Check(check::Check),
    Verify(verify::Verify),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Stats(stats::Stats),
    Completions(completions::Completions),
    Man(man::Man),
    Version(version::Version),
}

/// Runs the program. `arguments` begin with the program's name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed terminal is all that can go wrong here.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let context = Context::new(arguments.common);
    match run(&context, arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => stop.report(),
    }
}

fn run(context: &Context, command: Command) -> Result<(), Stop> {
    match command {
        Command::Demo(demo) => demo.run(context),
        Command::Serve(serve) => serve.run(context),
        Command::Import(import) => import.run(context),
        Command::Export(export) => export.run(context),
        Command::Record(record) => record.run(context),
        Command::Key(key) => key.run(context),
        Command::Account(account) => account.run(context),
        Command::Explain(explain) => explain.run(context),
        Command::Check(check) => check.run(context),
        Command::Verify(verify) => verify.run(context),
        Command::Backup(backup) => backup.run(context),
        Command::Restore(restore) => restore.run(context),
        Command::Stats(stats) => stats.run(context),
        Command::Completions(completions) => completions.run(context),
        Command::Man(man) => man.run(context),
        Command::Version(version) => version.run(context),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn common_arguments_stand_before_and_behind() {
        let arguments = parse("subcat --json key list --data d --set a.b=c=d").unwrap();
        assert!(arguments.common.json);
        assert_eq!(arguments.common.data.as_deref(), Some("d"));
        assert_eq!(arguments.common.set, [("a.b".to_owned(), "c=d".to_owned())]);
    }

    #[test]
    fn wrong_usage_is_status_2() {
        for line in [
            "subcat",
            "subcat serv",
            "subcat key",
            "subcat import",
            "subcat key create",
            "subcat key revoke x",
            "subcat record set a --active maybe",
            "subcat check --set workers",
            "subcat key create --name n --expires soon",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
