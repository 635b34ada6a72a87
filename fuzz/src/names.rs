//! Names as files and releases have them, in every form that the search rules know, made from
//! records.

use subcat_engine::Record;

use crate::choices::Choices;
use crate::records::{number, year};
use crate::vocabulary::{release_tail, title_text};

/// Text before a title: a site, a group, a number.
const PREFIXES: &[&str] = &[
    "",
    "",
    "",
    "www.sitio.example - ",
    "[grupo] ",
    "[ sitio.com ] ",
    "04 - ",
    "03. ",
];
/// Text behind a title that belongs to it or not.
const SUFFIXES: &[&str] = &[
    "",
    "",
    "",
    " (US)",
    " UK",
    " (Final Cut)",
    " Extended",
    " Castellano",
];
const SEPARATORS: &[&str] = &[".", ".", " ", "_", " - "];
const MONTHS: &[&str] = &["ene", "mar", "march", "de mayo de", "5th"];

/// A name of a record, or near one.
pub(crate) fn name_text(choices: &mut Choices<'_>, record: &Record) -> String {
    let title = match choices.below(6) {
        0 => title_text(choices, 3),
        1 => record.title.replace([' ', '-'], ""),
        2 => record.title.replace(' ', "."),
        _ => record.title.clone(),
    };
    let prefix = choices.pick(PREFIXES);
    let suffix = choices.pick(SUFFIXES);
    let separator = choices.pick(SEPARATORS);
    let mark = mark(choices, record);
    let tail = if choices.one_in(3) {
        String::new()
    } else {
        release_tail(choices)
    };
    let title_year = match choices.below(6) {
        0 => format!(" ({})", known_year(choices, record)),
        1 => format!(".{}", known_year(choices, record)),
        _ => String::new(),
    };
    format!("{prefix}{title}{suffix}{title_year}{separator}{mark}{tail}")
}

fn known_year(choices: &mut Choices<'_>, record: &Record) -> u16 {
    let known = record.year.unwrap_or_else(|| year(choices)).get();
    match choices.below(6) {
        0 => known + 1,
        1 => year(choices).get(),
        _ => known,
    }
}

/// Words of the episode, the season, the date or the year; or none.
fn mark(choices: &mut Choices<'_>, record: &Record) -> String {
    let season = record.season.unwrap_or_else(|| number(choices)).get();
    let episode = record.episode.unwrap_or_else(|| number(choices)).get();
    let year = known_year(choices, record);
    let short = episode % 100;
    match choices.below(26) {
        0 => format!("S{season:02}E{episode:02}"),
        1 => format!("{season}x{episode:02}"),
        2 => format!("S{season:02}"),
        3 => format!("Temporada {season} Capítulo {episode}"),
        4 => format!("Capítulo {episode} de la temporada {season}"),
        5 => format!("Temporada {season}"),
        6 => format!("[Cap.{season}{short:02}]"),
        7 => format!("{season}{short:02}"),
        8 => format!(" - {episode:02}"),
        9 => format!("({episode})"),
        10 => format!("EP{episode:02}"),
        11 => format!("Capítulo {episode}"),
        12 => format!("Parte {episode}"),
        13 => format!("{season}ª temporada"),
        14 => format!("T{season} Cap {episode}"),
        15 => format!("{year}-{season:02}-{short:02}"),
        16 => format!("{short:02}.{season:02}.{year}"),
        17 => format!("{} {} {year}", short, choices.pick(MONTHS)),
        18 => format!("({year})"),
        19 => year.to_string(),
        20 => format!(
            "S{season:02}E{episode:02}-E{:02}",
            episode.saturating_add(1)
        ),
        21 => format!("S{season:02}-S{:02}", season.saturating_add(1)),
        22 => format!("S00E{episode:02}"),
        23 => format!("{season}x{short}"),
        24 => format!("{short}v2"),
        _ => String::new(),
    }
}
