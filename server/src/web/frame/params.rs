//! Parameters of a query string or of a submitted form.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

use crate::limits::FORM_PAIRS_MAX;
use crate::request::parameters;

/// `application/x-www-form-urlencoded` pairs. The last value of a repeated name counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    /// Parses at most [`FORM_PAIRS_MAX`] pairs; the rest is ignored. Invalid UTF-8 becomes U+FFFD,
    /// as in the API.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = parameters(text).take(FORM_PAIRS_MAX);
        let pairs = pairs.map(|(name, value)| (name.into_owned(), value.into_owned()));
        Self(pairs.collect())
    }

    /// These pairs.
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        let pairs = pairs.iter();
        Self(
            pairs
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
        )
    }

    /// The untrimmed value; empty if there is none. For passwords, where spaces count.
    pub(crate) fn raw(&self, name: &str) -> &str {
        let found = self.0.iter().rev().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// The value without surrounding white space; empty if there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// True if the name occurs, with any value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// True if the name occurs with this value.
    pub(crate) fn has_pair(&self, name: &str, value: &str) -> bool {
        self.0
            .iter()
            .any(|(known, found)| known == name && found.trim() == value)
    }

    /// Replaces the value of a name, in the place of its first pair.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        let first = self.0.iter().position(|(known, _)| known == name);
        let idx = first.unwrap_or(self.0.len());
        self.remove(name);
        self.0.insert(idx, (name.to_owned(), value.to_owned()));
    }

    /// Removes every pair of a name.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }

    /// True if there are no pairs.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Encodes the pairs in their order, without these names and without empty values.
    pub(crate) fn without(&self, names: &[&str]) -> String {
        let mut text = String::new();
        for (name, value) in &self.0 {
            // An empty value is an empty field of a form: the address gets shorter without it.
            if names.contains(&name.as_str()) || value.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push('&');
            }
            text.push_str(&encode(name));
            text.push('=');
            text.push_str(&encode(value));
        }
        text
    }
}

/// Everything but the characters that RFC 3986 leaves alone.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Percent-encodes a value for a query string.
pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    percent_encoding::utf8_percent_encode(text, ENCODED).into()
}

/// A path, with a query if it is not empty.
pub(crate) fn target(path: &str, query: &str) -> String {
    if query.is_empty() {
        return path.to_owned();
    }
    format!("{path}?{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_pairs() {
        let params = Params::parse("name=Mi+clave%20%C3%B1&name=last&x&=&bad=%FF&lang=es");
        assert_eq!(params.get("name"), "last");
        assert_eq!(params.get("bad"), "ÿ");
        assert_eq!(params.get("absent"), "");
        assert!(params.has("x"));
        assert_eq!(Params::parse("q=a b&lang=es").without(&["lang"]), "q=a%20b");
        assert_eq!(Params::parse("password=+s+").raw("password"), " s ");
        assert_eq!(Params::parse(&"a=b&".repeat(1000)).0.len(), FORM_PAIRS_MAX);
    }
}
