//! A catalog file as records.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;
use subcat_engine::model::{
    CatalogId, FileName, Language, Number, Record, RecordId, ReleaseId, Timestamp, VideoType, Year,
};
use subcat_engine::text::{fold, spanish_region};

use crate::failure::{Failure, Result};

/// Reads the first `count_max` lines of a file of import records, which must all be good.
pub fn read_records(path: &Path, count_max: usize) -> Result<Vec<Record>> {
    let file = File::open(path).map_err(Failure::on(format!("open {}", path.display())))?;
    let mut records = Vec::new();
    for (idx, line) in BufReader::new(file).lines().take(count_max).enumerate() {
        let line = line.map_err(Failure::on("read the catalog"))?;
        let record = parse_record(&line);
        records.push(record.ok_or_else(|| Failure::new(format!("line {} is no record", idx + 1)))?);
    }
    Ok(records)
}

fn integer<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    T::try_from(value.as_u64()?).ok()
}

/// Reads one line; `None` when it is no good record.
pub fn parse_record(line: &str) -> Option<Record> {
    let line: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| line[name].as_str();
    let description = text("description");
    let language = Language::parse(text("language").unwrap_or("es"))?;
    let region = spanish_region(&fold(description.unwrap_or("")));
    let language = match region {
        Some(region) if language.as_str() == "es" => Language::parse(region.tag())?,
        _ => language,
    };
    Some(Record {
        id: RecordId::parse(text("id")?)?,
        video_type: VideoType::parse(text("video_type")?)?,
        title: text("title")?.to_owned(),
        season: integer(&line["season"]).and_then(Number::new),
        episode: integer(&line["episode"]).and_then(Number::new),
        year: integer(&line["year"]).and_then(Year::new),
        catalog_id: text("catalog_id").and_then(CatalogId::parse),
        parent_catalog_id: text("parent_catalog_id").and_then(CatalogId::parse),
        description: description.map(str::to_owned),
        uploader_name: text("uploader_name").map(str::to_owned),
        posted_at: Timestamp::parse(text("posted_at")?)?,
        downloads: integer(&line["downloads"]).unwrap_or(0),
        is_active: line["is_active"].as_bool().unwrap_or(true),
        source_release_id: text("source_release_id").and_then(ReleaseId::parse),
        language,
        file_name: text("file_name").and_then(FileName::parse),
    })
}
