//! Export: a record becomes a line that imports as the same record.

use serde::Serialize;
use subcat_engine::{FileName, Flag, Number, Record, ReleaseId, Year};

/// The fields of an import record, in the order of its description; nulls are left out.
#[derive(Serialize)]
struct ExportLine<'a> {
    id: String,
    video_type: &'static str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    season: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    episode: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    year: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catalog_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_catalog_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uploader_name: Option<&'a str>,
    posted_at: String,
    downloads: u32,
    is_active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_release_id: Option<&'a str>,
    language: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hearing_impaired: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forced: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine_translated: Option<bool>,
}

/// Appends the record as one JSON line with its line end.
pub fn write_record(record: &Record, out: &mut Vec<u8>) {
    let line = ExportLine {
        id: record.id.to_string(),
        video_type: record.video_type.as_str(),
        title: &record.title,
        season: record.season.map(Number::get),
        episode: record.episode.map(Number::get),
        year: record.year.map(Year::get),
        catalog_id: record.catalog_id.map(|id| id.to_string()),
        parent_catalog_id: record.parent_catalog_id.map(|id| id.to_string()),
        description: record.description.as_deref(),
        uploader_name: record.uploader_name.as_deref(),
        posted_at: record.posted_at.to_string(),
        downloads: record.downloads,
        is_active: record.is_active,
        source_release_id: record.source_release_id.as_ref().map(ReleaseId::as_str),
        language: record.language.as_str(),
        file_name: record.file_name.as_ref().map(FileName::as_str),
        hearing_impaired: record.flags.get(Flag::HearingImpaired),
        forced: record.flags.get(Flag::Forced),
        machine_translated: record.flags.get(Flag::MachineTranslated),
    };
    serde_json::to_writer(&mut *out, &line).expect("texts and numbers always serialise");
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use subcat_engine::{CatalogId, DraftValue, RecordFlags, RecordId, VideoType};

    use super::*;
    use crate::rows::read_line;

    fn record() -> Record {
        Record {
            video_type: VideoType::Episode,
            season: Number::new(1),
            year: Year::new(2004),
            catalog_id: CatalogId::parse("tt0411008"),
            description: Some("a\nb".into()),
            downloads: 7,
            is_active: false,
            source_release_id: ReleaseId::parse("x.1"),
            file_name: FileName::parse("ñ.srt"),
            flags: RecordFlags::default()
                .with(Flag::HearingImpaired, Some(true))
                .with(Flag::Forced, Some(false)),
            ..Record::new(RecordId::from_bytes([1; 16]), "Lost \"1\"")
        }
    }

    #[test]
    fn nulls_are_left_out_and_the_rest_reads_back() {
        let mut out = Vec::new();
        write_record(&record(), &mut out);
        let expected = concat!(
            r#"{"id":"01010101-0101-0101-0101-010101010101","video_type":"episode","#,
            r#""title":"Lost \"1\"","season":1,"year":2004,"catalog_id":"tt0411008","#,
            r#""description":"a\nb","posted_at":"1970-01-01T00:00:00Z","downloads":7,"#,
            r#""is_active":false,"source_release_id":"x.1","language":"es","#,
            r#""file_name":"ñ.srt","hearing_impaired":true,"forced":false}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(out.clone()).unwrap(), expected);
        let row = read_line(1, out.trim_ascii()).unwrap();
        assert!(row.ignored.is_empty());
        assert_eq!(row.draft.title, DraftValue::Text("Lost \"1\"".into()));
        assert_eq!(row.draft.is_active, DraftValue::Boolean(false));
        assert_eq!(row.draft.uploader_name, DraftValue::Absent);
    }
}
