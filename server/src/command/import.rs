//! `subcat import`: records from files.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use clap::{Args, ValueEnum};
use subcat_engine::{DraftField, Engine, RecordDraft};

use super::access::{Access, Missing};
use super::context::{Context, now};
use super::error::{CommandError, SubjectError};
use super::follow::{follow, follow_url};
use super::interrupt::{ImportStage, Interrupt, end};
use super::output::Reply;
use super::progress::{Progress, Waiting};
use super::subcommand::Subcommand;
use crate::admin::{ImportFrameWriter, PieceWriter};
use crate::config::Config;
use crate::ops::{ImportFile, ImportFiles, ImportOptions, ImportReport, ImportResult, import};
use crate::rows::{Format, unpacked};

/// Fields of a record, for the help (API.md 13.3).
fn fields_help() -> String {
    let mut help = String::from(
        "Fields of a record (video_type, title, posted_at are required; null is absent):",
    );
    for DraftField { name, rule, .. } in RecordDraft::FIELDS {
        help += &format!("\n  {name:<18} {rule}");
    }
    help
}

/// Load records from files; a record whose id is in the catalog is replaced
///
/// Bad lines are reported with line number, field and reason, and the others are loaded. When it
/// returns, everything is searchable; an interrupted import says how far it got and can be run
/// again.
///
/// With --follow, lines are loaded as they come, in batches that end after 10,000 lines or a second
/// without one. It ends with its input, or when it is asked to stop (SIGINT, SIGTERM): lines that
/// have come by then are loaded. A regular file is followed as it grows, also when it is truncated
/// or replaced. A URL (http, https) is fetched whole, and again whenever it has changed: it is
/// asked for every 60 seconds (--every) by ETag or date.
#[derive(Debug, Args)]
#[command(after_long_help = fields_help())]
pub(super) struct ImportArguments {
    /// JSON lines or CSV, also as .gz or .zst; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The format of the files [default: csv for .csv, else jsonl]
    #[arg(long, value_enum)]
    format: Option<FormatName>,
    /// Load nothing when any line is bad
    #[arg(long)]
    strict: bool,
    /// Load nothing at all, only report
    #[arg(long)]
    dry_run: bool,
    /// Load the lines of one FILE as they come, or a URL as it changes
    #[arg(long, conflicts_with_all = ["strict", "dry_run"])]
    follow: bool,
    /// Seconds between two requests for a URL that is followed
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "follow",
        default_value = "60"
    )]
    every: NonZeroU32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// One JSON object a line
    Jsonl,
    /// A header of field names, then rows
    Csv,
}

impl Subcommand for ImportArguments {
    const NAME: &'static str = "import";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let stdins = self.files.iter().filter(|file| file.as_os_str() == "-");
        if 1 < stdins.count() {
            return Err(CommandError::usage(ImportUsageError::StdinTwice));
        }
        let config = context.effective(&[])?.config;
        if self.follow {
            return self.follow(context, config);
        }
        let names = self.files.iter().map(|file| file.to_string_lossy());
        if let Some(url) = names.into_iter().find(|name| url_of(name).is_some()) {
            return Err(CommandError::usage(ImportUsageError::UrlOnce(url.into())));
        }
        let options = ImportOptions {
            is_strict: self.strict,
            is_dry_run: self.dry_run,
        };
        let mut files = NamedFiles::new(&self.files, self.format)?;
        let missing = if self.dry_run {
            Missing::Pretend
        } else {
            Missing::Create
        };
        let access = Access::open(config, missing)?;
        let progress = Progress::start(files.total_bytes, Arc::clone(&files.read_bytes));
        let is_remote = matches!(access, Access::Running(_));
        let stage = Arc::new(ImportStage::new(self.dry_run, is_remote, &files.is_read));
        let interrupt = Interrupt::watch(Arc::clone(&stage), progress.bar())?;
        let mut report = |report: ImportReport| {
            if let ImportReport::Loaded(records) = report
                && let Some(sentence) = stage.loaded(records)
            {
                progress.finish();
                end(&sentence);
            }
            progress.show(report);
        };
        let result = match &access {
            Access::Opened(opened) => {
                import(&opened.engine, &mut files, options, &mut report).map_err(CommandError::from)
            }
            Access::Running(client) => {
                let write =
                    move |writer: &mut ImportFrameWriter<PieceWriter>| send(&mut files, writer);
                let sent = client.import(options, write, &mut report);
                sent.map_err(CommandError::from)
            }
        };
        progress.finish();
        let result = result?;
        if let Access::Opened(opened) = &access {
            stage.all_loaded();
            merge(&opened.engine)?;
        }
        drop(interrupt);
        access.close()?;
        context.show(&Reply::of(&result), |result| summary(result, self.dry_run))?;
        status_of(&result)
    }
}

/// Status 1 if lines were refused and none was loaded: the file is of another kind, and whoever
/// runs the import every night should hear of it.
fn status_of(result: &ImportResult) -> Result<(), CommandError> {
    let loaded = result.inserted + result.updated + result.unchanged;
    if loaded == 0 && result.refused != 0 {
        return Err(CommandError::Reported(1));
    }
    Ok(())
}

/// Merges the segments that the import has written, so that the first searches are as fast as the
/// later ones. (A server merges while it serves.)
fn merge(engine: &Engine) -> subcat_engine::Result<()> {
    let _waiting = Waiting::start("merging");
    while engine.maintain(now())? {}
    Ok(())
}

impl ImportArguments {
    fn follow(self, context: &Context, config: Config) -> Result<(), CommandError> {
        let [file] = &self.files[..] else {
            return Err(CommandError::usage(ImportUsageError::FollowMany));
        };
        let name = file.to_string_lossy();
        let url = url_of(&name);
        let format = match self.format {
            Some(FormatName::Jsonl) => Format::Jsonl,
            Some(FormatName::Csv) => Format::Csv,
            None => Format::of_name(url.map_or(&*name, path_of)),
        };
        let access = Access::open(config, Missing::Create)?;
        let pause = Duration::from_secs(self.every.get().into());
        let followed = match url {
            Some(url) => follow_url(&access, url, format, pause),
            None => follow(&access, file, format),
        };
        access.close()?;
        let result = followed?;
        context.show(&Reply::of(&result), |result| summary(result, false))?;
        status_of(&result)
    }
}

/// The name itself if it is a URL.
fn url_of(name: &str) -> Option<&str> {
    if name.starts_with("http://") || name.starts_with("https://") {
        Some(name)
    } else {
        None
    }
}

/// A URL without its query and fragment, which may end like a file's name, too.
fn path_of(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// Arguments of an import that are not valid together.
#[derive(Debug, thiserror::Error)]
enum ImportUsageError {
    #[error("stdin can be read only once: give - only once")]
    StdinTwice,
    #[error("--follow takes one FILE")]
    FollowMany,
    #[error("{0}: a URL is followed (--follow); once is curl -s URL | subcat import -")]
    UrlOnce(String),
}

/// A directory in place of a file.
#[derive(Debug, thiserror::Error)]
#[error("{} is a directory: name its files", .0.display())]
struct DirectoryError(PathBuf);

/// Sends every file to the server.
fn send(files: &mut NamedFiles, writer: &mut ImportFrameWriter<PieceWriter>) -> io::Result<()> {
    while let Some(mut file) = files.next_file()? {
        let written = writer.write_file(&file.name, file.format, &mut file.content);
        written.map_err(|error| named(&file.name, &error))?;
    }
    Ok(())
}

fn summary(result: &ImportResult, is_dry_run: bool) -> String {
    let ImportResult {
        inserted,
        updated,
        unchanged,
        refused,
        ignored_fields,
    } = result;
    let mood = if is_dry_run {
        "nothing loaded; would be "
    } else {
        ""
    };
    let mut line = format!(
        "{mood}{inserted} inserted, {updated} updated, {unchanged} unchanged, {refused} refused"
    );
    if *ignored_fields != 0 {
        line.push_str(&format!(" ({ignored_fields} unknown fields ignored)"));
    }
    line.push('\n');
    line
}

/// The files that the command line names.
struct NamedFiles {
    /// The last goes first.
    rest: Vec<PathBuf>,
    format: Option<FormatName>,
    /// Bytes of all files as they are stored; none if one of them has no size.
    total_bytes: Option<u64>,
    /// Bytes read so far.
    read_bytes: Arc<AtomicU64>,
    /// True when all files have been read.
    is_read: Arc<AtomicBool>,
}

impl NamedFiles {
    /// Errors: one of them is not there, before anything is loaded from the others.
    fn new(files: &[PathBuf], format: Option<FormatName>) -> Result<Self, CommandError> {
        let mut total_bytes = Some(0);
        for file in files {
            if file.as_os_str() == "-" {
                total_bytes = None;
                continue;
            }
            let metadata = std::fs::metadata(file)
                .map_err(|error| SubjectError::new(file.display().to_string(), error))?;
            if metadata.is_dir() {
                return Err(DirectoryError(file.clone()).into());
            }
            let is_sized = metadata.is_file();
            total_bytes = total_bytes
                .filter(|_| is_sized)
                .map(|sum| sum + metadata.len());
        }
        Ok(Self {
            rest: files.iter().rev().cloned().collect(),
            format,
            total_bytes,
            read_bytes: Arc::default(),
            is_read: Arc::default(),
        })
    }
}

impl ImportFiles for NamedFiles {
    fn next_file(&mut self) -> io::Result<Option<ImportFile<'_>>> {
        let Some(path) = self.rest.pop() else {
            self.is_read.store(true, Ordering::SeqCst);
            return Ok(None);
        };
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin {
            "stdin".to_owned()
        } else {
            path.display().to_string()
        };
        let input: Box<dyn Read> = if is_stdin {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(&path).map_err(|error| named(&name, &error))?)
        };
        let counted = CountedRead {
            input,
            read_bytes: Arc::clone(&self.read_bytes),
        };
        let content = unpacked(Box::new(counted)).map_err(|error| named(&name, &error))?;
        let format = match self.format {
            Some(FormatName::Jsonl) => Format::Jsonl,
            Some(FormatName::Csv) => Format::Csv,
            None => Format::of_name(&name),
        };
        Ok(Some(ImportFile {
            name,
            format,
            content,
        }))
    }
}

/// The error with the file's name. Its kind stays, so that a broken pipe is still recognised.
fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}

/// Counts what is read, for the progress bar.
struct CountedRead {
    input: Box<dyn Read>,
    read_bytes: Arc<AtomicU64>,
}

impl Read for CountedRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.read_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
