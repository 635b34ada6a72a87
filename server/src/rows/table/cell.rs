//! Values of cells: null, text, numbers, truth values, ids, types (API.md 13.9).

use subcat_engine::fold;

use super::entity::without_markup;

/// Cells that mean nothing, folded where they have words.
const NULLS: &[&str] = &["", "\\n", "null", "none", "nan", "n/a", "-"];
/// Cells that mean that a row is of more than one episode.
const ALL_EPISODES: &[&str] = &["all", "todos", "todas", "complete", "completa"];
const FILM_TYPES: &[&str] = &[
    "movie",
    "film",
    "pelicula",
    "feature",
    "movies",
    "tvmovie",
    "tvspecial",
    "tvshort",
    "short",
    "video",
    "documentary",
];
const EPISODE_TYPES: &[&str] = &[
    "episode",
    "tv",
    "series",
    "serie",
    "show",
    "tvepisode",
    "tvseries",
    "tvminiseries",
    "tvshow",
    "miniserie",
];

/// A text without markup and white space at its ends, unless it is null.
pub(super) fn text(cell: &str) -> Option<String> {
    let cell = cell.trim();
    if is_null(cell) {
        return None;
    }
    let text = without_markup(cell);
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A title, which is one line. `None` and `Null` are titles, too.
pub(super) fn title(cell: &str) -> Option<String> {
    let cell = cell.trim();
    if cell == "\\N" {
        return None;
    }
    let title = without_markup(cell).replace(['\n', '\t'], " ");
    Some(title.trim().to_owned()).filter(|title| !title.is_empty())
}

/// Returns true if a cell means nothing.
pub(super) fn is_null(cell: &str) -> bool {
    let cell = cell.trim();
    NULLS.iter().any(|null| cell.eq_ignore_ascii_case(null))
}

/// Returns true if a cell means nothing where a number or an id is expected.
fn is_null_or_zero(cell: &str) -> bool {
    is_null(cell) || number(cell) == Some(0)
}

/// A number in the spelling of tables: `1`, `1.0`, `12,345`.
pub(super) fn number(cell: &str) -> Option<u64> {
    let cell = cell.trim();
    let cell = match cell.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        _ => cell,
    };
    let digits = without_thousands(cell, ',')?;
    digits.parse().ok()
}

/// Digits without the signs between groups of three, if there are any.
fn without_thousands(cell: &str, sign: char) -> Option<String> {
    let mut groups = cell.split(sign);
    let first = groups.next()?;
    let is_digits = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit());
    let rest: Vec<&str> = groups.collect();
    let is_first_ok = is_digits(first) && (rest.is_empty() || first.len() <= 3);
    let is_rest_ok = rest
        .iter()
        .all(|group| is_digits(group) && group.len() == 3);
    if is_first_ok && is_rest_ok {
        Some(cell.replace(sign, ""))
    } else {
        None
    }
}

/// The cell of a season or an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotCell {
    /// Null, or all of them.
    Empty,
    /// Season or episode 0.
    Zero,
    /// A number from 1 to 65,535.
    Number(u16),
    /// Anything else.
    Unreadable,
}

/// A season (`prefix` is `s`) or an episode (`e`).
pub(super) fn slot(cell: &str, prefix: char) -> SlotCell {
    let cell = cell.trim();
    if is_null(cell) {
        return SlotCell::Empty;
    }
    if prefix == 'e' && ALL_EPISODES.contains(&fold(cell).as_str()) {
        return SlotCell::Empty;
    }
    let bare = cell
        .strip_prefix([prefix, prefix.to_ascii_uppercase()])
        .unwrap_or(cell);
    match number(bare) {
        Some(0) => SlotCell::Zero,
        Some(number) => u16::try_from(number).map_or(SlotCell::Unreadable, SlotCell::Number),
        None => SlotCell::Unreadable,
    }
}

/// A count of downloads; null for anything else.
pub(super) fn downloads(cell: &str) -> Option<u32> {
    let cell = cell.trim();
    let count = match without_thousands(cell, '.').filter(|_| cell.contains('.')) {
        Some(digits) => digits.parse().ok(),
        None => number(cell),
    };
    count.and_then(|count| u32::try_from(count).ok())
}

/// A year, of several the first; null for anything else.
pub(super) fn year(cell: &str) -> Option<u16> {
    let cell = cell.trim();
    let (first, rest) = cell.split_at_checked(4)?;
    let rest = rest.trim_start();
    let is_alone = rest.is_empty() || number(cell).is_some();
    if is_alone && !rest.is_empty() && !rest.starts_with('.') {
        return None;
    }
    if !is_alone && !rest.starts_with(['-', '–', '—', '/']) {
        return None;
    }
    let year = first
        .parse()
        .ok()
        .filter(|_| first.bytes().all(|b| b.is_ascii_digit()))?;
    subcat_engine::Year::new(year).map(subcat_engine::Year::get)
}

/// An id of the catalog, also without `tt` or as an address; null for anything else.
pub(super) fn catalog_id(cell: &str) -> Option<String> {
    let cell = cell.trim();
    if is_null_or_zero(cell) {
        return None;
    }
    if !cell.contains(',')
        && let Some(number) = number(cell)
    {
        return valid_id(format!("tt{number:07}"));
    }
    let parts = cell.split(['/', '?', '#', '&', '=']);
    let is_id = |part: &&str| {
        let digits = part.strip_prefix("tt").or_else(|| part.strip_prefix("TT"));
        digits
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    let id = parts.into_iter().find(is_id)?.to_ascii_lowercase();
    if id.bytes().skip(2).all(|digit| digit == b'0') {
        return None;
    }
    valid_id(id)
}

fn valid_id(id: String) -> Option<String> {
    subcat_engine::CatalogId::parse(&id).map(|_| id)
}

/// An identifier of a file.
pub(super) fn release_id(cell: &str) -> Option<String> {
    let cell = cell.trim();
    if is_null_or_zero(cell) {
        return None;
    }
    let whole = cell.strip_suffix(".0").unwrap_or(cell);
    if whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(whole.to_owned());
    }
    Some(cell.to_owned())
}

/// A truth value. `Err` for any other text.
pub(super) fn truth(cell: &str) -> Result<Option<bool>, ()> {
    if is_null(cell) {
        return Ok(None);
    }
    let cell = cell.trim();
    let word = fold(cell.strip_suffix(".0").unwrap_or(cell));
    match word.as_str() {
        "1" | "t" | "true" | "y" | "yes" | "s" | "si" => Ok(Some(true)),
        "0" | "f" | "false" | "n" | "no" => Ok(Some(false)),
        _ => Err(()),
    }
}

/// True for an episode, false for a film, of a type that is known.
pub(super) fn is_episode_type(cell: &str) -> Option<bool> {
    let name = fold(cell).replace(' ', "");
    if EPISODE_TYPES.contains(&name.as_str()) {
        return Some(true);
    }
    FILM_TYPES.contains(&name.as_str()).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_tables_write_them() {
        for (cell, expected) in [
            ("1", Some(1)),
            (" 1.0 ", Some(1)),
            ("12,345", Some(12_345)),
            ("1,2", None),
            ("1.5", None),
            ("-1", None),
            ("", None),
            ("12,345.00", Some(12_345)),
            ("1234,567", None),
        ] {
            assert_eq!(number(cell), expected, "{cell}");
        }
    }

    #[test]
    fn seasons_and_episodes() {
        for (cell, expected) in [
            ("S01", SlotCell::Number(1)),
            ("s2", SlotCell::Number(2)),
            ("0", SlotCell::Zero),
            ("\\N", SlotCell::Empty),
            ("65536", SlotCell::Unreadable),
            ("Primera", SlotCell::Unreadable),
            ("E05", SlotCell::Unreadable),
        ] {
            assert_eq!(slot(cell, 's'), expected, "{cell}");
        }
        for (cell, expected) in [
            ("E05", SlotCell::Number(5)),
            ("Todos", SlotCell::Empty),
            ("5-6", SlotCell::Unreadable),
            ("1.0", SlotCell::Number(1)),
        ] {
            assert_eq!(slot(cell, 'e'), expected, "{cell}");
        }
    }

    #[test]
    fn downloads_have_thousands_of_both_kinds() {
        for (cell, expected) in [
            ("1.234", Some(1234)),
            ("12,345", Some(12_345)),
            ("1.0", Some(1)),
            ("0", Some(0)),
            ("many", None),
            ("5000000000", None),
        ] {
            assert_eq!(downloads(cell), expected, "{cell}");
        }
    }

    #[test]
    fn years_and_ids_that_are_none_are_null() {
        for (cell, expected) in [
            ("1995", Some(1995)),
            ("1995.0", Some(1995)),
            ("2010-2012", Some(2010)),
            ("2010–", Some(2010)),
            ("abc", None),
            ("0", None),
            ("19955", None),
            ("añol", None),
            ("1995 x", None),
        ] {
            assert_eq!(year(cell), expected, "{cell}");
        }
        for (cell, expected) in [
            ("tt0078748", Some("tt0078748")),
            ("78748", Some("tt0078748")),
            ("903747.0", Some("tt0903747")),
            ("https://www.imdb.com/title/tt0944947/", Some("tt0944947")),
            (
                "https://www.imdb.com/title/tt0944947?ref=x",
                Some("tt0944947"),
            ),
            ("0", None),
            ("tt0000000", None),
            ("unknown", None),
            ("tt", None),
        ] {
            assert_eq!(catalog_id(cell).as_deref(), expected, "{cell}");
        }
    }

    #[test]
    fn texts_truths_and_types() {
        assert_eq!(text(" <b>versi&oacute;n</b> ").as_deref(), Some("versión"));
        assert_eq!(text("N/A"), None);
        assert_eq!(text("<b></b>"), None);
        assert_eq!(title("None").as_deref(), Some("None"));
        assert_eq!(title("\\N"), None);
        assert_eq!(title("Heat<br>Fuego").as_deref(), Some("Heat Fuego"));
        assert_eq!(truth("sí"), Ok(Some(true)));
        assert_eq!(truth("N"), Ok(Some(false)));
        assert_eq!(truth(""), Ok(None));
        assert_eq!(truth("maybe"), Err(()));
        assert_eq!(is_episode_type("TV Show"), Some(true));
        assert_eq!(is_episode_type("Película"), Some(false));
        assert_eq!(is_episode_type("srt"), None);
        assert_eq!(release_id("12.0").as_deref(), Some("12"));
        assert_eq!(release_id("a.0").as_deref(), Some("a.0"));
        assert_eq!(release_id("0"), None);
    }
}
