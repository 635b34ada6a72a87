//! The OpenAPI document: embedded in the binary, served as JSON and rendered as a page.
//!
//! Descriptions are in both languages: `description` in English, `x-es` in Spanish. Tests compare
//! it with the code: parameters and bounds here, statuses, texts and examples over a socket.

use std::sync::LazyLock;

use serde_json::Value;

use super::packed::PackedContent;

/// Length up to which a body is shown on one line, in bytes.
const BODY_LINE_BYTES: usize = 100;

/// The document, with the version of this program.
pub(crate) struct Document {
    /// JSON text, as served.
    pub(crate) content: PackedContent,
    /// Entity tag, with its quotes.
    pub(crate) etag: String,
    /// Parsed, for the documentation page.
    pub(crate) value: Value,
}

/// The document. Parsed once per process.
pub(crate) fn document() -> &'static Document {
    static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
        let source = include_str!("../assets/openapi.json");
        let mut value: Value = serde_json::from_str(source).expect("tests parse the same text");
        value["info"]["version"] = env!("CARGO_PKG_VERSION").into();
        let text = value.to_string();
        Document {
            etag: etag(&text),
            content: PackedContent::new(text.into()),
            value,
        }
    });
    &DOCUMENT
}

/// The document of the interfaces below an address, with the version of this program. Parsed once
/// per process.
fn address_document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
        let source = include_str!("../assets/openapi-address.json");
        let mut value: Value = serde_json::from_str(source).expect("tests parse the same text");
        value["info"]["version"] = env!("CARGO_PKG_VERSION").into();
        value
    });
    &DOCUMENT
}

/// The document of the interfaces below an address of a service below a base path, which may be
/// empty, as JSON text.
pub(crate) fn address_text(base: &str) -> String {
    below(address_document(), base)
}

/// The document of a service below a base path, as JSON text.
pub(crate) fn text_below(base: &str) -> String {
    below(&document().value, base)
}

fn below(document: &Value, base: &str) -> String {
    let mut value = document.clone();
    if !base.is_empty() {
        value["servers"][0]["url"] = base.into();
    }
    value.to_string()
}

/// Entity tag of a text, with its quotes.
pub(crate) fn etag(text: &str) -> String {
    format!("\"{:08x}\"", crc32fast::hash(text.as_bytes()))
}

/// Follows a `$ref` of the document; returns any other value unchanged.
pub(crate) fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let target = value["$ref"]
        .as_str()
        .and_then(|path| path.strip_prefix('#'));
    match target.and_then(|pointer| document.pointer(pointer)) {
        Some(target) => target,
        None => value,
    }
}

/// An example of a body, on one line if it is short.
pub(crate) fn example_text(example: &Value) -> String {
    if example.is_null() {
        return String::new();
    }
    let line = example.to_string();
    if line.len() <= BODY_LINE_BYTES {
        return line;
    }
    format!("{example:#}")
}

/// Example of the answer to a search.
pub(crate) fn search_answer() -> String {
    let search = &document().value["paths"]["/api/subtitles/search"]["get"];
    example_text(&search["responses"]["200"]["content"]["application/json"]["example"])
}

#[cfg(test)]
mod tests {
    use subcat_engine::{PAGE_SIZE_DEFAULT, SEARCH_TEXT_CHARS_MAX, Scopes, YEAR_MAX, YEAR_MIN};

    use super::*;
    use crate::request::{SEARCH_PARAMETERS, SearchRejection, TEXT_PARAMETERS, search_request};

    fn search_parameters() -> &'static [Value] {
        let operation = &document().value["paths"]["/api/subtitles/search"]["get"];
        operation["parameters"].as_array().unwrap()
    }

    /// The types of the faults that a search for `x` with this parameter has.
    fn faults(name: &str, value: &str) -> Vec<&'static str> {
        match search_request(&format!("title=x&video_type=episode&{name}={value}"), true) {
            Ok(_) => Vec::new(),
            Err(SearchRejection::Parameters(faults)) => {
                assert!(faults.iter().all(|fault| fault.parameter == name));
                faults.into_iter().map(|fault| fault.kind).collect()
            }
            Err(other) => panic!("{name}={value}: {other:?}"),
        }
    }

    #[test]
    fn bounds_are_those_of_the_code() {
        for parameter in search_parameters() {
            let name = parameter["name"].as_str().unwrap();
            let schema = &parameter["schema"];
            if let (Some(min), Some(max)) = (schema["minimum"].as_i64(), schema["maximum"].as_i64())
            {
                assert_eq!(faults(name, &min.to_string()), [""; 0], "{name}");
                assert_eq!(faults(name, &max.to_string()), [""; 0], "{name}");
                assert_eq!(faults(name, &(min - 1).to_string()), ["greater_than_equal"]);
                assert_eq!(faults(name, &(max + 1).to_string()), ["less_than_equal"]);
            } else if let Some(values) = schema["enum"].as_array() {
                for value in values {
                    assert_eq!(faults(name, value.as_str().unwrap()), [""; 0]);
                }
                assert_eq!(faults(name, "other"), ["literal_error"]);
            } else if schema["format"] == "uuid" {
                assert_eq!(faults(name, "no"), ["uuid_parsing"]);
            } else if schema["format"] == "date-time" {
                assert_eq!(faults(name, "no"), ["datetime_parsing"]);
            } else if schema["pattern"].is_string() {
                assert_eq!(faults(name, "n!"), ["string_pattern_mismatch"]);
            } else {
                let chars_max = schema["maxLength"].as_u64().unwrap();
                assert_eq!(chars_max, SEARCH_TEXT_CHARS_MAX as u64);
                let longest = "x".repeat(SEARCH_TEXT_CHARS_MAX);
                assert_eq!(faults(name, &longest), [""; 0], "{name}");
                assert_eq!(faults(name, &format!("{longest}x")), ["string_too_long"]);
            }
        }
    }

    #[test]
    fn every_parameter_of_the_code_is_described_and_no_other() {
        let names: Vec<_> = search_parameters()
            .iter()
            .map(|p| p["name"].clone())
            .collect();
        assert_eq!(names, SEARCH_PARAMETERS);
        for (idx, name) in SEARCH_PARAMETERS.into_iter().enumerate() {
            let criterion = if idx < 5 {
                ""
            } else {
                "query=x&video_type=episode&"
            };
            let value = match name {
                "public_id" => "0b0e7c4a9b1f4c638d4e0123456789ab",
                "year" => "2000",
                "video_type" => "movie",
                "season" | "episode" | "limit" => "7",
                "language" => "es",
                "since" => "2026-01-31",
                "hearing_impaired" | "forced" | "machine_translated" => "only",
                _ => "tt42",
            };
            let with = search_request(&format!("{criterion}{name}={value}"), true).unwrap();
            let without = search_request(&format!("{criterion}other={value}"), true);
            assert_ne!(without, Ok(with), "{name} changes what is asked");
        }
    }

    #[test]
    fn the_parameters_of_a_text_download_are_those_of_the_code() {
        let path = &document().value["paths"]["/api/subtitles/{subtitle_id}/download"];
        let parameters = path["get"]["parameters"].as_array().unwrap();
        let in_query = parameters.iter().filter(|p| p["in"] == "query");
        let names: Vec<_> = in_query.map(|p| p["name"].clone()).collect();
        assert_eq!(names, TEXT_PARAMETERS);
    }

    #[test]
    fn limits_and_scopes_are_those_of_the_code() {
        let limit = search_parameters()
            .iter()
            .find(|p| p["name"] == "limit")
            .unwrap();
        assert_eq!(limit["schema"]["default"], PAGE_SIZE_DEFAULT);
        let year = &document().value["components"]["schemas"]["Subtitle"]["properties"]["year"];
        assert_eq!(year["minimum"], YEAR_MIN);
        assert_eq!(year["maximum"], YEAR_MAX);
        let paths = document().value["paths"].as_object().unwrap();
        for (_, scope) in Scopes::NAMES {
            let is_named = |path: &Value| {
                let description = path["get"]["description"].as_str().unwrap();
                description.contains(&format!("scope `{scope}`"))
            };
            assert!(paths.values().any(is_named), "{scope}");
        }
    }

    /// A client that is generated from it returns nothing for a content without a schema.
    #[test]
    fn every_content_has_a_schema_and_a_file_is_binary() {
        let document = &document().value;
        let mut contents_count = 0;
        for (path, operations) in document["paths"].as_object().unwrap() {
            let responses = operations["get"]["responses"].as_object().unwrap();
            for (status, response) in responses {
                let contents = resolve(document, response)["content"].as_object();
                for (media_type, content) in contents.into_iter().flatten() {
                    let schema = resolve(document, &content["schema"]);
                    assert!(schema["type"].is_string(), "{path} {status} {media_type}");
                    contents_count += 1;
                    if media_type == "application/octet-stream" {
                        assert_eq!(schema["format"], "binary", "{path} {status}");
                    }
                }
            }
        }
        let download = &document["paths"]["/api/subtitles/{subtitle_id}/download"]["get"];
        for status in ["200", "206"] {
            let contents = &download["responses"][status]["content"];
            assert!(contents["application/octet-stream"].is_object(), "{status}");
        }
        assert!(10 < contents_count);
    }

    #[test]
    fn every_reference_about_addresses_resolves() {
        fn check_tree(document: &Value, value: &Value) {
            if value["$ref"].is_string() {
                assert!(resolve(document, value)["$ref"].is_null(), "{value}");
            }
            let fields = value.as_object().into_iter().flatten();
            let items = value.as_array().into_iter().flatten();
            for child in fields.map(|(_, child)| child).chain(items) {
                check_tree(document, child);
            }
        }
        let document: Value = serde_json::from_str(&address_text("")).unwrap();
        check_tree(&document, &document);
        assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn every_reference_resolves_and_every_description_is_translated() {
        fn check_tree(document: &Value, value: &Value) {
            if value["$ref"].is_string() {
                assert!(resolve(document, value)["$ref"].is_null(), "{value}");
            }
            if value["description"].is_string() {
                assert!(value["x-es"].is_string(), "{}", value["description"]);
            }
            let children: Vec<&Value> = match value {
                Value::Object(fields) => {
                    let is_ours = |(name, _): &(&String, _)| *name != "example";
                    fields
                        .iter()
                        .filter(is_ours)
                        .map(|(_, value)| value)
                        .collect()
                }
                Value::Array(items) => items.iter().collect(),
                _ => Vec::new(),
            };
            for child in children {
                check_tree(document, child);
            }
        }
        check_tree(&document().value, &document().value);
        assert!(document().content.plain.len() < 40_000);
    }
}
