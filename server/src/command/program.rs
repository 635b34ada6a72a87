//! The program: its subcommands and the arguments that all of them take.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, FromArgMatches};
use subcat_engine::is_panic_contained;

use super::context::{Common, Context};
use super::error::CommandError;
use super::subcommand::SubcommandEntry;
use super::{
    account, backup, check, clock, cluster, compact, demo, explain, export, file, health, import,
    key, logging, record, reload, restore, serve, stats, top, verify, version,
};
#[cfg(feature = "packaging")]
use super::{completions, man};

/// Every subcommand, in the order of the help.
static SUBCOMMANDS: &[SubcommandEntry] = &[
    SubcommandEntry::of::<demo::DemoArguments>(),
    SubcommandEntry::of::<serve::ServeArguments>(),
    SubcommandEntry::of::<import::ImportArguments>(),
    SubcommandEntry::of::<export::ExportArguments>(),
    SubcommandEntry::of::<record::RecordArguments>(),
    SubcommandEntry::of::<file::FileArguments>(),
    SubcommandEntry::of::<key::KeyArguments>(),
    SubcommandEntry::of::<account::AccountArguments>(),
    SubcommandEntry::of::<explain::ExplainArguments>(),
    SubcommandEntry::of::<check::CheckArguments>(),
    SubcommandEntry::of::<reload::ReloadArguments>(),
    SubcommandEntry::of::<verify::VerifyArguments>(),
    SubcommandEntry::of::<backup::BackupArguments>(),
    SubcommandEntry::of::<restore::RestoreArguments>(),
    SubcommandEntry::of::<compact::CompactArguments>(),
    SubcommandEntry::of::<clock::ClockArguments>(),
    SubcommandEntry::of::<cluster::ClusterArguments>(),
    SubcommandEntry::of::<stats::StatsArguments>(),
    SubcommandEntry::of::<top::TopArguments>(),
    SubcommandEntry::of::<health::HealthArguments>(),
    #[cfg(feature = "packaging")]
    SubcommandEntry::of::<completions::CompletionsArguments>(),
    #[cfg(feature = "packaging")]
    SubcommandEntry::of::<man::ManArguments>(),
    SubcommandEntry::of::<version::VersionArguments>(),
];

const ABOUT: &str = "A subtitle catalog service: search in microseconds, files from a \
                     content-addressed cache, API keys and rate limits, one binary";

/// The definition of the program for clap.
fn definition() -> Command {
    let subcommands = SUBCOMMANDS.iter().map(|entry| (entry.define)());
    Common::augment_args(Command::new("subcat"))
        .about(ABOUT)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .max_term_width(100)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(subcommands)
}

/// Runs the program. `arguments` begin with the program's name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    silence_contained_panics();
    let outcome = run(arguments);
    logging::finish();
    match outcome {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => error.report(),
        Err(error) => {
            // Printing fails only when the terminal is closed: then there is no reader.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

/// Writes no panic that becomes an error: the message of the error says what to do, and should be
/// the only one.
fn silence_contained_panics() {
    let write = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !is_panic_contained() {
            write(panic);
        }
    }));
}

/// Runs the subcommand that the arguments name. Errors of clap, which prints help and usage, are
/// apart from those of the subcommand.
fn run(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Result<(), CommandError>, clap::Error> {
    let program = definition();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = program.clone().try_get_matches_from(&arguments);
    let matches = matches.map_err(|error| without_set_values(error, &arguments))?;
    let common = Common::from_arg_matches(&matches)?;
    let named = matches.subcommand().and_then(|(name, matches)| {
        let entry = SUBCOMMANDS.iter().find(|entry| entry.name == name)?;
        Some((entry, matches))
    });
    let Some((entry, matches)) = named else {
        return Err(clap::Error::new(ErrorKind::MissingSubcommand));
    };
    Ok((entry.run)(matches, &Context::new(common, program)))
}

/// An error of clap without the values given for `--set`, which may be secrets: attached, or as a
/// word of their own after a typing mistake (`--set NAME VALUE`).
fn without_set_values(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    const SET: &str = "--set";
    let is_set = |argument: &OsString| argument.to_string_lossy().starts_with(SET);
    if !arguments.iter().any(is_set) {
        return error;
    }
    let definition = |value: &ContextValue| {
        let text = value.to_string();
        text == SET || text.starts_with("--set <")
    };
    for kind in [
        ContextKind::InvalidArg,
        ContextKind::InvalidValue,
        ContextKind::InvalidSubcommand,
        ContextKind::TrailingArg,
    ] {
        if error.get(kind).is_some_and(|value| !definition(value)) {
            error.insert(kind, ContextValue::String("…".to_owned()));
        }
    }
    // Suggestions repeat the mistyped text.
    for kind in [
        ContextKind::Suggested,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
    ] {
        error.insert(kind, ContextValue::None);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        definition().debug_assert();
    }

    fn parse(line: &str) -> Result<clap::ArgMatches, clap::Error> {
        definition().try_get_matches_from(line.split_whitespace())
    }

    #[test]
    fn common_arguments_stand_before_and_behind() {
        let matches = parse("subcat --json key list --data d --set a.b=c=d").unwrap();
        let common = Common::from_arg_matches(&matches).unwrap();
        assert!(common.json);
        assert_eq!(common.data.as_deref(), Some("d"));
        assert_eq!(common.set, [("a.b".to_owned(), "c=d".to_owned())]);
    }

    #[test]
    fn what_is_written_for_a_setting_is_not_repeated() {
        for line in [
            "check --set files.s3.secret_key:hush",
            "check --set=files.s3.secret_key:hush",
            "check --set files.s3.secret_key:hu=sh-hush",
            "check --set files.s3.secret_key hush",
            "check --set files.s3.secret_key= hush",
            "check --set a.b=c --hush",
            "check --set a.b=c -xhush",
            "--set files.s3.secret_key hush",
            "--set files.s3.secret_key= hush check",
            "check --settt files.s3.secret_key=hush",
            "check --setting=files.s3.secret_key=hush",
            "key create --name n --set files.s3.secret_key= --expires hush",
            "check --json=hush --set a.b=c",
        ] {
            let words = ["subcat"].into_iter().chain(line.split_whitespace());
            let error = run(words.map(OsString::from)).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
            let text = format!("{error} {error:?}");
            assert!(!error.to_string().contains("hush"), "{line}: {text}");
        }
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
