//! Settings of object storage for files.

use std::fmt;

use super::parse::origin_url;

/// The bucket that keeps cached files, too. There is none without an endpoint.
#[derive(Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub struct S3Settings {
    /// Base of the URL of the service, without a slash at its end.
    pub endpoint: Option<String>,
    pub bucket: Option<String>,
    pub region: String,
    pub access_key: Option<String>,
    pub secret_key: Option<String>,
}

impl Default for S3Settings {
    fn default() -> Self {
        Self {
            endpoint: None,
            bucket: None,
            region: "us-east-1".to_owned(),
            access_key: None,
            secret_key: None,
        }
    }
}

impl S3Settings {
    /// A setting that has a value and one that it needs and that has none.
    pub(super) fn half_set(&self) -> Option<(&'static str, &'static str)> {
        let endpoint = ("files.s3.endpoint", self.endpoint.is_some());
        let bucket = ("files.s3.bucket", self.bucket.is_some());
        let access_key = ("files.s3.access_key", self.access_key.is_some());
        let secret_key = ("files.s3.secret_key", self.secret_key.is_some());
        let pairs = [
            (endpoint, bucket),
            (bucket, endpoint),
            (access_key, secret_key),
            (secret_key, access_key),
            (access_key, endpoint),
        ];
        let half = pairs.iter().find(|(given, needed)| given.1 && !needed.1);
        half.map(|(given, needed)| (given.0, needed.0))
    }
}

impl fmt::Debug for S3Settings {
    /// Without the keys: it may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Settings")
            .field("endpoint", &self.endpoint)
            .field("bucket", &self.bucket)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

/// The base of a URL of object storage; nothing switches it off.
pub(super) fn endpoint(text: &str) -> Option<Option<String>> {
    origin_url(text)
}

/// The name of a bucket, or nothing.
pub(super) fn bucket(text: &str) -> Option<Option<String>> {
    if text.is_empty() {
        return Some(None);
    }
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    let is_valid = (3..=63).contains(&text.len()) && text.bytes().all(is_plain);
    is_valid.then(|| Some(text.to_owned()))
}

/// A word of printable ASCII, or nothing.
pub(super) fn access_word(text: &str) -> Option<Option<String>> {
    let is_plain = text.bytes().all(|b| b.is_ascii_graphic());
    let word = Some(text).filter(|text| !text.is_empty());
    is_plain.then(|| word.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_nothing_is_refused() {
        assert_eq!(endpoint(""), Some(None));
        let url = "http://127.0.0.1:8333".to_owned();
        assert_eq!(endpoint("http://127.0.0.1:8333/"), Some(Some(url)));
        assert_eq!(endpoint("s3://bucket"), None);
        assert_eq!(bucket(""), Some(None));
        assert_eq!(bucket("sub.cat-1"), Some(Some("sub.cat-1".to_owned())));
        for text in ["ab", "Upper", "a/b", "a b c", &"a".repeat(64)] {
            assert_eq!(bucket(text), None, "{text}");
        }
        assert_eq!(access_word(""), Some(None));
        assert_eq!(access_word("AB+/="), Some(Some("AB+/=".to_owned())));
        assert_eq!(access_word("a b"), None);
    }

    #[test]
    fn keys_are_not_shown() {
        let settings = S3Settings {
            access_key: Some("AKIA".to_owned()),
            secret_key: Some("hush".to_owned()),
            ..S3Settings::default()
        };
        let shown = format!("{settings:?}");
        assert!(
            !shown.contains("AKIA") && !shown.contains("hush"),
            "{shown}"
        );
    }
}
