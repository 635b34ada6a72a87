//! The cached files of an engine, by release.

use std::sync::Arc;

use crate::blob::Blob;
use crate::database::Database;
use crate::error::Result;
use crate::model::{CachedFile, ContentHash, FileKind, FileName, ReleaseId, Variant};
use crate::state::StateEvent;

/// The cached files of an engine, from [`Engine::files`](crate::Engine::files).
#[derive(Clone, Copy)]
pub struct FilesHandle<'e> {
    pub(super) database: &'e Database,
}

impl FilesHandle<'_> {
    /// The file of a release, if it was fetched before. Cost: one look-up in memory.
    #[inline]
    pub fn cached_file(self, release: &ReleaseId) -> Option<CachedFile> {
        self.database.state.cached_file(release)
    }

    /// Stores the content of a release durably, and remembers it as the file of that release.
    /// Identical contents share one blob.
    pub fn store_file(
        self,
        release: &ReleaseId,
        content: &[u8],
        kind: FileKind,
        upstream_name: Option<&FileName>,
    ) -> Result<CachedFile> {
        self.database.check_space()?;
        // The blob first: a file that is remembered has content, even after a power cut.
        let (hash, checksum) = self.database.blobs.put(content)?;
        let file = CachedFile {
            content: hash,
            size_bytes: content.len() as u64,
            checksum,
            kind,
            upstream_name: upstream_name.cloned(),
        };
        let event = StateEvent::RememberFile(release.clone(), file.clone());
        self.database.state.apply(vec![event])?;
        Ok(file)
    }

    /// Errors: [`Error::Space`](crate::Error::Space) if [`FilesHandle::store_file`] would fail for
    /// lack of space.
    pub fn check_space(self) -> Result<()> {
        self.database.check_space()
    }

    /// Forgets every file of a content that is lost or damaged: the next download fetches it.
    pub fn forget_content(self, content: ContentHash) -> Result<()> {
        let event = StateEvent::ForgetContent(content);
        self.database.state.apply(vec![event])?;
        Ok(())
    }

    /// Opens stored bytes, mapped; callers share the handle while any of them holds it. `None` if
    /// the variant was not made. Errors: the blob is missing or damaged.
    #[inline]
    pub fn blob(self, file: &CachedFile, variant: Variant) -> Result<Option<Arc<Blob>>> {
        self.database.blobs.open(file, variant)
    }

    /// Limits the number of open blobs to `blobs_max`, and never more than
    /// [`OPEN_BLOBS_MAX`](crate::OPEN_BLOBS_MAX): each takes a file descriptor.
    pub fn keep_open(self, blobs_max: usize) {
        self.database.blobs.keep_open(blobs_max);
    }

    /// Stores a compressed variant beside its content.
    pub fn store_variant(
        self,
        content: &ContentHash,
        variant: Variant,
        bytes: &[u8],
    ) -> Result<Arc<Blob>> {
        self.database.check_space()?;
        self.database.blobs.put_variant(content, variant, bytes)
    }
}
