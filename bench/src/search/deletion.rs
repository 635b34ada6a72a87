//! Share of a segment's documents that are deleted before it is measured.

use std::fmt;
use std::str::FromStr;

use subcat_engine::internals::Tombstones;

use crate::random::Random;

/// Deleted documents of a segment: a number, or a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Deletion {
    /// A number of documents.
    Count(u32),
    /// Documents of each hundred.
    Percent(f64),
}

impl Deletion {
    /// Tombstones of a segment of `docs_count` documents: those of all ages alike, the same for
    /// each call.
    pub fn tombstones(self, docs_count: u32) -> Tombstones {
        let count = match self {
            Self::Count(count) => count.min(docs_count),
            Self::Percent(percent) => (f64::from(docs_count) * percent / 100.0) as u32,
        };
        let mut random = Random::new(7);
        let mut tombstones = Tombstones::new();
        while tombstones.len() < u64::from(count) {
            tombstones.insert(random.below(docs_count as usize) as u32);
        }
        tombstones
    }
}

impl FromStr for Deletion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("\"{text}\" is not a number of documents or a percentage to 100");
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Self::Count).map_err(|_| invalid());
        };
        let percent: f64 = percent.parse().map_err(|_| invalid())?;
        if (0.0..=100.0).contains(&percent) {
            Ok(Self::Percent(percent))
        } else {
            Err(invalid())
        }
    }
}

impl fmt::Display for Deletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => f.pad(&count.to_string()),
            Self::Percent(percent) => f.pad(&format!("{percent}%")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletes_as_many_as_were_asked_for() {
        let deleted = |text: &str| Deletion::from_str(text).unwrap().tombstones(1_000).len();
        assert_eq!(deleted("0"), 0);
        assert_eq!(deleted("7"), 7);
        assert_eq!(deleted("2000"), 1_000);
        assert_eq!(deleted("0.1%"), 1);
        assert_eq!(deleted("20%"), 200);
        assert_eq!(Deletion::from_str("0.1%").unwrap().to_string(), "0.1%");
        for text in ["", "%", "-1", "101%", "x"] {
            assert!(Deletion::from_str(text).is_err(), "{text}");
        }
    }
}
