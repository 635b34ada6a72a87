//! Filters of the audit log, and its export.

use subcat_engine::{AuditEntry, Engine};

use crate::limits::{AUDIT_ENTRIES_PER_PAGE, AUDIT_ENTRIES_READ_MAX};
use crate::web::frame::params::{self, Params};

/// Filter of the entries on a page.
pub(crate) struct AuditFilter {
    /// Part of an actor, a name or a detail, in lower case.
    pub(crate) find: String,
    /// Beginning of an action; empty for all.
    pub(crate) kind: &'static str,
}

/// Kinds of actions: the beginning of their names.
pub(crate) const KINDS: [&str; 6] = [
    "account",
    "key",
    "password",
    "role",
    "registration",
    "sign-in",
];

/// Entries that were found, with their numbers, newest first.
pub(crate) struct FoundEntries {
    pub(crate) entries: Vec<(u64, AuditEntry)>,
    /// Sequence number before which the next search begins; `None` at the end of the log.
    pub(crate) next: Option<u64>,
}

impl AuditFilter {
    pub(crate) fn read(query: &Params) -> Self {
        let kind = query.get("kind");
        let known = KINDS.into_iter().find(|known| *known == kind);
        Self {
            find: query.get("find").to_lowercase(),
            kind: known.unwrap_or(""),
        }
    }

    /// The same, for the address of another page.
    pub(crate) fn to_query(&self) -> String {
        format!("find={}&kind={}", params::encode(&self.find), self.kind)
    }

    fn has_chosen(&self, entry: &AuditEntry) -> bool {
        let texts = [&entry.actor, &entry.action, &entry.detail];
        let is_found = texts
            .iter()
            .any(|text| text.to_lowercase().contains(&self.find));
        is_found && entry.action.starts_with(self.kind)
    }

    /// The newest entries before an entry. Cost: reads at most [`AUDIT_ENTRIES_READ_MAX`] of them,
    /// so that a filter that nothing passes does not read the whole log at once.
    pub(crate) fn entries(
        &self,
        engine: &Engine,
        before: Option<u64>,
        count_max: usize,
    ) -> subcat_engine::Result<FoundEntries> {
        let mut found = FoundEntries {
            entries: Vec::new(),
            next: before,
        };
        let mut read = 0;
        while read < AUDIT_ENTRIES_READ_MAX {
            let entries = engine
                .accounts()
                .audit_log(found.next, AUDIT_ENTRIES_PER_PAGE)?;
            if entries.is_empty() {
                found.next = None;
                return Ok(found);
            }
            read += entries.len();
            for (number, entry) in entries {
                if found.entries.len() == count_max {
                    return Ok(found);
                }
                found.next = Some(number);
                if self.has_chosen(&entry) {
                    found.entries.push((number, entry));
                }
            }
        }
        Ok(found)
    }
}

/// The entries as CSV (RFC 4180).
pub(crate) fn csv(entries: &[(u64, AuditEntry)]) -> String {
    let mut text = String::from("number,at,actor,action,account,key,detail\r\n");
    for (number, entry) in entries {
        let account = entry.account.map_or(String::new(), |id| id.0.to_string());
        let api_key = entry.api_key.map_or(String::new(), |id| id.0.to_string());
        let line = [
            number.to_string(),
            entry.at.to_string(),
            cell(&entry.actor),
            cell(&entry.action),
            account,
            api_key,
            cell(&entry.detail),
        ];
        text.push_str(&line.join(","));
        text.push_str("\r\n");
    }
    text
}

/// A text as a quoted cell. One that a spreadsheet would take as a formula begins with an
/// apostrophe: names of keys are free text.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t']);
    let mark = if is_formula { "'" } else { "" };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_text_and_no_formula() {
        assert_eq!(cell("tv, \"big\""), "\"tv, \"\"big\"\"\"");
        assert_eq!(cell("=1+1"), "\"'=1+1\"");
        assert_eq!(cell(""), "\"\"");
    }
}
