//! Records that make the search rules hard: ties, unknown years, packs, series, regions.

use std::borrow::Cow;

use subcat_engine::{
    CatalogId, DraftValue, FileName, Flag, Language, Number, Record, RecordDraft, RecordFlags,
    RecordId, ReleaseId, Timestamp, VideoType, Year, fold,
    internals::{DESCRIPTION_CHARS_MAX, TITLE_CHARS_MAX, UPLOADER_CHARS_MAX},
};

use crate::choices::Choices;
use crate::vocabulary::{description_text, long_words, title_text};

/// Catalog ids, some of which have the same number.
pub(crate) const CATALOG_IDS: &[&str] = &[
    "tt12345",
    "tt0012345",
    "tt1",
    "tt0000001",
    "tt7654321",
    "tt123456789012",
    "tt0",
];

pub(crate) const LANGUAGES: &[&str] = &[
    "es",
    "ES",
    "spa",
    "es-ES",
    "es-419",
    "es_mx",
    "spa-AR",
    "en",
    "eng-US",
    "en-419",
    "fre",
    "fr-CA",
    "zh-Hant-TW",
    "ast",
    "es-Latn-ES",
    "hbs",
    "est",
];

const YEARS: &[u16] = &[2004, 2049, 1917, 2017, 1999, 1900, 2100, 1899, 1850];

/// Number of different ids: so few that records are replaced.
const IDS_COUNT: usize = 600;

/// A valid record.
pub fn record(choices: &mut Choices<'_>) -> Record {
    let video_type = choices.pick(&[VideoType::Movie, VideoType::Episode]);
    let is_episode = video_type == VideoType::Episode || choices.one_in(10);
    // Choices are drawn in this order: in another one, the stored regressions would be other cases.
    let base = Record::new(record_id(choices), &title(choices));
    let record = Record {
        video_type,
        season: optional(choices, is_episode, number),
        episode: optional(choices, is_episode, number),
        year: optional(choices, true, year),
        catalog_id: optional(choices, true, catalog_id),
        parent_catalog_id: optional(choices, is_episode, catalog_id),
        description: description(choices),
        uploader_name: one_in(choices, 3, uploader),
        posted_at: posted_at(choices),
        downloads: choices.byte().into(),
        is_active: !choices.one_in(10),
        source_release_id: one_in(choices, 2, release_id),
        language: language(choices),
        file_name: one_in(choices, 4, file_name),
        ..base
    };
    let flags = flags(record.downloads);
    Record { flags, ..record }
}

/// One of few ids. The simplest are next to each other; some differ in the first byte only.
pub fn record_id(choices: &mut Choices<'_>) -> RecordId {
    let number = choices.below(IDS_COUNT) as u16;
    let [low, high] = number.to_le_bytes();
    let mut bytes = [0; 16];
    bytes[0] = low.wrapping_mul(0x4F);
    bytes[15] = low;
    bytes[14] = high;
    RecordId::from_bytes(bytes)
}

fn title(choices: &mut Choices<'_>) -> String {
    let mut title = title_text(choices, 5);
    match choices.below(256) {
        254 => title = title.repeat(40),
        240..254 => title = long_words(choices),
        _ => {}
    }
    let title: String = title.chars().take(TITLE_CHARS_MAX).collect();
    if fold(&title).is_empty() {
        "a".to_string()
    } else {
        title
    }
}

fn uploader(choices: &mut Choices<'_>) -> String {
    title(choices).chars().take(UPLOADER_CHARS_MAX).collect()
}

fn description(choices: &mut Choices<'_>) -> Option<String> {
    if choices.one_in(3) {
        return None;
    }
    let words_max = if choices.one_in(200) { 2000 } else { 8 };
    let text = description_text(choices, words_max);
    Some(text.chars().take(DESCRIPTION_CHARS_MAX).collect())
}

/// A value in three of four cases, if one is allowed at all.
fn optional<T>(
    choices: &mut Choices<'_>,
    is_allowed: bool,
    make: impl FnOnce(&mut Choices<'_>) -> T,
) -> Option<T> {
    if is_allowed && !choices.one_in(4) {
        Some(make(choices))
    } else {
        None
    }
}

/// A value once in `n` times.
fn one_in<T>(
    choices: &mut Choices<'_>,
    n: usize,
    make: impl FnOnce(&mut Choices<'_>) -> T,
) -> Option<T> {
    if choices.one_in(n) {
        Some(make(choices))
    } else {
        None
    }
}

/// A season or an episode.
pub(crate) fn number(choices: &mut Choices<'_>) -> Number {
    let number = choices.pick(&[1, 2, 3, 1, 2, 99, 999, 65535]);
    Number::new(number).expect("all of them are at least 1")
}

pub(crate) fn year(choices: &mut Choices<'_>) -> Year {
    Year::new(choices.pick(YEARS)).expect("all of them are in range")
}

fn catalog_id(choices: &mut Choices<'_>) -> CatalogId {
    CatalogId::parse(choices.pick(CATALOG_IDS)).expect("all of them are well formed")
}

pub(crate) fn language(choices: &mut Choices<'_>) -> Language {
    Language::parse(choices.pick(LANGUAGES)).expect("all of them are well formed")
}

fn file_name(_: &mut Choices<'_>) -> FileName {
    FileName::parse("a b.srt").expect("the name is well formed")
}

/// Any flags, by the bits of another field: a choice of their own would make stored regressions
/// other cases.
fn flags(bits: u32) -> RecordFlags {
    let mut flags = RecordFlags::default();
    for (idx, flag) in Flag::ALL.into_iter().enumerate() {
        let is_known = bits >> idx & 1 != 0;
        let is_set = bits >> (idx + 3) & 1 != 0;
        flags = flags.with(flag, is_known.then_some(is_set));
    }
    flags
}

fn release_id(choices: &mut Choices<'_>) -> ReleaseId {
    let text = choices.pick(&["r1", "r-2", "R_3.x"]);
    ReleaseId::parse(text).expect("all of them are well formed")
}

/// One of few times, so that many records tie.
pub(crate) fn posted_at(choices: &mut Choices<'_>) -> Timestamp {
    let seconds = choices.pick(&[1_700_000_000, 1_700_000_001, 1_600_000_000, 0, -5]);
    Timestamp::from_seconds(seconds).expect("all of them are in range")
}

fn flag<'a>(record: &Record, flag: Flag) -> DraftValue<'a> {
    let value = record.flags.get(flag);
    value.map_or(DraftValue::Absent, DraftValue::Boolean)
}

/// The draft that an import file's line with this record gives.
pub fn draft(record: &Record) -> RecordDraft<'_> {
    let text = |text: String| DraftValue::Text(Cow::Owned(text));
    let borrowed = |text: Option<&'_ str>| match text {
        Some(text) => DraftValue::Text(Cow::Owned(text.to_string())),
        None => DraftValue::Absent,
    };
    let integer = |number: Option<i64>| number.map_or(DraftValue::Absent, DraftValue::Integer);
    RecordDraft {
        id: text(record.id.to_string()),
        video_type: borrowed(Some(record.video_type.as_str())),
        title: borrowed(Some(&record.title)),
        season: integer(record.season.map(|season| season.get().into())),
        episode: integer(record.episode.map(|episode| episode.get().into())),
        year: integer(record.year.map(|year| year.get().into())),
        catalog_id: borrowed(record.catalog_id.map(|id| id.to_string()).as_deref()),
        parent_catalog_id: borrowed(record.parent_catalog_id.map(|id| id.to_string()).as_deref()),
        description: borrowed(record.description.as_deref()),
        uploader_name: borrowed(record.uploader_name.as_deref()),
        posted_at: text(record.posted_at.to_string()),
        downloads: DraftValue::Integer(record.downloads.into()),
        is_active: DraftValue::Boolean(record.is_active),
        source_release_id: borrowed(record.source_release_id.as_ref().map(ReleaseId::as_str)),
        language: borrowed(Some(record.language.as_str())),
        file_name: borrowed(record.file_name.as_ref().map(FileName::as_str)),
        hearing_impaired: flag(record, Flag::HearingImpaired),
        forced: flag(record, Flag::Forced),
        machine_translated: flag(record, Flag::MachineTranslated),
    }
}
