//! Changes that come from the log of a cluster, and one that waits for it.

use super::apply::{Effect, FileEffect, LoggedStateEvents, apply_logged_state};
use super::store::{Committed, State};
use crate::error::Result;
use crate::log_rows::LogProgress;
use crate::model::{CachedFile, ReleaseId};
use crate::store::Transaction;

impl State {
    /// Applies frames of the log of a cluster, makes them durable, and shows them.
    pub(crate) fn apply_logged(
        &self,
        frames: &[LoggedStateEvents],
        progress: &LogProgress,
    ) -> Result<Committed> {
        let mut writer = self.writer.lock();
        let work = |rows: &mut Transaction<'_>| apply_logged_state(rows, frames, progress);
        let loads_before = writer.loads_count;
        let committed = self.commit(&mut writer, &work);
        let mut committed = committed.map_err(|failed| failed.error)?;
        committed.touched.is_everything = loads_before != writer.loads_count;
        Ok(committed)
    }

    /// Shows a file that is not stored yet: it is known until the process ends.
    pub(crate) fn show_file(&self, release: &ReleaseId, file: &CachedFile) {
        let effect = FileEffect::Cached(release.clone(), file.clone());
        self.show(vec![Effect::File(effect)]);
    }
}
