//! `subcat import`: records from files.

use std::io;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, ValueEnum};
use subcat_engine::{DraftField, Engine, RecordDraft};

use super::access::{Access, Missing};
use super::context::{Context, now};
use super::error::CommandError;
use super::file_store::{FileStore, StorePlace};
use super::folder::{FolderImport, FolderNotes, PruneMode};
use super::folder_arguments::FolderArguments;
use super::follow::{follow, follow_url};
use super::interrupt::{ImportStage, Interrupt, end};
use super::named_files::{NamedFiles, TableFiles, named, total_bytes_of};
use super::output::Reply;
use super::progress::{Progress, Waiting};
use super::subcommand::Subcommand;
use super::table_arguments::TableArguments;
use crate::admin::{ImportFrameWriter, PieceWriter};
use crate::config::Config;
use crate::limits::FOLDER_CACHE_BYTES;
use crate::ops::{ImportFiles, ImportOptions, ImportReport, ImportResult, import, with_nearest};
use crate::rows::Format;
use crate::runtime::share_one_arena;

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

/// Load records from files; a record replaces the one with the same id in the catalog
///
/// Bad lines are reported with line number, field and reason, and the others are loaded. When it
/// returns, everything is searchable; an interrupted import says how far it got and can be run
/// again.
///
/// A DIR is a folder of subtitles: names and paths become records, the files are stored, and no
/// upstream is needed. Run again, only what changed is read. Nothing that is not certain is loaded:
/// the report says why, and DIR/subcat.csv corrects it (--dry-run --to FILE writes such a table).
///
/// With --follow, lines are loaded as they come, in batches that end after 10,000 lines or a second
/// without one. It ends with its input, or on SIGINT or SIGTERM: lines that have come by then are
/// loaded. A regular file is followed as it grows, also when it is truncated or replaced. A URL
/// (http, https) is fetched whole, and again whenever it has changed: its ETag or date is checked
/// every 60 seconds (--every).
#[derive(Debug, Args)]
#[command(after_long_help = fields_help())]
pub(super) struct ImportArguments {
    /// JSON lines, CSV or somebody's table, also as .gz or .zst; `-` is stdin; or one folder of
    /// subtitles
    #[arg(required = true, value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
    /// The format of the files [default: what they are by their content]
    #[arg(long, value_enum)]
    format: Option<FormatName>,
    /// Load nothing when any line is bad
    #[arg(long)]
    strict: bool,
    /// Load nothing at all, only report
    #[arg(long)]
    dry_run: bool,
    /// Load the lines of one FILE as they come, or a URL or a DIR as it changes
    #[arg(long, conflicts_with_all = ["strict", "dry_run"])]
    follow: bool,
    /// Seconds between two requests for a URL, or two scans of a DIR, that is followed
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "follow",
        default_value = "60"
    )]
    every: NonZeroU32,
    #[command(flatten)]
    table: TableArguments,
    #[command(flatten)]
    folder: FolderArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// One JSON object a line
    Jsonl,
    /// A header of field names, then rows
    Csv,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Jsonl => Self::Jsonl,
            FormatName::Csv => Self::Csv,
        }
    }
}

impl Subcommand for ImportArguments {
    const NAME: &'static str = "import";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        self.ensure_one_stdin()?;
        let config = context.effective(&[])?.config;
        let folder = match &self.files[..] {
            [folder] if folder.is_dir() => Some(folder.clone()),
            _ => None,
        };
        if let Some(folder) = folder {
            return self.import_folder(context, config, folder);
        }
        if self.follow {
            return self.follow(context, config);
        }
        self.ensure_no_url()?;
        let options = self.options();
        let table = self.table.options(now())?;
        let total_bytes = total_bytes_of(&self.files)?;
        let bytes_max = config.upstream.max_bytes;
        let access = Access::open(config, self.missing())?;
        let brought = TableFiles {
            store: FileStore::new(StorePlace::new(&access, self.dry_run)),
            folder: self.table.files_folder.clone(),
            bytes_max,
        };
        let format = self.format.map(Format::from);
        let mut files = NamedFiles::new(&self.files, format, table, brought);
        let left_out_count = Arc::clone(&files.left_out_count);
        let mut ignored = Vec::new();
        let progress = Progress::start(total_bytes, Arc::clone(&files.read_bytes));
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
            match report {
                ImportReport::Ignored(names) => ignored = names,
                report => progress.show(report),
            }
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
        let notes = Notes {
            is_dry_run: self.dry_run,
            ignored,
            left_out_count: left_out_count.load(Ordering::Relaxed),
        };
        context.show(&Reply::of(&result), |result| summary(result, &notes))?;
        status_of(&result)
    }
}

impl ImportArguments {
    fn options(&self) -> ImportOptions {
        ImportOptions {
            is_strict: self.strict,
            is_dry_run: self.dry_run,
        }
    }

    fn ensure_one_stdin(&self) -> Result<(), CommandError> {
        let stdins = self.files.iter().filter(|file| file.as_os_str() == "-");
        if 1 < stdins.count() {
            return Err(CommandError::usage(ImportUsageError::StdinTwice));
        }
        Ok(())
    }

    fn ensure_no_url(&self) -> Result<(), CommandError> {
        let names = self.files.iter().map(|file| file.to_string_lossy());
        if let Some(url) = names.into_iter().find(|name| url_of(name).is_some()) {
            return Err(CommandError::usage(ImportUsageError::UrlOnce(url.into())));
        }
        Ok(())
    }

    /// Returns what to do about a data directory that does not exist.
    fn missing(&self) -> Missing {
        if self.dry_run {
            Missing::Pretend
        } else {
            Missing::Create
        }
    }

    /// Imports a folder of subtitles.
    fn import_folder(
        self,
        context: &Context,
        config: Config,
        folder: PathBuf,
    ) -> Result<(), CommandError> {
        share_one_arena();
        let missing = self.missing();
        let import = FolderImport {
            folder,
            options: self.options(),
            fix: self.folder.fix,
            to: self.folder.to,
            prune: self.folder.prune.map(PruneMode::from),
            rows: self.table.options(now())?.rows,
            bytes_max: config.upstream.max_bytes,
            shows_table: self.dry_run && !context.is_json(),
        };
        let access = Access::open_with_caches(config, missing, FOLDER_CACHE_BYTES)?;
        let imported = if self.follow {
            import.follow(&access, Duration::from_secs(self.every.get().into()))
        } else {
            import.run(&access)
        };
        let (result, FolderNotes(lines)) = imported?;
        if let Access::Opened(opened) = &access {
            merge(&opened.engine)?;
        }
        access.close()?;
        let notes = Notes {
            is_dry_run: self.dry_run,
            ..Notes::default()
        };
        context.show(&Reply::of(&result), |result| {
            summary(result, &notes) + &lines
        })?;
        status_of(&result)
    }
}

/// Facts of an import that are shown besides its result.
#[derive(Debug, Default)]
struct Notes {
    is_dry_run: bool,
    /// Names of fields that no record has.
    ignored: Vec<String>,
    /// Rows in unwanted languages.
    left_out_count: u64,
}

/// Status 1 if lines were refused and none was loaded: the file is of another kind, and a nightly
/// import must not hide that.
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
            Some(format) => format.into(),
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
        context.show(&Reply::of(&result), |result| {
            summary(result, &Notes::default())
        })?;
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

/// Sends every file to the server.
fn send(files: &mut NamedFiles<'_>, writer: &mut ImportFrameWriter<PieceWriter>) -> io::Result<()> {
    while let Some(mut file) = files.next_file()? {
        let written = writer.write_file(&file.name, file.format, &mut file.content);
        written.map_err(|error| named(&file.name, &error))?;
    }
    Ok(())
}

fn summary(result: &ImportResult, notes: &Notes) -> String {
    let ImportResult {
        inserted,
        updated,
        unchanged,
        refused,
        ignored_fields,
    } = result;
    let mood = if notes.is_dry_run {
        "nothing loaded; would be "
    } else {
        ""
    };
    let mut line = format!(
        "{mood}{inserted} inserted, {updated} updated, {unchanged} unchanged, {refused} refused"
    );
    if *ignored_fields != 0 {
        line.push_str(&format!(" ({ignored_fields} unknown fields ignored"));
        if !notes.ignored.is_empty() {
            line.push_str(&format!(": {}", with_nearest(&notes.ignored)));
        }
        line.push(')');
    }
    if notes.left_out_count != 0 {
        let count = notes.left_out_count;
        line.push_str(&format!("; {count} in other languages left out"));
    }
    line.push('\n');
    line
}
