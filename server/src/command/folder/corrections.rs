//! Corrections of the fields read from paths: a table of paths and fields (API.md 13.12).

use std::collections::HashMap;
use std::io::{self, Cursor};
use std::path::Path;

use subcat_engine::RecordDraft;

use crate::rows::{TableRow, each_row, unpacked};

/// Name of the table that is read without being named.
pub(super) const TABLE_NAME: &str = "subcat.csv";

/// Fields that override those read from paths, by path or folder.
#[derive(Debug, Default)]
pub(super) struct Corrections {
    by_path: HashMap<String, Correction>,
    /// The table in its stored form.
    text: Vec<u8>,
}

/// Fields of one path, by name; cells that are filled.
pub(super) type Correction = Vec<(&'static str, String)>;

/// A table of corrections that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub(super) struct CorrectionsError {
    path: String,
    source: io::Error,
}

impl Corrections {
    /// Reads the table that is named, or that of the folder if there is one.
    pub(super) fn read(folder: &Path, named: Option<&Path>) -> Result<Self, CorrectionsError> {
        let own = folder.join(TABLE_NAME);
        let path = match named {
            Some(path) => path,
            None if own.is_file() => &own,
            None => return Ok(Self::default()),
        };
        Self::read_table(path).map_err(|source| CorrectionsError {
            path: path.display().to_string(),
            source,
        })
    }

    fn read_table(path: &Path) -> io::Result<Self> {
        let mut corrections = Self {
            text: std::fs::read(path)?,
            ..Self::default()
        };
        let mut has_paths = false;
        let content = unpacked(Box::new(Cursor::new(corrections.text.clone())))?;
        each_row(content, &mut |row| {
            let mut cells = row.columns.iter().zip(&row.cells);
            has_paths |= cells.any(|(column, _)| column.trim() == "file");
            corrections.take(row);
        })?;
        if !has_paths && !corrections.by_path.is_empty() {
            let reason = "it has no column file";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(corrections)
    }

    fn take(&mut self, row: &TableRow) {
        let mut path = String::new();
        let mut correction = Correction::new();
        for (column, cell) in row.columns.iter().zip(&row.cells) {
            let column = column.trim();
            let cell = cell.as_deref().unwrap_or("").trim();
            if column == "file" {
                path = cell.trim_matches('/').to_owned();
            } else if let Some(field) = RecordDraft::FIELDS.iter().find(|it| it.name == column)
                && !cell.is_empty()
            {
                correction.push((field.name, cell.to_owned()));
            }
        }
        self.by_path.insert(path, correction);
    }

    /// The table in its stored form; empty without one.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The correction of a path: its own, else that of the longest folder above it.
    pub(super) fn of(&self, path: &str) -> &[(&'static str, String)] {
        if self.by_path.is_empty() {
            return &[];
        }
        let mut above = path;
        loop {
            if let Some(correction) = self.by_path.get(above) {
                return correction;
            }
            match above.rsplit_once('/') {
                Some((folder, _)) => above = folder,
                None => return &[],
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_counts_and_filled_cells_alone() {
        let dir = tempfile::tempdir().unwrap();
        let table = "file,title,year,reason\na,A,,x\na/b.srt,,1999,\n/c/,C,,\n";
        std::fs::write(dir.path().join(TABLE_NAME), table).unwrap();
        let corrections = Corrections::read(dir.path(), None).unwrap();
        assert_eq!(corrections.of("a/x/y.srt"), [("title", "A".to_owned())]);
        assert_eq!(corrections.of("a/b.srt"), [("year", "1999".to_owned())]);
        assert_eq!(corrections.of("c/d.srt"), [("title", "C".to_owned())]);
        assert!(corrections.of("d.srt").is_empty());
        let missing = Corrections::read(dir.path(), Some(Path::new("/none.csv")));
        assert!(missing.unwrap_err().to_string().starts_with("/none.csv: "));
        let empty = tempfile::tempdir().unwrap();
        assert!(
            Corrections::read(empty.path(), None)
                .unwrap()
                .of("a")
                .is_empty()
        );
    }
}
