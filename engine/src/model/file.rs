//! Files of subtitles: their names at the upstream source, their content, their kinds.

use std::fmt;

use super::Timestamp;
use crate::limits::{FILE_NAME_CHARS_MAX, RELEASE_ID_BYTES_MAX};

/// Identifier of a file at the upstream source: `[A-Za-z0-9._-]`, 1 to 200 bytes, not `.` or `..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseId(Box<str>);

impl ReleaseId {
    /// Reads an identifier.
    ///
    /// ```
    /// use subcat_engine::ReleaseId;
    /// assert_eq!(ReleaseId::parse("heat-1995.1").unwrap().as_str(), "heat-1995.1");
    /// assert!(ReleaseId::parse("../etc").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let is_length_ok = (1..=RELEASE_ID_BYTES_MAX).contains(&text.len());
        let is_plain = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        let is_name = text != "." && text != "..";
        if is_length_ok && is_plain && is_name {
            Some(Self(text.into()))
        } else {
            None
        }
    }

    /// The identifier of a text that was made from a stored content: `text.`, the content, a point,
    /// and how it was made. `None` when it would be too long, or has another character.
    pub fn of_made_text(content: ContentHash, how: &str) -> Option<Self> {
        Self::parse(&format!("{MADE_TEXT_MARK}{content}.{how}"))
    }

    /// The identifier of a file that an import brings without one: `f` and 32 digits of its
    /// content.
    ///
    /// ```
    /// use subcat_engine::{ReleaseId, hash_of};
    /// let content = hash_of(b"1\n00:00:01,000 --> 00:00:02,000\nHola.\n");
    /// assert_eq!(ReleaseId::of_brought(content).as_str(), "f0c5cc31f6b68677f03ad8f494b6c6f50");
    /// ```
    pub fn of_brought(content: ContentHash) -> Self {
        let digits = content.to_string();
        Self(format!("f{}", &digits[..32]).into())
    }

    /// True for a text that was made from a stored content: it can be made again.
    pub fn is_of_made_text(&self) -> bool {
        is_of_made_text(self.0.as_bytes())
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Beginning of the identifiers of made texts.
const MADE_TEXT_MARK: &str = "text.";
/// Digits of a content's SHA-256.
const HASH_DIGITS: usize = 64;

/// Returns true for the bytes of an identifier of a made text.
pub(crate) fn is_of_made_text(release: &[u8]) -> bool {
    let Some(rest) = release.strip_prefix(MADE_TEXT_MARK.as_bytes()) else {
        return false;
    };
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let hash = rest.get(..HASH_DIGITS);
    hash.is_some_and(|hash| hash.iter().all(is_digit)) && rest.get(HASH_DIGITS) == Some(&b'.')
}

impl fmt::Display for ReleaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The original name of a file, uncleaned: 1 to 255 characters. It is cleaned only when it is put
/// into a header, so that better cleaning needs no new import.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileName(Box<str>);

impl FileName {
    /// Accepts a name that is not empty and not too long.
    pub fn parse(text: &str) -> Option<Self> {
        let chars_count = text.chars().count();
        if !(1..=FILE_NAME_CHARS_MAX).contains(&chars_count) {
            return None;
        }
        Some(Self(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// SHA-256 of a file's content: its identity in the blob store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// The hash with these 64 hexadecimal digits, in lower case or not.
    pub fn parse(hex: &str) -> Option<Self> {
        let mut hash = [0; 32];
        let is_plain = hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_plain {
            return None;
        }
        for (byte_idx, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[byte_idx * 2..byte_idx * 2 + 2], 16).ok()?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The kinds of file that are served (API.md, download).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// `SubRip` text.
    Srt,
    /// `MicroDVD` and other text.
    Sub,
    /// `SubStation` Alpha text.
    Ssa,
    /// Advanced `SubStation` Alpha text.
    Ass,
    /// A zip archive.
    Zip,
    /// A rar archive, version 4 or 5.
    Rar,
}

impl FileKind {
    /// All kinds. Their indexes are stored with cached files: a new kind is added at the end.
    pub const ALL: [Self; 6] = [
        Self::Srt,
        Self::Sub,
        Self::Ssa,
        Self::Ass,
        Self::Zip,
        Self::Rar,
    ];

    /// The extension without its dot, in lower case.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Srt => "srt",
            Self::Sub => "sub",
            Self::Ssa => "ssa",
            Self::Ass => "ass",
            Self::Zip => "zip",
            Self::Rar => "rar",
        }
    }

    /// The kind of a file extension, in any case.
    ///
    /// ```
    /// use subcat_engine::FileKind;
    /// assert_eq!(FileKind::of_extension("SRT"), Some(FileKind::Srt));
    /// assert_eq!(FileKind::of_extension("exe"), None);
    /// ```
    pub fn of_extension(extension: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.extension().eq_ignore_ascii_case(extension))
    }

    /// True if it is text, which compresses well.
    pub const fn is_text(self) -> bool {
        !matches!(self, Self::Zip | Self::Rar)
    }
}

/// Stored form of a file's content: the original, or a compressed one beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// The original bytes.
    Identity,
    /// Gzip (RFC 1952).
    Gzip,
    /// Brotli (RFC 7932).
    Brotli,
}

/// Metadata of the fetched file of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedFile {
    /// Its content.
    pub content: ContentHash,
    /// Bytes of the content.
    pub size_bytes: u64,
    /// xxh3 of the content, checked when a process first opens it.
    pub checksum: u64,
    /// Kind of the content.
    pub kind: FileKind,
    /// The name that upstream gave (`Content-Disposition`, else the end of its URL), not cleaned.
    pub upstream_name: Option<FileName>,
    /// First second at which it is fetched again, if it may differ from upstream's: a text without
    /// a subtitle's shape.
    pub refetch_at: Option<Timestamp>,
    /// True if an import brought it: upstream does not have it, so it stays.
    pub is_brought: bool,
}

impl CachedFile {
    /// Returns true if it must be fetched again at `now`.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.refetch_at.is_some_and(|at| at <= now)
    }
}

/// A file that an import brings.
#[derive(Debug, Clone, Copy)]
pub struct BroughtFile<'a> {
    /// Identifier by which records refer to it.
    pub release: &'a ReleaseId,
    /// Its content.
    pub content: &'a [u8],
    /// Kind of the content.
    pub kind: FileKind,
}

/// Facts of a fetched file that are not in its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// Kind of the content.
    pub kind: FileKind,
    /// The name that upstream gave, not cleaned.
    pub upstream_name: Option<FileName>,
    /// First second at which it is fetched again, if ever.
    pub refetch_at: Option<Timestamp>,
    /// Content that was known for the release when it was fetched.
    pub replaces: Option<ContentHash>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_texts_are_told_by_their_identifiers() {
        let content = ContentHash([0xAB; 32]);
        let made = ReleaseId::of_made_text(content, "3.utf-8.es.srt").unwrap();
        assert!(made.is_of_made_text());
        assert_eq!(ReleaseId::of_made_text(content, "a/b"), None);
        let upper = made.as_str().to_uppercase().replace("TEXT", "text");
        for other in [
            "text.1",
            "text.",
            &made.as_str()[1..],
            &made.as_str()[..69],
            &upper,
        ] {
            assert!(
                !ReleaseId::parse(other).unwrap().is_of_made_text(),
                "{other}"
            );
        }
    }
}
