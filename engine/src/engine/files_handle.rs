//! The cached files of an engine, by release.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::blob::{Blob, BlobSource};
use crate::block_on::block_on;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::limits::BROUGHT_FILES_MAX;
use crate::model::{
    BroughtFile, CachedFile, ContentHash, FileFacts, FileKind, FileName, ImportedPath, RecordId,
    ReleaseId, Timestamp, Variant,
};
use crate::replication::PendingChange;
use crate::state::{Outcome, RememberedFile, StateEvent};

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

    /// Releases with a cached file in their order, beginning at `from`, up to `count_max` of them.
    /// Cost: a transaction that reads that many rows.
    pub fn releases_from(self, from: &str, count_max: usize) -> Result<Vec<ReleaseId>> {
        self.database.state.releases_from(from, count_max)
    }

    /// Generation of the set of files: it changes whenever the file of a release is deleted or
    /// replaced, before that is acknowledged. Data read under another generation may be out of
    /// date. Cost: one atomic load.
    #[inline]
    pub fn generation(self) -> u64 {
        self.database.state.files_generation()
    }

    /// Stores the file of a release durably. Identical files share one blob.
    pub fn store_file(
        self,
        release: &ReleaseId,
        content: &[u8],
        kind: FileKind,
        upstream_name: Option<&FileName>,
    ) -> Result<CachedFile> {
        let facts = FileFacts {
            kind,
            upstream_name: upstream_name.cloned(),
            refetch_at: None,
            replaces: self.cached_file(release).map(|file| file.content),
        };
        self.store_fetched(release, content, facts)
    }

    /// Stores the file of a release as [`FilesHandle::store_file`] does, in place of the one that
    /// it replaces. Returns another file if one is known for the release by now: another node of a
    /// cluster has fetched it, and all nodes serve the same file.
    pub fn store_fetched(
        self,
        release: &ReleaseId,
        content: &[u8],
        facts: FileFacts,
    ) -> Result<CachedFile> {
        let is_uploaded = block_on(self.upload_first(content))?;
        // The sweep of blobs without a row must not come between the blob and its row.
        let _storing = self.database.storing.read();
        let remembered = self.put_blob(release, content, facts, is_uploaded)?;
        let event = StateEvent::RememberFile(remembered.clone());
        let outcomes = self.database.change_state(vec![event]);
        self.known_file(remembered, outcomes)
    }

    /// The same as a task: blocks the thread that polls for the disk, and waits without one for
    /// object storage, and then for the log of a cluster, without the content.
    pub async fn submit_fetched(
        self,
        release: &ReleaseId,
        content: impl AsRef<[u8]> + Send + Sync,
        facts: FileFacts,
    ) -> Result<CachedFile> {
        let is_uploaded = self.upload_first(content.as_ref()).await?;
        let (remembered, change) = {
            let content = content;
            // Outside of a cluster the row is there when this is over. In one, a blob that is swept
            // before its row is known comes back.
            let _storing = self.database.storing.read();
            let remembered = self.put_blob(release, content.as_ref(), facts, is_uploaded)?;
            let event = StateEvent::RememberFile(remembered.clone());
            (remembered, self.database.submit_state(vec![event]))
        };
        self.known_file(remembered, change.await)
    }

    /// Uploads a blob that is about to be stored, in a cluster: other nodes look for it there as
    /// soon as they learn of it. The caller does not hold the lock `storing`. Returns false if it
    /// must be queued.
    async fn upload_first(self, content: &[u8]) -> Result<bool> {
        self.database.check_space()?;
        Ok(self.database.second_home.upload_shared(content).await)
    }

    /// Stores a blob; returns the row of its file. The caller holds the lock `storing`.
    fn put_blob(
        self,
        release: &ReleaseId,
        content: &[u8],
        facts: FileFacts,
        is_uploaded: bool,
    ) -> Result<RememberedFile> {
        // The blob first: a stored file has its blob, even after a power cut.
        let (hash, checksum) = self.database.blobs.put(content)?;
        if !is_uploaded {
            // Also for an existing blob: an unnecessary upload costs little.
            self.database.second_home.note_stored(&hash)?;
        }
        Ok(RememberedFile {
            release: release.clone(),
            file: CachedFile {
                content: hash,
                size_bytes: content.len() as u64,
                checksum,
                kind: facts.kind,
                upstream_name: facts.upstream_name,
                refetch_at: facts.refetch_at,
                is_brought: false,
            },
            replaces: facts.replaces,
        })
    }

    /// The file that is known for a release after the change that remembers one.
    fn known_file(
        self,
        remembered: RememberedFile,
        outcomes: Result<Vec<Outcome>>,
    ) -> Result<CachedFile> {
        let (release, file) = (&remembered.release, remembered.file.clone());
        match (outcomes, self.database.replica()) {
            // Clients get their files while the log of the cluster is unavailable.
            (Err(Error::LogUnavailable { .. } | Error::LogUnanswered { .. }), Some(replica)) => {
                let known = self.cached_file(release);
                if known.as_ref().map(|file| file.content) != remembered.replaces {
                    return Ok(known.unwrap_or(file));
                }
                self.database.state.show_file(release, &file);
                replica.announce_later(vec![StateEvent::RememberFile(remembered)]);
            }
            (outcomes, _) => {
                if outcomes? == [Outcome::Stale] {
                    return Ok(self.cached_file(release).unwrap_or(file));
                }
            }
        }
        Ok(file)
    }

    /// Stores files that an import brings, durably, with few waits for the disk. They are not a
    /// cache: eviction does not remove them, unless they have a second home. Waits as a task for
    /// object storage and for the log of a cluster.
    ///
    /// Errors: it is not known which of them are stored.
    pub async fn bring(self, files: &[BroughtFile<'_>]) -> Result<()> {
        assert!(files.len() <= BROUGHT_FILES_MAX);
        let mut uploaded = Vec::with_capacity(files.len());
        for file in files {
            uploaded.push(self.upload_first(file.content).await?);
        }
        for change in self.put_brought(files, uploaded)? {
            change.await?;
        }
        Ok(())
    }

    /// Stores the blobs of brought files, and begins to remember the files.
    fn put_brought(
        self,
        files: &[BroughtFile<'_>],
        uploaded: Vec<bool>,
    ) -> Result<Vec<PendingChange>> {
        let second_home = &self.database.second_home;
        let _storing = self.database.storing.read();
        let contents: Vec<&[u8]> = files.iter().map(|file| file.content).collect();
        let stored = self.database.blobs.put_many(&contents)?;
        let mut events = Vec::with_capacity(files.len());
        for ((file, put), is_uploaded) in files.iter().zip(stored).zip(uploaded) {
            if !is_uploaded {
                second_home.note_stored(&put.hash)?;
            }
            let known = self.cached_file(file.release);
            let brought = CachedFile {
                content: put.hash,
                size_bytes: file.content.len() as u64,
                checksum: put.checksum,
                kind: file.kind,
                upstream_name: None,
                refetch_at: None,
                is_brought: true,
            };
            if known.as_ref() == Some(&brought) {
                continue;
            }
            events.push(StateEvent::RememberFile(RememberedFile {
                release: file.release.clone(),
                file: brought,
                replaces: known.map(|file| file.content),
            }));
        }
        self.database.submit_each(events)
    }

    /// Returns up to `count_max` paths of an imported folder after `after`, ascending by their
    /// bytes.
    pub fn imported_paths(
        self,
        folder: [u8; 16],
        after: &str,
        count_max: usize,
    ) -> Result<Vec<ImportedPath>> {
        self.database.state.imported_paths(folder, after, count_max)
    }

    /// Remembers paths of an imported folder.
    pub fn remember_paths(self, folder: [u8; 16], paths: &[ImportedPath]) -> Result<()> {
        self.database.state.remember_paths(folder, paths)
    }

    /// Those of these records that a path of another imported folder has, too. Cost: a look at
    /// each remembered path.
    pub fn imported_elsewhere(
        self,
        folder: [u8; 16],
        records: &BTreeSet<RecordId>,
    ) -> Result<BTreeSet<RecordId>> {
        self.database.state.imported_elsewhere(folder, records)
    }

    /// Deletes paths of an imported folder.
    pub fn forget_paths(self, folder: [u8; 16], paths: &[String]) -> Result<()> {
        self.database.state.forget_paths(folder, paths)
    }

    /// Errors: [`Error::Space`](crate::Error::Space) if [`FilesHandle::store_file`] would fail for
    /// lack of space.
    pub fn check_space(self) -> Result<()> {
        self.database.check_space()
    }

    /// Deletes the entry of every file with a lost or damaged blob: the next download fetches it.
    ///
    /// Errors: all blobs are lost, as when their file system is not mounted: then nothing is
    /// deleted.
    pub async fn forget_content(self, content: ContentHash) -> Result<()> {
        self.database.ensure_blobs_present()?;
        for change in self.database.submit_loss(content)? {
            change.await?;
        }
        Ok(())
    }

    /// Opens stored bytes of this machine, mapped; callers share the handle while any of them holds
    /// it. `None` if the variant was not made.
    ///
    /// Errors: the blob is missing here or damaged; it may have a second home.
    pub fn blob(self, file: &CachedFile, variant: Variant) -> Result<Option<Arc<Blob>>> {
        self.database.blobs.open(file, variant)
    }

    /// Opens stored bytes as [`FilesHandle::blob`] does. A missing blob is fetched from its second
    /// home, which the task waits for.
    ///
    /// Errors: the blob is lost; [`Error::Source`](crate::Error::Source) if it may be in its second
    /// home, which cannot be asked now, or, in a cluster, with another node.
    pub async fn fetch_blob(
        self,
        file: &CachedFile,
        variant: Variant,
    ) -> Result<Option<Arc<Blob>>> {
        match self.blob(file, variant) {
            Err(lost @ Error::Corrupt { .. }) => {
                self.blob_from_second_home(file, variant, lost).await
            }
            opened => opened,
        }
    }

    async fn blob_from_second_home(
        self,
        file: &CachedFile,
        variant: Variant,
        lost: Error,
    ) -> Result<Option<Arc<Blob>>> {
        let database = self.database;
        let second_home = &database.second_home;
        if !second_home.comes_back() {
            return Err(lost);
        }
        // Nothing may be put into another folder in place of the real one.
        database.ensure_blobs_present()?;
        database.check_space()?;
        let mut opened = Err(lost);
        // A fetched blob may be evicted again before it is open: hence two tries.
        for _ in 0..2 {
            if !matches!(opened, Err(Error::Corrupt { .. })) {
                break;
            }
            if !second_home.bring_back(file, &database.blobs).await? {
                break;
            }
            opened = database.blobs.open(file, variant);
        }
        opened
    }

    /// Keeps all blobs in a second home, too. From then on, blobs removed from this machine under
    /// [`FilesHandle::limit`] are fetched from there. Called once, before files are requested.
    ///
    /// The task [`UploadFiles`](crate::MaintenanceTask::UploadFiles) uploads what is stored; for a
    /// new source, that is everything that is here.
    ///
    /// Errors: a source is new, and `blobs/` is not the folder of blobs.
    ///
    /// Without a source, blobs that are only there cannot be opened
    /// ([`Error::Source`](crate::Error::Source)), and their entries are kept.
    pub fn attach(self, source: Arc<dyn BlobSource>) -> Result<()> {
        let Database {
            second_home, blobs, ..
        } = self.database;
        if !second_home.is(source.as_ref())? {
            self.database.ensure_blobs_present()?;
            second_home.begin(source.as_ref(), blobs)?;
        }
        second_home.attach(source);
        Ok(())
    }

    /// Returns true if this source is the second home of the blobs here, attached or not.
    pub fn is_second_home(self, source: &dyn BlobSource) -> Result<bool> {
        self.database.second_home.is(source)
    }

    /// Returns true if blobs have a second home, attached or not.
    pub fn has_second_home(self) -> bool {
        self.database.second_home.is_there()
    }

    /// Limits the total size of cached files: beyond it, the least recently served ones are removed
    /// by the task [`EvictFiles`](crate::MaintenanceTask::EvictFiles), and fetched again on
    /// request. 0 keeps all.
    pub fn limit(self, bytes_max: u64) {
        self.database
            .files_bytes_max
            .store(bytes_max, Ordering::Relaxed);
    }

    /// Notes that blobs were served at `now`, for the order in which they are evicted. A power cut
    /// may lose the last notes. Cost: a system call each.
    pub fn note_served(
        self,
        contents: impl IntoIterator<Item = ContentHash>,
        now: Timestamp,
    ) -> Result<()> {
        for content in contents {
            self.database.blobs.note_served(&content, now.seconds())?;
        }
        Ok(())
    }

    /// Returns true if a cached file has this content, or one with a hash that begins alike. Cost:
    /// one look-up in memory.
    pub fn has_content(self, content: ContentHash) -> bool {
        self.database.state.has_content(content)
    }

    /// Limits the number of open blobs to `blobs_max`, and in any case to
    /// [`OPEN_BLOBS_MAX`](crate::OPEN_BLOBS_MAX): each takes a file descriptor.
    pub fn keep_open(self, blobs_max: usize) {
        self.database.blobs.keep_open(blobs_max);
    }

    /// Stores a compressed variant beside its blob.
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
