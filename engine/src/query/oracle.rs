//! The search rules, executed naively: slow and obviously right.
//!
//! One function for each rule of SEARCH.md, over a slice of records. No index, no plan, no
//! shortcut, and no code of the engine beyond `text`, `model` and the request itself: a shared
//! mistake would not be found. Tests and fuzzers send the same requests to oracle and engine.

use std::cmp::Reverse;

use crate::model::{CatalogId, Flag, Language, Record, RecordId, VideoType, Year};
use crate::text::{EpisodeMarker, Markers, has_number, words};

use super::oracle_entry::{OracleEntry, oracle_title_key};
use super::oracle_names::{NameTry, OracleName, Turn};
use super::oracle_release::{OracleRelease, read_release, weighed};
use super::{CatalogTerm, Filters, FlagFilter, HitOrder, PackFilter, Query};

/// A catalog that answers searches by reading every record.
#[derive(Debug, Clone)]
pub struct Oracle<'a> {
    entries: Vec<OracleEntry<'a>>,
}

/// Expected result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OracleAnswer {
    /// The first hits, in order, up to the page size.
    pub hits: Vec<OracleHit>,
    /// Count of records that match.
    pub total: u64,
}

/// A matching record, and the smallest of its ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OracleHit {
    /// The record.
    pub id: RecordId,
    /// Relevance: 0 is best, 9 is worst.
    pub relevance: u8,
    /// Fit: 0 is best, 7 is worst.
    pub fit: u8,
    /// Missing weight.
    pub missing: u8,
}

/// Relevance and fit of one way in which a record matches (SEARCH.md 5.1).
type OracleRank = (u8, u8);

/// Readings of a `query` value: as words, by equal titles (SEARCH.md 4.10), with typos (SEARCH.md
/// 4.6), as a name (SEARCH.md 4.11), as the name of a release (SEARCH.md 4.8); or the reading of a
/// `title` value as a name (SEARCH.md 4.17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OracleTry {
    Words,
    EqualTitle,
    Typos,
    Name(NameTry),
    Release,
    TitleName(NameTry),
}

/// A `query` or `title` value: its words, and the markers among them.
struct OracleText {
    words: Vec<String>,
    markers: Markers,
}

impl<'a> Oracle<'a> {
    /// Folds the texts of all records. Ids are unique.
    pub fn new(records: &'a [Record]) -> Self {
        Self {
            entries: records.iter().map(OracleEntry::new).collect(),
        }
    }

    /// Runs a search. Cost: every record is read, once more for each further try.
    ///
    /// Source: SEARCH.md 3 to 5.
    pub fn search(&self, query: &Query) -> OracleAnswer {
        let filters = query.filters();
        let mut passing = Vec::new();
        for entry in &self.entries {
            if entry.passes(filters) {
                passing.push(entry);
            }
        }
        let parsed = OracleQuery::new(query);
        let attempt = parsed.attempt(&passing);
        let mut ranked = Vec::new();
        for entry in passing {
            if let Some((relevance, fit)) = parsed.ranks(entry, attempt).into_iter().min() {
                let hit = OracleHit {
                    id: entry.record.id,
                    relevance,
                    fit,
                    missing: parsed.missing_weight(entry, relevance, attempt),
                };
                let group = player_group(query, entry.record);
                ranked.push((group, hit, entry.record.posted_at));
            }
        }
        // 5.4, 8.4
        ranked.sort_by_key(|(group, hit, posted_at)| {
            let rank = (*group, hit.relevance, hit.fit, hit.missing);
            (rank, Reverse(*posted_at), hit.id)
        });
        let first = ranked.iter().take(usize::from(query.page_size()));
        OracleAnswer {
            hits: first.map(|(_, hit, _)| *hit).collect(),
            total: ranked.len() as u64,
        }
    }
}

// ---- 1. Text

impl OracleEntry<'_> {
    /// SEARCH.md 5.3: the folded title is the first words of the value, as many as it has.
    fn is_first_words_of(&self, value: &OracleText) -> bool {
        value.words.starts_with(&self.title_words)
    }
}

// ---- 2. Markers

impl OracleText {
    fn plain_words(&self) -> Vec<&str> {
        let mut plain = Vec::new();
        for (word_idx, word) in self.words.iter().enumerate() {
            if !self.markers.is_marker(word_idx) {
                plain.push(word.as_str());
            }
        }
        plain
    }

    fn episode_word(&self) -> Option<(&str, EpisodeMarker)> {
        let marker = self.markers.episode?;
        Some((&self.words[marker.word_idx], marker))
    }

    fn year_word(&self) -> Option<(&str, Year)> {
        let marker = self.markers.year?;
        Some((&self.words[marker.word_idx], marker.year))
    }

    /// The words joined by single spaces, without the words at these positions.
    fn joined_without(&self, left_out: &[usize]) -> String {
        let mut kept = Vec::new();
        for (word_idx, word) in self.words.iter().enumerate() {
            if !left_out.contains(&word_idx) {
                kept.push(word.as_str());
            }
        }
        kept.join(" ")
    }
}

impl OracleEntry<'_> {
    /// SEARCH.md 2.4.
    fn fits(&self, marker: EpisodeMarker) -> bool {
        let is_pack = self.record.episode.is_none();
        let is_season = self.record.season == Some(marker.season);
        let is_any = marker.episode.is_none();
        is_season && (is_any || is_pack || self.fits_exactly(marker))
    }

    /// SEARCH.md 2.5.
    fn fits_exactly(&self, marker: EpisodeMarker) -> bool {
        let is_season = self.record.season == Some(marker.season);
        is_season && self.record.episode == marker.episode
    }
}

// ---- 3. Filters

impl OracleEntry<'_> {
    fn passes(&self, filters: &Filters) -> bool {
        let record = self.record;
        // Every field is named: a new filter does not compile until it is applied here.
        let Filters {
            year,
            video_type,
            season,
            episode,
            language,
            variety,
            packs,
            has_source,
            flags,
            since,
        } = filters;
        let is_pack = record.episode.is_none();
        // 3.1
        record.is_active
            // 3.2
            && (year.is_none() || record.year.is_none() || record.year == *year)
            // 3.3
            && (video_type.is_none() || *video_type == Some(record.video_type))
            && (season.is_none() || record.season == *season)
            // 3.3, 8.1
            && match packs {
                PackFilter::Exclude => episode.is_none() || record.episode == *episode,
                PackFilter::Include => episode.is_none() || record.episode == *episode || is_pack,
                PackFilter::Only => is_pack,
            }
            // 3.4
            && language.as_ref().is_none_or(|tag| is_same_language(tag, &record.language))
            // 3.5
            && Flag::ALL.into_iter().zip(flags).all(|(flag, filter)| match filter {
                FlagFilter::Include => true,
                FlagFilter::Exclude => record.flags.get(flag) != Some(true),
                FlagFilter::Only => record.flags.get(flag) == Some(true),
            })
            // 3.6
            && since.is_none_or(|since| since <= record.posted_at)
            // 8.2
            && (!has_source || record.source_release_id.is_some())
            // 8.3
            && variety.as_ref().is_none_or(|tag| {
                tag.primary() != record.language.primary()
                    || is_same_language(tag, &record.language)
            })
    }
}

/// SEARCH.md 8.4: machine translations after all others, packs after episodes in both.
fn player_group(query: &Query, record: &Record) -> (bool, bool) {
    if query.order() != HitOrder::Player {
        return (false, false);
    }
    let is_pack = query.filters().episode.is_some() && record.episode.is_none();
    (
        record.flags.get(Flag::MachineTranslated) == Some(true),
        is_pack,
    )
}

/// SEARCH.md 3.4.
fn is_same_language(requested: &Language, recorded: &Language) -> bool {
    if requested.primary() != recorded.primary() {
        return false;
    }
    let (Some(a), Some(b)) = (requested.region(), recorded.region()) else {
        return true;
    };
    let is_spanish = requested.primary() == "es";
    a == b || is_spanish && (a == "419" && b != "ES" || b == "419" && a != "ES")
}

// ---- 4. Branches, and the relevance that 5.1 gives to each way

/// A parsed request.
struct OracleQuery<'q> {
    query: &'q Query,
    /// The number of each `catalog_id` branch.
    catalog_numbers: Vec<u64>,
    title: Option<OracleText>,
    /// The `query` value, unless it is a catalog id.
    free_text: Option<OracleText>,
    /// The `query` value read as the name of a release.
    release_name: Option<OracleRelease>,
    /// The `query` value read as a name.
    name: Option<OracleName>,
    /// The `title` value read as a name.
    title_name: Option<OracleName>,
}

impl<'q> OracleQuery<'q> {
    fn new(query: &'q Query) -> Self {
        let split = |folded: &str| -> Vec<String> { words(folded).map(str::to_string).collect() };
        let mut catalog_numbers = Vec::new();
        // 4.2
        if let Some(CatalogTerm::Number(number)) = query.catalog_id() {
            catalog_numbers.push(number);
        }
        let title = query.title().map(|text| {
            let words = split(text.folded());
            let markers = Markers::of_title(&words);
            OracleText { words, markers }
        });
        let mut free_text = None;
        if let Some(text) = query.query() {
            let words = split(text.folded());
            let markers = Markers::of_query(&words, query.filters().year);
            match catalog_number(&words) {
                Some(number) => catalog_numbers.push(number),
                None => free_text = Some(OracleText { words, markers }),
            }
        }
        let release_name = free_text
            .as_ref()
            .and_then(|value| read_release(&value.words, &value.markers));
        let written = query.query().filter(|_| free_text.is_some());
        Self {
            query,
            catalog_numbers,
            title,
            name: written.map(|value| OracleName::new(value.written(), true)),
            title_name: query
                .title()
                .map(|value| OracleName::new(value.written(), false)),
            free_text,
            release_name,
        }
    }

    /// Rank of every way in which a record that passes the filters matches.
    fn ranks(&self, entry: &OracleEntry<'_>, attempt: OracleTry) -> Vec<OracleRank> {
        let mut ranks = self.other_ranks(entry);
        self.query_ranks(entry, attempt, &mut ranks);
        ranks
    }

    /// Rank of every way in which a record matches by another branch than `query`.
    fn other_ranks(&self, entry: &OracleEntry<'_>) -> Vec<OracleRank> {
        let mut ranks = Vec::new();
        self.public_id_ranks(entry, &mut ranks);
        for number in &self.catalog_numbers {
            self.catalog_id_ranks(*number, entry, &mut ranks);
        }
        self.title_ranks(entry, &mut ranks);
        ranks
    }

    /// SEARCH.md 4.7.
    fn public_id_ranks(&self, entry: &OracleEntry<'_>, ranks: &mut Vec<OracleRank>) {
        if self.query.public_id() == Some(entry.record.id) {
            ranks.push((0, u8::from(self.is_year_unknown(entry))));
        }
    }

    /// SEARCH.md 4.2 and 5.2.
    fn catalog_id_ranks(&self, number: u64, entry: &OracleEntry<'_>, ranks: &mut Vec<OracleRank>) {
        let is_year_unknown = u8::from(self.is_year_unknown(entry));
        if is_number(entry.record.catalog_id, number) {
            ranks.push((1, is_year_unknown));
        } else if is_number(entry.record.parent_catalog_id, number) {
            ranks.push(match self.named_episode() {
                // 8.4
                None if self.query.order() == HitOrder::Player => (1, is_year_unknown),
                Some((season, episode)) => {
                    let record = entry.record;
                    let is_season = record.season.map(|number| number.get().into()) == Some(season);
                    let recorded = record.episode.map(|number| u32::from(number.get()));
                    if is_season && recorded == episode {
                        (1, is_year_unknown)
                    } else if is_season && (recorded.is_none() || episode.is_none()) {
                        (1, 1)
                    } else {
                        (9, 1)
                    }
                }
                None => (1, 1),
            });
        }
    }

    /// SEARCH.md 5.2: season and episode that `query`, or else `title`, names.
    fn named_episode(&self) -> Option<(u32, Option<u32>)> {
        let named = |value: &Option<OracleText>, name: &Option<OracleName>| {
            let marker = value.as_ref()?.markers.episode.map(|marker| {
                let episode = marker.episode.map(|episode| u32::from(episode.get()));
                (u32::from(marker.season.get()), episode)
            });
            let read = name.as_ref().and_then(OracleName::season_and_episode);
            match marker {
                Some((_, Some(_))) => marker,
                _ => read.or(marker),
            }
        };
        let of_query = named(&self.free_text, &self.name);
        of_query.or_else(|| named(&self.title, &self.title_name))
    }

    /// SEARCH.md 4.3.
    fn title_ranks(&self, entry: &OracleEntry<'_>, ranks: &mut Vec<OracleRank>) {
        let Some(value) = &self.title else {
            return;
        };
        let fit = self.text_fit(value, entry);
        let whole = value.joined_without(&[]);
        if contains(&entry.title, &whole) {
            ranks.push((title_relevance(&entry.title, &whole), fit));
        }
        if let Some(marker) = value.markers.episode {
            let rest = value.joined_without(&[marker.word_idx]);
            if contains(&entry.title, &rest) && entry.fits(marker) {
                ranks.push((title_relevance(&entry.title, &rest), fit));
            }
        }
    }

    /// SEARCH.md 4.5, 4.6 and 4.9.
    fn query_ranks(
        &self,
        entry: &OracleEntry<'_>,
        attempt: OracleTry,
        ranks: &mut Vec<OracleRank>,
    ) {
        if !self.matches(entry, attempt) {
            return;
        }
        let is_year_unknown = self.is_year_unknown(entry);
        if let Some((name, name_try)) = self.name_of(attempt) {
            ranks.push((8, name.fit(name_try, entry, is_year_unknown)));
            return;
        }
        let Some(value) = &self.free_text else {
            return;
        };
        let fit = self.text_fit(value, entry);
        // 5.3
        let is_title_off = attempt == OracleTry::Release && !entry.is_first_words_of(value);
        let fit = if is_title_off { fit + 4 } else { fit };
        ranks.push((query_relevance(value, entry, attempt), fit));
    }

    /// The first try with matches (SEARCH.md 4.11); words, if none has any.
    fn attempt(&self, passing: &[&OracleEntry<'_>]) -> OracleTry {
        let finds = |attempt: &OracleTry| {
            let mut entries = passing.iter();
            entries.any(|entry| self.matches(entry, *attempt))
        };
        let mut tries = vec![OracleTry::Words, OracleTry::EqualTitle, OracleTry::Typos];
        let marker = self
            .free_text
            .as_ref()
            .and_then(|value| value.markers.episode);
        let turn = self.name.as_ref().map(|name| name.release_turn(marker));
        if let Some(name) = &self.name {
            tries.extend(name.numbers().into_iter().map(OracleTry::Name));
        }
        if turn == Some(Turn::Second) {
            tries.push(OracleTry::Release);
        }
        let has_other_matches = passing
            .iter()
            .any(|entry| !self.other_ranks(entry).is_empty());
        if let Some(name) = self.name.as_ref().filter(|_| !has_other_matches) {
            tries.extend(name.others().into_iter().map(OracleTry::Name));
        }
        if turn == Some(Turn::Last) {
            tries.push(OracleTry::Release);
        }
        if let Some(name) = self.title_name.as_ref().filter(|_| !has_other_matches) {
            tries.extend(name.others().into_iter().map(OracleTry::TitleName));
        }
        tries.into_iter().find(finds).unwrap_or(OracleTry::Words)
    }

    fn matches(&self, entry: &OracleEntry<'_>, attempt: OracleTry) -> bool {
        if let Some((name, name_try)) = self.name_of(attempt) {
            return name.finds(name_try, entry);
        }
        let Some(value) = &self.free_text else {
            return false;
        };
        match (attempt, &self.release_name) {
            (OracleTry::Release, Some(release)) => {
                matches_release(value, release, entry) && self.allows_release(value, entry)
            }
            (OracleTry::EqualTitle, _) => matches_equal_title(value, entry),
            (OracleTry::Typos, _) if !allows_typos(value) => false,
            (OracleTry::Words | OracleTry::Typos, _) => matches_query(value, entry, attempt),
            _ => false,
        }
    }

    /// SEARCH.md 4.12: the records that may match as the name of a release.
    fn allows_release(&self, value: &OracleText, entry: &OracleEntry<'_>) -> bool {
        let Some(name) = &self.name else {
            return false;
        };
        match name.release_turn(value.markers.episode) {
            Turn::Never => false,
            Turn::Second => name.allows_kind(entry),
            Turn::Last => entry.record.video_type == VideoType::Movie,
        }
    }

    /// The name of a try, and its look-up.
    fn name_of(&self, attempt: OracleTry) -> Option<(&OracleName, NameTry)> {
        match attempt {
            OracleTry::Name(name_try) => Some((self.name.as_ref()?, name_try)),
            OracleTry::TitleName(name_try) => Some((self.title_name.as_ref()?, name_try)),
            _ => None,
        }
    }

    /// Missing weight by SEARCH.md 5.5 and 5.7; the record's best match has this relevance.
    fn missing_weight(&self, entry: &OracleEntry<'_>, relevance: u8, attempt: OracleTry) -> u8 {
        let split = |folded: &str| -> Vec<String> { words(folded).map(str::to_string).collect() };
        let is_by_name = relevance == 8;
        let tail = match (self.name_of(attempt), &self.release_name) {
            (Some((name, name_try)), _) => name.tail(name_try),
            (None, Some(name)) if attempt == OracleTry::Release => name.tail.clone(),
            (None, _) => Vec::new(),
        };
        let (sequence, text) = match self.query.release() {
            Some(release) => (split(release.folded()), release.written()),
            None if is_by_name => (tail, self.query.query().map_or("", |value| value.written())),
            None => (Vec::new(), ""),
        };
        let mut missing = 0;
        for (word, weight, relatives) in weighed(&sequence, text) {
            if relatives.iter().any(|relative| entry.has_word(relative)) && !entry.has_word(&word) {
                missing += 1;
            } else if !entry.has_word(&word) {
                missing += weight;
            }
        }
        missing
    }

    // ---- 5.3, the parts shared by several branches

    /// `year` is given and the record's year is null.
    fn is_year_unknown(&self, entry: &OracleEntry<'_>) -> bool {
        self.query.filters().year.is_some() && entry.record.year.is_none()
    }

    /// SEARCH.md 5.3, for a match of `title` or `query`.
    fn text_fit(&self, value: &OracleText, entry: &OracleEntry<'_>) -> u8 {
        let is_episode_off = value.episode_word().is_some_and(|(word, marker)| {
            !entry.has_title_word(word) && !entry.fits_exactly(marker)
        });
        let is_year_off = value.year_word().is_some_and(|(word, year)| {
            let is_twice = value.words.iter().filter(|other| *other == word).count() > 1;
            (is_twice || !entry.has_title_word(word)) && entry.record.year != Some(year)
        });
        u8::from(self.is_year_unknown(entry) || is_year_off) + 2 * u8::from(is_episode_off)
    }
}

/// SEARCH.md 4.4.
fn catalog_number(words: &[String]) -> Option<u64> {
    let [word] = words else {
        return None;
    };
    let digits = word.strip_prefix("tt")?;
    let is_number = digits.chars().all(|digit| digit.is_ascii_digit());
    let is_number = is_number && (5..=10).contains(&digits.chars().count());
    if is_number { digits.parse().ok() } else { None }
}

/// SEARCH.md 4.2: leading zeros do not matter.
fn is_number(id: Option<CatalogId>, number: u64) -> bool {
    id.is_some_and(|id| id.number() == number)
}

/// SEARCH.md 4.3: meaning of "contains".
fn contains(title: &str, string: &str) -> bool {
    if 3 <= string.chars().count() {
        title.contains(string)
    } else {
        title.split(' ').any(|word| word.starts_with(string))
    }
}

/// SEARCH.md 5.1, relevance 2 to 5 of a title that contains the string.
fn title_relevance(title: &str, string: &str) -> u8 {
    if title == string {
        2
    } else if title.starts_with(&format!("{string} ")) {
        3
    } else if format!(" {title} ").contains(&format!(" {string} ")) {
        4
    } else {
        5
    }
}

/// SEARCH.md 5.1, relevance 2, 3, 4, 6, 7 and 8 of a record that matches.
fn query_relevance(value: &OracleText, entry: &OracleEntry<'_>, attempt: OracleTry) -> u8 {
    let plain_words = value.plain_words();
    let strings = query_strings(value);
    if attempt != OracleTry::Words {
        8
    } else if strings.contains(&entry.title) {
        2
    } else if strings
        .iter()
        .any(|string| entry.title.starts_with(&format!("{string} ")))
    {
        3
    } else if plain_words.iter().all(|word| entry.has_title_word(word)) {
        4
    } else if plain_words.iter().all(|word| entry.has_word(word)) {
        6
    } else {
        7
    }
}

/// SEARCH.md 5.1: the words joined by spaces, with none, one or both of the markers left out.
fn query_strings(value: &OracleText) -> Vec<String> {
    let episode = value.markers.episode.map(|marker| marker.word_idx);
    let year = value.markers.year.map(|marker| marker.word_idx);
    let mut strings = vec![value.joined_without(&[])];
    if let Some(episode) = episode {
        strings.push(value.joined_without(&[episode]));
    }
    if let Some(year) = year {
        strings.push(value.joined_without(&[year]));
    }
    if let (Some(episode), Some(year)) = (episode, year) {
        strings.push(value.joined_without(&[episode, year]));
    }
    strings
}

/// SEARCH.md 4.5: every plain word and every marker is satisfied.
fn matches_query(value: &OracleText, entry: &OracleEntry<'_>, attempt: OracleTry) -> bool {
    let plain_words = value.plain_words();
    for (word_idx, word) in plain_words.iter().enumerate() {
        let is_last = word_idx + 1 == plain_words.len();
        let is_satisfied = entry.has_word(word)
            || is_last && satisfies_prefix_rule(word, entry)
            || attempt == OracleTry::Typos && satisfies_with_typo(word, entry);
        if !is_satisfied {
            return false;
        }
    }
    is_episode_satisfied(value, entry) && is_year_satisfied(value, entry)
}

/// SEARCH.md 4.10.
fn matches_equal_title(value: &OracleText, entry: &OracleEntry<'_>) -> bool {
    oracle_title_key(&entry.record.title) == oracle_title_key(&value.plain_words().join(" "))
        && is_episode_satisfied(value, entry)
        && is_year_satisfied(value, entry)
}

/// SEARCH.md 4.5, the year marker.
fn is_year_satisfied(value: &OracleText, entry: &OracleEntry<'_>) -> bool {
    match value.year_word() {
        Some((word, year)) => {
            let is_equal_or_null = entry.record.year.is_none_or(|recorded| recorded == year);
            is_equal_or_null || entry.has_title_word(word)
        }
        None => true,
    }
}

/// SEARCH.md 4.5, the episode marker.
fn is_episode_satisfied(value: &OracleText, entry: &OracleEntry<'_>) -> bool {
    match value.episode_word() {
        Some((word, marker)) => entry.fits(marker) || entry.has_word(word),
        None => true,
    }
}

/// SEARCH.md 4.9.
fn matches_release(value: &OracleText, release: &OracleRelease, entry: &OracleEntry<'_>) -> bool {
    let is_year_satisfied = release.years.is_empty()
        || match entry.record.year {
            Some(year) if !release.years.contains(&year) => {
                let mut years = release.years.iter();
                years.any(|year| entry.has_title_word(&year.get().to_string()))
            }
            _ => true,
        };
    let mut name = release.name.iter();
    name.all(|word| entry.has_title_word(word))
        && is_episode_satisfied(value, entry)
        && is_year_satisfied
}

/// SEARCH.md 4.5, the prefix rule.
fn satisfies_prefix_rule(last_plain_word: &str, entry: &OracleEntry<'_>) -> bool {
    let is_long_enough = 3 <= last_plain_word.chars().count();
    let mut title_words = entry.title_words.iter();
    is_long_enough && title_words.any(|title_word| title_word.starts_with(last_plain_word))
}

/// SEARCH.md 4.6: true if there is a second try.
fn allows_typos(value: &OracleText) -> bool {
    let plain_words = value.plain_words();
    let typo_words = plain_words.iter().filter(|word| may_have_typo(word));
    typo_words.count() <= 8
}

/// SEARCH.md 4.6: true if the plain word may have typos.
fn may_have_typo(plain_word: &str) -> bool {
    5 <= plain_word.chars().count() && !has_number(plain_word)
}

/// SEARCH.md 4.6.
fn satisfies_with_typo(plain_word: &str, entry: &OracleEntry<'_>) -> bool {
    if !may_have_typo(plain_word) {
        return false;
    }
    let wanted: Vec<char> = plain_word.chars().collect();
    let distance_max = if wanted.len() <= 8 { 1 } else { 2 };
    for title_word in &entry.title_words {
        let found: Vec<char> = title_word.chars().collect();
        if found[0] == wanted[0] && alignment_distance(&wanted, &found) <= distance_max {
            return true;
        }
    }
    false
}

/// Optimal string alignment distance: the fewest insertions, deletions, substitutions and
/// transpositions of neighbours, no part of the string being edited twice.
fn alignment_distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let is_same = a[i - 1] == b[j - 1];
                let substituted = rows[i - 1][j - 1] + usize::from(!is_same);
                let one_longer = rows[i - 1][j].min(rows[i][j - 1]) + 1;
                let is_swapped = 2 <= i && 2 <= j && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let best = substituted.min(one_longer);
                if is_swapped {
                    best.min(rows[i - 2][j - 2] + 1)
                } else {
                    best
                }
            };
        }
    }
    rows[a.len()][b.len()]
}
