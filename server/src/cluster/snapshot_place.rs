//! Places of the snapshots of a cluster: a folder, or the bucket of files.

use std::fs::{DirBuilder, File, OpenOptions};
#[cfg(feature = "s3")]
use std::io::BufReader;
use std::io::{self, BufWriter};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use subcat_engine::{Engine, SnapshotSummary};

use crate::config::Config;
#[cfg(feature = "s3")]
use crate::upstream::ObjectStorage;

/// End of the name of a snapshot.
const ENDING: &str = ".snapshot";

/// Distinguishes the files of snapshots that one process writes at once.
static PARTIALS_COUNT: AtomicU64 = AtomicU64::new(0);

/// A place of snapshots. Its methods block the thread that polls for the disk, and wait for the
/// bucket as tasks.
pub enum SnapshotPlace {
    /// A folder.
    Folder(PathBuf),
    /// A folder of the bucket of files.
    #[cfg(feature = "s3")]
    Bucket(Box<ObjectStorage>, String),
}

/// A snapshot that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotPlaceError {
    /// Neither a folder nor a bucket is named.
    #[error("name a folder for snapshots with --snapshots, or set files.s3 for a bucket")]
    Unnamed,
    /// There is no snapshot to begin with.
    #[error(
        "there is no snapshot of epoch {0}: make one on another node with subcat cluster snapshot"
    )]
    NoSnapshot(u64),
    /// Writing to the place or reading from it failed.
    #[error("{subject}")]
    Io {
        /// The file, the object or the setting.
        subject: String,
        /// The reason.
        source: io::Error,
    },
    /// The engine cannot write it.
    #[error(transparent)]
    Engine(#[from] subcat_engine::Error),
}

impl SnapshotPlace {
    /// The folder that is named, or the bucket of the settings.
    pub fn of(config: &Config, folder: Option<PathBuf>) -> Result<Self, SnapshotPlaceError> {
        if let Some(folder) = folder {
            let mut builder = DirBuilder::new();
            let created = builder.recursive(true).mode(0o700).create(&folder);
            created.map_err(|error| place_error(&folder, error))?;
            return Ok(Self::Folder(folder));
        }
        #[cfg(feature = "s3")]
        {
            let storage = ObjectStorage::new(&config.files_s3)
                .map_err(|error| io_error("files.s3", error))?;
            if let Some(storage) = storage {
                let folder = format!("snapshots/{}", config.cluster.stream);
                return Ok(Self::Bucket(Box::new(storage), folder));
            }
        }
        #[cfg(not(feature = "s3"))]
        let _ = config;
        Err(SnapshotPlaceError::Unnamed)
    }

    /// Writes a snapshot of an engine. It is under its name only when it is whole.
    pub async fn write(
        &self,
        engine: &Engine,
        scratch: &Path,
    ) -> Result<SnapshotSummary, SnapshotPlaceError> {
        #[cfg(not(feature = "s3"))]
        let _ = scratch;
        let folder = match self {
            Self::Folder(folder) => folder.as_path(),
            #[cfg(feature = "s3")]
            Self::Bucket(..) => scratch,
        };
        let number = PARTIALS_COUNT.fetch_add(1, Ordering::Relaxed);
        let partial = format!(".snapshot-{}-{number}.partial", std::process::id());
        let partial = folder.join(partial);
        let placed = match write_file(engine, &partial) {
            Ok(summary) => self.place(&partial, &summary).await.map(|()| summary),
            Err(error) => Err(error),
        };
        // Moved, or no longer needed.
        let _ = std::fs::remove_file(&partial);
        placed
    }

    /// Gives a file its place under its name.
    async fn place(
        &self,
        partial: &Path,
        summary: &SnapshotSummary,
    ) -> Result<(), SnapshotPlaceError> {
        let name = name_of(summary.epoch, summary.seq);
        match self {
            Self::Folder(folder) => {
                let path = folder.join(name);
                std::fs::rename(partial, &path).map_err(|error| place_error(&path, error))
            }
            #[cfg(feature = "s3")]
            Self::Bucket(storage, folder) => {
                let file = File::open(partial).map_err(|error| place_error(partial, error))?;
                let uploaded = storage.upload(&format!("{folder}/{name}"), BufReader::new(file));
                uploaded.await.map_err(|error| io_error(name, error))
            }
        }
    }

    /// The newest snapshot of an epoch, as a file: in the folder, or downloaded to `scratch`.
    pub async fn newest(&self, epoch: u64, scratch: &Path) -> Result<PathBuf, SnapshotPlaceError> {
        #[cfg(not(feature = "s3"))]
        let _ = scratch;
        let names = self.names().await?;
        let prefix = prefix_of(epoch);
        // Numbers have as many digits as the largest: the last name is the newest.
        let newest = names.into_iter().rfind(|name| name.starts_with(&prefix));
        let Some(newest) = newest else {
            return Err(SnapshotPlaceError::NoSnapshot(epoch));
        };
        match self {
            Self::Folder(folder) => Ok(folder.join(newest)),
            #[cfg(feature = "s3")]
            Self::Bucket(storage, folder) => {
                let file = BufWriter::new(create_private(scratch)?);
                let name = format!("{folder}/{newest}");
                let downloaded = storage.download(&name, file).await;
                downloaded.map_err(|error| io_error(name, error))?;
                Ok(scratch.to_owned())
            }
        }
    }

    /// Entries of the log that the snapshots of an epoch were taken at, ascending.
    pub async fn entries(&self, epoch: u64) -> Result<Vec<u64>, SnapshotPlaceError> {
        let prefix = prefix_of(epoch);
        let names = self.names().await?;
        let entries = names.iter().filter_map(|name| {
            let number = name.strip_prefix(&prefix)?.strip_suffix(ENDING)?;
            number.parse().ok()
        });
        Ok(entries.collect())
    }

    /// Removes all snapshots of an epoch but the newest ones, the oldest first; returns how many.
    /// Those of other logs stay: they may be of another cluster.
    pub async fn keep_newest(&self, epoch: u64, count: usize) -> Result<u64, SnapshotPlaceError> {
        let mut names = self.names().await?;
        let prefix = prefix_of(epoch);
        names.retain(|name| name.starts_with(&prefix));
        names.truncate(names.len().saturating_sub(count));
        for name in &names {
            match self {
                Self::Folder(folder) => {
                    let path = folder.join(name);
                    std::fs::remove_file(&path).map_err(|error| place_error(&path, error))?;
                }
                #[cfg(feature = "s3")]
                Self::Bucket(storage, folder) => {
                    let name = format!("{folder}/{name}");
                    let removed = storage.remove(&name).await;
                    removed.map_err(|error| io_error(name, error))?;
                }
            }
        }
        Ok(names.len() as u64)
    }

    async fn names(&self) -> Result<Vec<String>, SnapshotPlaceError> {
        let mut names = match self {
            Self::Folder(folder) => {
                let mut names = Vec::new();
                let entries =
                    std::fs::read_dir(folder).map_err(|error| place_error(folder, error))?;
                for entry in entries {
                    let entry = entry.map_err(|error| place_error(folder, error))?;
                    names.extend(entry.file_name().into_string());
                }
                names.sort_unstable();
                names
            }
            #[cfg(feature = "s3")]
            Self::Bucket(storage, folder) => storage
                .names(folder)
                .await
                .map_err(|error| io_error("files.s3", error))?,
        };
        names.retain(|name| name.ends_with(ENDING) && !name.starts_with('.'));
        Ok(names)
    }
}

/// A new file that its owner alone can read: a snapshot has addresses, and digests of passwords.
fn create_private(path: &Path) -> Result<File, SnapshotPlaceError> {
    let _ = std::fs::remove_file(path);
    let mut options = OpenOptions::new();
    let created = options.write(true).create_new(true).mode(0o600).open(path);
    created.map_err(|error| place_error(path, error))
}

fn write_file(engine: &Engine, path: &Path) -> Result<SnapshotSummary, SnapshotPlaceError> {
    let mut file = BufWriter::new(create_private(path)?);
    let summary = engine.write_snapshot(&mut file)?;
    let synced = file
        .into_inner()
        .map_err(io::IntoInnerError::into_error)
        .and_then(|file| file.sync_all());
    synced.map_err(|error| place_error(path, error))?;
    Ok(summary)
}

fn name_of(epoch: u64, seq: u64) -> String {
    format!("{}{seq:020}{ENDING}", prefix_of(epoch))
}

/// Beginning of the names of the snapshots of an epoch, which has up to 16 digits.
fn prefix_of(epoch: u64) -> String {
    format!("{epoch:016}-")
}

fn place_error(path: &Path, error: io::Error) -> SnapshotPlaceError {
    io_error(path.display().to_string(), error)
}

fn io_error(subject: impl Into<String>, source: io::Error) -> SnapshotPlaceError {
    SnapshotPlaceError::Io {
        subject: subject.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use subcat_engine::{NodeId, Options, Real, StoreKind, block_on};

    use super::*;

    #[test]
    fn snapshots_that_are_written_at_once_are_all_whole() {
        let above = tempfile::tempdir().unwrap();
        let open = || {
            let options = Options {
                disk: Arc::new(Real),
                store: StoreKind::Redb,
                counter_lanes: 0,
                node: NodeId(1),
            };
            Engine::open(&above.path().join("data"), options).unwrap()
        };
        let engine = open();
        engine.enter_cluster(1).unwrap();
        engine.close().unwrap();
        drop(engine);
        let engine = open();
        let place = SnapshotPlace::Folder(above.path().to_owned());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        block_on(place.write(&engine, above.path())).unwrap();
                    }
                });
            }
        });
        assert_eq!(block_on(place.entries(1)).unwrap().len(), 1);
        let left = std::fs::read_dir(above.path()).unwrap().count();
        assert_eq!(left, 2, "the data and the snapshot");
    }

    #[test]
    fn snapshots_are_private() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("a/snapshots");
        SnapshotPlace::of(&Config::default(), Some(folder.clone())).unwrap();
        let file = folder.join("one");
        std::fs::write(&file, "left by a killed process").unwrap();
        create_private(&file).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    }
}
