//! A record of the catalog, and its draft from an import file.

use std::borrow::Cow;
use std::fmt;

use super::{
    CatalogId, FileName, Language, Number, RecordFlags, RecordId, ReleaseId, Timestamp, Year,
};

/// Rule of the fields that are flags.
const FLAG_RULE: &str = "true or false [default: as description and file name tell]";

/// A film or an episode of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VideoType {
    /// A film.
    Movie,
    /// An episode, a season pack or a series pack.
    Episode,
}

impl VideoType {
    /// Name of the type in requests, answers and imports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Movie => "movie",
            Self::Episode => "episode",
        }
    }

    /// Reads `movie` or `episode`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "movie" => Some(Self::Movie),
            "episode" => Some(Self::Episode),
            _ => None,
        }
    }
}

/// One subtitle record. Every field is valid by its type or by [`RecordDraft`]'s validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Id of the record.
    pub id: RecordId,
    /// Film or episode.
    pub video_type: VideoType,
    /// Title of the film or show: 1 to 500 characters with at least one word.
    pub title: String,
    /// Season, of an episode or a season pack.
    pub season: Option<Number>,
    /// Episode; none for packs.
    pub episode: Option<Number>,
    /// Release year, or the parent show's premiere year.
    pub year: Option<Year>,
    /// External id of the title, possibly of the single episode.
    pub catalog_id: Option<CatalogId>,
    /// External id of the series of an episode. Never shown.
    pub parent_catalog_id: Option<CatalogId>,
    /// Description or release information: up to 10,000 characters.
    pub description: Option<String>,
    /// User name of the original uploader: up to 200 characters.
    pub uploader_name: Option<String>,
    /// Time at which it was posted; newer records come first in answers.
    pub posted_at: Timestamp,
    /// Upstream's count of downloads; this server's count is state, not a field.
    pub downloads: u32,
    /// Inactive records are not found and not shown.
    pub is_active: bool,
    /// Identifier of the file at the upstream source.
    pub source_release_id: Option<ReleaseId>,
    /// Language of the subtitles. Never shown.
    pub language: Language,
    /// Original name of the file.
    pub file_name: Option<FileName>,
    /// Hearing impaired, forced, machine translated; unknown ones count as false.
    pub flags: RecordFlags,
}

impl Record {
    /// An active Spanish film posted in 1970, with nothing else known. Callers set the other fields
    /// by struct update, so that a new field does not change every caller.
    ///
    /// ```
    /// use subcat_engine::{Record, RecordId, VideoType, Year};
    /// let record = Record {
    ///     year: Year::new(1985),
    ///     ..Record::new(RecordId::from_bytes([7; 16]), "Ran")
    /// };
    /// assert_eq!(record.video_type, VideoType::Movie);
    /// assert_eq!(record.description, None);
    /// ```
    pub fn new(id: RecordId, title: &str) -> Self {
        debug_assert!(!title.is_empty(), "a title has at least one word");
        Self {
            id,
            video_type: VideoType::Movie,
            title: title.to_owned(),
            season: None,
            episode: None,
            year: None,
            catalog_id: None,
            parent_catalog_id: None,
            description: None,
            uploader_name: None,
            posted_at: Timestamp::EPOCH,
            downloads: 0,
            is_active: true,
            source_release_id: None,
            language: Language::spanish(),
            file_name: None,
            flags: RecordFlags::default(),
        }
    }
}

/// A value of an import file before it is validated.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum DraftValue<'a> {
    /// Missing, or null.
    #[default]
    Absent,
    /// Text: never a number, whatever it looks like.
    Text(Cow<'a, str>),
    /// A cell of a CSV file: text, a number or a truth value, whichever its field expects. CSV has
    /// no types.
    Cell(Cow<'a, str>),
    /// An integer.
    Integer(i64),
    /// True or false.
    Boolean(bool),
    /// Anything else, described: `a number with a fraction`, `an array`, `an object`.
    Other(&'static str),
}

/// One line of an import file: the fields of a record, not validated.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(missing_docs, reason = "the fields are those of a record")]
pub struct RecordDraft<'a> {
    pub id: DraftValue<'a>,
    pub video_type: DraftValue<'a>,
    pub title: DraftValue<'a>,
    pub season: DraftValue<'a>,
    pub episode: DraftValue<'a>,
    pub year: DraftValue<'a>,
    pub catalog_id: DraftValue<'a>,
    pub parent_catalog_id: DraftValue<'a>,
    pub description: DraftValue<'a>,
    pub uploader_name: DraftValue<'a>,
    pub posted_at: DraftValue<'a>,
    pub downloads: DraftValue<'a>,
    pub is_active: DraftValue<'a>,
    pub source_release_id: DraftValue<'a>,
    pub language: DraftValue<'a>,
    pub file_name: DraftValue<'a>,
    pub hearing_impaired: DraftValue<'a>,
    pub forced: DraftValue<'a>,
    pub machine_translated: DraftValue<'a>,
}

/// One field of an import record: its name, its rule in words, and its value in a draft.
pub struct DraftField {
    /// Name in import files and exports.
    pub name: &'static str,
    /// Accepted values, for help texts (API.md 13).
    pub rule: &'static str,
    /// The value of the field in a draft.
    pub value: for<'d, 'a> fn(&'d mut RecordDraft<'a>) -> &'d mut DraftValue<'a>,
}

impl RecordDraft<'_> {
    /// All fields, in the order of exports. Readers of import files, their error messages and the
    /// help of the command line follow this table.
    pub const FIELDS: &'static [DraftField] = &[
        DraftField {
            name: "id",
            rule: "UUID; without it, made from source_release_id",
            value: |draft| &mut draft.id,
        },
        DraftField {
            name: "video_type",
            rule: "movie or episode",
            value: |draft| &mut draft.video_type,
        },
        DraftField {
            name: "title",
            rule: "1 to 500 characters with at least one word",
            value: |draft| &mut draft.title,
        },
        DraftField {
            name: "season",
            rule: "1 to 65535",
            value: |draft| &mut draft.season,
        },
        DraftField {
            name: "episode",
            rule: "1 to 65535",
            value: |draft| &mut draft.episode,
        },
        DraftField {
            name: "year",
            rule: "1850 to 2100",
            value: |draft| &mut draft.year,
        },
        DraftField {
            name: "catalog_id",
            rule: "tt and 1 to 12 digits",
            value: |draft| &mut draft.catalog_id,
        },
        DraftField {
            name: "parent_catalog_id",
            rule: "tt and 1 to 12 digits",
            value: |draft| &mut draft.parent_catalog_id,
        },
        DraftField {
            name: "description",
            rule: "up to 10000 characters",
            value: |draft| &mut draft.description,
        },
        DraftField {
            name: "uploader_name",
            rule: "up to 200 characters",
            value: |draft| &mut draft.uploader_name,
        },
        DraftField {
            name: "posted_at",
            rule: "ISO 8601 with any offset, years 0001 to 9999",
            value: |draft| &mut draft.posted_at,
        },
        DraftField {
            name: "downloads",
            rule: "0 to 4294967295 [default: 0]",
            value: |draft| &mut draft.downloads,
        },
        DraftField {
            name: "is_active",
            rule: "true or false [default: true]",
            value: |draft| &mut draft.is_active,
        },
        DraftField {
            name: "source_release_id",
            rule: "1 to 200 of A-Z a-z 0-9 . _ -",
            value: |draft| &mut draft.source_release_id,
        },
        DraftField {
            name: "language",
            rule: "a language tag such as es-MX [default: es]",
            value: |draft| &mut draft.language,
        },
        DraftField {
            name: "file_name",
            rule: "up to 255 characters",
            value: |draft| &mut draft.file_name,
        },
        DraftField {
            name: "hearing_impaired",
            rule: FLAG_RULE,
            value: |draft| &mut draft.hearing_impaired,
        },
        DraftField {
            name: "forced",
            rule: FLAG_RULE,
            value: |draft| &mut draft.forced,
        },
        DraftField {
            name: "machine_translated",
            rule: FLAG_RULE,
            value: |draft| &mut draft.machine_translated,
        },
    ];
}

/// Reason why a draft is not a valid record: the field and its fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field's name in the import record.
    pub field: &'static str,
    /// One clause: the fault and the allowed values.
    pub reason: String,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

impl std::error::Error for FieldError {}
