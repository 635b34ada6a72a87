//! Operations on stored files: show, forget, remove what nothing refers to from the bucket.

use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};
#[cfg(feature = "s3")]
use subcat_engine::BlobSource;
use subcat_engine::{CachedFile, Outcome, ReleaseId, StateEvent};

use super::error::{OperationError, OperationRejection};
use super::operation::{Operation, OperationEntry, Operations};
#[cfg(feature = "s3")]
use crate::upstream::ObjectStorage;

/// Seconds of a day.
const DAY_SECONDS: i64 = 86_400;

pub(super) const OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<ShowFile>(),
    OperationEntry::of::<ForgetFile>(),
    OperationEntry::of::<SweepBucket>(),
];

impl Operations<'_> {
    /// The stored file of a release.
    pub fn stored_file(&self, release: &ReleaseId) -> Result<CachedFile, OperationRejection> {
        let file = self.engine.files().cached_file(release);
        file.ok_or_else(|| OperationRejection::UnknownFile(release.clone()))
    }

    /// Forgets the stored file of a release: the next download fetches it anew. One that an import
    /// brought is forgotten only by force.
    pub async fn forget_file(
        &self,
        release: &ReleaseId,
        force: bool,
    ) -> Result<(), OperationError> {
        let known = self.engine.files().cached_file(release);
        if !force && known.is_some_and(|file| file.is_brought) {
            return Err(OperationRejection::BroughtFile(release.clone()).into());
        }
        let forgotten = self
            .engine
            .submit(vec![StateEvent::ForgetFile(release.clone())]);
        if forgotten.await? != [Outcome::Done] {
            return Err(OperationRejection::UnknownFile(release.clone()).into());
        }
        tracing::info!(%release, actor = self.actor.as_str(), "a stored file was forgotten");
        Ok(())
    }
}

/// `file show RELEASE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowFile {
    /// The upstream's name of the file.
    pub release: String,
}

/// Answer of [`ShowFile`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileShown {
    /// The upstream's name of the file.
    pub release: String,
    /// SHA-256 of its content.
    pub sha256: String,
    /// Bytes of its content.
    pub size_bytes: u64,
    /// `srt`, `sub`, `ssa`, `ass`, `zip` or `rar`.
    pub kind: String,
    /// The name that upstream gave, or null.
    pub upstream_name: Option<String>,
    /// First second at which it is fetched again, or null.
    pub refetch_at: Option<String>,
    /// Path in the data directory.
    pub path: String,
}

impl Operation for ShowFile {
    const NAME: &'static str = "file/show";
    type Answer = FileShown;

    async fn execute(self, operations: &Operations<'_>) -> Result<FileShown, OperationError> {
        let release = parsed(self.release)?;
        let file = operations.stored_file(&release)?;
        let sha256 = file.content.to_string();
        Ok(FileShown {
            release: release.as_str().to_owned(),
            path: format!("blobs/{}/{sha256}", &sha256[..2]),
            sha256,
            size_bytes: file.size_bytes,
            kind: file.kind.extension().to_owned(),
            upstream_name: file.upstream_name.map(|name| name.as_str().to_owned()),
            refetch_at: file.refetch_at.map(|at| at.to_string()),
        })
    }
}

/// `file forget RELEASE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgetFile {
    /// The upstream's name of the file.
    pub release: String,
    /// True to forget a file that an import brought, too.
    #[serde(default)]
    pub force: bool,
}

/// Answer of [`ForgetFile`].
#[derive(Debug, Serialize, Deserialize)]
pub struct FileForgotten {
    /// The upstream's name of the file.
    pub release: String,
}

impl Operation for ForgetFile {
    const NAME: &'static str = "file/forget";
    type Answer = FileForgotten;

    async fn execute(self, operations: &Operations<'_>) -> Result<FileForgotten, OperationError> {
        let release = parsed(self.release)?;
        operations.forget_file(&release, self.force).await?;
        Ok(FileForgotten {
            release: release.as_str().to_owned(),
        })
    }
}

/// `file sweep`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepBucket {
    /// Days for which an object must have been there.
    pub older_than_days: NonZeroU16,
    /// True to remove the orphans, and not only to count them.
    pub remove: bool,
}

/// Answer of [`SweepBucket`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BucketSwept {
    /// Count of all contents in the bucket.
    pub contents: u64,
    /// Count of those that are old and that no file refers to.
    pub orphans: u64,
    /// Their bytes.
    pub orphan_bytes: u64,
    /// True if they were removed.
    pub are_removed: bool,
}

impl Operation for SweepBucket {
    const NAME: &'static str = "file/sweep";
    type Answer = BucketSwept;

    async fn execute(self, operations: &Operations<'_>) -> Result<BucketSwept, OperationError> {
        if !operations.knows_every_file() {
            return Err(OperationRejection::NotFollowing.into());
        }
        let days = i64::from(self.older_than_days.get());
        let before = operations.now.plus_seconds(-days * DAY_SECONDS);
        #[cfg(feature = "s3")]
        {
            let bucket = |error: std::io::Error| OperationRejection::Bucket(error.to_string());
            let storage = ObjectStorage::new(&operations.config.files_s3).map_err(bucket)?;
            let storage = storage.ok_or(OperationRejection::NoBucket)?;
            // Nothing here refers to any object of another bucket: all of them would be orphans.
            if self.remove && !operations.engine.files().is_second_home(&storage)? {
                return Err(OperationRejection::ForeignBucket(storage.name()).into());
            }
            let mut swept = BucketSwept {
                are_removed: self.remove,
                ..BucketSwept::default()
            };
            let mut last = None;
            loop {
                let page = storage.contents_after(last.as_deref()).await;
                let page = page.map_err(bucket)?;
                swept.contents += page.contents.len() as u64;
                for object in page.contents {
                    let is_old = object.put_at < before.seconds();
                    if !is_old || operations.engine.files().has_content(object.content) {
                        continue;
                    }
                    if self.remove {
                        let removed = storage.remove_content(&object.content, before.seconds());
                        if !removed.await.map_err(bucket)? {
                            continue;
                        }
                    }
                    swept.orphans += 1;
                    swept.orphan_bytes += object.bytes;
                }
                last = page.last;
                if last.is_none() {
                    return Ok(swept);
                }
            }
        }
        #[cfg(not(feature = "s3"))]
        {
            let _ = before;
            Err(OperationRejection::NoBucket.into())
        }
    }
}

impl Operations<'_> {
    /// Returns true if no other machine knows of a file that is unknown here, unless it has become
    /// known a moment ago.
    fn knows_every_file(&self) -> bool {
        match self.service.and_then(|service| service.cluster()) {
            // After its start a node may not know yet what came while it was stopped.
            Some(node) => node.has_caught_up() && node.state().problem.is_none(),
            // A node that is stopped does not know what the others do.
            None => self.engine.log_position().is_none(),
        }
    }
}

fn parsed(release: String) -> Result<ReleaseId, OperationRejection> {
    ReleaseId::parse(&release).ok_or(OperationRejection::InvalidRelease(release))
}
