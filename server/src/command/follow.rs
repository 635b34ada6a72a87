//! `subcat import --follow`: lines that come one by one, loaded in batches.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use subcat_engine::error_chain;

use super::access::Access;
use super::context::now;
use super::error::{CommandError, SubjectError};
use super::interrupt::Interrupt;
use super::progress::Progress;
use crate::admin::ClientError;
use crate::limits::{BATCH_BYTES_MAX, BATCH_LINES_MAX, LINES_AHEAD_MAX};
use crate::ops::{
    ImportError, ImportFile, ImportFiles, ImportOptions, ImportReport, ImportResult, import,
};
use crate::rows::{Format, next_line, unpacked};

/// Time without a line after which a batch ends.
const QUIET: Duration = Duration::from_secs(1);
/// Poll interval for the end of a batch and for shutdown.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Poll interval for the growth of a file.
const GROWTH_POLL_INTERVAL: Duration = Duration::from_millis(100);

type Line = io::Result<Vec<u8>>;

/// Loads the lines of one file, `-` for stdin, until it ends or the process is asked to stop; the
/// lines that have come by then are loaded. A regular file is followed as it grows.
pub(super) fn follow(access: &Access, path: &Path) -> Result<ImportResult, CommandError> {
    let (name, input) = open(path)?;
    let (sender, lines) = sync_channel(LINES_AHEAD_MAX);
    std::thread::spawn(move || read_lines(input, &sender));
    let is_stopping = Arc::new(AtomicBool::new(false));
    let _interrupt = Interrupt::raise(Arc::clone(&is_stopping))?;
    let read_bytes: Arc<AtomicU64> = Arc::default();
    let progress = Progress::start(None, Arc::clone(&read_bytes));
    let mut batches = LineBatches::new(lines, is_stopping);
    let mut sum = ImportResult::default();
    while let Some(batch) = batches.next() {
        let mut report = |report| {
            if let ImportReport::Refused(mut refused) = report {
                refused.line += batch.lines_before;
                progress.show(ImportReport::Refused(refused));
            }
        };
        let loaded = load(access, &name, &batch.text, &mut report);
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

fn open(path: &Path) -> Result<(String, Box<dyn Read + Send>), CommandError> {
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
        Box::new(GrowingFile::new(path, file))
    } else {
        Box::new(file)
    };
    Ok((name, input))
}

/// A file that may still grow: its end is not the end of the input. If it is truncated, or another
/// one gets its name, reading goes on at the beginning, as `tail -F` does.
struct GrowingFile {
    path: PathBuf,
    file: File,
    read_bytes: u64,
    /// The last byte that was read. A line that was cut off must not be joined with the next one.
    last: u8,
}

impl GrowingFile {
    fn new(path: &Path, file: File) -> Self {
        Self {
            path: path.to_owned(),
            file,
            read_bytes: 0,
            last: b'\n',
        }
    }

    /// Goes to the beginning of the file that has the name now, if what was read is not the
    /// beginning of it. Returns false if it is the same file.
    fn begin_again(&mut self) -> io::Result<bool> {
        let open = self.file.metadata()?;
        if open.len() < self.read_bytes {
            self.file.rewind()?;
            self.read_bytes = 0;
            return Ok(true);
        }
        // Between the two steps of a rotation nothing has the name.
        let Ok(named) = std::fs::metadata(&self.path) else {
            return Ok(false);
        };
        let is_same = (named.dev(), named.ino()) == (open.dev(), open.ino());
        // The writer may have added lines to the old file since it was read to its end.
        if is_same || self.read_bytes < self.file.metadata()?.len() {
            return Ok(false);
        }
        self.file = File::open(&self.path)?;
        self.read_bytes = 0;
        Ok(true)
    }
}

impl Read for GrowingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read_count = self.file.read(buffer)?;
            if let Some(last) = buffer[..read_count].last() {
                self.last = *last;
                self.read_bytes += read_count as u64;
                return Ok(read_count);
            }
            if buffer.is_empty() {
                return Ok(0);
            }
            if self.begin_again()? && self.last != b'\n' {
                self.last = b'\n';
                buffer[0] = b'\n';
                return Ok(1);
            }
            std::thread::sleep(GROWTH_POLL_INTERVAL);
        }
    }
}

/// Sends every line with its line end, until the receiver is dropped.
fn read_lines(input: Box<dyn Read>, lines: &SyncSender<Line>) {
    let mut input = match unpacked(input) {
        Ok(input) => input,
        Err(error) => {
            let _ = lines.send(Err(error));
            return;
        }
    };
    loop {
        let line = next_line(&mut *input);
        let is_failed = line.is_err();
        let is_end = line.as_ref().is_ok_and(Vec::is_empty);
        if is_end || lines.send(line).is_err() || is_failed {
            return;
        }
    }
}

/// Lines that are loaded together.
struct LineBatch {
    text: Vec<u8>,
    lines_count: u64,
    /// Number of lines in the batches before.
    lines_before: u64,
}

/// Groups lines into batches.
struct LineBatches {
    lines: Receiver<Line>,
    is_stopping: Arc<AtomicBool>,
    lines_count: u64,
    is_over: bool,
    /// The error that ended reading, if it was not the end of the input.
    failed: Option<io::Error>,
}

impl LineBatches {
    fn new(lines: Receiver<Line>, is_stopping: Arc<AtomicBool>) -> Self {
        Self {
            lines,
            is_stopping,
            lines_count: 0,
            is_over: false,
            failed: None,
        }
    }

    /// Waits for the next batch; none after the last.
    ///
    /// A batch ends when it is full, when no line has come for [`QUIET`], or with the input. The
    /// channel is polled, because lines, the clock and the request to stop are waited for together.
    fn next(&mut self) -> Option<LineBatch> {
        let mut batch = LineBatch {
            text: Vec::new(),
            lines_count: 0,
            lines_before: self.lines_count,
        };
        let mut last_at = Instant::now();
        while !self.is_over
            && batch.lines_count < BATCH_LINES_MAX
            && batch.text.len() < BATCH_BYTES_MAX
        {
            // Read before the channel: the lines that came before the request to stop are loaded.
            let is_stopping = self.is_stopping.load(Ordering::SeqCst);
            match self.lines.recv_timeout(POLL_INTERVAL) {
                Ok(Ok(line)) => {
                    batch.text.extend_from_slice(&line);
                    batch.lines_count += 1;
                    last_at = Instant::now();
                }
                Ok(Err(error)) => {
                    self.failed = Some(error);
                    self.is_over = true;
                }
                Err(RecvTimeoutError::Disconnected) => self.is_over = true,
                Err(RecvTimeoutError::Timeout) if is_stopping => self.is_over = true,
                Err(RecvTimeoutError::Timeout) => {
                    if batch.lines_count != 0 && QUIET <= last_at.elapsed() {
                        break;
                    }
                }
            }
        }
        self.lines_count += batch.lines_count;
        if batch.lines_count == 0 {
            return None;
        }
        Some(batch)
    }
}

/// A batch as a file.
struct BatchFile<'b> {
    name: &'b str,
    text: Option<&'b [u8]>,
}

impl ImportFiles for BatchFile<'_> {
    fn next_file(&mut self) -> io::Result<Option<ImportFile<'_>>> {
        Ok(self.text.take().map(|text| ImportFile {
            name: self.name.to_owned(),
            format: Format::Jsonl,
            content: Box::new(text),
        }))
    }
}

fn load(
    access: &Access,
    name: &str,
    mut text: &[u8],
    report: &mut dyn FnMut(ImportReport),
) -> Result<ImportResult, BatchError> {
    let options = ImportOptions::default();
    match access {
        Access::Opened(opened) => {
            let text = Some(text);
            let mut file = BatchFile { name, text };
            let result = import(&opened.engine, &mut file, options, report)?;
            // A server would do this while it serves.
            while opened.engine.maintain(now())? {}
            Ok(result)
        }
        Access::Running(client) => Ok(client.import(
            options,
            move |writer| writer.write_file(name, Format::Jsonl, &mut text),
            report,
        )?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches() -> (SyncSender<Line>, LineBatches) {
        let (sender, lines) = sync_channel(20_000);
        (sender, LineBatches::new(lines, Arc::default()))
    }

    #[test]
    fn a_batch_ends_when_it_is_full_or_the_input_ends() {
        let (sender, mut batches) = batches();
        for _ in 0..=BATCH_LINES_MAX {
            sender.send(Ok(b"x\n".to_vec())).unwrap();
        }
        let first = batches.next().unwrap();
        assert_eq!((first.lines_before, first.lines_count), (0, 10_000));
        sender.send(Err(io::ErrorKind::InvalidData.into())).unwrap();
        let second = batches.next().unwrap();
        assert_eq!((second.lines_before, second.lines_count), (10_000, 1));
        assert_eq!(second.text, b"x\n");
        assert!(batches.next().is_none());
        assert!(batches.failed.is_some());
    }

    /// The next bytes of a file, up to a line end.
    fn next(file: &mut GrowingFile) -> String {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let mut byte = [0];
            assert_eq!(file.read(&mut byte).unwrap(), 1);
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn a_file_that_is_truncated_or_rotated_is_followed_from_its_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "first\nsecond\n").unwrap();
        let mut file = GrowingFile::new(&path, File::open(&path).unwrap());
        assert_eq!(next(&mut file), "first\n");
        assert_eq!(next(&mut file), "second\n");
        // The same file, emptied and written again.
        std::fs::write(&path, "third\ncut o").unwrap();
        assert_eq!(next(&mut file), "third\n");
        assert_eq!(file.read(&mut [0; 100]).unwrap(), 5);
        // Another file under its name. A line that was cut off stands alone.
        std::fs::rename(&path, dir.path().join("log.1")).unwrap();
        std::fs::write(&path, "a longer file than the one before\n").unwrap();
        assert_eq!(next(&mut file), "\n");
        assert_eq!(next(&mut file), "a longer file than the one before\n");
        // What the writer adds to the old file before it notices is read.
        let mut old = File::options().append(true).open(&path).unwrap();
        std::fs::rename(&path, dir.path().join("log.2")).unwrap();
        io::Write::write_all(&mut old, b"late\n").unwrap();
        std::fs::write(&path, "new\n").unwrap();
        assert_eq!(next(&mut file), "late\n");
        assert_eq!(next(&mut file), "new\n");
    }

    #[test]
    fn a_batch_ends_when_nothing_comes_for_a_second() {
        let (sender, mut batches) = batches();
        sender.send(Ok(b"x\n".to_vec())).unwrap();
        let started = Instant::now();
        assert_eq!(batches.next().unwrap().lines_count, 1);
        assert!(QUIET <= started.elapsed());
        batches.is_stopping.store(true, Ordering::SeqCst);
        sender.send(Ok(b"y\n".to_vec())).unwrap();
        assert_eq!(batches.next().unwrap().text, b"y\n");
        assert!(batches.next().is_none());
    }
}
