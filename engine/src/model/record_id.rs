//! The identity of a record.

use std::fmt;

use uuid::Uuid;

use super::ReleaseId;

/// A record's UUID. Ordered by its bytes, which is also the order of its text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId([u8; 16]);

impl RecordId {
    /// Reads 32 hexadecimal digits, plain or hyphenated 8-4-4-4-12, in any case.
    ///
    /// Source: API.md, faults of parameters.
    ///
    /// ```
    /// use subcat_engine::RecordId;
    /// let id = RecordId::parse("0B0E7C4A-9B1F-4C63-8D4E-0123456789AB").unwrap();
    /// assert_eq!(id.to_string(), "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab");
    /// assert!(RecordId::parse("{0b0e7c4a-9b1f-4c63-8d4e-0123456789ab}").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        // The uuid crate also reads braces and URNs, which API.md does not allow: none of those has
        // one of these lengths.
        let is_plain = text.len() == 32;
        let is_hyphenated = text.len() == 36;
        if !(is_plain || is_hyphenated) {
            return None;
        }
        Uuid::try_parse(text)
            .ok()
            .map(|uuid| Self(uuid.into_bytes()))
    }

    /// The id of a record that was imported without one: UUIDv5 of `subcat:` + release id in the
    /// URL namespace. It depends on nothing else, so the next import of the release updates the
    /// same record.
    ///
    /// ```
    /// use subcat_engine::{RecordId, ReleaseId};
    /// let release = ReleaseId::parse("heat-1995.1").unwrap();
    /// assert_eq!(RecordId::of_release(&release), RecordId::of_release(&release));
    /// ```
    pub fn of_release(release: &ReleaseId) -> Self {
        let name = format!("subcat:{release}");
        Self(Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).into_bytes())
    }

    /// The id with these bytes, most significant first.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes, most significant first.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Uuid::from_bytes(self.0).hyphenated().fmt(f)
    }
}

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, is_valid: bool) {
        assert_eq!(RecordId::parse(input).is_some(), is_valid, "{input}");
    }

    #[test]
    fn reads_plain_and_hyphenated_only() {
        check("0b0e7c4a9b1f4c638d4e0123456789ab", true);
        check("0b0e7c4a-9b1f-4c63-8d4e-0123456789ab", true);
        check("0B0E7C4A-9B1F-4C63-8D4E-0123456789AB", true);
        check("00000000-0000-0000-0000-000000000000", true);
        check("urn:uuid:0b0e7c4a-9b1f-4c63-8d4e-0123456789ab", false);
        check("0b0e7c4a9-b1f-4c63-8d4e-0123456789ab", false);
        check("0b0e7c4a9b1f4c638d4e0123456789a", false);
        check("0b0e7c4a9b1f4c638d4e0123456789ag", false);
        check("", false);
    }
}
