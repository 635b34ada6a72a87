//! The line with the format of a data directory.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::disk::{Disk, publish_file, read_file};
use crate::error::{Error, Result};

/// Format of the data directory as a whole that this program reads and writes. There is one yet: a
/// release that writes another one brings the step that leads up to it.
const FORMAT: u32 = 1;

/// First characters of the file `format`.
const FORMAT_MAGIC: &str = "subcat data directory, format ";

const NEWER: &str = "run the version of subcat that wrote it, or a newer one";
const TOO_OLD: &str =
    "export its records with the version of subcat that wrote it (subcat export), and import them";

/// Returns true if there is a finished data directory, and false if it has no format file.
///
/// Errors: [`Error::Format`] if another program wrote it, [`Error::Corrupt`].
pub(crate) fn has_format(disk: &dyn Disk, root: &Path) -> Result<bool> {
    let Some(bytes) = read_file(disk, &root.join("format"))? else {
        return Ok(false);
    };
    let damaged = || Error::corrupt("format", 0, "the format line of a data directory");
    let text = String::from_utf8(bytes).map_err(|_| damaged())?;
    let rest = text.strip_prefix(FORMAT_MAGIC).ok_or_else(damaged)?;
    let digits_count = rest.bytes().take_while(u8::is_ascii_digit).count();
    let found: u32 = rest[..digits_count].parse().map_err(|_| damaged())?;
    // Before the rest of the line, which another format may write in another way.
    if found != FORMAT {
        return Err(Error::Format {
            path: root.to_path_buf(),
            found,
            supported: FORMAT,
            advice: if FORMAT < found { NEWER } else { TOO_OLD },
        });
    }
    if text != format_line() {
        return Err(damaged());
    }
    Ok(true)
}

/// Writes the format file, durably.
pub(super) fn publish_format(disk: &dyn Disk, root: &Path) -> Result<()> {
    let line = format_line();
    let path = root.join("format");
    publish_file(disk, &root.join("tmp/format"), &path, &mut |out| {
        out.write_all(line.as_bytes())
            .map_err(Error::io("write", &path))
    })
}

fn format_line() -> String {
    let text = format!("{FORMAT_MAGIC}{FORMAT}");
    format!("{text}, checksum {:016x}\n", xxh3_64(text.as_bytes()))
}
