//! The vectors of paths: what is read of a path, or why it is refused.

use serde_json::{Value, json};
use subcat_engine::{ReleaseId, hash_of};

use super::corrections::Corrections;
use super::nfo::NfoIds;
use super::record::{PathReader, PathRejection};

const VECTORS: &str = include_str!("../../../tests/vectors/import.jsonl");

/// Fields that a vector of a path tells.
const FIELDS: &[&str] = &[
    "video_type",
    "title",
    "season",
    "episode",
    "year",
    "catalog_id",
    "parent_catalog_id",
    "language",
];

/// The facts that are read of a path, in the form of a vector.
fn read(path: &str) -> Value {
    let reader = PathReader {
        corrections: &Corrections::default(),
        nfos: &NfoIds::default(),
        // None, to be seen.
        language: "",
        languages: &[],
        year_last: 2027,
    };
    let fields = match reader.read(path) {
        Ok(record) => record.fields,
        Err(PathRejection::Refused(reason)) => return json!(reason),
        Err(rejection) => return json!(format!("{rejection:?}")),
    };
    let mut read = json!({});
    for field in FIELDS {
        let value = fields.get(*field).cloned().unwrap_or(Value::Null);
        read[*field] = if value == "" { Value::Null } else { value };
    }
    let flags = ["forced", "hearing_impaired"];
    let flags = flags.iter().filter(|flag| fields.contains_key(**flag));
    read["flags"] = flags.copied().collect();
    read
}

#[test]
fn the_vectors_of_paths_are_read() {
    let mut count = 0;
    for line in VECTORS.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let Some(path) = vector["path"].as_str() else {
            continue;
        };
        let expected = match &vector["reason"] {
            Value::String(reason) if matches!(&**reason, "hidden" | "extra") => json!("LeftOut"),
            Value::String(_) => vector["reason"].clone(),
            _ => vector["expect"].clone(),
        };
        if !expected.is_null() {
            assert_eq!(read(path), expected, "{path}");
            count += 1;
        }
    }
    assert_eq!(count, 49);
}

#[test]
fn the_vectors_of_whole_records_are_made() {
    let mut count = 0;
    for line in VECTORS.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let (Some(path), Some(content)) = (vector["path"].as_str(), vector["content"].as_str())
        else {
            continue;
        };
        let reader = PathReader {
            corrections: &Corrections::default(),
            nfos: &NfoIds::default(),
            language: "es",
            languages: &[],
            year_last: 2027,
        };
        let mut record = reader.read(path).unwrap();
        record.set_time((vector["mtime"].as_f64().unwrap() * 1e9) as i64);
        let release = ReleaseId::of_brought(hash_of(content.as_bytes()));
        let id = subcat_engine::RecordId::of_release(&release);
        record.set_missing("id", id.to_string());
        record.set_missing("source_release_id", release.as_str().to_owned());
        assert_eq!(Value::Object(record.fields), vector["record"], "{path}");
        count += 1;
    }
    assert_eq!(count, 5);
}
