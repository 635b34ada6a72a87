//! Settings of traces.

use super::parse::base_url;

/// The collector of traces, and how many requests are traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// Base of the collector's URL, without a slash at its end; traces are off without one.
    pub url: Option<String>,
    /// One request of this number is traced.
    pub every: u32,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self {
            url: None,
            every: 100,
        }
    }
}

/// The base of a collector's URL; nothing switches traces off. Credentials belong into a field, and
/// a query would not stay at the end.
pub(super) fn collector_url(text: &str) -> Option<Option<String>> {
    base_url(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_a_url_with_a_host_and_without_credentials() {
        assert_eq!(collector_url(""), Some(None));
        for (text, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318"),
            ("https://c.example/otlp/", "https://c.example/otlp"),
        ] {
            assert_eq!(collector_url(text), Some(Some(url.into())), "{text}");
        }
        for text in [
            "127.0.0.1:4318",
            "grpc://c.example",
            "http://",
            "http://me:pw@c.example",
            "http://c.example/?a=b",
            "http://c example",
        ] {
            assert_eq!(collector_url(text), None, "{text}");
        }
    }
}
