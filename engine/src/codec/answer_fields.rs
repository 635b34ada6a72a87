//! The fields of an answer's fragment, read back.

use std::borrow::Cow;

use memchr::memchr2;

use super::answer::after_id;
use crate::model::VideoType;

/// Fields of a record as its answers show them (API.md, subtitle record). A text without an escape
/// is borrowed from the fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerFields<'a> {
    /// `video_type`.
    pub video_type: VideoType,
    /// `title`.
    pub title: Cow<'a, str>,
    /// `season`.
    pub season: Option<u16>,
    /// `episode`.
    pub episode: Option<u16>,
    /// `year`.
    pub year: Option<u16>,
    /// `catalog_id`.
    pub catalog_id: Option<Cow<'a, str>>,
    /// `description`.
    pub description: Option<Cow<'a, str>>,
    /// `uploader_name`.
    pub uploader_name: Option<Cow<'a, str>>,
    /// `posted_at`.
    pub posted_at: Cow<'a, str>,
}

/// Reads the fields of a fragment; `None` when it is not one. Cost: a pass over its bytes, a copy
/// of each text that has an escape.
///
/// ```
/// use subcat_engine::{Record, RecordId};
/// use subcat_engine::internals::{fragment_fields, write_fragment};
///
/// let record = Record::new(RecordId::from_bytes([0; 16]), "Ran");
/// let mut fragment = Vec::new();
/// write_fragment(&record, &mut fragment);
/// assert_eq!(fragment_fields(&fragment).unwrap().title, "Ran");
/// ```
pub fn fragment_fields(fragment: &[u8]) -> Option<AnswerFields<'_>> {
    let mut rest = Rest(after_id(fragment)?);
    rest.name("video_type")?;
    let video_type = VideoType::parse(&rest.text()?)?;
    rest.name("title")?;
    let title = rest.text()?;
    let season = rest.named_number("season")?;
    let episode = rest.named_number("episode")?;
    let year = rest.named_number("year")?;
    let catalog_id = rest.named_text("catalog_id")?;
    let description = rest.named_text("description")?;
    let uploader_name = rest.named_text("uploader_name")?;
    rest.name("posted_at")?;
    let posted_at = rest.text()?;
    Some(AnswerFields {
        video_type,
        title,
        season,
        episode,
        year,
        catalog_id,
        description,
        uploader_name,
        posted_at,
    })
}

/// The part of a fragment that has not been read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, expected: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    /// The name of the next field.
    fn name(&mut self, name: &str) -> Option<()> {
        self.skip(b",\"")?;
        self.skip(name.as_bytes())?;
        self.skip(b"\":")
    }

    /// A string.
    fn text(&mut self) -> Option<Cow<'a, str>> {
        let inside = self.0.strip_prefix(b"\"")?;
        let mut end = 0;
        let mut has_escape = false;
        loop {
            end += memchr2(b'"', b'\\', inside.get(end..)?)?;
            if inside[end] == b'"' {
                break;
            }
            has_escape = true;
            end += 2;
        }
        let (quoted, rest) = self.0.split_at(end + 2);
        self.0 = rest;
        if has_escape {
            serde_json::from_slice(quoted).ok().map(Cow::Owned)
        } else {
            str::from_utf8(&inside[..end]).ok().map(Cow::Borrowed)
        }
    }

    /// A field that is a string or null.
    fn named_text(&mut self, name: &str) -> Option<Option<Cow<'a, str>>> {
        self.name(name)?;
        if self.skip(b"null").is_some() {
            return Some(None);
        }
        self.text().map(Some)
    }

    /// A field that is a number or null.
    fn named_number(&mut self, name: &str) -> Option<Option<u16>> {
        self.name(name)?;
        if self.skip(b"null").is_some() {
            return Some(None);
        }
        let is_other = |byte: &u8| !byte.is_ascii_digit();
        let (digits, rest) = self.0.split_at(self.0.iter().position(is_other)?);
        self.0 = rest;
        let number = str::from_utf8(digits).ok()?.parse().ok()?;
        Some(Some(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::write_fragment;
    use crate::model::{CatalogId, Number, Record, RecordId, Timestamp, Year};

    fn fragment_of(record: &Record) -> Vec<u8> {
        let mut fragment = Vec::new();
        write_fragment(record, &mut fragment);
        fragment
    }

    fn record() -> Record {
        Record {
            video_type: VideoType::Episode,
            season: Number::new(3),
            episode: Number::new(65_535),
            year: Year::new(1992),
            catalog_id: CatalogId::parse("tt0012"),
            description: Some("ñ\\ \"a\"\r\nb\u{1}".into()),
            uploader_name: Some("\\".into()),
            posted_at: Timestamp::parse("2026-09-17T05:32:37Z").unwrap(),
            ..Record::new(RecordId::from_bytes([7; 16]), "Sailor Moon,\"year\":1")
        }
    }

    #[test]
    fn gives_back_what_was_written() {
        let record = record();
        let fragment = fragment_of(&record);
        let fields = fragment_fields(&fragment).unwrap();
        assert_eq!(fields.video_type, record.video_type);
        assert_eq!(fields.title, record.title);
        assert_eq!(fields.season, Some(3));
        assert_eq!(fields.episode, Some(65_535));
        assert_eq!(fields.year, Some(1992));
        assert_eq!(fields.catalog_id.as_deref(), Some("tt0012"));
        assert_eq!(fields.description.as_deref(), record.description.as_deref());
        assert_eq!(fields.uploader_name.as_deref(), Some("\\"));
        assert_eq!(fields.posted_at, "2026-09-17T05:32:37Z");
    }

    #[test]
    fn what_is_not_there_is_none_and_plain_texts_are_borrowed() {
        let fragment = fragment_of(&Record::new(RecordId::from_bytes([7; 16]), "Ran ñ"));
        let fields = fragment_fields(&fragment).unwrap();
        assert!(matches!(fields.title, Cow::Borrowed("Ran ñ")));
        let numbers = [fields.season, fields.episode, fields.year];
        assert_eq!(numbers, [None; 3]);
        let texts = [fields.catalog_id, fields.description, fields.uploader_name];
        assert_eq!(texts, [None, None, None]);
    }

    #[test]
    fn a_part_of_a_fragment_is_none() {
        let fragment = fragment_of(&record());
        let time_end = fragment.len() - ",\"downloads\":".len();
        for end in 0..time_end {
            assert_eq!(fragment_fields(&fragment[..end]), None, "at {end}");
        }
        assert!(fragment_fields(&fragment[..time_end]).is_some());
        assert_eq!(fragment_fields(b"{"), None);
    }
}
