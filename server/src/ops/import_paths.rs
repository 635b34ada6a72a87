//! Operations on the remembered paths of imported folders.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use subcat_engine::{ContentHash, ImportedPath, RecordId};

use super::error::OperationError;
use super::operation::{Operation, OperationEntry, Operations};

pub(super) const OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<ListPaths>(),
    OperationEntry::of::<RememberPaths>(),
    OperationEntry::of::<ForgetPaths>(),
];

/// Name of an imported folder: the beginning of the SHA-256 of its path.
pub type FolderName = [u8; 16];

/// A path of a folder, with numbers in place of texts: there may be many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRow {
    /// Path below the folder.
    pub path: String,
    /// Size of the file.
    pub size_bytes: u64,
    /// Time of its last change, in nanoseconds since 1970.
    pub modified_nanos: i64,
    /// SHA-256 of its content.
    pub content: [u8; 32],
    /// The record that it is the file of.
    pub record: [u8; 16],
    /// Sum of the record that was loaded.
    pub digest: u64,
}

impl From<ImportedPath> for PathRow {
    fn from(imported: ImportedPath) -> Self {
        Self {
            path: imported.path,
            size_bytes: imported.size_bytes,
            modified_nanos: imported.modified_nanos,
            content: imported.content.0,
            record: *imported.record.as_bytes(),
            digest: imported.digest,
        }
    }
}

impl From<PathRow> for ImportedPath {
    fn from(row: PathRow) -> Self {
        Self {
            path: row.path,
            size_bytes: row.size_bytes,
            modified_nanos: row.modified_nanos,
            content: ContentHash(row.content),
            record: RecordId::from_bytes(row.record),
            digest: row.digest,
        }
    }
}

/// Lists paths of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListPaths {
    /// The folder.
    pub folder: FolderName,
    /// Only paths behind this one.
    pub after: String,
    /// Maximum number of rows to return.
    pub count_max: usize,
}

impl Operation for ListPaths {
    const NAME: &'static str = "import/paths";
    type Answer = Vec<PathRow>;

    async fn execute(self, operations: &Operations<'_>) -> Result<Vec<PathRow>, OperationError> {
        let files = operations.engine.files();
        let found = files.imported_paths(self.folder, &self.after, self.count_max)?;
        Ok(found.into_iter().map(PathRow::from).collect())
    }
}

/// Remembers paths of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RememberPaths {
    /// The folder.
    pub folder: FolderName,
    /// Rows to remember.
    pub paths: Vec<PathRow>,
}

/// Answer of [`RememberPaths`].
#[derive(Debug, Serialize, Deserialize)]
pub struct PathsRemembered {
    /// Remembered paths.
    pub remembered: usize,
}

impl Operation for RememberPaths {
    const NAME: &'static str = "import/remember";
    type Answer = PathsRemembered;

    async fn execute(self, operations: &Operations<'_>) -> Result<PathsRemembered, OperationError> {
        let paths: Vec<ImportedPath> = self.paths.into_iter().map(ImportedPath::from).collect();
        operations
            .engine
            .files()
            .remember_paths(self.folder, &paths)?;
        Ok(PathsRemembered {
            remembered: paths.len(),
        })
    }
}

/// Forgets paths of a folder, and deletes the records given with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgetPaths {
    /// The folder.
    pub folder: FolderName,
    /// Paths to forget.
    pub paths: Vec<String>,
    /// Records to delete, unless another folder has them. Unknown ones are ignored.
    pub records: Vec<[u8; 16]>,
}

/// Answer of [`ForgetPaths`].
#[derive(Debug, Serialize, Deserialize)]
pub struct PathsForgotten {
    /// Deleted records.
    pub deleted: usize,
    /// Records that stay, as another folder has them.
    pub kept: usize,
}

impl Operation for ForgetPaths {
    const NAME: &'static str = "import/forget";
    type Answer = PathsForgotten;

    async fn execute(self, operations: &Operations<'_>) -> Result<PathsForgotten, OperationError> {
        let files = operations.engine.files();
        let gone = self.records.into_iter().map(RecordId::from_bytes);
        let gone: BTreeSet<RecordId> = gone.collect();
        // The same file may lie below two folders, or in one that lies in the other.
        let kept = files.imported_elsewhere(self.folder, &gone)?;
        let ids: Vec<RecordId> = gone.difference(&kept).copied().collect();
        // The records first: a path that is still remembered is found missing again by the next
        // import.
        let unknown = operations.engine.catalog().submit_deletion(&ids).await?;
        files.forget_paths(self.folder, &self.paths)?;
        Ok(PathsForgotten {
            deleted: ids.len() - unknown.len(),
            kept: kept.len(),
        })
    }
}
