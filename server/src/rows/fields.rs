//! The fields of an import record by name.

use subcat_engine::{DraftValue, RecordDraft};

/// Every field's name, in the order in which export writes them.
pub(super) const FIELD_NAMES: [&str; 16] = [
    "id",
    "video_type",
    "title",
    "season",
    "episode",
    "year",
    "catalog_id",
    "parent_catalog_id",
    "description",
    "uploader_name",
    "posted_at",
    "downloads",
    "is_active",
    "source_release_id",
    "language",
    "file_name",
];

/// The position of a name in [`FIELD_NAMES`].
pub(super) fn field_idx(name: &str) -> Option<usize> {
    FIELD_NAMES.iter().position(|known| *known == name)
}

/// The place of a field in a draft.
pub(super) fn field_of<'d, 'a>(
    draft: &'d mut RecordDraft<'a>,
    field_idx: usize,
) -> &'d mut DraftValue<'a> {
    match field_idx {
        0 => &mut draft.id,
        1 => &mut draft.video_type,
        2 => &mut draft.title,
        3 => &mut draft.season,
        4 => &mut draft.episode,
        5 => &mut draft.year,
        6 => &mut draft.catalog_id,
        7 => &mut draft.parent_catalog_id,
        8 => &mut draft.description,
        9 => &mut draft.uploader_name,
        10 => &mut draft.posted_at,
        11 => &mut draft.downloads,
        12 => &mut draft.is_active,
        13 => &mut draft.source_release_id,
        14 => &mut draft.language,
        15 => &mut draft.file_name,
        _ => unreachable!("there are 16 fields"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_place_of_its_own() {
        let mut draft = RecordDraft::default();
        for (idx, name) in FIELD_NAMES.iter().enumerate() {
            assert_eq!(field_idx(name), Some(idx));
            let place = field_of(&mut draft, idx);
            assert_eq!(*place, DraftValue::Absent, "{name}");
            *place = DraftValue::Integer(1);
        }
        assert_eq!(field_idx("Title"), None);
    }
}
