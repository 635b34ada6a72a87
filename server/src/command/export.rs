//! `subcat export`: the catalog as JSON lines.

use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use subcat_engine::error_chain;

use super::access::{Access, Missing};
use super::context::Context;
use super::error::{CommandError, SubjectError, say};
use super::output::output_error;
use super::output_file::OutputFile;
use super::progress::Progress;
use super::subcommand::Subcommand;
use crate::admin::LEFT_OUT_MARK;
use crate::limits::READ_BUFFER_BYTES;
use crate::rows::write_record;

/// Write every record as JSON lines, ordered by id, such that import gives the same catalog
#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    /// Destination; `-` or nothing is stdout. A file appears whole or not at all; a device or a
    /// pipe is written to directly
    file: Option<PathBuf>,
}

impl Subcommand for ExportArguments {
    const NAME: &'static str = "export";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let config = context.effective_of_existing()?;
        let access = Access::open(config, Missing::Refuse)?;
        let left_out = match self.file.filter(|path| path != Path::new("-")) {
            None => {
                let stdout = io::stdout().lock();
                // On a terminal the lines themselves show the progress.
                let count = LineCount::start(!stdout.is_terminal());
                write_all(&access, count.of(stdout), "the output")?
            }
            Some(path) => write_file(&access, &path)?,
        };
        access.close()?;
        if left_out.is_empty() {
            return Ok(());
        }
        for record in &left_out {
            say(&format!("left out: {record}"));
        }
        Err(PartialExportError(left_out.len()).into())
    }
}

/// Records that could not be exported.
#[derive(Debug, thiserror::Error)]
#[error("left out {0} damaged records: import them again, or delete them (subcat record delete)")]
struct PartialExportError(usize);

/// Counter of the lines written so far, for the progress.
struct LineCount {
    progress: Option<Progress>,
    written_bytes: Arc<AtomicU64>,
}

impl LineCount {
    fn start(is_shown: bool) -> Self {
        let written_bytes = Arc::default();
        let progress = if is_shown {
            Some(Progress::start(None, Arc::clone(&written_bytes)))
        } else {
            None
        };
        Self {
            progress,
            written_bytes,
        }
    }

    /// Counts the lines that are written to `output`.
    fn of<W: Write>(&self, output: W) -> CountedOutput<'_, W> {
        CountedOutput {
            output,
            count: self,
            lines: 0,
        }
    }
}

impl Drop for LineCount {
    fn drop(&mut self) {
        if let Some(progress) = &self.progress {
            progress.finish();
        }
    }
}

struct CountedOutput<'c, W> {
    output: W,
    count: &'c LineCount,
    lines: usize,
}

impl<W: Write> Write for CountedOutput<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        if let Some(progress) = &self.count.progress {
            let line_ends = bytes[..written].iter().filter(|byte| **byte == b'\n');
            self.lines += line_ends.count();
            let total = &self.count.written_bytes;
            total.fetch_add(written as u64, Ordering::Relaxed);
            progress.update(&format!("{} records written", self.lines));
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

fn write_file(access: &Access, path: &Path) -> Result<Vec<String>, CommandError> {
    let shown = path.display().to_string();
    let could_not = |error| SubjectError::new(format!("could not write {shown}"), error);
    let output = OutputFile::create(path).map_err(could_not)?;
    let count = LineCount::start(true);
    let left_out = write_all(access, count.of(output.file()), &shown)?;
    output.finish().map_err(could_not)?;
    Ok(left_out)
}

/// Writes every record. Returns the errors of those that are left out.
fn write_all(access: &Access, output: impl Write, name: &str) -> Result<Vec<String>, CommandError> {
    let mut output = BufWriter::with_capacity(READ_BUFFER_BYTES, output);
    let left_out = match access {
        Access::Running(client) => {
            let mut lines = client.export()?;
            let mut report = Vec::new();
            let mut buffer = vec![0; READ_BUFFER_BYTES];
            loop {
                let count = lines.read(&mut buffer).map_err(export_ended)?;
                if count == 0 {
                    break;
                }
                let received = &buffer[..count];
                // Once it has begun, the report is all that follows.
                let lines_count = if report.is_empty() {
                    let mark = received.iter().position(|byte| *byte == LEFT_OUT_MARK);
                    mark.unwrap_or(count)
                } else {
                    0
                };
                report.extend_from_slice(&received[lines_count..]);
                let written = output.write_all(&received[..lines_count]);
                written.map_err(|error| output_error(name, error))?;
            }
            left_out_in(&report)
        }
        Access::Opened(opened) => {
            let mut line = Vec::new();
            let mut failed = None;
            let exported = opened.engine.catalog().export(&mut |record| {
                line.clear();
                write_record(record, &mut line);
                output.write_all(&line).map_err(|error| {
                    let stop = output_closed(name, error.kind());
                    failed = Some(error);
                    stop
                })
            });
            if let Some(error) = failed {
                return Err(output_error(name, error));
            }
            exported?.iter().map(|error| error_chain(error)).collect()
        }
    };
    output.flush().map_err(|error| output_error(name, error))?;
    Ok(left_out)
}

/// The lines of the report at the end of an export from a server.
fn left_out_in(report: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(report);
    let lines = text.trim_start_matches(char::from(LEFT_OUT_MARK)).lines();
    lines.map(str::to_owned).collect()
}

fn export_ended(error: io::Error) -> SubjectError {
    SubjectError::new(
        "the server ended the export early (its log says why)",
        error,
    )
}

/// The error that ends the export when the output takes no more.
fn output_closed(name: &str, kind: io::ErrorKind) -> subcat_engine::Error {
    subcat_engine::Error::Io {
        action: "write",
        path: name.into(),
        source: kind.into(),
    }
}
