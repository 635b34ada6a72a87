//! A record as addresses show it.

use subcat_engine::{
    AnswerFields, Flag, LanguageTerm, RecordId, RecordLocation, Snapshot, VideoType,
};

use crate::api::failed;
use crate::respond::ApiError;

/// The parts of a record that an item is made of.
pub(super) struct AddressRecord<'a> {
    pub(super) id: RecordId,
    /// Its fields in answers of the API.
    pub(super) fields: AnswerFields<'a>,
    /// The id of the series, or else its own; empty if it has none.
    pub(super) imdb_id: String,
    pub(super) file_name: Option<&'a str>,
    pub(super) language: Option<LanguageTerm>,
    pub(super) is_hearing_impaired: bool,
}

impl<'a> AddressRecord<'a> {
    /// Reads the record at a location of a snapshot.
    pub(super) fn read(
        snapshot: &'a Snapshot,
        location: &RecordLocation,
    ) -> Result<Self, ApiError> {
        let unreadable = |error: subcat_engine::Error| failed(&error);
        let doc = snapshot.located_doc(location).map_err(unreadable)?;
        let fields = snapshot.fields_of(&doc).map_err(unreadable)?;
        let parent = doc.parent_catalog_id().map(|id| id.to_string());
        let own = || fields.catalog_id.as_deref().map(str::to_owned);
        Ok(Self {
            id: doc.id(),
            imdb_id: parent.or_else(own).unwrap_or_default(),
            file_name: doc.file_name(),
            language: snapshot.language_of(&doc).map_err(unreadable)?,
            is_hearing_impaired: snapshot
                .flags(location)
                .map_err(unreadable)?
                .contains(Flag::HearingImpaired),
            fields,
        })
    }

    pub(super) fn is_episode(&self) -> bool {
        self.fields.video_type == VideoType::Episode
    }
}
