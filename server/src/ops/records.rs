//! Single records: show, switch on and off, delete.

use serde_json::json;
use subcat_engine::model::RecordId;

use super::error::Failure;
use super::execute::Operations;
use crate::rows::write_record;

impl Operations<'_> {
    pub(super) fn set_record(&self, id: &str, is_active: bool) -> Result<String, Failure> {
        let id = record_id(id)?;
        if !self.engine.catalog().set_active(id, is_active)? {
            return Err(unknown(&[id]));
        }
        Ok(json!({ "id": id.to_string(), "is_active": is_active }).to_string())
    }

    /// The record as export writes it, and our own count of downloads, which answers add to
    /// upstream's.
    pub(super) fn show_record(&self, id: &str) -> Result<String, Failure> {
        let id = record_id(id)?;
        let Some(record) = self.engine.catalog().stored_record(id)? else {
            return Err(unknown(&[id]));
        };
        let mut line = Vec::new();
        write_record(&record, &mut line);
        let line = String::from_utf8(line).expect("export writes UTF-8");
        let open_object = line.trim_end().strip_suffix('}').unwrap_or(&line);
        let own_downloads = self.engine.usage().downloads(id);
        Ok(format!("{open_object},\"own_downloads\":{own_downloads}}}"))
    }

    /// Deletes all in one transaction, or, when one of them is not there, none. An id that is
    /// named twice counts once.
    pub(super) fn delete_records(&self, ids: &[String]) -> Result<String, Failure> {
        let mut ids: Vec<RecordId> = ids
            .iter()
            .map(|id| record_id(id))
            .collect::<Result<_, _>>()?;
        ids.sort_unstable();
        ids.dedup();
        let mut missing = Vec::new();
        for id in &ids {
            if self.engine.catalog().stored_record(*id)?.is_none() {
                missing.push(*id);
            }
        }
        if !missing.is_empty() {
            return Err(unknown(&missing));
        }
        let vanished = self.engine.catalog().delete_records(&ids)?;
        if !vanished.is_empty() {
            let names = names_of(&vanished);
            let sentence = format!("{names} went while this was under way: all others are deleted");
            return Err(Failure::new(sentence));
        }
        Ok(json!({ "deleted": ids.len() }).to_string())
    }
}

fn record_id(text: &str) -> Result<RecordId, Failure> {
    RecordId::parse(text).ok_or_else(|| Failure::new(format!("{text} is no UUID")))
}

fn unknown(ids: &[RecordId]) -> Failure {
    let names = names_of(ids);
    Failure::new(format!(
        "no record {names} in the catalog: nothing was changed"
    ))
}

fn names_of(ids: &[RecordId]) -> String {
    let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
    names.join(", ")
}
