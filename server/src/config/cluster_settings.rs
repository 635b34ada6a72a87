//! Settings of a cluster.

use std::fmt;

/// The log that this node shares with others. Without `log`, the node is in no cluster.
#[derive(Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub struct ClusterSettings {
    /// Addresses of NATS or PostgreSQL, as a URL.
    pub log: Option<String>,
    pub stream: String,
    /// Name of the node for people; none takes its number.
    pub node: Option<String>,
    /// Maximum seconds without news from the log for accepting keys; 0 accepts them for ever.
    pub auth_max_stale_seconds: u32,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            log: None,
            stream: "subcat".to_owned(),
            node: None,
            auth_max_stale_seconds: 60,
        }
    }
}

impl fmt::Debug for ClusterSettings {
    /// Without the address, which may hold a password: it may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterSettings")
            .field("stream", &self.stream)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

/// The address of a log, or nothing.
pub(super) fn log_address(text: &str) -> Option<Option<String>> {
    if text.is_empty() {
        return Some(None);
    }
    // It may name several hosts, which no URL does.
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let is_known = ["nats", "tls", "postgres", "postgresql"].contains(&scheme.as_str());
    let is_plain = rest.bytes().all(|b| b.is_ascii_graphic());
    (is_known && is_plain && !rest.is_empty()).then(|| Some(format!("{scheme}://{rest}")))
}

/// A name of a stream.
pub(super) fn stream_name(text: &str) -> Option<String> {
    is_name(text).then(|| text.to_owned())
}

/// A name of a node, or nothing.
pub(super) fn node_name(text: &str) -> Option<Option<String>> {
    if text.is_empty() {
        return Some(None);
    }
    is_name(text).then(|| Some(text.to_owned()))
}

/// Returns true for 1 to 32 of a-z, 0-9, `-` and `_`, which NATS and PostgreSQL both allow.
fn is_name(text: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    (1..=32).contains(&text.len()) && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_log_is_refused() {
        assert_eq!(log_address(""), Some(None));
        for text in [
            "nats://127.0.0.1:4222",
            "nats://a:4222,b:4222,c:4222",
            "postgres://user:word@db/subcat",
        ] {
            assert_eq!(log_address(text), Some(Some(text.to_owned())));
        }
        let log = Some(Some("nats://A:4222".to_owned()));
        assert_eq!(log_address("NATS://A:4222"), log);
        for text in ["kafka://a", "nats://", "a:4222", "nats://a b"] {
            assert_eq!(log_address(text), None, "{text}");
        }
        assert_eq!(stream_name("sub_cat-2"), Some("sub_cat-2".to_owned()));
        for text in ["", "A", "a.b", "a b", &"a".repeat(33)] {
            assert_eq!(stream_name(text), None, "{text}");
        }
        assert_eq!(node_name(""), Some(None));
        assert_eq!(node_name("madrid-1"), Some(Some("madrid-1".to_owned())));
    }

    #[test]
    fn the_address_is_not_shown() {
        let settings = ClusterSettings {
            log: Some("postgres://user:hush@db".to_owned()),
            ..ClusterSettings::default()
        };
        assert!(!format!("{settings:?}").contains("hush"));
    }
}
