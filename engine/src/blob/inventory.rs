//! Blobs of the store: all of them, damaged ones, and orphans.

use std::path::{Path, PathBuf};

use super::blob_store::{BlobStore, MARK};
use crate::disk::{DirEntry, is_of_others};
use crate::error::Result;
use crate::model::{ContentHash, Variant};

/// A fault among the names of the blob store.
pub(crate) enum BlobFinding {
    /// A variant is damaged; removing it repairs that.
    DamagedVariant(String),
    /// A blob, or a variant of one, that no file refers to: storing it was interrupted, or its file
    /// was deleted.
    Orphan(Orphan),
    /// A file that is not a blob.
    Foreign(String),
}

/// A blob in the store, with its variants.
pub(crate) struct StoredContent {
    pub(crate) content: ContentHash,
    /// Bytes of all its files.
    pub(crate) size_bytes: u64,
    /// Time in seconds at which it was last served; if that was never noted, at which it was
    /// stored.
    pub(crate) served_seconds: i64,
}

/// A file in the store that no cached file refers to.
pub(crate) struct Orphan {
    path: PathBuf,
    /// Below the data directory.
    pub(crate) name: String,
    pub(crate) content: ContentHash,
}

impl BlobStore {
    /// Checks every name, and variants against their footer. With `is_repairing`, damaged variants
    /// and files that are no blobs are removed.
    pub(crate) fn verify_names(
        &self,
        is_referenced: &dyn Fn(&ContentHash) -> bool,
        is_repairing: bool,
    ) -> Result<Vec<BlobFinding>> {
        let mut findings = Vec::new();
        self.each_file(&mut |path, entry| {
            let name = entry.name.as_str();
            let stem = name.split('.').next().unwrap_or_default();
            let finding = if ContentHash::parse(stem).is_none() {
                BlobFinding::Foreign(self.name_of(path))
            } else if let Some(orphan) = self.orphan_of(path, name, is_referenced) {
                // Left to the caller: a file with the same blob may be being stored.
                findings.push(BlobFinding::Orphan(orphan));
                return Ok(());
            } else if stem != name && self.open_variant(path).is_err() {
                BlobFinding::DamagedVariant(self.name_of(path))
            } else {
                return Ok(());
            };
            if is_repairing {
                self.disk.remove(path)?;
            }
            findings.push(finding);
            Ok(())
        })?;
        Ok(findings)
    }

    /// Blobs and variants that no file refers to.
    pub(crate) fn orphans(
        &self,
        is_referenced: &dyn Fn(&ContentHash) -> bool,
    ) -> Result<Vec<Orphan>> {
        let mut orphans = Vec::new();
        self.each_file(&mut |path, entry| {
            orphans.extend(self.orphan_of(path, &entry.name, is_referenced));
            Ok(())
        })?;
        Ok(orphans)
    }

    fn orphan_of(
        &self,
        path: &Path,
        name: &str,
        is_referenced: &dyn Fn(&ContentHash) -> bool,
    ) -> Option<Orphan> {
        let content = ContentHash::parse(name.split('.').next().unwrap_or_default())?;
        if is_referenced(&content) {
            return None;
        }
        Some(Orphan {
            path: path.to_path_buf(),
            name: self.name_of(path),
            content,
        })
    }

    /// Removes an orphan. The caller knows that no file refers to it now.
    pub(crate) fn remove_orphan(&self, orphan: &Orphan) -> Result<()> {
        for variant in [Variant::Identity, Variant::Gzip, Variant::Brotli] {
            self.forget(&orphan.content, variant);
        }
        self.disk.remove(&orphan.path).map(drop)
    }

    /// Every blob. Cost: lists every file.
    pub(crate) fn stored(&self) -> Result<Vec<StoredContent>> {
        let mut found: Vec<StoredContent> = Vec::new();
        self.each_file(&mut |_, entry| {
            let stem = entry.name.split('.').next().unwrap_or_default();
            let Some(content) = ContentHash::parse(stem) else {
                return Ok(());
            };
            match found.last_mut() {
                // They are ordered by name: the variants of a blob follow it.
                Some(last) if last.content == content => last.size_bytes += entry.size_bytes,
                _ => found.push(StoredContent {
                    content,
                    size_bytes: entry.size_bytes,
                    served_seconds: entry.modified_seconds,
                }),
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn each_file(&self, each: &mut dyn FnMut(&Path, &DirEntry) -> Result<()>) -> Result<()> {
        for folder in self.disk.list(&self.dir)?.unwrap_or_default() {
            let dir = self.dir.join(&folder.name);
            if is_of_others(&folder.name) {
                continue;
            }
            if !folder.is_dir {
                if folder.name != MARK {
                    each(&dir, &folder)?;
                }
                continue;
            }
            let entries = self.disk.list(&dir)?.unwrap_or_default();
            for entry in entries.iter().filter(|it| !is_of_others(&it.name)) {
                each(&dir.join(&entry.name), entry)?;
            }
        }
        Ok(())
    }
}
