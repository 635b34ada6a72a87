//! Ids in `.nfo` files beside those of subtitles (API.md 13.12).

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use subcat_engine::{PathName, fold};

use super::walk::{FoundFiles, stem_of};
use crate::limits::NFO_BYTES_MAX;
use crate::rows::decoded;

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
    /// Reads these files of a folder. One that cannot be read has no id.
    pub(super) fn read(folder: &Path, nfos: &FoundFiles) -> Self {
        let mut ids = Self::default();
        for nfo in nfos.iter() {
            let path = nfo.text();
            let (below, name) = split_path(&path);
            let mut content = Vec::new();
            let read = File::open(nfo.path_in(folder))
                .and_then(|file| file.take(NFO_BYTES_MAX as u64).read_to_end(&mut content));
            let id = read.ok().and_then(|_| id_in(&decoded(&content)));
            let stem = stem_of(name).to_owned();
            let files = ids.folders.entry(below.to_owned()).or_default();
            files.push(NfoFile { stem, id });
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

    /// The id of the film or the episode whose file is at this path: that of the file's stem, with
    /// or without its tags, in its folder or those up to that of its film, else the only one of the
    /// film's folder.
    pub(super) fn of_file(&self, path: &str, name: &PathName) -> Option<&str> {
        let stem = stem_of(split_path(path).1);
        let bare = fold(&name.bare_name);
        let is_own =
            |nfo: &&NfoFile| nfo.stem == stem || (!bare.is_empty() && fold(&nfo.stem) == bare);
        let of_film = name.film_folder.map(|count| beginning_of(path, count));
        let mut folder = split_path(path).0;
        loop {
            let own = self.of_video(folder).find(is_own);
            if let Some(nfo) = own {
                return nfo.id.as_deref();
            }
            if of_film.is_none_or(|film| folder.len() <= film.len()) {
                break;
            }
            folder = split_path(folder).0;
        }
        let mut all = self.of_video(of_film?);
        match (all.next(), all.next()) {
            (Some(only), None) => only.id.as_deref(),
            _ => None,
        }
    }

    /// The files of a folder that are not about a whole series.
    fn of_video(&self, folder: &str) -> impl Iterator<Item = &NfoFile> {
        let files = self.folders.get(folder).into_iter().flatten();
        files.filter(|nfo| nfo.stem != OF_SERIES)
    }

    /// The id of the series that the folders of this path belong to.
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

/// The first parts of a path.
fn beginning_of(path: &str, parts_count: usize) -> &str {
    let mut ends = path.match_indices('/').map(|(at, _)| at);
    match parts_count {
        0 => "",
        count => ends.nth(count - 1).map_or(path, |end| &path[..end]),
    }
}

/// The id of IMDb that a text declares as its own, else the only one in it.
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
    use crate::command::folder::walk::Walked;

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
        for (path, id) in [
            ("Up/movie.nfo", "tt1049413"),
            ("Dark/tvshow.nfo", "tt5753856"),
            ("Dark/S1/Dark.S01E01.nfo", "tt6305578"),
            ("hoard/Alien.1979.nfo", "tt0078748"),
        ] {
            let full = dir.path().join(path);
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            std::fs::write(full, id).unwrap();
        }
        let walked = Walked::new(dir.path()).unwrap();
        let ids = NfoIds::read(dir.path(), &walked.nfos);
        let check = |path: &str, expected: Option<&str>| {
            let name = PathName::parse(path, 2027).unwrap();
            assert_eq!(ids.of_file(path, &name), expected, "{path}");
        };
        check("Up/Up (2009).es.srt", Some("tt1049413"));
        check("Up/Subs/Up (2009).es.srt", Some("tt1049413"));
        check("Dark/S1/Dark.S01E01.es.forced.srt", Some("tt6305578"));
        check("Dark/S1/Dark.S01E010.es.srt", None);
        check("Dark/S1/Dark.S01E02.es.srt", None);
        check("hoard/Alien.1979.es.srt", Some("tt0078748"));
        // Neither another film that begins alike, nor the only one of a folder of many.
        check("hoard/Alien.1979.Resurrection.srt", None);
        check("hoard/Heat.1995.720p.srt", None);
        assert_eq!(ids.of_series("Dark/S1/Dark.S01E01.srt"), Some("tt5753856"));
        assert_eq!(ids.of_series("Up/Up.srt"), None);
    }
}
