//! The file `sealing.key`: one line, like `format`.
//!
//! ```text
//! subcat sealing key, version 1, <64 hexadecimal digits>, checksum <16 hexadecimal digits>
//! ```
//!
//! The checksum is xxh3 of what stands before it. What is sealed with the key lies in `state.redb`
//! and in every copy of its rows; the key lies here only. It is text, so that people can carry it
//! to another machine of a cluster.

use xxhash_rust::xxh3::xxh3_64;

use super::directory::DataDir;
use super::names::SEALING_KEY;
use crate::disk::{publish_file, read_file};
use crate::error::{Error, Result};

/// Bytes of a sealing key.
pub const SEALING_KEY_BYTES: usize = 32;

const MAGIC: &str = "subcat sealing key, version 1, ";

impl DataDir {
    /// The sealing key of this directory, if it has one.
    ///
    /// Errors: [`Error::Corrupt`], [`Error::Io`].
    pub(crate) fn sealing_key(&self) -> Result<Option<[u8; SEALING_KEY_BYTES]>> {
        let Some(bytes) = read_file(self.disk().as_ref(), &self.path(SEALING_KEY))? else {
            return Ok(None);
        };
        let key = std::str::from_utf8(&bytes).ok().and_then(parse);
        key.map(Some)
            .ok_or_else(|| Error::corrupt(SEALING_KEY, 0, "the line of a sealing key"))
    }

    /// Keeps a sealing key, durably.
    ///
    /// Errors: [`Error::Io`], also when there is one already: what it has sealed would be lost.
    pub(crate) fn keep_sealing_key(&self, key: &[u8; SEALING_KEY_BYTES]) -> Result<()> {
        let path = self.path(SEALING_KEY);
        if read_file(self.disk().as_ref(), &path)?.is_some() {
            let exists = std::io::ErrorKind::AlreadyExists.into();
            return Err(Error::io("replace", &path)(exists));
        }
        let temporary = self.temporary(SEALING_KEY);
        publish_file(self.disk().as_ref(), &temporary, &path, &mut |out| {
            out.write_all(line(key).as_bytes())
                .map_err(Error::io("write", &path))
        })
    }
}

fn line(key: &[u8; SEALING_KEY_BYTES]) -> String {
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = format!("{MAGIC}{digits}");
    format!("{text}, checksum {:016x}\n", xxh3_64(text.as_bytes()))
}

/// Reads [`line`]; the end of the line may be missing, as copied text has it.
fn parse(text: &str) -> Option<[u8; SEALING_KEY_BYTES]> {
    let digits = text.strip_prefix(MAGIC)?.get(..2 * SEALING_KEY_BYTES)?;
    let mut key = [0; SEALING_KEY_BYTES];
    for (idx, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * idx..2 * idx + 2)?, 16).ok()?;
    }
    (line(&key).trim_end() == text.trim_end()).then_some(key)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::disk::Real;

    #[test]
    fn a_key_is_kept_once_and_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("data");
        let data_dir = DataDir::open(Arc::new(Real), &root).unwrap();
        assert_eq!(data_dir.sealing_key().unwrap(), None);
        data_dir.keep_sealing_key(&[0xA5; 32]).unwrap();
        assert!(data_dir.keep_sealing_key(&[1; 32]).is_err());
        assert_eq!(data_dir.sealing_key().unwrap(), Some([0xA5; 32]));
        data_dir.finish().unwrap();
        drop(data_dir);
        let again = DataDir::open(Arc::new(Real), &root).unwrap();
        assert_eq!(again.sealing_key().unwrap(), Some([0xA5; 32]));
    }

    #[test]
    fn what_is_not_a_key_is_refused() {
        let whole = line(&[7; 32]);
        assert_eq!(parse(&whole), Some([7; 32]));
        assert_eq!(parse(whole.trim_end()), Some([7; 32]));
        let changed = whole.replacen("07", "08", 1);
        let upper = whole.to_uppercase();
        for text in [
            "",
            "subcat",
            &whole[..60],
            &changed,
            &upper,
            &format!("{whole}x"),
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&whole.replacen("07", "+7", 1)), None);
        assert_eq!(parse(&whole.replacen("070", "é0", 1)), None);
    }
}
