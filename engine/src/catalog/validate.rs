//! Validating drafts of records (API.md, import record): a draft becomes a [`Record`] or a fault.

use crate::limits::{
    CATALOG_ID_DIGITS_MAX, DESCRIPTION_CHARS_MAX, FILE_NAME_CHARS_MAX, RELEASE_ID_BYTES_MAX,
    SHOWN_VALUE_CHARS_MAX, TITLE_CHARS_MAX, UPLOADER_CHARS_MAX, YEAR_MAX, YEAR_MIN,
};
use crate::model::{
    CatalogId, DraftValue, FieldError, FileName, Flag, Language, Number, Record, RecordDraft,
    RecordFlags, RecordId, ReleaseId, Timestamp, VideoType, Year,
};
use crate::text::{described_flags, fold_into, named_flags, spanish_region, words};

type Validated<T> = Result<T, FieldError>;

/// Validates drafts, one after another.
#[derive(Debug, Default)]
pub(crate) struct Validator {
    /// Memory for folded text.
    folded: String,
}

impl Validator {
    /// The record that a draft describes.
    ///
    /// Errors: the first faulty field, and the reason. Source: API.md, import record; SEARCH.md 6
    /// for the region of its language.
    pub(crate) fn validate(&mut self, draft: &RecordDraft<'_>) -> Validated<Record> {
        // Before the others: the id may be derived from the release id, the language takes its
        // region from the description, and flags are derived from description and file name.
        let source_release_id = release_id(&draft.source_release_id)?;
        let description = text("description", &draft.description, DESCRIPTION_CHARS_MAX)?;
        let file_name = file_name(&draft.file_name)?;
        let record = Record {
            id: record_id(&draft.id, source_release_id.as_ref())?,
            video_type: video_type(&draft.video_type)?,
            title: self.title(&draft.title)?,
            season: number("season", &draft.season)?,
            episode: number("episode", &draft.episode)?,
            year: year(&draft.year)?,
            catalog_id: catalog_id("catalog_id", &draft.catalog_id)?,
            parent_catalog_id: catalog_id("parent_catalog_id", &draft.parent_catalog_id)?,
            uploader_name: text("uploader_name", &draft.uploader_name, UPLOADER_CHARS_MAX)?,
            posted_at: posted_at(&draft.posted_at)?,
            downloads: integer("downloads", &draft.downloads, 0, u32::MAX.into())?
                .map_or(0, |count| count as u32),
            is_active: boolean("is_active", &draft.is_active)?.unwrap_or(true),
            language: self.language(&draft.language, description.as_deref())?,
            flags: flags(draft, description.as_deref(), file_name.as_ref())?,
            file_name,
            source_release_id,
            description,
        };
        Ok(record)
    }

    fn title(&mut self, value: &DraftValue<'_>) -> Validated<String> {
        let title = text("title", value, TITLE_CHARS_MAX)?;
        let title = title.ok_or_else(|| missing("title"))?;
        self.folded.clear();
        fold_into(&title, &mut self.folded);
        // A title of punctuation alone would be found by no search.
        if words(&self.folded).next().is_none() {
            return Err(refused("title", "it must have at least one word", value));
        }
        Ok(title)
    }

    /// The language, with the region that the description names (SEARCH.md 6).
    fn language(
        &mut self,
        value: &DraftValue<'_>,
        description: Option<&str>,
    ) -> Validated<Language> {
        let language = match string("language", value)? {
            None => Language::spanish(),
            Some(tag) => Language::parse_any_service(tag).ok_or_else(|| {
                refused("language", "it must be a language tag such as es-MX", value)
            })?,
        };
        let Some(description) = description else {
            return Ok(language);
        };
        // A region that the tag names is stated; one in the description is only deduced.
        if language.primary() != "es" || language.region().is_some() {
            return Ok(language);
        }
        self.folded.clear();
        fold_into(description, &mut self.folded);
        let Some(region) = spanish_region(&self.folded) else {
            return Ok(language);
        };
        let tag = Language::parse(region.tag());
        Ok(tag.expect("the tag of a region is well formed"))
    }
}

/// The flags: an unknown one may be set by the description or the file name.
///
/// Source: SEARCH.md 6.4, 6.5.
fn flags(
    draft: &RecordDraft<'_>,
    description: Option<&str>,
    file_name: Option<&FileName>,
) -> Validated<RecordFlags> {
    let described = description.map(described_flags).unwrap_or_default();
    let named = file_name
        .map(|name| named_flags(name.as_str()))
        .unwrap_or_default();
    let given = [
        ("hearing_impaired", &draft.hearing_impaired),
        ("forced", &draft.forced),
        ("machine_translated", &draft.machine_translated),
    ];
    let mut flags = RecordFlags::default();
    for (flag, (field, value)) in Flag::ALL.into_iter().zip(given) {
        let is_told = described.contains(flag) || named.contains(flag);
        let deduced = if is_told { Some(true) } else { None };
        flags = flags.with(flag, boolean(field, value)?.or(deduced));
    }
    Ok(flags)
}

fn record_id(value: &DraftValue<'_>, release: Option<&ReleaseId>) -> Validated<RecordId> {
    match (string("id", value)?, release) {
        (Some(id), _) => {
            RecordId::parse(id).ok_or_else(|| refused("id", "it must be a UUID", value))
        }
        (None, Some(release)) => Ok(RecordId::of_release(release)),
        (None, None) => Err(fault(
            "id",
            "it must be there when source_release_id is not",
        )),
    }
}

fn video_type(value: &DraftValue<'_>) -> Validated<VideoType> {
    let name = string("video_type", value)?.ok_or_else(|| missing("video_type"))?;
    VideoType::parse(name)
        .ok_or_else(|| refused("video_type", "it must be movie or episode", value))
}

fn number(field: &'static str, value: &DraftValue<'_>) -> Validated<Option<Number>> {
    let number = integer(field, value, 1, u16::MAX.into())?;
    Ok(number.and_then(|number| Number::new(number as u16)))
}

fn year(value: &DraftValue<'_>) -> Validated<Option<Year>> {
    let year = integer("year", value, YEAR_MIN.into(), YEAR_MAX.into())?;
    Ok(year.and_then(|year| Year::new(year as u16)))
}

fn catalog_id(field: &'static str, value: &DraftValue<'_>) -> Validated<Option<CatalogId>> {
    let Some(id) = string(field, value)? else {
        return Ok(None);
    };
    let parsed = CatalogId::parse(id).ok_or_else(|| {
        let rule = format!("it must be tt and 1 to {CATALOG_ID_DIGITS_MAX} digits");
        refused(field, &rule, value)
    })?;
    Ok(Some(parsed))
}

fn posted_at(value: &DraftValue<'_>) -> Validated<Timestamp> {
    let time = string("posted_at", value)?.ok_or_else(|| missing("posted_at"))?;
    Timestamp::parse(time).ok_or_else(|| {
        let rule = "it must be an ISO 8601 time of the years 0001 to 9999";
        refused("posted_at", rule, value)
    })
}

fn release_id(value: &DraftValue<'_>) -> Validated<Option<ReleaseId>> {
    let field = "source_release_id";
    let Some(release) = string(field, value)? else {
        return Ok(None);
    };
    let parsed = ReleaseId::parse(release).ok_or_else(|| {
        let rule = format!(
            "it must be 1 to {RELEASE_ID_BYTES_MAX} of A-Z a-z 0-9 . _ - and neither . nor .."
        );
        refused(field, &rule, value)
    })?;
    Ok(Some(parsed))
}

fn file_name(value: &DraftValue<'_>) -> Validated<Option<FileName>> {
    // A file without a name is served under a derived one, like one with an empty name.
    let name = text("file_name", value, FILE_NAME_CHARS_MAX)?;
    Ok(name.as_deref().and_then(FileName::parse))
}

/// Text of up to `chars_max` characters.
fn text(
    field: &'static str,
    value: &DraftValue<'_>,
    chars_max: usize,
) -> Validated<Option<String>> {
    let Some(text) = string(field, value)? else {
        return Ok(None);
    };
    // No text has more characters than bytes: most need no counting.
    if chars_max < text.len() && chars_max < text.chars().count() {
        let rule = format!("it must have at most {chars_max} characters");
        return Err(refused(field, &rule, value));
    }
    Ok(Some(text.to_owned()))
}

fn string<'d>(field: &'static str, value: &'d DraftValue<'_>) -> Validated<Option<&'d str>> {
    match value {
        DraftValue::Absent => Ok(None),
        DraftValue::Text(text) | DraftValue::Cell(text) => Ok(Some(text)),
        other => Err(refused(field, "it must be text", other)),
    }
}

fn integer(
    field: &'static str,
    value: &DraftValue<'_>,
    min: i64,
    max: i64,
) -> Validated<Option<i64>> {
    let found = match value {
        DraftValue::Absent => return Ok(None),
        DraftValue::Integer(number) => Some(*number),
        DraftValue::Cell(digits) => integer_in(digits),
        other => return Err(refused(field, "it must be an integer", other)),
    };
    match found {
        Some(number) if (min..=max).contains(&number) => Ok(Some(number)),
        _ => {
            let rule = format!("it must be an integer from {min} to {max}");
            Err(refused(field, &rule, value))
        }
    }
}

/// The integer that a cell holds, also as `1.0`: one empty cell makes a data frame write all
/// numbers of its column so.
fn integer_in(cell: &str) -> Option<i64> {
    let cell = cell.trim();
    let digits = match cell.split_once('.') {
        Some((digits, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => digits,
        _ => cell,
    };
    digits.parse().ok()
}

fn boolean(field: &'static str, value: &DraftValue<'_>) -> Validated<Option<bool>> {
    match value {
        DraftValue::Absent => Ok(None),
        DraftValue::Boolean(truth) => Ok(Some(*truth)),
        DraftValue::Cell(word) if word.trim().eq_ignore_ascii_case("true") => Ok(Some(true)),
        DraftValue::Cell(word) if word.trim().eq_ignore_ascii_case("false") => Ok(Some(false)),
        other => Err(refused(field, "it must be true or false", other)),
    }
}

/// A fault that shows the value, or its beginning.
fn refused(field: &'static str, rule: &str, value: &DraftValue<'_>) -> FieldError {
    let shown = match value {
        DraftValue::Absent => "null".to_owned(),
        DraftValue::Text(text) | DraftValue::Cell(text) => shown_text(text),
        DraftValue::Integer(number) => number.to_string(),
        DraftValue::Boolean(truth) => truth.to_string(),
        DraftValue::Other(name) => (*name).to_owned(),
    };
    FieldError {
        field,
        reason: format!("{rule}, not {shown}"),
    }
}

/// A text in quotes, cut where it is long.
fn shown_text(text: &str) -> String {
    match text.char_indices().nth(SHOWN_VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn missing(field: &'static str) -> FieldError {
    fault(field, "it must be there")
}

fn fault(field: &'static str, reason: &str) -> FieldError {
    FieldError {
        field,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn words_of(text: &str) -> DraftValue<'_> {
        DraftValue::Text(Cow::Borrowed(text))
    }

    fn draft() -> RecordDraft<'static> {
        RecordDraft {
            id: words_of("0b0e7c4a-9b1f-4c63-8d4e-0123456789ab"),
            video_type: words_of("movie"),
            title: words_of("1917"),
            posted_at: words_of("2020-01-02T03:04:05+01:00"),
            ..RecordDraft::default()
        }
    }

    fn check(change: impl FnOnce(&mut RecordDraft<'static>), field: &str, reason: &str) {
        let mut draft = draft();
        change(&mut draft);
        let fault = Validator::default().validate(&draft).unwrap_err();
        assert_eq!((fault.field, fault.reason.as_str()), (field, reason));
    }

    #[test]
    fn a_bare_draft_becomes_a_record_with_defaults() {
        let record = Validator::default().validate(&draft()).unwrap();
        assert_eq!(record.posted_at.to_string(), "2020-01-02T02:04:05Z");
        assert_eq!(record.language, Language::spanish());
        assert_eq!(record.downloads, 0);
        assert!(record.is_active);
    }

    #[test]
    fn every_fault_names_field_reason_and_value() {
        let reason = "it must be a UUID, not \"7\"";
        check(|d| d.id = words_of("7"), "id", reason);
        let no_id = "it must be there when source_release_id is not";
        check(|d| d.id = DraftValue::Absent, "id", no_id);
        let reason = "it must be movie or episode, not \"Movie\"";
        check(|d| d.video_type = words_of("Movie"), "video_type", reason);
        check(
            |d| d.title = DraftValue::Absent,
            "title",
            "it must be there",
        );
        let reason = "it must have at least one word, not \"¿?\"";
        check(|d| d.title = words_of("¿?"), "title", reason);
        let beginning = "ñ".repeat(SHOWN_VALUE_CHARS_MAX);
        let reason = format!("it must have at most 500 characters, not \"{beginning}\"...");
        check(
            |d| d.title = DraftValue::Text("ñ".repeat(501).into()),
            "title",
            &reason,
        );
        let rule = "it must be an integer from 1 to 65535";
        check(
            |d| d.season = DraftValue::Integer(0),
            "season",
            &format!("{rule}, not 0"),
        );
        check(
            |d| d.episode = DraftValue::Integer(65_536),
            "episode",
            &format!("{rule}, not 65536"),
        );
        let reason = "it must be an integer, not \"1\"";
        check(|d| d.season = words_of("1"), "season", reason);
        let reason = "it must be an integer from 1850 to 2100, not \"MMXX\"";
        check(|d| d.year = DraftValue::Cell("MMXX".into()), "year", reason);
        let reason = "it must be tt and 1 to 12 digits, not \"12\"";
        check(|d| d.catalog_id = words_of("12"), "catalog_id", reason);
        let reason = "it must be text, not an array";
        check(
            |d| d.description = DraftValue::Other("an array"),
            "description",
            reason,
        );
        let reason = "it must be an ISO 8601 time of the years 0001 to 9999, not \"yesterday\"";
        check(|d| d.posted_at = words_of("yesterday"), "posted_at", reason);
        let reason = "it must be an integer from 0 to 4294967295, not -1";
        check(
            |d| d.downloads = DraftValue::Integer(-1),
            "downloads",
            reason,
        );
        let reason = "it must be true or false, not 1";
        check(
            |d| d.is_active = DraftValue::Integer(1),
            "is_active",
            reason,
        );
        let flag_reason = "it must be true or false, not \"true\"";
        check(|d| d.forced = words_of("true"), "forced", flag_reason);
        let reason = "it must be a language tag such as es-MX, not \"español\"";
        check(|d| d.language = words_of("español"), "language", reason);
        let reason = format!("it must have at most 255 characters, not \"{beginning}\"...");
        check(
            |d| d.file_name = DraftValue::Text("ñ".repeat(256).into()),
            "file_name",
            &reason,
        );
    }

    #[test]
    fn an_empty_file_name_is_none() {
        let record = Validator::default().validate(&RecordDraft {
            file_name: words_of(""),
            ..draft()
        });
        assert_eq!(record.unwrap().file_name, None);
    }

    #[test]
    fn cells_are_what_their_field_wants() {
        let record = Validator::default().validate(&RecordDraft {
            season: DraftValue::Cell("3".into()),
            episode: DraftValue::Cell(" 12.0".into()),
            is_active: DraftValue::Cell("False".into()),
            title: DraftValue::Cell("24".into()),
            ..draft()
        });
        let record = record.unwrap();
        assert_eq!(record.season, Number::new(3));
        assert_eq!(record.episode, Number::new(12));
        assert_eq!(record.title, "24");
        assert!(!record.is_active);
    }

    #[test]
    fn an_id_is_made_from_the_release() {
        let record = Validator::default().validate(&RecordDraft {
            id: DraftValue::Absent,
            source_release_id: words_of("42"),
            ..draft()
        });
        let release = ReleaseId::parse("42").unwrap();
        assert_eq!(record.unwrap().id, RecordId::of_release(&release));
    }

    #[test]
    fn import_rule_13_flags_are_told_only_where_they_are_unknown() {
        let flags = |given: DraftValue<'static>, description: &'static str, name: &'static str| {
            let record = Validator::default().validate(&RecordDraft {
                hearing_impaired: given,
                description: words_of(description),
                file_name: words_of(name),
                ..draft()
            });
            record.unwrap().flags.get(Flag::HearingImpaired)
        };
        assert_eq!(flags(DraftValue::Absent, "", ""), None);
        assert_eq!(flags(DraftValue::Absent, "SDH", ""), Some(true));
        assert_eq!(flags(DraftValue::Absent, "", "a.sdh.srt"), Some(true));
        assert_eq!(
            flags(DraftValue::Boolean(false), "SDH", "a.sdh.srt"),
            Some(false)
        );
        assert_eq!(flags(DraftValue::Cell("TRUE".into()), "", ""), Some(true));
    }

    #[test]
    fn search_rule_6_region_comes_from_the_description() {
        let language = |tag: &'static str, description: &'static str| {
            let record = Validator::default().validate(&RecordDraft {
                language: words_of(tag),
                description: words_of(description),
                ..draft()
            });
            record.unwrap().language.as_str().to_owned()
        };
        assert_eq!(language("es", "Castellano"), "es-ES");
        assert_eq!(language("spa", "audio latino"), "es-419");
        assert_eq!(language("es", "castellano y latino"), "es");
        assert_eq!(language("es-MX", "castellano"), "es-MX");
        assert_eq!(language("en", "castellano"), "en");
        assert_eq!(language("ea", "castellano"), "es-419");
    }
}
