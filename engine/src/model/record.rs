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

/// One field of an import record: its name, its rule in words, and its value in a draft.
pub struct DraftField {
    /// Name in import files and exports.
    pub name: &'static str,
    /// Accepted values, for help texts (API.md 13).
    pub rule: &'static str,
    /// The value of the field in a draft.
    pub value: for<'d, 'a> fn(&'d mut RecordDraft<'a>) -> &'d mut DraftValue<'a>,
}

/// Makes [`RecordDraft`] and the table of its fields, each with its name and its rule.
macro_rules! record_draft {
    ($($field:ident: $rule:expr,)+) => {
        /// One line of an import file: the fields of a record, not validated.
        #[derive(Debug, Clone, PartialEq, Default)]
        #[expect(missing_docs, reason = "the fields are those of a record")]
        pub struct RecordDraft<'a> {
            $(pub $field: DraftValue<'a>,)+
        }

        impl RecordDraft<'_> {
            /// All fields, in the order of exports. Readers of import files, their error messages
            /// and the help of the command line follow this table.
            pub const FIELDS: &'static [DraftField] = &[
                $(DraftField {
                    name: stringify!($field),
                    rule: $rule,
                    value: |draft| &mut draft.$field,
                },)+
            ];
        }
    };
}

record_draft! {
    id: "UUID; without it, made from source_release_id",
    video_type: "movie or episode",
    title: "1 to 500 characters with at least one word",
    season: "1 to 65535",
    episode: "1 to 65535",
    year: "1850 to 2100",
    catalog_id: "tt and 1 to 12 digits",
    parent_catalog_id: "tt and 1 to 12 digits",
    description: "up to 10000 characters",
    uploader_name: "up to 200 characters",
    posted_at: "ISO 8601 with any offset, years 0001 to 9999",
    downloads: "0 to 4294967295 [default: 0]",
    is_active: "true or false [default: true]",
    source_release_id: "1 to 200 of A-Z a-z 0-9 . _ -",
    language: "a language tag such as es-MX [default: es]",
    file_name: "up to 255 characters",
    hearing_impaired: FLAG_RULE,
    forced: FLAG_RULE,
    machine_translated: FLAG_RULE,
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
