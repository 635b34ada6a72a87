//! The line that says of which format a data directory is.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::disk::{Disk, publish_file, read_file};
use crate::error::{Error, Result};

/// Formats of the data directory as a whole that this program knows.
pub(super) const FORMATS: Formats = Formats {
    current: 1,
    steps: &[],
};

/// First characters of the file `format`.
const FORMAT_MAGIC: &str = "subcat data directory, format ";

const NEWER: &str = "run the version of subcat that wrote it, or a newer one";
const TOO_OLD: &str =
    "export its records with the version of subcat that wrote it (subcat export), and import them";

/// Makes the files of one format those of the next.
///
/// It changes nothing in `blobs/`, of which there is no copy, and may find its own work half done:
/// it is run again after it was interrupted.
pub(super) type UpgradeStep = fn(&dyn Disk, &Path) -> Result<()>;

/// Formats that a program knows: tests name others.
#[derive(Clone, Copy)]
pub(super) struct Formats {
    /// The one that it reads and writes.
    pub(super) current: u32,
    /// Steps that lead up to it, each from one format to the next, oldest first.
    pub(super) steps: &'static [UpgradeStep],
}

impl Formats {
    /// The steps that lead from a format to the current one.
    ///
    /// Errors: [`Error::Format`] when it is newer, or older than all that can be upgraded.
    pub(super) fn steps_from(&self, found: u32, root: &Path) -> Result<&'static [UpgradeStep]> {
        let refused = |advice| Error::Format {
            path: root.to_path_buf(),
            found,
            supported: self.current,
            advice,
        };
        if self.current < found {
            return Err(refused(NEWER));
        }
        let missing_count = (self.current - found) as usize;
        let passed_over = self.steps.len().checked_sub(missing_count);
        passed_over
            .map(|passed_over| &self.steps[passed_over..])
            .ok_or_else(|| refused(TOO_OLD))
    }
}

/// The format of a finished data directory, of which this program can make the current one; `None`
/// if the directory has no format file.
///
/// Errors: [`Error::Format`], [`Error::Corrupt`].
pub(crate) fn read_format(disk: &dyn Disk, root: &Path) -> Result<Option<u32>> {
    read_format_of(disk, root, &FORMATS)
}

/// The same for a program that knows these formats.
pub(super) fn read_format_of(
    disk: &dyn Disk,
    root: &Path,
    formats: &Formats,
) -> Result<Option<u32>> {
    let Some(bytes) = read_file(disk, &root.join("format"))? else {
        return Ok(None);
    };
    let damaged = || Error::corrupt("format", 0, "the format line of a data directory");
    let text = String::from_utf8(bytes).map_err(|_| damaged())?;
    let rest = text.strip_prefix(FORMAT_MAGIC).ok_or_else(damaged)?;
    let digits_count = rest.bytes().take_while(u8::is_ascii_digit).count();
    let found: u32 = rest[..digits_count].parse().map_err(|_| damaged())?;
    // Before the rest of the line, which another format may write in another way.
    formats.steps_from(found, root)?;
    if text != format_line(found) {
        return Err(damaged());
    }
    Ok(Some(found))
}

/// Writes the format file, durably.
pub(super) fn publish_format(disk: &dyn Disk, root: &Path, format: u32) -> Result<()> {
    let line = format_line(format);
    let path = root.join("format");
    publish_file(disk, &root.join("tmp/format"), &path, &mut |out| {
        out.write_all(line.as_bytes())
            .map_err(Error::io("write", &path))
    })
}

fn format_line(format: u32) -> String {
    let text = format!("{FORMAT_MAGIC}{format}");
    format!("{text}, checksum {:016x}\n", xxh3_64(text.as_bytes()))
}
