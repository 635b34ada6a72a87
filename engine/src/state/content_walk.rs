//! Walk through the contents of cached files.

use std::ops::ControlFlow;

use hashbrown::HashSet;

use super::store::State;
use super::tables::FILES;
use crate::codec::StoredValue;
use crate::error::Result;
use crate::limits::FILE_ROWS_PAGE;
use crate::model::{CachedFile, ContentHash};
use crate::store::{Span, Store};

/// Row key of a cached file, and the file; none if its row is damaged.
pub(crate) type StoredFileRow = (Vec<u8>, Option<CachedFile>);

/// Some rows of cached files, from a row key on.
pub(crate) fn files_from(
    store: &Store,
    from: &[u8],
    count_max: usize,
) -> Result<Vec<StoredFileRow>> {
    let mut files = Vec::new();
    let span = Span { from, ..Span::ALL };
    store.read(|rows| {
        rows.inspect(FILES, span, &mut |row_key, value| {
            let file = value.and_then(CachedFile::decode).ok();
            files.push((row_key.to_vec(), file));
            if files.len() < count_max {
                Ok(ControlFlow::Continue(()))
            } else {
                Ok(ControlFlow::Break(()))
            }
        })
    })?;
    Ok(files)
}

/// The first row key after this one: nothing lies between a key and the same key with a zero byte.
pub(crate) fn key_after(mut row_key: Vec<u8>) -> Vec<u8> {
    row_key.push(0);
    row_key
}

/// Every content that rows of files name, once, each with one of these files. A page of rows is in
/// memory at a time: a copy of all would take gigabytes beside millions of files.
///
/// Files that come or go during the walk may be left out or given. Damaged rows are left out.
pub(crate) struct ContentWalk<'w> {
    store: &'w Store,
    state: &'w State,
    from: Vec<u8>,
    /// Contents that several files have, by the tables of `state`, and that were given.
    shared: HashSet<ContentHash, foldhash::fast::RandomState>,
}

impl<'w> ContentWalk<'w> {
    /// A walk through the rows of `store`: those of `state`, or of a copy of it.
    pub(crate) fn new(store: &'w Store, state: &'w State) -> Self {
        Self {
            store,
            state,
            from: Vec::new(),
            shared: HashSet::default(),
        }
    }

    /// The next page of up to [`FILE_ROWS_PAGE`] files; `None` at the end.
    pub(crate) fn next_page(&mut self) -> Result<Option<Vec<CachedFile>>> {
        let rows = files_from(self.store, &self.from, FILE_ROWS_PAGE)?;
        let Some((last, _)) = rows.last() else {
            return Ok(None);
        };
        self.from = key_after(last.clone());
        let mut files: Vec<CachedFile> = rows.into_iter().filter_map(|(_, file)| file).collect();
        files.retain(|file| {
            self.state.has_one_file(file.content) || self.shared.insert(file.content)
        });
        Ok(Some(files))
    }
}
