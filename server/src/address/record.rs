//! A record as addresses show it.

use serde::Deserialize;
use subcat_engine::{Doc, Flag, LanguageTerm, RecordId, RecordLocation, Snapshot, VideoType};

use crate::api::failed;
use crate::respond::ApiError;

/// The fields of a record that an item is made of.
pub(super) struct AddressRecord {
    pub(super) id: RecordId,
    pub(super) is_episode: bool,
    pub(super) title: String,
    pub(super) season: Option<u16>,
    pub(super) episode: Option<u16>,
    pub(super) year: Option<u16>,
    /// The id of the series, or else its own; empty if it has none.
    pub(super) imdb_id: String,
    pub(super) description: Option<String>,
    pub(super) uploader_name: Option<String>,
    pub(super) posted_at: String,
    pub(super) file_name: Option<String>,
    pub(super) language: Option<LanguageTerm>,
    pub(super) is_hearing_impaired: bool,
}

/// The part of an answer fragment that is read.
#[derive(Deserialize)]
struct FragmentFields {
    video_type: String,
    title: String,
    season: Option<u16>,
    episode: Option<u16>,
    year: Option<u16>,
    catalog_id: Option<String>,
    description: Option<String>,
    uploader_name: Option<String>,
    posted_at: String,
}

impl AddressRecord {
    /// Reads the record at a location of a snapshot.
    pub(super) fn read(snapshot: &Snapshot, location: &RecordLocation) -> Result<Self, ApiError> {
        let unreadable = |error: subcat_engine::Error| failed(&error);
        let doc = snapshot.located_doc(location).map_err(unreadable)?;
        let fields = fragment_fields(&doc)?;
        let language = snapshot.language_of(&doc).map_err(unreadable)?;
        let flags = snapshot.flags_of(&doc).map_err(unreadable)?;
        let parent = doc.parent_catalog_id().map(|id| id.to_string());
        let is_episode = VideoType::parse(&fields.video_type) == Some(VideoType::Episode);
        Ok(Self {
            id: doc.id(),
            is_episode,
            title: fields.title,
            season: fields.season,
            episode: fields.episode,
            year: fields.year,
            imdb_id: parent.or(fields.catalog_id).unwrap_or_default(),
            description: fields.description.filter(|text| !text.is_empty()),
            uploader_name: fields.uploader_name,
            posted_at: fields.posted_at,
            file_name: doc.file_name().map(str::to_owned),
            language,
            is_hearing_impaired: flags.contains(Flag::HearingImpaired),
        })
    }
}

/// Reads the finished JSON of a record up to its count of downloads.
fn fragment_fields(doc: &Doc<'_>) -> Result<FragmentFields, ApiError> {
    let mut json = doc.fragment().to_vec();
    json.extend_from_slice(b"0}");
    serde_json::from_slice(&json).map_err(|error| {
        let id = doc.id();
        tracing::error!(%id, %error, "a record cannot be read");
        ApiError::Internal
    })
}
