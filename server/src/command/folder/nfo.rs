//! Ids in `.nfo` files beside those of subtitles (API.md 13.12).

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::limits::{NFO_BYTES_MAX, TAGS_CHARS_MAX};

/// Name of the file that is about a whole series.
const OF_SERIES: &str = "tvshow";

/// Ids by the folder and the stem of their file.
#[derive(Debug, Default)]
pub(super) struct NfoIds {
    folders: HashMap<String, Vec<NfoFile>>,
}

#[derive(Debug)]
struct NfoFile {
    stem: String,
    id: Option<String>,
}

impl NfoIds {
    /// Reads the files at these paths below a folder. One that cannot be read has no id.
    pub(super) fn read(folder: &Path, paths: &[String]) -> Self {
        let mut ids = Self::default();
        for path in paths {
            let (below, name) = split_path(path);
            let mut content = Vec::new();
            let read = File::open(folder.join(path))
                .and_then(|file| file.take(NFO_BYTES_MAX as u64).read_to_end(&mut content));
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            ids.folders
                .entry(below.to_owned())
                .or_default()
                .push(NfoFile {
                    stem: stem.to_owned(),
                    id: read
                        .ok()
                        .and_then(|_| id_in(&String::from_utf8_lossy(&content))),
                });
        }
        ids
    }

    /// All ids, as a text that is the same for the same ids.
    pub(super) fn summary(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (folder, files) in &self.folders {
            let line = |nfo: &NfoFile| format!("{folder}/{} {:?}", nfo.stem, nfo.id);
            lines.extend(files.iter().map(line));
        }
        lines.sort_unstable();
        lines.join("\n")
    }

    /// The id of the film or the episode whose file is at this path.
    pub(super) fn of_file(&self, path: &str, is_episode: bool) -> Option<&str> {
        let (folder, name) = split_path(path);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let files = self.folders.get(folder)?;
        let of_video = files.iter().filter(|nfo| nfo.stem != OF_SERIES);
        let best = of_video
            .clone()
            .filter(|nfo| is_stem_of(&nfo.stem, stem))
            .max_by_key(|nfo| nfo.stem.len());
        let mut all = of_video;
        let only = match (all.next(), all.next()) {
            (Some(only), None) if !is_episode => Some(only),
            _ => None,
        };
        best.or(only)?.id.as_deref()
    }

    /// The id of the series in whose folder the file at this path lies.
    pub(super) fn of_series(&self, path: &str) -> Option<&str> {
        let mut folder = split_path(path).0;
        loop {
            let files = self.folders.get(folder);
            let found = files.and_then(|files| files.iter().find(|nfo| nfo.stem == OF_SERIES));
            if let Some(nfo) = found {
                return nfo.id.as_deref();
            }
            if folder.is_empty() {
                return None;
            }
            folder = split_path(folder).0;
        }
    }
}

/// The folder and the name of a path.
fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns true if a file's stem is this one, or this one and tags: `.es.forced`.
fn is_stem_of(nfo: &str, stem: &str) -> bool {
    let Some(tags) = stem.strip_prefix(nfo) else {
        return false;
    };
    let is_tag = |c: char| c.is_alphabetic() || "._-()[] ".contains(c);
    let is_set_off = tags.starts_with(['.', '_', '-', '(', '[', ' ']);
    tags.is_empty() || (is_set_off && tags.len() <= TAGS_CHARS_MAX && tags.chars().all(is_tag))
}

/// The id of IMDb that a text says is its own, else the only one in it.
fn id_in(text: &str) -> Option<String> {
    let stated = text.split("<uniqueid").skip(1).find_map(|rest| {
        let (attributes, rest) = rest.split_once('>')?;
        let is_imdb = attributes.contains("\"imdb\"") || attributes.contains("'imdb'");
        let (id, _) = rest.split_once('<')?;
        (is_imdb && is_id(id.trim())).then(|| id.trim().to_owned())
    });
    if stated.is_some() {
        return stated;
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let mut ids = words.filter(|word| is_id(word));
    let first = ids.next()?;
    ids.all(|other| other == first).then(|| first.to_owned())
}

fn is_id(word: &str) -> bool {
    let digits = word.strip_prefix("tt").unwrap_or("");
    (7..=10).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_stated_or_alone() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(id_in(text).as_deref(), expected, "{text}");
        };
        let stated = "<uniqueid type=\"tmdb\">7</uniqueid>\
            <uniqueid default=\"true\" type=\"imdb\">tt0068646</uniqueid> tt0000001";
        check(stated, Some("tt0068646"));
        check(
            "https://www.imdb.com/title/tt0068646/ tt0068646",
            Some("tt0068646"),
        );
        check("tt0068646 tt0068647", None);
        check("tt123 xtt0068646", None);
    }

    #[test]
    fn files_get_the_id_of_their_stem_their_folder_or_their_series() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, id: &str| {
            let full = dir.path().join(path);
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            std::fs::write(full, id).unwrap();
            path.to_owned()
        };
        let paths = [
            write("Up/movie.nfo", "tt1049413"),
            write("Dark/tvshow.nfo", "tt5753856"),
            write("Dark/S1/Dark.S01E01.nfo", "tt6305578"),
        ];
        let ids = NfoIds::read(dir.path(), &paths);
        assert_eq!(ids.of_file("Up/Up (2009).es.srt", false), Some("tt1049413"));
        assert_eq!(ids.of_file("Up/Up (2009).es.srt", true), None);
        assert_eq!(
            ids.of_file("Dark/S1/Dark.S01E01.es.forced.srt", true),
            Some("tt6305578")
        );
        assert_eq!(ids.of_file("Dark/S1/Dark.S01E010.es.srt", true), None);
        assert_eq!(ids.of_series("Dark/S1/Dark.S01E01.srt"), Some("tt5753856"));
        assert_eq!(ids.of_series("Up/Up.srt"), None);
    }
}
