//! Blobs of the store: all of them, damaged ones, and orphans.

use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use super::blob_store::{BlobStore, MARK, parse_hash};
use crate::disk::{DirEntry, is_of_others};
use crate::error::{Error, Result};
use crate::model::{CachedFile, ContentHash, Variant};

/// Blobs that files refer to, each with one of these files.
type Referenced = HashMap<ContentHash, CachedFile, foldhash::fast::RandomState>;

/// A fault of the blob store.
pub(crate) enum BlobFinding {
    /// A blob that files refer to is missing or damaged.
    Damaged(ContentHash, Error),
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
    /// Checks every file: those of `referenced` against their SHA-256, variants against their
    /// footer. With `is_repairing`, damaged variants and unreferenced files are removed.
    pub(crate) fn verify(
        &self,
        referenced: &Referenced,
        is_repairing: bool,
    ) -> Result<Vec<BlobFinding>> {
        let mut findings = Vec::new();
        for (hash, file) in referenced {
            let path = self.path(hash, Variant::Identity);
            let checked = self.check_file(&path, file.size_bytes, file.checksum);
            // The xxh3 comes from `state.redb`, and the SHA-256 is the name: both must match the
            // bytes.
            let checked = checked.and_then(|opened| self.check_hash(&*opened, &path, hash));
            if let Err(error) = checked {
                findings.push(BlobFinding::Damaged(*hash, error));
            }
        }
        self.each_file(&mut |path, entry| {
            let name = entry.name.as_str();
            let stem = name.split('.').next().unwrap_or_default();
            let is_referenced = parse_hash(stem).is_some_and(|hash| referenced.contains_key(&hash));
            let has = |content: &_| referenced.contains_key(content);
            let orphan = self.orphan_of(path, name, &has);
            let is_orphan = orphan.is_some();
            let finding = if let Some(orphan) = orphan {
                Some(BlobFinding::Orphan(orphan))
            } else if !is_referenced {
                Some(BlobFinding::Foreign(self.name_of(path)))
            } else if stem != name && self.open_variant(path).is_err() {
                Some(BlobFinding::DamagedVariant(self.name_of(path)))
            } else {
                None
            };
            // Orphans are left to the caller: a file with the same blob may be being stored.
            if finding.is_some() && is_repairing && !is_orphan {
                self.disk.remove(path)?;
            }
            findings.extend(finding);
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
        let content = parse_hash(name.split('.').next().unwrap_or_default())?;
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
            let Some(content) = parse_hash(stem) else {
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
