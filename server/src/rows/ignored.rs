//! Fields that no record has.

use crate::limits::IGNORED_NAMES_MAX;

/// A count of fields that no record has, and their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoredFields {
    count: u64,
    /// Each name once, in order of appearance, up to [`IGNORED_NAMES_MAX`].
    names: Vec<String>,
}

impl IgnoredFields {
    /// Counts a field.
    pub fn add(&mut self, name: &str) {
        self.count += 1;
        self.note(name);
    }

    /// Counts the fields that others counted.
    pub fn merge(&mut self, others: &Self) {
        self.count += others.count;
        for name in &others.names {
            self.note(name);
        }
    }

    /// Forgets all and keeps the memory.
    pub fn clear(&mut self) {
        self.count = 0;
        self.names.clear();
    }

    /// Count of ignored fields, repeated ones included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn note(&mut self, name: &str) {
        let is_known = self.names.iter().any(|known| known == name);
        if !is_known && self.names.len() < IGNORED_NAMES_MAX {
            self.names.push(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once() {
        let mut fields = IgnoredFields::default();
        for idx in 0..2 * IGNORED_NAMES_MAX {
            fields.add(&format!("x{}", idx / 2));
        }
        let mut sum = IgnoredFields::default();
        sum.merge(&fields);
        sum.merge(&fields);
        assert_eq!(sum.count(), 4 * IGNORED_NAMES_MAX as u64);
        assert_eq!(sum.names().len(), IGNORED_NAMES_MAX);
        sum.clear();
        assert_eq!(sum, IgnoredFields::default());
    }
}
