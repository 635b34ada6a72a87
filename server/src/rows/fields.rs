//! Fields of an import record by name.

use subcat_engine::{DraftValue, RecordDraft};

/// Index of a name among [`RecordDraft::FIELDS`].
pub(super) fn field_idx(name: &str) -> Option<usize> {
    let mut fields = RecordDraft::FIELDS.iter();
    fields.position(|field| field.name == name)
}

/// Name of a field.
pub(super) fn field_name(field_idx: usize) -> &'static str {
    RecordDraft::FIELDS[field_idx].name
}

/// Names of all fields, separated by commas.
pub(super) fn field_names() -> String {
    let names: Vec<&str> = RecordDraft::FIELDS.iter().map(|field| field.name).collect();
    names.join(", ")
}

/// Value of a field in a draft.
pub(super) fn field_of<'d, 'a>(
    draft: &'d mut RecordDraft<'a>,
    field_idx: usize,
) -> &'d mut DraftValue<'a> {
    (RecordDraft::FIELDS[field_idx].value)(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_value_of_its_own() {
        let mut draft = RecordDraft::default();
        for (idx, field) in RecordDraft::FIELDS.iter().enumerate() {
            assert_eq!(field_idx(field.name), Some(idx));
            let value = field_of(&mut draft, idx);
            assert_eq!(*value, DraftValue::Absent, "{}", field.name);
            *value = DraftValue::Integer(1);
        }
        assert_eq!(field_idx("Title"), None);
    }
}
