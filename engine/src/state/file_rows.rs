//! Rows of cached files, in the order of their releases.

use std::ops::ControlFlow;

use super::store::State;
use super::tables::FILES;
use crate::error::Result;
use crate::model::ReleaseId;
use crate::store::{ScanOrder, Span};

impl State {
    /// Releases with a cached file in their order, from the first that is not before `from`. A
    /// damaged row is left out.
    pub(crate) fn releases_from(&self, from: &str, count_max: usize) -> Result<Vec<ReleaseId>> {
        let span = Span {
            from: from.as_bytes(),
            to: None,
            order: ScanOrder::Ascending,
        };
        let mut found = Vec::new();
        self.store.read(|rows| {
            rows.inspect(FILES, span, &mut |row_key, _| {
                if found.len() == count_max {
                    return Ok(ControlFlow::Break(()));
                }
                let release = std::str::from_utf8(row_key).ok().and_then(ReleaseId::parse);
                found.extend(release);
                Ok(ControlFlow::Continue(()))
            })
        })?;
        Ok(found)
    }
}
