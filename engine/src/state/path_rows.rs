//! Paths of imported folders: the state of each file at its last reading, so that an unchanged one
//! is not read again.
//!
//! Rows of one node, outside the events: a lost or damaged row costs a second reading of its file,
//! and nothing else.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::store::State;
use super::tables::IMPORTED_PATHS;
use crate::codec::{Decoder, Encoder};
use crate::error::Result;
use crate::limits::IMPORT_PATH_BYTES_MAX;
use crate::model::{ContentHash, ImportedPath, RecordId};
use crate::store::{ScanOrder, Span};

const VERSION: u8 = 1;
/// Length of a folder's name at the beginning of a row key, in bytes.
const FOLDER_BYTES: usize = 16;

impl State {
    /// Returns up to `count_max` paths of a folder after `after`, ascending. Damaged rows are left
    /// out.
    pub(crate) fn imported_paths(
        &self,
        folder: [u8; FOLDER_BYTES],
        after: &str,
        count_max: usize,
    ) -> Result<Vec<ImportedPath>> {
        let mut from = row_key(folder, after);
        // The first key after that of `after`: no path contains a zero.
        from.push(0);
        let to = u128::from_be_bytes(folder)
            .checked_add(1)
            .map(u128::to_be_bytes);
        let span = Span {
            from: if after.is_empty() { &folder } else { &from },
            to: to.as_ref().map(<[u8; FOLDER_BYTES]>::as_slice),
            order: ScanOrder::Ascending,
        };
        let mut found = Vec::new();
        self.store().read(|rows| {
            rows.inspect(IMPORTED_PATHS, span, &mut |row_key, value| {
                let path = row_key.get(FOLDER_BYTES..).map(String::from_utf8_lossy);
                if let (Some(path), Ok(stored)) = (path, value)
                    && let Ok(imported) = decode(path.into_owned(), stored)
                {
                    found.push(imported);
                }
                Ok(if found.len() < count_max {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                })
            })
        })?;
        Ok(found)
    }

    /// Stores paths of a folder, in place of earlier states. Those that are too long are not
    /// stored.
    pub(crate) fn remember_paths(
        &self,
        folder: [u8; FOLDER_BYTES],
        paths: &[ImportedPath],
    ) -> Result<()> {
        self.store().write(|rows| {
            for imported in paths {
                if imported.path.len() <= IMPORT_PATH_BYTES_MAX {
                    let row_key = row_key(folder, &imported.path);
                    rows.put(IMPORTED_PATHS, &row_key, &encode(imported))?;
                }
            }
            Ok(())
        })
    }

    /// Those of these records that a path of another folder has, too. Cost: a look at each
    /// remembered path.
    pub(crate) fn imported_elsewhere(
        &self,
        folder: [u8; FOLDER_BYTES],
        records: &BTreeSet<RecordId>,
    ) -> Result<BTreeSet<RecordId>> {
        let mut found = BTreeSet::new();
        if records.is_empty() {
            return Ok(found);
        }
        self.store().read(|rows| {
            rows.inspect(IMPORTED_PATHS, Span::ALL, &mut |row_key, value| {
                if !row_key.starts_with(&folder)
                    && let Ok(stored) = value
                    && let Ok(imported) = decode(String::new(), stored)
                    && imported.digest != 0
                    && records.contains(&imported.record)
                {
                    found.insert(imported.record);
                }
                Ok(ControlFlow::Continue(()))
            })
        })?;
        Ok(found)
    }

    /// Forgets paths of a folder.
    pub(crate) fn forget_paths(&self, folder: [u8; FOLDER_BYTES], paths: &[String]) -> Result<()> {
        self.store().write(|rows| {
            for path in paths {
                rows.remove(IMPORTED_PATHS, &row_key(folder, path))?;
            }
            Ok(())
        })
    }
}

fn row_key(folder: [u8; FOLDER_BYTES], path: &str) -> Vec<u8> {
    [&folder, path.as_bytes()].concat()
}

fn encode(imported: &ImportedPath) -> Vec<u8> {
    let mut out = Encoder::new(VERSION);
    out.put_integer(imported.size_bytes);
    out.put_signed(imported.modified_nanos);
    out.put_raw(&imported.content.0);
    out.put_raw(imported.record.as_bytes());
    out.put_raw(&imported.digest.to_le_bytes());
    out.finish()
}

fn decode(path: String, stored: &[u8]) -> Result<ImportedPath> {
    let mut from = Decoder::new(stored, VERSION, "state.redb, table imported_paths")?;
    let imported = ImportedPath {
        path,
        size_bytes: from.integer()?,
        modified_nanos: from.signed()?,
        content: ContentHash(from.array()?),
        record: RecordId::from_bytes(from.array()?),
        digest: u64::from_le_bytes(from.array()?),
    };
    from.finish()?;
    Ok(imported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back() {
        let imported = ImportedPath {
            path: "a/ñ.srt".into(),
            size_bytes: 7,
            modified_nanos: -1,
            content: ContentHash([3; 32]),
            record: RecordId::from_bytes([4; 16]),
            digest: 5,
        };
        let stored = encode(&imported);
        assert_eq!(decode(imported.path.clone(), &stored).unwrap(), imported);
        assert!(decode(String::new(), &stored[1..]).is_err());
    }
}
