//! The query of a search as a name: its facts, and the look-ups made for it (NAMES.md N; SEARCH.md
//! 4.11).

use super::marks::{Circumstances, FolderSeason, MarkKind, NameDate, marks};
use super::named::{Named, YEAR_LAST};
use super::parsed_name::{Doubt, EpisodeForm, NameKind, ParsedName};
use super::query_numbers::{NumberLookup, candidates, number_lookups};
use super::query_tail::{OriginalWords, tail};
use super::query_titles::{film_titles, titles};
use super::tokens::NameTokens;
use super::word_class::is_searched_ending;
use super::years::{YearWords, years};

/// The name that a query is.
///
/// Titles and tail are made on demand: most names are found as those of releases, which need
/// neither.
#[derive(Debug, Clone)]
pub struct QueryName {
    /// The year of a film, or that behind the title of an episode.
    pub year: Option<u32>,
    /// True if `year` is that of a film.
    pub is_film_year: bool,
    /// The only year behind a source word.
    pub year_behind_source: Option<u32>,
    /// The episode, season or date that the query names.
    pub named: Named,
    /// True if a word may be an episode that the query does not mark as one: if none is found, the
    /// only other answers are films, and packs where the query gives a season.
    pub may_be_episode: bool,
    /// Place among the numbers before which the title is looked up, if it has one of them.
    pub title_place: Option<usize>,
    /// Episodes to look up, in this order.
    pub numbers: Vec<NumberLookup>,
    name: ParsedName,
    original: OriginalWords,
}

impl QueryName {
    /// Reads a query, without one ending of a file.
    ///
    /// Cost: linear in the query; microseconds.
    ///
    /// ```
    /// use subcat_engine::{Named, QueryName};
    /// let name = QueryName::parse("Dark Capítulo 4 de la temporada 2.mkv");
    /// assert_eq!(name.title(), "Dark");
    /// assert_eq!(name.named, Named::Episode { season: 2, episode: 4 });
    /// ```
    pub fn parse(query: &str) -> Self {
        let circumstances = Circumstances {
            is_query: true,
            year_last: YEAR_LAST,
            folder: FolderSeason::Outside,
        };
        let stem = without_ending(query.trim());
        let name = ParsedName::new(stem, circumstances);
        let original = OriginalWords::new(stem);
        let named = named(&name);
        let year = name.year.as_ref().map(|year| year.year);
        let is_film = !matches!(name.kind, NameKind::Episode(_));
        let film_year = name.year.as_ref().filter(|_| is_film);
        let is_film_year = film_year.is_some();
        let candidates = candidates(&name, named, film_year);
        let numbers = number_lookups(&name, &candidates, named, &original);
        Self {
            year,
            is_film_year,
            year_behind_source: year_behind_source(&name),
            named,
            may_be_episode: candidates.iter().any(|candidate| !candidate.is_own),
            title_place: numbers.title_place,
            numbers: numbers.lookups,
            name,
            original,
        }
    }

    /// The displayed title; empty if the query has none.
    pub fn title(&self) -> String {
        self.name.shown_title()
    }

    /// Folded words that are no words of title, year or marks.
    pub fn tail(&self) -> Vec<String> {
        tail(&self.original, &self.name, None)
    }

    /// Titles to look up, in their displayed form, in this order; the first is
    /// [`QueryName::title`].
    pub fn titles(&self) -> Vec<String> {
        titles(&self.name, self.named)
    }

    /// Titles of films of the year, in their displayed form, in this order.
    pub fn film_titles(&self) -> Vec<String> {
        if self.is_film_year {
            film_titles(&self.name)
        } else {
            Vec::new()
        }
    }

    /// The season that the query names, and its episode; `None` for a number without season.
    pub fn season_and_episode(&self) -> Option<(u32, Option<u32>)> {
        match self.named {
            Named::Episode { season, episode } => Some((season, Some(episode))),
            Named::Season(season) => Some((season, None)),
            _ => None,
        }
    }
}

/// True if a text gives this day.
pub(crate) fn tells_date(text: &str, date: NameDate) -> bool {
    let circumstances = Circumstances {
        is_query: false,
        year_last: YEAR_LAST,
        folder: FolderSeason::Outside,
    };
    let tokens = NameTokens::new(text);
    let marks = marks(&tokens, &years(&tokens, YEAR_LAST), &circumstances);
    marks.iter().any(|mark| mark.kind == MarkKind::Date(date))
}

/// A value without one ending of a subtitle, an archive or a video.
fn without_ending(value: &str) -> &str {
    match value.rsplit_once('.') {
        Some((stem, ending)) if is_searched_ending(ending) => stem,
        _ => value,
    }
}

fn named(name: &ParsedName) -> Named {
    let NameKind::Episode(episode) = name.kind else {
        return Named::Nothing;
    };
    if name.doubt == Some(Doubt::CapAndSeason) {
        return Named::Contradiction;
    }
    if episode.season == Some(0) || episode.episode == Some(0) {
        return Named::Special;
    }
    match (episode.form, episode.season, episode.episode) {
        (EpisodeForm::Date(date), ..) => Named::Date(date),
        (_, Some(season), Some(episode)) => Named::Episode { season, episode },
        (_, Some(season), None) => Named::Season(season),
        (_, None, Some(number)) => Named::Number(number),
        (_, None, None) => Named::Seasons,
    }
}

/// The only year behind a source word.
fn year_behind_source(name: &ParsedName) -> Option<u32> {
    let source = name.words.source?;
    let is_behind = |year: &&YearWords| source < year.words.start;
    let mut behind = name.words.years.iter().filter(is_behind);
    let year = behind.next()?.year;
    if behind.next().is_some() {
        None
    } else {
        Some(year)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, title: &str, named: Named, tail: &str) {
        let name = QueryName::parse(query);
        assert_eq!(name.title(), title, "{query:?}");
        assert_eq!(name.named, named, "{query:?}");
        assert_eq!(name.tail().join(" "), tail, "{query:?}");
    }

    const fn episode(season: u32, episode: u32) -> Named {
        Named::Episode { season, episode }
    }

    #[test]
    fn queries_name_episodes_seasons_and_dates() {
        check(
            "Dark.S02.Ep04.1080p.WEB-DL-GRP",
            "Dark",
            episode(2, 4),
            "1080p web dl grp",
        );
        check(
            "[grupo] Dark S02E04 [720p].mkv",
            "Dark",
            episode(2, 4),
            "grupo 720p",
        );
        check("Dark S02 E04E05", "Dark", episode(2, 4), "");
        check("Dark Temporada 2 04.mkv", "Dark", episode(2, 4), "");
        check(
            "Mushishi - Series 2, Episode 12.mkv",
            "Mushishi",
            episode(2, 12),
            "",
        );
        check("Dark T2 Cap 4.avi", "Dark", episode(2, 4), "");
        check("Dark 2 temporada.zip", "Dark", Named::Season(2), "");
        check("Dark Temporada 2 (2).zip", "Dark", Named::Season(2), "2");
        check(
            "Los Serrano S03 10 bit 1080p.mkv",
            "Los Serrano",
            Named::Season(3),
            "10 bit 1080p",
        );
        check("Dark S01-S03", "Dark", Named::Seasons, "");
        check("Dark S00E01", "Dark", Named::Special, "");
        check("Dark Temporada 1 Cap.305", "Dark", Named::Contradiction, "");
        check("Mushishi EP12", "Mushishi", Named::Number(12), "");
        let date = NameDate {
            year: 2019,
            month: 3,
            day: 14,
        };
        check(
            "El hormiguero 14.03.2019",
            "El hormiguero",
            Named::Date(date),
            "",
        );
        check(
            "El hormiguero (14 mar 2019).avi",
            "El hormiguero",
            Named::Date(date),
            "",
        );
        check(
            "Volver (Pedro Almodovar, 2006)",
            "Volver",
            Named::Nothing,
            "pedro almodovar",
        );
        check("1984 1984.mkv", "1984", Named::Nothing, "");
        check("Dark Temporada 2.vtt", "Dark", Named::Season(2), "");
    }

    #[test]
    fn years_of_films() {
        let year = |query: &str| {
            let name = QueryName::parse(query);
            (name.year, name.is_film_year, name.year_behind_source)
        };
        assert_eq!(year("Volver (2006)"), (Some(2006), true, None));
        assert_eq!(
            year("Solaris.1080p.Dual.1972.BluRay-GRP"),
            (None, false, Some(1972))
        );
        assert_eq!(year("Castle (2009) S03E04"), (Some(2009), false, None));
        assert_eq!(year("Dark S03E04"), (None, false, None));
    }

    #[test]
    fn texts_tell_dates() {
        let date = NameDate {
            year: 2019,
            month: 3,
            day: 14,
        };
        assert!(tells_date("El hormiguero 2019-03-14", date));
        assert!(tells_date("Programa del 14 de marzo de 2019.", date));
        assert!(!tells_date("14.03.2018", date));
        // Words of another mark are no date.
        assert!(!tells_date("Capítulo 14 03 2019", date));
        assert!(!tells_date("01.02.2019.03.14", date));
    }

    #[test]
    fn any_text_is_read() {
        for text in [
            "", "()", "- (1)", "S", "½½", "[", "S01E", "1x", ".mkv", "2006", "((((", "×",
        ] {
            QueryName::parse(text);
        }
    }
}
