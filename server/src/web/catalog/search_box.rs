//! Texts that people paste or type into the search box, read as the intended search.
//!
//! A pure function from parameters to parameters: the API is not affected. Links and ids lead to a
//! page, a file name loses its folder and its ending, and an episode implies its type.
//! "temporada 2" may be the marker that the search rules know, or words of a title.

use std::iter;

use subcat_engine::{QueryName, RecordId, fold, is_file_ending, words as folded_words};

use crate::web::frame::params::Params;

/// The intended search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BoxReading {
    /// The page that the text names, if it names one.
    pub(crate) destination: Option<Destination>,
    /// The parameters of the search.
    pub(crate) params: Params,
    /// The same with season and episode in words as a marker, or as filters. It is meant unless the
    /// words are those of a title.
    pub(crate) marked: Option<Params>,
}

/// A page that a pasted text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A record.
    Record(RecordId),
    /// A title, by the number of its catalog id.
    Title(u64),
}

/// Criteria of a search; the other parameters are filters.
const CRITERIA: [&str; 4] = ["query", "title", "catalog_id", "public_id"];
/// Digits of a catalog id in a text that people paste.
const CATALOG_DIGITS: std::ops::RangeInclusive<usize> = 5..=10;

/// True if the parameters have a criterion, so that there is something to search for.
pub(crate) fn has_criterion(params: &Params) -> bool {
    CRITERIA.iter().any(|name| !params.get(name).is_empty())
}

/// Reads the parameters of the catalog. `has_alias` is true if `imdb_id` names a catalog id.
pub(crate) fn read(params: &Params, has_alias: bool) -> BoxReading {
    let mut reading = BoxReading {
        params: params.clone(),
        ..BoxReading::default()
    };
    let params = &mut reading.params;
    if has_alias {
        let alias = params.get("imdb_id").to_owned();
        params.remove("imdb_id");
        if params.get("catalog_id").is_empty() && !alias.is_empty() {
            params.set("catalog_id", &alias);
        }
    }
    let text = params.get("query").to_owned();
    if let Some(number) = title_number(&text) {
        params.remove("query");
        params.set("catalog_id", &format!("tt{number:07}"));
        reading.destination = Some(Destination::Title(number));
    } else if let Some(id) = record_id(&text) {
        params.remove("query");
        params.set("public_id", &id.to_string());
        reading.destination = Some(Destination::Record(id));
    } else if !text.is_empty() {
        let stem = file_stem(&text);
        params.set("query", stem);
        reading.marked = marked(stem, params);
    }
    for params in iter::once(&mut reading.params).chain(&mut reading.marked) {
        imply_type(params);
    }
    reading
}

/// Season and episode imply the type: films have neither.
fn imply_type(params: &mut Params) {
    let is_place = !params.get("season").is_empty() || !params.get("episode").is_empty();
    match params.get("video_type") {
        "" if is_place => params.set("video_type", "episode"),
        "movie" => {
            params.remove("season");
            params.remove("episode");
        }
        _ => {}
    }
}

/// The number of a pasted link to a title, or of a catalog id without other text.
fn title_number(text: &str) -> Option<u64> {
    let id = match text.split_once("/title/") {
        Some((_, rest)) => rest.split(['/', '?', '#']).next().unwrap_or(""),
        None => text,
    };
    let digits = id.strip_prefix("tt").or_else(|| id.strip_prefix("TT"))?;
    let is_id =
        CATALOG_DIGITS.contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    if is_id { digits.parse().ok() } else { None }
}

/// The id of a record, alone or in a pasted link.
fn record_id(text: &str) -> Option<RecordId> {
    let mut pieces = text.split(['/', '?', '#', '=', '&']);
    pieces.find_map(RecordId::parse)
}

/// A pasted file name without its folder and its ending; any other text unchanged.
fn file_stem(text: &str) -> &str {
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    match name.rsplit_once('.') {
        Some((stem, ending)) if is_file_ending(ending) && !stem.is_empty() => stem,
        // A slash without an ending belongs to a title: `Face/Off`.
        _ => text,
    }
}

/// The parameters with season and episode that a text says in words as the marker of the search
/// rules; without other words, as filters. `None` for a text with this marker or another, and for
/// the name of a release.
fn marked(text: &str, params: &Params) -> Option<Params> {
    let name = QueryName::parse(text);
    let (season, episode) = name.season_and_episode()?;
    let (title, tail) = (name.title(), name.tail().join(" "));
    let words = match (title.as_str(), tail.as_str()) {
        ("", words) | (words, "") => words,
        _ => return None,
    };
    let marker = match episode {
        Some(episode) => format!("S{season:02}E{episode:02}"),
        None => format!("S{season:02}"),
    };
    let folded_marker = marker.to_lowercase();
    let is_another = |word: &str| is_episode_word(word) && word != folded_marker;
    if text.to_uppercase().contains(&marker) || folded_words(&fold(text)).any(is_another) {
        return None;
    }
    let mut marked = params.clone();
    if words.is_empty() {
        marked.remove("query");
        marked.set("season", &season.to_string());
        if let Some(episode) = episode {
            marked.set("episode", &episode.to_string());
        }
    } else {
        marked.set("query", &format!("{words} {marker}"));
    }
    Some(marked)
}

/// Returns true for a folded word that is a marker.
fn is_episode_word(word: &str) -> bool {
    let Some(numbers) = word.strip_prefix('s') else {
        return false;
    };
    let (season, episode) = numbers.split_once('e').unwrap_or((numbers, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    is_number(season) && is_number(episode)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "69d40d03-2837-540b-87b5-fc2ebf0c1919";

    fn check(typed: &[(&str, &str)], expected: &[(&str, &str)]) {
        check_params(&read(&Params::of(typed), true).params, expected);
    }

    fn check_params(params: &Params, expected: &[(&str, &str)]) {
        for (name, value) in expected {
            assert_eq!(params.get(name), *value, "{name} of {expected:?}");
        }
        let names: Vec<&str> = expected.iter().map(|it| it.0).collect();
        assert_eq!(params.without(&names), "", "{expected:?}");
    }

    /// Checks what is meant unless the words are those of a title.
    fn check_marked(typed: &str, expected: &[(&str, &str)]) {
        let reading = read(&Params::of(&[("query", typed)]), true);
        assert_eq!(reading.params.get("query"), typed);
        let marked = reading.marked.as_ref();
        check_params(marked.unwrap_or(&Params::default()), expected);
    }

    fn check_words(typed: &str, expected: &str) {
        check(&[("query", typed)], &[("query", expected)]);
    }

    fn destination(typed: &str) -> Option<Destination> {
        read(&Params::of(&[("query", typed)]), true).destination
    }

    #[test]
    fn links_and_ids_lead_to_their_page() {
        let title = Some(Destination::Title(133_093));
        assert_eq!(destination("https://www.imdb.com/title/tt0133093/"), title);
        assert_eq!(destination("m.imdb.com/es/title/tt0133093?ref_=x"), title);
        assert_eq!(destination("tt0133093"), title);
        assert_eq!(destination("TT133093"), title);
        assert_eq!(
            destination("http://localhost:8080/title/tt0133093#releases"),
            title
        );
        assert_eq!(destination("tt12"), None);
        assert_eq!(destination("matrix tt0133093"), None);
        let record = Some(Destination::Record(RecordId::parse(ID).unwrap()));
        assert_eq!(destination(ID), record);
        assert_eq!(
            destination(&format!("https://x.example/catalog/{ID}")),
            record
        );
        let download = format!("http://x/api/subtitles/{ID}/download?x=1");
        assert_eq!(destination(&download), record);
        check(&[("query", "tt0133093")], &[("catalog_id", "tt0133093")]);
        check(&[("query", ID)], &[("public_id", ID)]);
    }

    #[test]
    fn a_file_name_loses_its_folder_and_its_ending() {
        check_words(
            "The.Matrix.1999.1080p.WEB.H264-BRASA.srt",
            "The.Matrix.1999.1080p.WEB.H264-BRASA",
        );
        check_words("C:\\films\\The.Matrix.1999.mkv", "The.Matrix.1999");
        check_words("/srv/films/The Matrix (1999).MKV", "The Matrix (1999)");
        check_words("Face/Off", "Face/Off");
        check_words("Monsters, Inc.", "Monsters, Inc.");
        check_words(".srt", ".srt");
    }

    #[test]
    fn seasons_in_words_may_be_markers() {
        for (typed, expected) in [
            ("breaking bad temporada 2", "breaking bad S02"),
            ("breaking bad season 2", "breaking bad S02"),
            ("Season 2 breaking bad", "breaking bad S02"),
            ("breaking bad 2ª temporada", "breaking bad S02"),
            ("breaking bad 2nd season", "breaking bad S02"),
            ("breaking bad segunda temporada", "breaking bad S02"),
            ("lost temporada 1, capítulo 3", "lost S01E03"),
            ("lost season 1 episode 3", "lost S01E03"),
        ] {
            check_marked(typed, &[("query", expected)]);
        }
        let filters = [("season", "2"), ("video_type", "episode")];
        check_marked("temporada 2", &filters);
        let filters = [("season", "1"), ("episode", "2"), ("video_type", "episode")];
        check_marked("1x02", &filters);
        for typed in [
            "la temporada del miedo",
            "star wars episode 3",
            "lost s01e02",
            "s01e02",
            "3x3.Reyes.S01E05",
        ] {
            check_marked(typed, &[]);
        }
    }

    #[test]
    fn an_episode_implies_its_type() {
        check(
            &[("query", "lost"), ("season", "1")],
            &[
                ("query", "lost"),
                ("season", "1"),
                ("video_type", "episode"),
            ],
        );
        check(
            &[("episode", "3")],
            &[("episode", "3"), ("video_type", "episode")],
        );
        check(
            &[("video_type", "movie"), ("season", "1")],
            &[("video_type", "movie")],
        );
    }

    #[test]
    fn the_alias_of_the_catalog_id_is_its_name_here() {
        check(&[("imdb_id", "tt1")], &[("catalog_id", "tt1")]);
        check(
            &[("imdb_id", "tt1"), ("catalog_id", "tt2")],
            &[("catalog_id", "tt2")],
        );
        let without = read(&Params::of(&[("imdb_id", "tt1")]), false).params;
        assert!(!has_criterion(&without));
    }
}
