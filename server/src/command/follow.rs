//! `subcat import --follow`: loads records of a file, a pipe or a URL as they arrive.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use subcat_engine::error_chain;

use super::access::Access;
use super::context::now;
use super::error::{CommandError, SubjectError, say};
use super::growing_file::GrowingFile;
use super::interrupt::Interrupt;
use super::line_batches::{LineBatches, read_lines};
use super::progress::Progress;
use crate::admin::ClientError;
use crate::limits::LINES_AHEAD_MAX;
use crate::ops::{
    ImportError, ImportFile, ImportFiles, ImportOptions, ImportReport, ImportResult, import,
};
use crate::rows::{Format, unpacked};
use crate::runtime::Control;
use crate::upstream::{RemoteFile, RemoteFileError};

/// Poll interval for shutdown.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Loads the lines of one file, `-` for stdin, until it ends or the process is asked to stop; the
/// lines that have come by then are loaded. A regular file is followed as it grows.
pub(super) fn follow(
    access: &Access,
    path: &Path,
    format: Format,
) -> Result<ImportResult, CommandError> {
    let restarts: Arc<AtomicU64> = Arc::default();
    let (name, input) = open(path, &restarts)?;
    let (sender, lines) = sync_channel(LINES_AHEAD_MAX);
    std::thread::spawn(move || read_lines(input, &restarts, &sender));
    let is_stopping = Arc::new(AtomicBool::new(false));
    let _interrupt = Interrupt::raise(Arc::clone(&is_stopping))?;
    let read_bytes: Arc<AtomicU64> = Arc::default();
    let progress = Progress::start(None, Arc::clone(&read_bytes));
    let mut batches = LineBatches::new(lines, format, is_stopping);
    let mut sum = ImportResult::default();
    while let Some(batch) = batches.next() {
        let mut report = |report| {
            if let ImportReport::Refused(mut refused) = report {
                refused.line = batch.line_of(refused.line);
                progress.show(ImportReport::Refused(refused));
            }
        };
        let text = Box::new(&batch.text[..]);
        let loaded = load(access, &name, format, text, &mut report);
        let result = loaded.map_err(|cause| FollowError::Load {
            before: records(&sum),
            cause,
        })?;
        add(&mut sum, &result);
        read_bytes.fetch_add(batch.text.len() as u64, Ordering::Relaxed);
        progress.update(&format!("{} records loaded", records(&sum)));
    }
    progress.finish();
    match batches.failed {
        Some(cause) => Err(CommandError::from(FollowError::Read {
            before: records(&sum),
            name,
            cause,
        })),
        None => Ok(sum),
    }
}

/// Lines that could not be followed any further.
#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("{} is a directory: name a file", .0.display())]
    Directory(PathBuf),
    #[error("{name}: {cause}; the {before} records before that are loaded")]
    Read {
        name: String,
        cause: io::Error,
        before: u64,
    },
    #[error("{cause}; the {before} records before that are loaded")]
    Load { cause: BatchError, before: u64 },
}

/// A batch that could not be loaded.
#[derive(Debug, thiserror::Error)]
enum BatchError {
    #[error("{}", error_chain(.0))]
    Import(#[from] ImportError),
    #[error("{}", error_chain(.0))]
    Client(#[from] ClientError),
    #[error("{}", error_chain(.0))]
    Engine(#[from] subcat_engine::Error),
}

fn records(sum: &ImportResult) -> u64 {
    sum.inserted + sum.updated + sum.unchanged
}

fn add(sum: &mut ImportResult, result: &ImportResult) {
    sum.inserted += result.inserted;
    sum.updated += result.updated;
    sum.unchanged += result.unchanged;
    sum.refused += result.refused;
    sum.ignored_fields += result.ignored_fields;
}

/// The name of an input, and the input; it counts in `restarts` how often it began again.
fn open(
    path: &Path,
    restarts: &Arc<AtomicU64>,
) -> Result<(String, Box<dyn Read + Send>), CommandError> {
    if path.as_os_str() == "-" {
        return Ok(("stdin".to_owned(), Box::new(io::stdin())));
    }
    let name = path.display().to_string();
    let failed = |error| SubjectError::new(name.clone(), error);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(FollowError::Directory(path.to_owned()).into());
    }
    let input: Box<dyn Read + Send> = if metadata.is_file() {
        Box::new(GrowingFile::new(path, file, Arc::clone(restarts)))
    } else {
        Box::new(file)
    };
    Ok((name, input))
}

/// Loads a file at a URL, and again whenever it has changed, until the process is asked to stop.
/// Requests it every `pause`.
///
/// Errors: the first request fails. Later failures are reported on stderr, and the request is
/// repeated.
pub(super) fn follow_url(
    access: &Access,
    url: &str,
    format: Format,
    pause: Duration,
) -> Result<ImportResult, CommandError> {
    let control = Control::start()?;
    let mut remote = RemoteFile::new(url)?;
    let is_stopping = Arc::new(AtomicBool::new(false));
    let _interrupt = Interrupt::raise(Arc::clone(&is_stopping))?;
    let progress = Progress::start(None, Arc::default());
    let mut sum = ImportResult::default();
    let mut is_first = true;
    while is_first || wait(pause, &is_stopping) {
        let fetched = load_remote(access, &mut remote, format, &control, &progress);
        match fetched {
            Ok(Some(result)) => {
                add(&mut sum, &result);
                progress.update(&format!("{} records loaded", records(&sum)));
            }
            Ok(None) => {}
            Err(error) if is_first => return Err(error.into()),
            // A server that is being replaced, a network that is away: the next time may succeed.
            Err(error) => say(&format!(
                "{}: {}; trying again in {} s",
                remote.name(),
                error_chain(&error),
                pause.as_secs()
            )),
        }
        is_first = false;
    }
    progress.finish();
    Ok(sum)
}

/// A file at a URL that could not be fetched or loaded.
#[derive(Debug, thiserror::Error)]
enum RemoteError {
    #[error(transparent)]
    Fetch(#[from] RemoteFileError),
    #[error(transparent)]
    Load(#[from] BatchError),
}

/// Loads the file if it has changed since the last time that it was loaded.
fn load_remote(
    access: &Access,
    remote: &mut RemoteFile,
    format: Format,
    control: &Control,
    progress: &Progress,
) -> Result<Option<ImportResult>, RemoteError> {
    let Some(content) = control.block_on(remote.fetch())? else {
        return Ok(None);
    };
    let validators = content.validators();
    let content = Box::new(content.into_read(&control.handle()));
    let name = remote.name().to_owned();
    let mut report = |report| progress.show(report);
    let result = load(access, &name, format, content, &mut report)?;
    // Only now, so that a version that could not be loaded is requested again.
    remote.keep(validators);
    Ok(Some(result))
}

/// Waits. Returns false if the process was asked to stop.
pub(super) fn wait(pause: Duration, is_stopping: &AtomicBool) -> bool {
    let began = Instant::now();
    while began.elapsed() < pause {
        if is_stopping.load(Ordering::SeqCst) {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    !is_stopping.load(Ordering::SeqCst)
}

/// One file in memory or on its way.
struct SingleFile<'b> {
    name: &'b str,
    format: Format,
    content: Option<Box<dyn BufRead + 'b>>,
}

impl ImportFiles for SingleFile<'_> {
    fn next_file(&mut self) -> io::Result<Option<ImportFile<'_>>> {
        Ok(self.content.take().map(|content| ImportFile {
            name: self.name.to_owned(),
            format: self.format,
            content,
        }))
    }
}

fn load(
    access: &Access,
    name: &str,
    format: Format,
    content: Box<dyn Read + Send + '_>,
    report: &mut dyn FnMut(ImportReport),
) -> Result<ImportResult, BatchError> {
    let options = ImportOptions::default();
    match access {
        Access::Opened(opened) => {
            let unpacked = unpacked(content).map_err(|cause| ImportError::Read {
                name: name.to_owned(),
                cause,
            })?;
            let mut file = SingleFile {
                name,
                format,
                content: Some(unpacked),
            };
            let result = import(&opened.engine, &mut file, options, report)?;
            // A server would do this while it serves.
            while opened.engine.maintain(now())? {}
            Ok(result)
        }
        Access::Running(client) => Ok(client.import(
            options,
            move |writer| writer.write_file(name, format, &mut unpacked(content)?),
            report,
        )?),
    }
}
