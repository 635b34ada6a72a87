//! Doubts about a name that its place in a folder of files gives (NAMES.md P2 and P3).

use super::marks::{FolderSeason, MarkKind, SeasonMark};
use super::parsed_name::{EpisodeForm, EpisodeName, NameKind, ParsedName};
use super::word_class::number;

/// True for a number from 100 that begins with the season of the folder (NAMES.md P2).
pub(crate) fn is_season_and_episode(episode: &EpisodeName, season: FolderSeason) -> bool {
    let is_number = matches!(
        episode.form,
        EpisodeForm::Number { is_cap: false } | EpisodeForm::GroupNumber
    );
    let FolderSeason::Number(season) = season else {
        return false;
    };
    let number = episode.episode.unwrap_or(0);
    is_number && number >= 100 && number / 100 == season
}

/// True for `complete` before the source word of a disc: it says nothing of a series.
pub(crate) fn is_complete_disc(name: &ParsedName) -> bool {
    let Some(phrase) = &name.series_phrase else {
        return false;
    };
    let tokens = &name.words.tokens;
    let next = tokens.word(phrase.end);
    let is_disc = matches!(next, "bluray" | "uhd")
        || next.starts_with("bd")
        || next.starts_with("dvd")
        || (next == "blu" && tokens.word(phrase.end + 1) == "ray");
    is_disc && tokens.word(phrase.end - 1) == "complete"
}

/// The doubt about a film that its place in a folder of files gives (NAMES.md P3).
pub(crate) fn has_film_doubt(name: &ParsedName) -> bool {
    let tokens = &name.words.tokens;
    let is_numbered = number(tokens.word(0), 1..=2).is_some()
        && (tokens.is_behind_dash(1) || tokens.gap(1) == ". ");
    let is_numbered_film = is_numbered && name.words.ids.is_empty() && tokens.len() > 1;
    let is_disc_without_year = name.year.is_none() && is_complete_disc(name);
    (name.kind == NameKind::Film && is_numbered_film) || is_disc_without_year
}

/// The doubt about a season (NAMES.md P3): it may be part of a film's title, or the number behind
/// it may be an episode.
pub(crate) fn has_episode_doubt(name: &ParsedName, episode: &EpisodeName) -> bool {
    let words = &name.words;
    let Some((_, mark)) = words.first_season() else {
        return false;
    };
    match episode.form {
        EpisodeForm::Season => {
            let is_before_year = words
                .years
                .iter()
                .any(|it| it.words.start == mark.words.end);
            mark.words.len() == 2 && is_before_year
        }
        EpisodeForm::Seasons => matches!(
            mark.kind,
            MarkKind::Season(SeasonMark::None {
                may_be_episode: true
            })
        ),
        _ => false,
    }
}
