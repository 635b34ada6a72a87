//! Records of a folder that differ from the last time, as lines of an import.

use std::io::{self, Read};

use serde_json::Value;
use subcat_engine::hash_of;

use super::memory::SHARED;
use super::scan::{FolderPaths, Scanned};

/// Lines of records, made when they are read.
pub(super) struct RecordLines<'l> {
    scanned: &'l Scanned,
    paths: FolderPaths<'l>,
    part: &'l mut LoadedPart,
    /// Maximum number of lines of this part.
    lines_max: usize,
    text: Vec<u8>,
    given_count: usize,
}

/// A part of the records of a folder.
#[derive(Debug, Default)]
pub(super) struct LoadedPart {
    /// Index of the entry with which the next part begins.
    pub(super) next_idx: usize,
    /// Entries with written records, by line.
    pub(super) written: Vec<WrittenLine>,
    /// Records that have not changed.
    pub(super) unchanged: u64,
}

/// A record that was written.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenLine {
    pub(super) entry_idx: usize,
    pub(super) digest: u64,
}

impl<'l> RecordLines<'l> {
    pub(super) fn new(
        scanned: &'l Scanned,
        paths: FolderPaths<'l>,
        part: &'l mut LoadedPart,
        lines_max: usize,
    ) -> Self {
        Self {
            scanned,
            paths,
            part,
            lines_max,
            text: Vec::new(),
            given_count: 0,
        }
    }

    /// True once all lines of this part have been made.
    fn is_over(&self) -> bool {
        let is_full = self.lines_max <= self.part.written.len();
        is_full || self.scanned.entries.len() <= self.part.next_idx
    }

    /// Writes the record of the next entry that has one, if it differs from the last time.
    fn fill(&mut self) {
        let entry_idx = self.part.next_idx;
        self.part.next_idx += 1;
        self.text.clear();
        self.given_count = 0;
        if self.scanned.entries[entry_idx].is_shared() {
            return;
        }
        if self.scanned.is_untouched(entry_idx) {
            self.part.unchanged += 1;
            return;
        }
        let Some(record) = self.scanned.record_of(entry_idx, self.paths) else {
            return;
        };
        let mut line = Value::Object(record.fields).to_string();
        let digest = digest_of(line.as_bytes());
        if self.scanned.is_loaded(entry_idx, digest) {
            self.part.unchanged += 1;
            return;
        }
        line.push('\n');
        self.text = line.into_bytes();
        self.part.written.push(WrittenLine { entry_idx, digest });
    }
}

impl Read for RecordLines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given_count == self.text.len() && !self.is_over() {
            self.fill();
        }
        let count = (&self.text[self.given_count..]).read(buffer)?;
        self.given_count += count;
        Ok(count)
    }
}

/// A sum of a record's line that is not a mark.
pub(super) fn digest_of(line: &[u8]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = hash_of(line).0;
    let digest = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    digest.max(SHARED + 1)
}
