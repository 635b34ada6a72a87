//! Names that people write, read as queries, releases, paths and languages.

use subcat_engine::{
    FolderSeason, ParsedRelease, PathName, QueryName, ReleaseFacts, ToldLanguage, language_of,
};

/// Numbers of a query that are looked up: three words, each in two ways.
const NUMBERS_MAX: usize = 6;
/// Titles of a query that are looked up: as read, and with one change each.
const TITLES_MAX: usize = 6;
/// Titles of films that are looked up: with up to eight words less, and behind the first dash.
const FILM_TITLES_MAX: usize = 9;

/// Every text is read, as anything that has a name, within the bounds of NAMES.md; an ending adds
/// nothing to a query; a language that is read is a tag that is read as itself.
pub fn names(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let query = QueryName::parse(&text);
    assert!(query.numbers.len() <= NUMBERS_MAX, "{text:?}");
    let (title, titles) = (query.title(), query.titles());
    assert!(titles.len() <= TITLES_MAX, "{text:?}");
    assert!(query.film_titles().len() <= FILM_TITLES_MAX, "{text:?}");
    assert_eq!(titles.first().map_or("", |it| it), title, "{text:?}");
    ParsedRelease::parse(&text, 2030, FolderSeason::Outside);
    ParsedRelease::parse(&text, 2030, FolderSeason::Number(1));
    ReleaseFacts::parse(&text);
    for language in ToldLanguage::all(&text) {
        assert!(language.stands_in(&text), "{text:?} {}", language.tag);
    }
    if let Some(tag) = language_of(&text) {
        assert_eq!(language_of(&tag).as_deref(), Some(tag.as_str()), "{text:?}");
    }
    if let Ok(name) = PathName::parse(&text, 2030) {
        assert!(!name.title.is_empty(), "{text:?}");
        assert!(
            name.season != Some(0) && name.episode != Some(0),
            "{text:?}"
        );
        assert!(
            name.is_episode || name.season.or(name.episode).is_none(),
            "{text:?}"
        );
    }
}
