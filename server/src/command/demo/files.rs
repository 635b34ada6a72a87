//! The file of a release: looked up in `releases.jsonl`, composed, encoded, compressed.

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::sync::LazyLock;

use serde::Deserialize;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::formats::{self, Encoding};
use super::script;

/// The import records of the demo catalog, one JSON object a line.
pub const CATALOG: &str = include_str!("catalog.jsonl");

/// A subtitle file as the local upstream serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoFile {
    /// Name of the upload, with the extension srt, ass, sub or zip.
    pub name: String,
    /// The content, from under one to 100 KB.
    pub content: Vec<u8>,
}

/// One line of `releases.jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    release: String,
    file_name: String,
    /// Scenes in each subtitle file.
    scenes: usize,
    #[serde(default)]
    encoding: Encoding,
    #[serde(default = "spanish")]
    language: String,
    /// Names of the files inside a zip; empty for anything else.
    #[serde(default)]
    files: Vec<String>,
}

fn spanish() -> String {
    "es".to_owned()
}

static RELEASES: LazyLock<HashMap<String, Release>> = LazyLock::new(|| {
    let mut releases = HashMap::new();
    for line in include_str!("releases.jsonl").lines() {
        let release: Release =
            serde_json::from_str(line).expect("the data ships with the program and is tested");
        releases.insert(release.release.clone(), release);
    }
    releases
});

/// The file of a release of [`CATALOG`]; `None` for any other id. The same bytes every time.
///
/// Cost: under a millisecond for a plain file, a few for a season in a zip.
pub fn file(release: &str) -> Option<DemoFile> {
    let release = RELEASES.get(release)?;
    let content = if release.files.is_empty() {
        subtitle(release, &release.file_name, 0)
    } else {
        archive(release)
    };
    Some(DemoFile {
        name: release.file_name.clone(),
        content,
    })
}

fn subtitle(release: &Release, name: &str, part_idx: usize) -> Vec<u8> {
    let seed = format!("{}/{part_idx}", release.release);
    let cues = script::compose(&seed, &release.language, release.scenes);
    let text = match name.rsplit('.').next() {
        Some("ass") => formats::ass(&cues),
        Some("sub") => formats::microdvd(&cues),
        _ => formats::srt(&cues),
    };
    release.encoding.encode(&text)
}

fn archive(release: &Release) -> Vec<u8> {
    const MEMORY: &str = "writing to memory does not fail";
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (part_idx, name) in release.files.iter().enumerate() {
        writer
            .start_file(name.as_str(), SimpleFileOptions::default())
            .expect(MEMORY);
        writer
            .write_all(&subtitle(release, name, part_idx))
            .expect(MEMORY);
    }
    writer.finish().expect(MEMORY).into_inner()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::Read;

    use super::*;

    fn records() -> Vec<serde_json::Value> {
        CATALOG
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn releases() -> Vec<String> {
        let records = records();
        records
            .iter()
            .filter_map(|r| Some(r["source_release_id"].as_str()?.to_owned()))
            .collect()
    }

    #[test]
    fn every_release_of_the_catalog_has_a_file() {
        let releases = releases();
        assert!(releases.len() >= 400);
        for release in releases {
            let found = file(&release).unwrap_or_else(|| panic!("no file for release {release}"));
            let bytes = found.content.len();
            assert!((600..100_000).contains(&bytes), "{release}: {bytes} bytes");
        }
        assert_eq!(file("1"), None);
    }

    #[test]
    fn the_name_in_the_record_is_the_name_of_the_file() {
        let mut named_count = 0;
        for record in records() {
            if let Some(name) = record["file_name"].as_str() {
                let release = record["source_release_id"].as_str().unwrap();
                assert_eq!(file(release).unwrap().name, name);
                named_count += 1;
            }
        }
        assert!(named_count > 100);
    }

    #[test]
    fn a_file_is_the_same_every_time_and_unlike_the_others() {
        let mut seen = HashSet::new();
        for release in releases() {
            let found = file(&release).unwrap();
            assert_eq!(Some(&found), file(&release).as_ref());
            assert!(
                seen.insert(found.content),
                "release {release} repeats another file"
            );
        }
    }

    #[test]
    fn all_kinds_and_encodings_occur() {
        let mut kinds = HashSet::new();
        let mut encodings = HashSet::new();
        for release in RELEASES.values() {
            kinds.insert(release.file_name.rsplit('.').next().unwrap());
            encodings.insert(format!("{:?}", release.encoding));
        }
        assert_eq!(kinds, HashSet::from(["srt", "ass", "sub", "zip"]));
        assert_eq!(encodings.len(), 3);
    }

    #[test]
    fn a_zip_unpacks_to_the_files_it_names() {
        let release = RELEASES
            .values()
            .find(|release| release.files.len() > 2)
            .unwrap();
        let content = file(&release.release).unwrap().content;
        let mut archive = zip::ZipArchive::new(Cursor::new(content)).unwrap();
        assert_eq!(archive.len(), release.files.len());
        for (part_idx, name) in release.files.iter().enumerate() {
            let mut part = archive.by_index(part_idx).unwrap();
            assert_eq!(part.name().unwrap(), *name);
            let mut bytes = Vec::new();
            part.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, subtitle(release, name, part_idx));
        }
    }

    #[test]
    fn records_are_fit_for_import() {
        let mut ids = HashSet::new();
        for record in records() {
            assert!(ids.insert(record["id"].as_str().unwrap().to_owned()));
            let is_episode = record["video_type"] == "episode";
            assert_eq!(is_episode, record["season"].is_u64(), "{record}");
            let posted_at = record["posted_at"].as_str().unwrap();
            assert!(("2006"..="2026-10-31").contains(&posted_at), "{record}");
        }
    }
}
