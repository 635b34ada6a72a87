//! The path of a file in a folder of subtitles: its record, or the reason why it is refused
//! (NAMES.md P).

use super::episode_number::{first_episode, path_number};
use super::folder::FolderKind;
use super::folders::Folders;
use super::left_out::{is_extra, is_hidden};
use super::marks::{Circumstances, FolderSeason};
use super::parsed_name::{EpisodeForm, EpisodeName, NameKind, ParsedName};
use super::path_doubt::{
    has_episode_doubt, has_film_doubt, is_complete_disc, is_season_and_episode,
};
use super::path_language::{folder_flags, surroundings};
use super::path_refusal::PathRefusal;
use super::path_title::{PathRecord, film_folder, film_with_folder, told_by_folder, with_folders};
use super::tags::{Surroundings, Tags};

/// The record described by a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathName {
    /// True for an episode, a season or a series; false for a film.
    pub is_episode: bool,
    /// The displayed title.
    pub title: String,
    /// The season, from 1 on.
    pub season: Option<u32>,
    /// The episode, from 1 on.
    pub episode: Option<u32>,
    /// The year of the film, or that beside the title of the series.
    pub year: Option<u32>,
    /// The id of the film or the episode, such as `tt0068646`.
    pub catalog_id: Option<String>,
    /// The id of the series.
    pub parent_catalog_id: Option<String>,
    /// The tag of the language.
    pub language: Option<String>,
    /// True if name or folders say that it is for the hearing impaired.
    pub is_hearing_impaired: bool,
    /// True if name or folders say that it is for foreign passages only.
    pub is_forced: bool,
    /// The name of the folder that was read in place of the file's name.
    pub folder: Option<String>,
    /// Number of folders from the outermost to that of the film, if it lies in one.
    pub film_folder: Option<usize>,
    /// The file's name without its ending and its tags.
    pub bare_name: String,
}

/// Facts of a path that a table of corrections tells, so that the path need not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CorrectedPath {
    /// True if it tells whether it is a film: a name that tells nothing is a title then.
    pub has_type: bool,
    /// True if it tells the title.
    pub has_title: bool,
    /// True if it tells the language.
    pub has_language: bool,
}

impl CorrectedPath {
    /// Returns true if a name that is refused for this reason is taken for a title.
    fn takes(self, refusal: &PathRefusal) -> bool {
        self.has_type && (self.has_title || *refusal == PathRefusal::TellsNothing)
    }
}

impl PathName {
    /// Reads a path below the folder that is imported, with `/` between its parts and the ending
    /// of the file. `year_last` is the last number that is a year: next year.
    ///
    /// Errors: the reason why the path is refused, the first by rule.
    ///
    /// ```
    /// use subcat_engine::PathName;
    /// let name = PathName::parse("Series/Dark (2017)/Season 1/02.es.srt", 2027).unwrap();
    /// assert_eq!((name.title.as_str(), name.season, name.episode), ("Dark", Some(1), Some(2)));
    /// assert_eq!((name.year, name.language.as_deref()), (Some(2017), Some("es")));
    /// ```
    pub fn parse(path: &str, year_last: u32) -> Result<Self, PathRefusal> {
        Self::parse_corrected(path, year_last, CorrectedPath::default())
    }

    /// Reads a path as [`PathName::parse`] does, but is not refused for what a table tells of it.
    ///
    /// Errors: the reason why the path is refused, the first by rule.
    pub fn parse_corrected(
        path: &str,
        year_last: u32,
        corrected: CorrectedPath,
    ) -> Result<Self, PathRefusal> {
        if is_hidden(path) {
            return Err(PathRefusal::Hidden);
        }
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let file = parts.pop().unwrap_or("");
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let folders = Folders::new(&parts, year_last);
        let around = surroundings(&folders);
        let circumstances = Circumstances {
            is_query: false,
            year_last,
            folder: folders.season,
        };
        let tags = Tags::new(stem, circumstances, &around);
        let mut name = ParsedName::new(&tags.name, circumstances);
        name.words.ids.clone_from(&tags.ids);
        if is_extra(&folders, &name) {
            return Err(PathRefusal::Extra);
        }
        let record = match read(&folders, &name, &around) {
            Err(refusal) if corrected.takes(&refusal) => PathRecord::titled(&name),
            read => read?,
        };
        if record.title.is_empty() && !corrected.has_title {
            return Err(PathRefusal::NoTitle);
        }
        if let Some(words) = tags.refused.filter(|_| !corrected.has_language) {
            return Err(PathRefusal::Language(words));
        }
        let language = tags.language.or(around.language);
        if language.is_none() && !corrected.has_language && has_folder_hi(&folders) {
            return Err(PathRefusal::Language("hi".to_owned()));
        }
        let flags = folder_flags(&folders);
        let film_folder = film_folder(&folders, &record);
        let is_special = record.season == Some(0) || record.episode == Some(0);
        Ok(Self {
            is_episode: record.is_episode,
            title: record.title,
            season: record.season.filter(|_| !is_special),
            episode: record.episode.filter(|_| !is_special),
            year: record.year,
            catalog_id: record.id,
            parent_catalog_id: record.parent_id,
            language,
            is_hearing_impaired: tags.is_hearing_impaired || flags.is_hearing_impaired,
            is_forced: tags.is_forced || flags.is_forced,
            film_folder,
            bare_name: tags.name,
            folder: record.folder,
        })
    }
}

/// True if a folder below the inner one says `hi`.
fn has_folder_hi(folders: &Folders) -> bool {
    folders.below_inner().any(|folder| {
        let tokens = &folder.parsed.words.tokens;
        folder.kind == FolderKind::Passed && tokens.range(0..tokens.len()).any(|word| word == "hi")
    })
}

/// Reads a name in its folders (NAMES.md P2 to P6).
fn read(
    folders: &Folders,
    name: &ParsedName,
    around: &Surroundings,
) -> Result<PathRecord, PathRefusal> {
    let is_in_season = folders.season != FolderSeason::Outside;
    if let NameKind::Episode(episode) = name.kind {
        return read_episode(folders, name, episode);
    }
    if !is_in_season && let Some(record) = series_told(name) {
        return Ok(with_folders(folders, record));
    }
    if is_in_season && folders.episode.is_none() {
        return read_in_season(folders, name, around);
    }
    let is_doubtful = name.doubt.is_some() || has_film_doubt(name);
    if name.kind == NameKind::Film && name.year.is_some() && !is_doubtful {
        return Ok(film_with_folder(folders, name));
    }
    told_by_folder(folders, name, is_doubtful)
}

/// A name that gives an episode by itself.
fn read_episode(
    folders: &Folders,
    name: &ParsedName,
    episode: EpisodeName,
) -> Result<PathRecord, PathRefusal> {
    if name.doubt.is_some() || has_episode_doubt(name, &episode) {
        return told_by_folder(folders, name, true);
    }
    match (folders.season, episode.season) {
        (FolderSeason::Unknown, None) => return Err(PathRefusal::NoEpisodeNumber),
        (FolderSeason::Number(folder), Some(season)) if folder != 0 && folder != season => {
            return Err(PathRefusal::OtherSeason);
        }
        _ => {}
    }
    if is_season_and_episode(&episode, folders.season) {
        return told_by_folder(folders, name, true);
    }
    let record = PathRecord::of_episode(name, &episode);
    Ok(with_folders(folders, record))
}

/// A name in the folder of a season that gives no episode by itself: it needs a number.
fn read_in_season(
    folders: &Folders,
    name: &ParsedName,
    around: &Surroundings,
) -> Result<PathRecord, PathRefusal> {
    let number = path_number(&name.words, &around.series, around.series_year);
    let FolderSeason::Number(season) = folders.season else {
        return Err(PathRefusal::NoEpisodeNumber);
    };
    let Some(number) = number else {
        return Err(PathRefusal::NoEpisodeNumber);
    };
    let Some(episode) = first_episode(&name.words, number.episodes) else {
        return Err(PathRefusal::MayBeEpisode);
    };
    let episode = EpisodeName {
        season: Some(season),
        episode,
        form: EpisodeForm::Episode,
    };
    let record = PathRecord::of_number(&episode);
    Ok(with_folders(folders, record))
}

/// A name without mark that says that it is of a whole series (NAMES.md P3).
fn series_told(name: &ParsedName) -> Option<PathRecord> {
    let is_phrase = name.series_phrase.is_some() && !is_complete_disc(name);
    if !is_phrase || !name.words.marks.is_empty() {
        return None;
    }
    let episode = EpisodeName {
        season: None,
        episode: None,
        form: EpisodeForm::Seasons,
    };
    Some(PathRecord::of_episode(name, &episode))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str) -> String {
        let name = match PathName::parse(path, 2027) {
            Ok(name) => name,
            Err(refusal) => return format!("! {refusal}"),
        };
        let number = |it: Option<u32>| it.map_or("-".to_owned(), |it| it.to_string());
        let mut text = format!("m|{}|{}", name.title, number(name.year));
        if name.is_episode {
            let (season, episode) = (number(name.season), number(name.episode));
            text = format!("e|{}|{season}|{episode}|{}", name.title, number(name.year));
        }
        for (sign, part) in [
            (" ", name.catalog_id),
            (" of ", name.parent_catalog_id),
            (" in ", name.language),
        ] {
            text.extend(part.map(|part| format!("{sign}{part}")));
        }
        if name.is_hearing_impaired {
            text.push_str(" hi");
        }
        if name.is_forced {
            text.push_str(" forced");
        }
        text
    }

    fn check(path: &str, expected: &str) {
        assert_eq!(shown(path), expected, "{path:?}");
    }

    const NUMBER: &str = "! a number that may be an episode";
    const NOTHING: &str = "! neither year nor episode nor id, in name or folder";
    const NO_NUMBER: &str = "! no episode number in the folder of a season";

    #[test]
    fn a_table_tells_what_a_path_does_not() {
        let all = CorrectedPath {
            has_type: true,
            has_title: true,
            has_language: true,
        };
        let read = |path: &str, corrected| {
            let name = PathName::parse_corrected(path, 2027, corrected);
            name.map(|name| (name.title, name.language))
        };
        let typed = CorrectedPath {
            has_type: true,
            ..CorrectedPath::default()
        };
        let ok = |title: &str, language: Option<&str>| {
            Ok((title.to_owned(), language.map(str::to_owned)))
        };
        let tells_nothing = Err(PathRefusal::TellsNothing);
        assert_eq!(read("Hola.en.srt", CorrectedPath::default()), tells_nothing);
        assert_eq!(read("Hola.en.srt", typed), ok("Hola", Some("en")));
        let language = Err(PathRefusal::Language("it".to_owned()));
        assert_eq!(read("Hola.it.srt", typed), language);
        assert_eq!(read("Dark.S01E04.Pilot.it.srt", typed), language);
        let titled = CorrectedPath {
            has_language: true,
            ..CorrectedPath::default()
        };
        assert_eq!(read("Dark.S01E04.Pilot.it.srt", titled), ok("Dark", None));
        let doubt = Err(PathRefusal::MayBeEpisode);
        assert_eq!(read("The.Flash.2014.208.hdtv.srt", typed), doubt);
        assert!(read("The.Flash.2014.208.hdtv.srt", all).is_ok());
    }

    #[test]
    fn f11_the_folder_of_a_film_and_the_name_without_tags() {
        let check = |path: &str, folder: Option<usize>, bare_name: &str| {
            let name = PathName::parse(path, 2027).unwrap();
            assert_eq!(name.film_folder, folder, "{path}");
            assert_eq!(crate::text::fold(&name.bare_name), bare_name, "{path}");
        };
        check("Movies/Heat (1995)/Subs/2_Spanish.srt", Some(2), "2");
        check("Up/Up (2009).es.forced.srt", Some(1), "up 2009");
        check("Movies/Up (2009).srt", None, "up 2009");
        check("Action/Up (2009).srt", None, "up 2009");
        check("Fuego (1995)/Heat (1995).srt", Some(1), "heat 1995");
        check("Dark/Season 1/Dark.S01E01.en.srt", None, "dark s01e01");
    }

    #[test]
    fn p1_folders_that_are_passed_and_seasons() {
        check("TV/Solo/Temporada 1/Subs/02.srt", "e|Solo|1|2|-");
        check(
            "TV/Solo/Season 1/1080p.WEB-DL.DD5.1-GRP/S01E03.srt",
            "e|Solo|1|3|-",
        );
        check("TV/Solo/Primera temporada/04.srt", "e|Solo|1|4|-");
        check("TV/Solo/4 Temporada/05.srt", "e|Solo|4|5|-");
        check("TV/Solo/Season 2014/05.srt", "e|Solo|2014|5|-");
        check("TV/Solo/Temporada Dos/05.srt", "e|Solo|2|5|-");
        check("TV/Solo/Season 1-3/S02E01.srt", "e|Solo|2|1|-");
        check("TV/Solo/Season 1-3/05.srt", NO_NUMBER);
        check("TV/Solo/Season 1-3/Episode 5/es.srt", NO_NUMBER);
        check("TV/Solo T1 1080p/E02.srt", "e|Solo|1|2|-");
        check("TV/24/Season 2/S02E03.srt", "e|24|2|3|-");
        check("TV/Solo/Specials/01 - Making of.srt", "e|Solo|-|-|-");
        check("TV/Solo/Season 2/Title/Solo 05.srt", "e|Solo|2|5|-");
    }

    #[test]
    fn p2_numbers_in_the_folder_of_a_season() {
        check("TV/Solo/Season 1/Solo 102.srt", NUMBER);
        check("TV/Solo/Season 1/Solo 102 720p.srt", "e|Solo|1|2|-");
        check("TV/Solo/Season 3/Cap.305.srt", "e|Solo|3|5|-");
        check("TV/Solo/Season 3/Capítulo 305.srt", NUMBER);
        check("TV/Solo/Season 1/2 Brothers 01.srt", NO_NUMBER);
        check("TV/Solo/Season 1/05 - 24 horas.srt", NO_NUMBER);
        check("TV/Solo/Season 1/05-Title.srt", "e|Solo|1|5|-");
        check("TV/Solo/Season 1/05. Title.srt", "e|Solo|1|5|-");
        check("TV/Solo/Season 1/05v2.srt", "e|Solo|1|5|-");
        check("TV/Solo/Season 1/05a.srt", NO_NUMBER);
        check("TV/Solo/Season 1/01-03.srt", "e|Solo|1|-|-");
        check("TV/Solo/Season 1/01-02.srt", "e|Solo|1|1|-");
        check(
            "TV/Solo/Season 3/Solo - S02E01.srt",
            "! season of the name and of its folder differ",
        );
        check("TV/Solo/Specials/Solo S01E01.srt", "e|Solo|1|1|-");
    }

    #[test]
    fn p3_doubt_and_series() {
        check("03 - Volver (2006).srt", NUMBER);
        check("Open Season 2 (2008).srt", NUMBER);
        check("Solo S02 05.srt", NUMBER);
        check("Solo S02-05.srt", "e|Solo|-|-|-");
        check("Solo.Complete.Series.BluRay.zip", "e|Solo|-|-|-");
        check("Solo.Complete.BluRay.zip", NUMBER);
        check("Solo.2009.COMPLETE.BLURAY-GRP.srt", "m|Solo|2009");
    }

    #[test]
    fn p4_folders_read_in_place_of_names() {
        check("Movies/Heat (1995)/Subs/3_Spanish.srt", "m|Heat|1995 in es");
        check("Movies/Heat (1995)/heat.bluray.x264.srt", "m|Heat|1995");
        check("hoard/Heat.1995.1080p.x264-ABC/abc-ht.srt", "m|Heat|1995");
        check("Movies/Rocky (1976)/Rocky.II.1080p.srt", "m|Rocky II|-");
        check("Movies/Rocky (1976)/Rocky II.srt", NUMBER);
        check("TV/Fargo (1996)/Fargo.srt", NOTHING);
        check("TV Shows/Heat.1080p.srt", NOTHING);
        check(
            "The Godfather [tt0068646].zip",
            "m|The Godfather|- tt0068646",
        );
        check(
            "Saga (2010)/21 {imdb-tt0478087}/movie.srt",
            "m|21|- tt0478087",
        );
        check("Saga (2010)/21 [tmdbid-8051]/movie.srt", NOTHING);
        check("Saga (2010)/21/movie.srt", "m|Saga|2010");
        check(
            "Heat.1995.LATINO.tt0113277.srt",
            "m|Heat|1995 tt0113277 in es-419",
        );
        check("Heat.tt0113277.srt", "m|Heat|- tt0113277");
        check("tv/Solo.S01E05.720p-ABC/abcdef.srt", "e|Solo|1|5|-");
        check("hoard/Alien.srt", NOTHING);
    }

    #[test]
    fn p5_titles_of_series() {
        check(
            "TV/Solo (2017)/Season 1/La.casa.S01E03.srt",
            "e|Solo|1|3|2017",
        );
        check(
            "TV/Solo (1966)/Solo Discovery S01E01.srt",
            "e|Solo Discovery|1|1|-",
        );
        check(
            "TV/Solo (US)/Season 3/Solo - S03E05.srt",
            "e|Solo (US)|3|5|-",
        );
        check(
            "TV/Solo {imdb-tt5753856}/Solo.S01.1080p/Solo.S01E03.srt",
            "e|Solo|1|3|- of tt5753856",
        );
        check("S01E05.srt", "! no title");
        check("Solo (2010-2013) 05.06.2013.srt", "e|Solo|-|-|2010");
    }

    #[test]
    fn p6_films_and_their_folders() {
        let folder = "Movies/Rocky {imdb-tt0075148}";
        check(
            &format!("{folder}/Rocky 1976.srt"),
            "m|Rocky|1976 tt0075148",
        );
        check(&format!("{folder}/Rocky II 1979.srt"), "m|Rocky II|1979");
        check("m/Solo (1978)/Anna Smiths Solo (1978).srt", "m|Solo|1978");
        check(
            "m/Solo (2002) tt1111111/Solo (2002) tt3333333.srt",
            "m|Solo|2002",
        );
    }

    #[test]
    fn l_languages_and_flags() {
        check("Solo (2009).es.forced.srt", "m|Solo|2009 in es forced");
        check("Solo (2009).es.2.srt", "m|Solo|2009 in es");
        check("Solo (2009) (2).es.srt", "m|Solo|2009 in es");
        check("m/Solo (2009)/Solo - Forced.srt", "m|Solo|2009 forced");
        check("m/CC (2010)/CC.srt", "m|CC|2010");
        check("Solo (2009).hi.srt", "! language: hi");
        check(
            "Movies/Solo (2009)/Spanish/Solo.hi.srt",
            "m|Solo|2009 in es hi",
        );
        check("Solo (2009) es.srt", "m|Solo|2009 in es");
        check("Solo (2009) it.srt", "! language: it");
        check("Solo.S01E04.Pilot.it.srt", "! language: it");
        check("Italian/Solo.S01E04.Pilot.it.srt", "e|Solo|1|4|- in it");
        check("Solo.S01E02.xy.srt", "! language: xy");
        check("Solo.S01E02.HD.srt", "e|Solo|1|2|-");
        check("Solo_s01e02_pt_br.srt", "e|Solo|1|2|- in pt-BR");
        check("Solo (2009).mkv.it.srt", "m|Solo|2009 in it");
        check(
            "Solo.S01E02.English.HI.C.orig.Addic7ed.com.srt",
            "e|Solo|1|2|- in en hi",
        );
        check("Solo.S01E02.spa.1cd.(1234567).srt", "e|Solo|1|2|- in es");
        check("Solo.2009.1080p.x264-YTS.MX.it.srt", "m|Solo|2009 in it");
        check(
            "m/Solo (2009)/Subs/Brazilian.por.srt",
            "m|Solo|2009 in pt-BR",
        );
        check("m/French Film (2008)/French.srt", "m|French Film|2008");
        check("x/Spanish/Solo (2009)/Solo.srt", "m|Solo|2009");
        check("x/Subs/French/Solo (2009)/Solo.srt", "m|Solo|2009 in fr");
    }

    #[test]
    fn f1_hidden_and_extra() {
        check("Movies/.hidden/Solo (2009).srt", "! hidden");
        check("Movies/Solo (2009)/Solo (2009)-trailer.srt", "! extra");
        check("Movies/Solo (2009)/Trailer.en.srt", "! extra");
        check("Movies/Solo (2009)/Extras/Season 1/01.srt", "! extra");
        check("TV/Extras/Season 2/03.srt", "e|Extras|2|3|-");
        check("TV/Extras/Extras.S01E02.srt", "e|Extras|1|2|-");
        check(
            "Movies/The Interview (2014)/The.Interview.srt",
            "m|The Interview|2014",
        );
    }

    #[test]
    fn any_path_is_read() {
        for path in [
            "",
            "/",
            ".srt",
            "a",
            "//a//",
            "S01/S01/S01E01/.x",
            "((/[[.srt",
            "½/½.srt",
        ] {
            let _ = PathName::parse(path, 2027);
        }
    }
}
