//! Files that were served, for the eviction order of cached files.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use subcat_engine::ContentHash;

use crate::limits::SERVED_FILES_MAX;

/// Contents, each once.
pub type ContentSet = HashSet<ContentHash, foldhash::fast::RandomState>;

/// Contents that were served since maintenance last noted them.
#[derive(Default)]
pub struct ServedFiles {
    /// False as long as no file is evicted: then nothing is kept.
    is_wanted: AtomicBool,
    contents: Mutex<ContentSet>,
}

impl ServedFiles {
    /// Says whether services are to be noted from now on.
    pub(super) fn set_wanted(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, Ordering::Relaxed);
    }

    /// Returns true if services are to be noted.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Notes served contents, and leaves `contents` empty. Those beyond the bound are not noted:
    /// they count as served a little earlier.
    pub fn put(&self, contents: &mut ContentSet) {
        if !self.is_wanted() {
            contents.clear();
            return;
        }
        let mut noted = self.contents.lock();
        let room = SERVED_FILES_MAX.saturating_sub(noted.len());
        noted.extend(contents.drain().take(room));
    }

    /// Takes out the noted contents.
    pub(super) fn take(&self) -> ContentSet {
        std::mem::take(&mut self.contents.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(number: usize) -> ContentHash {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_le_bytes());
        ContentHash(hash)
    }

    #[test]
    fn each_is_noted_once_and_within_the_bound() {
        let served = ServedFiles::default();
        served.set_wanted(true);
        for _ in 0..2 {
            let mut contents: ContentSet = (0..10).map(content).collect();
            served.put(&mut contents);
            assert!(contents.is_empty());
        }
        assert_eq!(served.take().len(), 10);
        served.put(&mut (0..SERVED_FILES_MAX + 10).map(content).collect());
        served.put(&mut (0..SERVED_FILES_MAX + 10).map(content).collect());
        assert_eq!(served.take().len(), SERVED_FILES_MAX);
        assert!(served.take().is_empty());
    }

    #[test]
    fn nothing_is_kept_if_nothing_is_evicted() {
        let served = ServedFiles::default();
        served.put(&mut (0..10).map(content).collect());
        assert!(served.take().is_empty());
    }
}
