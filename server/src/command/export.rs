//! `subcat export`: the catalog as JSON lines.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::access::{Access, Missing};
use super::context::{Context, Stop, output_stop};
use crate::admin::Failure;
use crate::rows::write_record;

/// Write every record as JSON lines, ordered by id, such that import gives the same catalog
#[derive(Debug, Args)]
pub(super) struct Export {
    /// Where to; `-` or nothing is stdout. A file is there whole or not at all
    file: Option<PathBuf>,
}

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 256 << 10;

impl Export {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let config = context.effective(&[])?.config;
        let access = Access::open(config, Missing::Refuse)?;
        match self.file.filter(|path| path != Path::new("-")) {
            None => {
                let stdout = io::stdout().lock();
                write_all(&access, stdout, "the output")?;
            }
            Some(path) => write_file(&access, &path)?,
        }
        access.close()
    }
}

/// Writes beside the file, then renames: nobody finds half an export.
fn write_file(access: &Access, path: &Path) -> Result<(), Stop> {
    let shown = path.display().to_string();
    let could_not = |error: io::Error| Failure::io(&format!("could not write {shown}"), &error);
    let mut partial_name = path.as_os_str().to_owned();
    partial_name.push(".partial");
    let partial = PathBuf::from(partial_name);
    let file = File::create(&partial).map_err(could_not)?;
    let written = write_all(access, &file, &shown)
        .and_then(|()| Ok(file.sync_all().map_err(could_not)?))
        .and_then(|()| Ok(std::fs::rename(&partial, path).map_err(could_not)?));
    if written.is_err() {
        // The failure to write is what matters.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

fn write_all(access: &Access, output: impl Write, name: &str) -> Result<(), Stop> {
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, output);
    match access {
        Access::Running(client) => {
            let mut lines = client.export()?;
            let mut buffer = vec![0; BUFFER_BYTES];
            loop {
                let count = lines.read(&mut buffer).map_err(|error| cut(&error))?;
                if count == 0 {
                    break;
                }
                let written = output.write_all(&buffer[..count]);
                written.map_err(|error| output_stop(name, &error))?;
            }
        }
        Access::Opened(opened) => {
            let mut line = Vec::new();
            let mut failed = None;
            let exported = opened.engine.export(&mut |record| {
                line.clear();
                write_record(record, &mut line);
                output.write_all(&line).map_err(|error| {
                    let stop = stop_reading(name, error.kind());
                    failed = Some(error);
                    stop
                })
            });
            if let Some(error) = failed {
                return Err(output_stop(name, &error));
            }
            exported?;
        }
    }
    output.flush().map_err(|error| output_stop(name, &error))
}

fn cut(error: &io::Error) -> Failure {
    Failure::io("the server cut the export (its log says why)", error)
}

/// What makes the engine stop when the output takes no more.
fn stop_reading(name: &str, kind: io::ErrorKind) -> subcat_engine::Error {
    subcat_engine::Error::Io {
        action: "write",
        path: name.into(),
        source: kind.into(),
    }
}
