//! Memory of an imported folder (API.md 13.11).

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use subcat_engine::hash_of;

use crate::command::access::Access;
use crate::command::error::CommandError;
use crate::limits::{PATH_PAGE_COUNT, PATH_ROWS_BYTES_MAX};
use crate::ops::{FolderName, ForgetPaths, ListPaths, PathRow, RememberPaths};

/// Digest of a path that has not been loaded.
pub(super) const NOT_LOADED: u64 = 0;
/// Digest of a path with the content of another path, which has the record.
pub(super) const SHARED: u64 = NOT_LOADED + 1;

/// Returns true if a path has a record of its own in the catalog.
pub(super) fn has_record(row: &PathRow) -> bool {
    row.digest != NOT_LOADED && row.digest != SHARED
}

/// Counts of the records of forgotten paths.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ForgottenRecords {
    pub(super) deleted: u64,
    /// Not deleted, as another folder has them.
    pub(super) kept: u64,
}

/// The memory of one folder.
#[derive(Clone, Copy)]
pub(super) struct FolderMemory<'a> {
    access: &'a Access,
    folder: FolderName,
    is_dry_run: bool,
}

impl<'a> FolderMemory<'a> {
    /// The memory of the folder at this path.
    pub(super) fn new(access: &'a Access, path: &Path, is_dry_run: bool) -> Self {
        let hash = hash_of(path.as_os_str().as_bytes());
        let mut folder = FolderName::default();
        folder.copy_from_slice(&hash.0[..16]);
        Self {
            access,
            folder,
            is_dry_run,
        }
    }

    /// Remembered rows of the folder, in ascending order of their paths.
    pub(super) fn rows(self) -> RememberedRows<'a> {
        RememberedRows {
            memory: self,
            page: VecDeque::new(),
            last: String::new(),
            is_over: false,
        }
    }

    /// Remembers how paths of the folder are read.
    pub(super) fn remember_rules(self, rules: u64) -> Result<(), CommandError> {
        self.remember(vec![PathRow {
            path: String::new(),
            size_bytes: 0,
            modified_nanos: 0,
            content: [0; 32],
            record: [0; 16],
            digest: rules,
        }])
    }

    /// Remembers paths.
    pub(super) fn remember(self, mut rows: Vec<PathRow>) -> Result<(), CommandError> {
        while !rows.is_empty() && !self.is_dry_run {
            let rest = rows.split_off(self.part_len(&rows));
            self.access.answer(RememberPaths {
                folder: self.folder,
                paths: std::mem::replace(&mut rows, rest),
            })?;
        }
        Ok(())
    }

    /// Forgets paths, and with `deletes` also deletes their records, unless another folder has
    /// them.
    pub(super) fn forget(
        self,
        mut rows: Vec<PathRow>,
        deletes: bool,
    ) -> Result<ForgottenRecords, CommandError> {
        let mut records_count = ForgottenRecords::default();
        while !rows.is_empty() && !self.is_dry_run {
            let rest = rows.split_off(self.part_len(&rows));
            let part = std::mem::replace(&mut rows, rest);
            let records = part.iter().filter(|row| deletes && row.digest != SHARED);
            let forgotten = self.access.answer(ForgetPaths {
                folder: self.folder,
                records: records.map(|row| row.record).collect(),
                paths: part.iter().map(|row| row.path.clone()).collect(),
            })?;
            records_count.deleted += forgotten.deleted as u64;
            records_count.kept += forgotten.kept as u64;
        }
        Ok(records_count)
    }

    /// Number of rows that go into one operation: here all, as each is a wait for the disk.
    fn part_len(self, rows: &[PathRow]) -> usize {
        match self.access {
            Access::Opened(_) => rows.len(),
            Access::Running(_) => part_len(rows.iter().map(|row| row.path.len())),
        }
    }
}

/// Paths of these lengths that fit into the arguments of one operation; at least one.
fn part_len(lengths: impl Iterator<Item = usize>) -> usize {
    let mut bytes = 0;
    let fitting = lengths.take_while(|length| {
        // The other fields are less than 400 digits and signs; a path may double by escapes.
        bytes += 2 * length + 400;
        bytes <= PATH_ROWS_BYTES_MAX
    });
    fitting.count().max(1)
}

/// Rows of a folder, read page by page.
pub(super) struct RememberedRows<'a> {
    memory: FolderMemory<'a>,
    page: VecDeque<PathRow>,
    last: String,
    is_over: bool,
}

impl RememberedRows<'_> {
    /// The row of this path, if it is remembered; rows before it are moved to `gone`. Paths come in
    /// ascending order.
    pub(super) fn take(
        &mut self,
        path: &str,
        gone: &mut Vec<PathRow>,
    ) -> Result<Option<PathRow>, CommandError> {
        while let Some(row) = self.next_before(Some(path))? {
            if row.path == path {
                return Ok(Some(row));
            }
            gone.push(row);
        }
        Ok(None)
    }

    /// Moves all remaining rows to `gone`.
    pub(super) fn take_rest(&mut self, gone: &mut Vec<PathRow>) -> Result<(), CommandError> {
        while let Some(row) = self.next_before(None)? {
            gone.push(row);
        }
        Ok(())
    }

    /// The next row up to this path.
    fn next_before(&mut self, end: Option<&str>) -> Result<Option<PathRow>, CommandError> {
        if self.page.is_empty() && !self.is_over {
            let listed = self.memory.access.answer(ListPaths {
                folder: self.memory.folder,
                after: self.last.clone(),
                count_max: PATH_PAGE_COUNT,
            })?;
            self.page = listed.into();
            self.is_over = self.page.len() < PATH_PAGE_COUNT;
            if let Some(last) = self.page.back() {
                self.last.clone_from(&last.path);
            }
        }
        let is_next = |row: &PathRow| end.is_none_or(|end| row.path.as_str() <= end);
        if self.page.front().is_some_and(is_next) {
            return Ok(self.page.pop_front());
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sent_in_parts_that_fit() {
        assert_eq!(part_len([10; 3].into_iter()), 3);
        assert_eq!(part_len([PATH_ROWS_BYTES_MAX; 3].into_iter()), 1);
        let many = PATH_ROWS_BYTES_MAX / 500;
        assert!(part_len(std::iter::repeat_n(50, 2 * many)) <= many);
    }
}
