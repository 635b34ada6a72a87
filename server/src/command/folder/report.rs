//! Outcome of an import of a folder: counts, and some paths for each reason.

use std::collections::BTreeMap;

use super::memory::ForgottenRecords;
use crate::command::printable::printable_in_line;
use crate::limits::REASON_PATHS_MAX;

/// Advice about refused files.
const CORRECTION: &str = "they can be corrected: subcat import DIR --dry-run --to FILE writes a \
                          table of all files, and DIR/subcat.csv is read\n";

/// Counts of an import of a folder.
#[derive(Debug, Default)]
pub(super) struct FolderReport {
    reasons: BTreeMap<String, RefusalCount>,
    /// Files in languages that are not wanted.
    pub(super) other_languages: u64,
    /// Files that changed since the last scan.
    pub(super) waiting: u64,
    /// Records of deleted files.
    pub(super) gone: u64,
    /// Records of files that were pruned.
    pub(super) pruned: ForgottenRecords,
    /// Reason why none was deleted.
    pub(super) kept_because: Option<&'static str>,
    /// Folders and files that could not be read, and why.
    pub(super) unreadable: Vec<String>,
    /// Reasons by path, where a table of them is wanted.
    pub(super) by_path: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Default)]
struct RefusalCount {
    count: u64,
    paths: Vec<String>,
}

impl FolderReport {
    /// A report that begins with folders that could not be read; with `by_path` it keeps every
    /// reason.
    pub(super) fn new(by_path: Option<BTreeMap<String, String>>, unreadable: Vec<String>) -> Self {
        Self {
            by_path,
            unreadable,
            ..Self::default()
        }
    }

    /// Counts a refused file.
    pub(super) fn refuse(&mut self, reason: &str, path: &str) {
        self.note(reason, path);
        if let Some(by_path) = &mut self.by_path {
            by_path.insert(path.to_owned(), reason.to_owned());
        }
    }

    /// Counts a file with the content of another one.
    pub(super) fn refuse_same(&mut self, owner: &str, path: &str) {
        self.note(
            "same content as another file",
            &format!("{path}: same content as {owner}"),
        );
        if let Some(by_path) = &mut self.by_path {
            by_path.insert(path.to_owned(), format!("same content as {owner}"));
        }
    }

    fn note(&mut self, reason: &str, path: &str) {
        let reason = self.reasons.entry(reason.to_owned()).or_default();
        reason.count += 1;
        if reason.paths.len() < REASON_PATHS_MAX {
            reason.paths.push(printable_in_line(path).into());
        }
    }

    /// Refused files.
    pub(super) fn refused(&self) -> u64 {
        self.reasons.values().map(|reason| reason.count).sum()
    }

    /// Lines for people: each reason with its count and some paths, the most frequent first.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, reason)| std::cmp::Reverse(reason.count));
        for (name, reason) in reasons {
            lines.push_str(&format!("{} refused: {name}\n", reason.count));
            for path in &reason.paths {
                lines.push_str(&format!("    {path}\n"));
            }
        }
        if !lines.is_empty() {
            lines.push_str(CORRECTION);
        }
        let counts = [
            (self.other_languages, "in other languages, left out"),
            (
                self.waiting,
                "changed since the last scan, waiting for the next",
            ),
            (
                self.pruned.deleted,
                "records deleted, as their files are gone",
            ),
            (
                self.pruned.kept,
                "records whose files are gone stay, as another imported folder has them",
            ),
            (
                self.gone,
                "records whose files are gone stay (--prune deletes them)",
            ),
        ];
        for (count, name) in counts.iter().filter(|(count, _)| *count != 0) {
            lines.push_str(&format!("{count} {name}\n"));
        }
        if let Some(reason) = self.kept_because {
            lines.push_str(&format!(
                "nothing was deleted: {reason} (--prune=all does)\n"
            ));
        }
        for place in self.unreadable.iter().take(REASON_PATHS_MAX) {
            lines.push_str(&format!("could not read {}\n", printable_in_line(place)));
        }
        if REASON_PATHS_MAX < self.unreadable.len() {
            let more = self.unreadable.len() - REASON_PATHS_MAX;
            lines.push_str(&format!("could not read {more} more\n"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_counts_and_some_paths() {
        let mut report = FolderReport::default();
        for number in 0..2 * REASON_PATHS_MAX {
            report.refuse("no subtitle", &format!("{number}.srt"));
        }
        report.refuse_same("a.srt", "b.srt");
        report.gone = 2;
        report.unreadable = vec!["a: no".to_owned(); 2 * REASON_PATHS_MAX];
        assert_eq!(report.refused(), 2 * REASON_PATHS_MAX as u64 + 1);
        let lines = report.lines();
        assert!(
            lines.starts_with("10 refused: no subtitle\n    0.srt\n"),
            "{lines}"
        );
        assert!(
            lines.contains("    b.srt: same content as a.srt\n"),
            "{lines}"
        );
        assert!(
            lines.contains("2 records whose files are gone stay"),
            "{lines}"
        );
        assert!(lines.ends_with("could not read a: no\ncould not read 5 more\n"));
        assert_eq!(lines.lines().count(), 2 * (1 + REASON_PATHS_MAX) + 2 + 2);
    }
}
