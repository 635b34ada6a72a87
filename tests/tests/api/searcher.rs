//! A client that searches with a key of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::Value;
use subcat_tests::raw::{Client, RawAnswer};
use subcat_tests::server::TestServer;

pub struct Searcher {
    pub client: Client,
    pub api_key: String,
}

impl Searcher {
    pub fn new(server: &TestServer) -> Self {
        Self {
            client: server.connect(),
            api_key: server.api_key(),
        }
    }

    pub fn ask(&mut self, query_string: &str) -> RawAnswer {
        let path = format!("/api/subtitles/search?{query_string}");
        self.client.get(&path, Some(&self.api_key))
    }

    pub fn titles(&mut self, query_string: &str) -> Vec<String> {
        self.texts(query_string, "title")
    }

    pub fn descriptions(&mut self, query_string: &str) -> Vec<String> {
        self.texts(query_string, "description")
    }

    /// A field of each hit, in their order.
    fn texts(&mut self, query_string: &str, field: &str) -> Vec<String> {
        let answer = self.ask(query_string);
        assert_eq!(answer.status, 200, "{query_string}: {}", answer.text());
        let list: Value = serde_json::from_slice(&answer.body).unwrap();
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| item[field].as_str().unwrap().to_owned())
            .collect()
    }

    pub fn check_faults(&mut self, query_string: &str, expected: &str) {
        let answer = self.ask(query_string);
        assert_eq!(answer.status, 422, "{query_string}");
        let expected = format!(r#"{{"detail":{expected}}}"#);
        assert_eq!(answer.text(), expected, "{query_string}");
    }
}
