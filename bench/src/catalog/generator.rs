//! Records, one JSON line each.

use super::description::{Subject, Writer};
use super::dice::{Dice, Zipf};
use super::past::write_old;
use super::pool::{MOVIE_COUNT, Pool, SERIES_COUNT, Title};

/// Days since 1970-01-01 of the first and the last upload: 2004-01-01, 2026-10-31.
const FIRST_DAY: u32 = 12_418;
const LAST_DAY: u32 = 20_757;

/// Shares of records.
mod share {
    pub(super) const MOVIE: f64 = 0.45;
    pub(super) const NULL_YEAR: f64 = 0.05;
    pub(super) const NULL_CATALOG_ID: f64 = 0.06;
    pub(super) const NULL_DESCRIPTION: f64 = 0.02;
    pub(super) const EMPTY_DESCRIPTION: f64 = 0.004;
    pub(super) const NULL_UPLOADER: f64 = 0.012;
    pub(super) const INACTIVE: f64 = 0.015;
    pub(super) const NULL_RELEASE: f64 = 0.02;
    pub(super) const SEASON_PACK: f64 = 0.06;
    pub(super) const SERIES_PACK: f64 = 0.006;
    pub(super) const OWN_EPISODE_ID: f64 = 0.12;
    pub(super) const OTHER_LANGUAGE: f64 = 0.015;
    pub(super) const REGION: f64 = 0.04;
    pub(super) const FILE_NAME: f64 = 0.35;
}

/// An endless catalog.
pub struct Generator {
    seed: u64,
    movies: Vec<Title>,
    series: Vec<Title>,
    movie_ranks: Zipf,
    series_ranks: Zipf,
    writer: Writer,
    description: String,
    has_past: bool,
    has_own_titles: bool,
}

/// Subject of a record.
struct Work<'a> {
    title: &'a Title,
    rank: usize,
    season: Option<u32>,
    episode: Option<u32>,
    episode_word: String,
    catalog_id: Option<u32>,
    parent_catalog_id: Option<u32>,
}

impl Generator {
    /// A catalog of this seed. Cost: about a fifth of a second, 20 MB.
    pub fn new(seed: u64) -> Self {
        let pool = Pool::new(seed);
        Self {
            seed,
            movies: pool.movies,
            series: pool.series,
            movie_ranks: Zipf::new(MOVIE_COUNT, 100.0, 1.0),
            series_ranks: Zipf::new(SERIES_COUNT, 30.0, 1.05),
            writer: Writer::new(pool.users),
            description: String::new(),
            has_past: false,
            has_own_titles: false,
        }
    }

    /// The same catalog, but some of its records are of works whose uploads stopped years ago.
    #[must_use]
    pub fn with_past(mut self) -> Self {
        self.has_past = true;
        self
    }

    /// The same catalog, but no two records share a title.
    #[must_use]
    pub fn with_own_titles(mut self) -> Self {
        self.has_own_titles = true;
        self
    }

    /// Appends record `number` as an import record: a JSON line with its line feed.
    pub fn write(&mut self, number: u64, out: &mut String) {
        if self.has_past {
            let mut dice = Dice::new(self.seed, 5, number);
            let id = uuid(&mut dice);
            if write_old(&mut dice, &id, number, out) {
                return;
            }
        }
        let mut description = std::mem::take(&mut self.description);
        description.clear();
        self.write_record(number, &mut description, out);
        self.description = description;
    }

    fn write_record(&self, number: u64, description: &mut String, out: &mut String) {
        let mut dice = Dice::new(self.seed, 4, number);
        let dice = &mut dice;
        let is_movie = dice.falls(share::MOVIE);
        let work = if is_movie {
            self.movie(dice)
        } else {
            self.episode(dice)
        };
        let day = upload_day(dice, work.title.year);
        push(out, "{\"id\":\"", &uuid(dice));
        push(
            out,
            "\",\"video_type\":\"",
            if is_movie { "movie" } else { "episode" },
        );
        out.push_str("\",\"title\":\"");
        push_escaped(out, &uploaded_title(dice, &work));
        if self.has_own_titles {
            push(out, " ", &number.to_string());
        }
        out.push('"');
        push_number(out, "season", work.season);
        push_number(out, "episode", work.episode);
        push_number(
            out,
            "year",
            (!dice.falls(share::NULL_YEAR)).then_some(work.title.year),
        );
        if !dice.falls(share::NULL_CATALOG_ID) {
            push_catalog_id(out, "catalog_id", work.catalog_id);
            push_catalog_id(out, "parent_catalog_id", work.parent_catalog_id);
        }
        if !dice.falls(share::NULL_DESCRIPTION) {
            if !dice.falls(share::EMPTY_DESCRIPTION) {
                let subject = Subject {
                    title: work.title,
                    episode_word: &work.episode_word,
                    year: 1970 + day * 4 / 1461,
                    is_episode: !is_movie,
                };
                self.writer.write(dice, &subject, description);
            }
            out.push_str(",\"description\":\"");
            push_escaped(out, description);
            out.push('"');
        }
        if !dice.falls(share::NULL_UPLOADER) {
            push(out, ",\"uploader_name\":\"", self.writer.user(dice));
            out.push('"');
        }
        push(out, ",\"posted_at\":\"", &posted_at(dice, day));
        push(
            out,
            "\",\"downloads\":",
            &downloads(dice, work.rank).to_string(),
        );
        push_rest(out, dice, number, &work);
        out.push_str("}\n");
    }

    fn movie(&self, dice: &mut Dice) -> Work<'_> {
        let rank = self.movie_ranks.rank(dice);
        let title = &self.movies[rank];
        Work {
            title,
            rank,
            season: None,
            episode: None,
            episode_word: String::new(),
            catalog_id: title.catalog_id,
            parent_catalog_id: None,
        }
    }

    fn episode(&self, dice: &mut Dice) -> Work<'_> {
        let rank = self.series_ranks.rank(dice);
        let title = &self.series[rank];
        // The first episodes have the most uploads.
        let all: u32 = title.seasons.iter().sum();
        let mut episode = (f64::from(all) * dice.share().powf(1.4)) as u32;
        let mut season_idx = 0;
        while title.seasons[season_idx] <= episode {
            episode -= title.seasons[season_idx];
            season_idx += 1;
        }
        let season = season_idx as u32 + 1;
        let mut work = Work {
            title,
            rank,
            season: Some(season),
            episode: Some(episode + 1),
            episode_word: format!("S{season:02}E{:02}", episode + 1),
            catalog_id: title.catalog_id,
            parent_catalog_id: None,
        };
        if dice.falls(share::SERIES_PACK) {
            (work.season, work.episode) = (None, None);
            work.episode_word.clear();
        } else if dice.falls(share::SEASON_PACK) {
            work.episode = None;
            work.episode_word = format!("S{season:02}");
        } else if dice.falls(share::OWN_EPISODE_ID) {
            work.parent_catalog_id = title.catalog_id;
            work.catalog_id = Some(40_000_000 + rank as u32 * 400 + season * 40 + episode);
        }
        work
    }
}

/// The title as uploaders write it: translated, with the year, with the other name, in lower case.
fn uploaded_title(dice: &mut Dice, work: &Work<'_>) -> String {
    let title = work.title;
    let way = dice.share();
    let uploaded = match &title.name_es {
        _ if work.season.is_some() && 0.93 < way => format!("{} {}", title.name, work.episode_word),
        Some(name_es) if work.season.is_none() && way < 0.2 => name_es.clone(),
        Some(name_es) if work.season.is_none() && 0.93 < way => {
            format!("{} ({}) aka {name_es}", title.name, title.year)
        }
        Some(name_es) if work.season.is_none() && 0.82 < way && way < 0.88 => {
            format!("{} aka {name_es}", title.name)
        }
        _ if work.season.is_none() && 0.88 < way => format!("{} ({})", title.name, title.year),
        _ => title.name.clone(),
    };
    if dice.falls(0.005) {
        uploaded.to_lowercase()
    } else {
        uploaded
    }
}

/// Time of an upload: mostly soon after the premiere, for old titles any time.
fn upload_day(dice: &mut Dice, year: u32) -> u32 {
    let days = LAST_DAY - FIRST_DAY;
    if year <= 2004 {
        return FIRST_DAY + (f64::from(days) * dice.share()) as u32;
    }
    let premiere = ((year - 2004) * 365 + dice.between(0, 250)).min(days - 30);
    FIRST_DAY + premiere + (f64::from(days - premiere) * dice.share().powf(2.2)) as u32
}

/// Older uploads have only a date, without a time.
fn posted_at(dice: &mut Dice, day: u32) -> String {
    // Days to a date (Howard Hinnant's civil_from_days), for days after 1970.
    let shifted = day + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u32::from(month <= 2);
    let second = if day < FIRST_DAY + 3_300 || dice.falls(0.15) {
        0
    } else {
        dice.between(0, 86_399)
    };
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{of_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn downloads(dice: &mut Dice, rank: usize) -> u32 {
    if dice.falls(0.03) {
        return 0;
    }
    let mu = (7.9 - 0.42 * (1.0 + rank as f64 / 40.0).ln()).max(3.2);
    dice.log_normal(mu, 1.45).min(900_000.0) as u32
}

fn push_rest(out: &mut String, dice: &mut Dice, number: u64, work: &Work<'_>) {
    if dice.falls(share::INACTIVE) {
        out.push_str(",\"is_active\":false");
    }
    if !dice.falls(share::NULL_RELEASE) {
        push(
            out,
            ",\"source_release_id\":\"",
            &(100_001 + number).to_string(),
        );
        out.push('"');
    }
    if dice.falls(share::OTHER_LANGUAGE) {
        push(
            out,
            ",\"language\":\"",
            dice.one_of(&["en", "pt", "ca", "gl"]),
        );
        out.push('"');
    } else if dice.falls(share::REGION) {
        push(
            out,
            ",\"language\":\"",
            dice.one_of(&["es-ES", "es-419", "es-MX", "es-AR"]),
        );
        out.push('"');
    }
    if dice.falls(share::FILE_NAME) {
        push(out, ",\"file_name\":\"", &work.title.dotted);
        if !work.episode_word.is_empty() {
            push(out, ".", &work.episode_word);
        }
        let extension = dice.one_of(&["zip", "zip", "zip", "srt", "srt", "rar"]);
        push(out, ".", extension);
        out.push('"');
    }
}

fn push(out: &mut String, before: &str, value: &str) {
    out.push_str(before);
    out.push_str(value);
}

fn push_number(out: &mut String, name: &str, value: Option<u32>) {
    if let Some(value) = value {
        out.push_str(&format!(",\"{name}\":{value}"));
    }
}

fn push_catalog_id(out: &mut String, name: &str, digits: Option<u32>) {
    if let Some(digits) = digits {
        out.push_str(&format!(",\"{name}\":\"tt{digits:07}\""));
    }
}

/// The characters that JSON strings escape and that occur here.
fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(c),
        }
    }
}

/// A random UUID (version 4).
fn uuid(dice: &mut Dice) -> String {
    let (high, low) = (dice.next(), dice.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use serde_json::Value;

    use super::super::past::{LONG_WORD, OLD_SERIES, OLD_TEXT, SHARED_TEXT};
    use super::*;

    fn lines(seed: u64, numbers: std::ops::Range<u64>) -> String {
        let mut generator = Generator::new(seed);
        let mut out = String::new();
        for number in numbers {
            generator.write(number, &mut out);
        }
        out
    }

    #[test]
    fn a_smaller_catalog_is_the_beginning_of_a_larger_one() {
        let large = lines(7, 0..2_000);
        assert!(large.starts_with(&lines(7, 0..500)));
        assert!(large.ends_with(&lines(7, 1_900..2_000)));
        assert_ne!(lines(7, 0..10), lines(8, 0..10));
    }

    #[test]
    fn records_have_the_shape_of_real_ones() {
        let text = lines(42, 0..20_000);
        let records: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let share = |test: &dyn Fn(&Value) -> bool| {
            records.iter().filter(|record| test(record)).count() as f64 / records.len() as f64
        };
        let near = |found: f64, wanted: f64| (found - wanted).abs() < 0.01;
        assert!(near(share(&|r| r["video_type"] == "movie"), 0.45));
        assert!(near(share(&|r| r["year"].is_null()), 0.05));
        assert!(near(share(&|r| r["description"].is_null()), 0.02));
        assert!(near(share(&|r| r["is_active"] == false), 0.015));
        assert!(near(share(&|r| r["source_release_id"].is_null()), 0.02));
        assert!(near(
            share(&|r| r["video_type"] == "episode" && r["episode"].is_null()),
            0.036
        ));

        let mut by_title: HashMap<&str, u32> = HashMap::new();
        for record in &records {
            *by_title
                .entry(record["title"].as_str().unwrap())
                .or_default() += 1;
        }
        let most = by_title.values().max().unwrap();
        assert!(
            (20..400).contains(most),
            "the most popular title has {most} of 20,000 records"
        );
        assert!(by_title.len() > 5_000, "{} titles", by_title.len());
    }

    #[test]
    fn a_past_is_of_the_first_year() {
        let mut generator = Generator::new(42).with_past();
        let mut text = String::new();
        (0..2_000).for_each(|number| generator.write(number, &mut text));
        let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let records: Vec<Value> = records.collect();
        let of = |title: &str| {
            let begins = |r: &&Value| r["title"].as_str().unwrap().starts_with(title);
            let found: Vec<&Value> = records.iter().filter(begins).collect();
            assert!(
                found
                    .iter()
                    .all(|r| r["posted_at"].as_str().unwrap().starts_with("2004-"))
            );
            found.len()
        };
        assert_eq!((of(OLD_SERIES), of(OLD_TEXT), of(SHARED_TEXT)), (10, 21, 2));
        let has_chars = |r: &Value, field: &str, count: usize| {
            r[field].as_str().unwrap_or("").chars().count() == count
        };
        let long = records.iter().find(|r| has_chars(r, "description", 10_000));
        assert!(
            long.unwrap()["description"]
                .as_str()
                .unwrap()
                .starts_with(LONG_WORD)
        );
        assert!(records.iter().any(|r| has_chars(r, "title", 469)));
        let others = lines(42, 0..2_000);
        let is_same = |(a, b): (&str, &str)| a == b;
        assert_eq!(
            text.lines()
                .zip(others.lines())
                .filter(|&pair| is_same(pair))
                .count(),
            1_967
        );
    }

    #[test]
    fn titles_of_their_own_are_all_different() {
        let mut generator = Generator::new(42).with_own_titles();
        let mut text = String::new();
        (0..2_000).for_each(|number| generator.write(number, &mut text));
        let titles = text.lines().map(|line| {
            let record: Value = serde_json::from_str(line).unwrap();
            record["title"].as_str().unwrap().to_owned()
        });
        assert_eq!(titles.collect::<HashSet<_>>().len(), 2_000);
    }

    #[test]
    fn days_become_dates() {
        let mut dice = Dice::new(1, 0, 0);
        assert_eq!(posted_at(&mut dice, FIRST_DAY), "2004-01-01T00:00:00Z");
        assert_eq!(posted_at(&mut dice, FIRST_DAY + 59), "2004-02-29T00:00:00Z");
        assert!(posted_at(&mut dice, LAST_DAY).starts_with("2026-10-31T"));
    }

    #[test]
    fn ids_are_uuids_of_version_4() {
        let id = uuid(&mut Dice::new(1, 0, 0));
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert!(["8", "9", "a", "b"].contains(&&id[19..20]));
    }
}
