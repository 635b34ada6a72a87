//! The documentation of the API, rendered from its OpenAPI document.

use std::fmt::Write;

use askama::Template;
use http::StatusCode;
use serde_json::Value;

use crate::web::answer::{self, PageResult};
use crate::web::frame::Frame;
use crate::web::language::Lang;
use crate::web::openapi::{document, resolve};
use crate::web::web_request::WebRequest;

/// Length up to which a body is shown on one line, in bytes.
const BODY_LINE_BYTES: usize = 100;

#[derive(Template)]
#[template(path = "docs.html")]
struct DocsPage {
    page: Frame,
    base_url: String,
    /// HTML.
    lead: String,
    requests: u32,
    window_seconds: u32,
    endpoints: Vec<EndpointView>,
    rate_headers: Vec<HeaderView>,
    fields: Vec<ParameterView>,
}

/// An endpoint. Descriptions are HTML.
struct EndpointView {
    id: String,
    path: String,
    summary: String,
    description: String,
    parameters: Vec<ParameterView>,
    responses: Vec<ResponseView>,
    examples: Vec<ExampleView>,
}

/// A parameter of a request, or a field of a record.
struct ParameterView {
    name: String,
    /// Allowed values, in a few words.
    values: String,
    /// HTML.
    description: String,
}

/// A status of an endpoint.
struct ResponseView {
    status: String,
    /// HTML.
    description: String,
    /// Example of the body; empty if there is none.
    body: String,
}

/// A command to try.
struct ExampleView {
    id: String,
    title: String,
    command: String,
}

/// A header of a response.
struct HeaderView {
    name: String,
    /// HTML.
    description: String,
}

/// `GET /docs`, without signing in.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let lang = request.lang;
    let api = &document().value;
    let limit = request.site.service.config.rate_limit.api_key;
    let base_url = request.base_url();
    let texts = ApiTexts {
        document: api,
        lang,
    };
    let endpoints =
        members(&api["paths"]).map(|(path, item)| texts.endpoint(path, &item["get"], &base_url));
    let headers = members(&api["components"]["headers"]);
    let rate_headers = headers
        // The document describes further headers, which are explained at their endpoints.
        .filter(|(name, _)| name.starts_with("X-RateLimit") || *name == "Retry-After")
        .map(|(name, header)| HeaderView {
            name: name.to_owned(),
            description: described(header, lang),
        });
    let fields = members(&api["components"]["schemas"]["Subtitle"]["properties"]);
    let template = DocsPage {
        page: request.frame("/docs"),
        lead: described(&api["info"], lang),
        requests: limit.requests.get(),
        window_seconds: limit.window_seconds.get(),
        rate_headers: rate_headers.collect(),
        fields: fields
            .map(|(name, schema)| parameter(name, schema, schema, lang))
            .collect(),
        endpoints: endpoints.collect(),
        base_url: base_url.clone(),
    };
    let page = answer::page(StatusCode::OK, &template)?;
    Ok(answer::compressed(page, &request.headers))
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flatten();
    members.map(|(name, value)| (name.as_str(), value))
}

/// The OpenAPI document, read in one language.
#[derive(Clone, Copy)]
struct ApiTexts<'a> {
    document: &'a Value,
    lang: Lang,
}

impl ApiTexts<'_> {
    /// The endpoint at `path`. `base_url` replaces the variable in the commands of its examples.
    fn endpoint(self, path: &str, get: &Value, base_url: &str) -> EndpointView {
        let lang = self.lang;
        let id = text(&get["operationId"]);
        let parameters = get["parameters"].as_array().into_iter().flatten();
        let responses = members(&get["responses"]).map(|(status, response)| {
            let response = resolve(self.document, response);
            let example = &response["content"]["application/json"]["example"];
            ResponseView {
                status: status.to_owned(),
                description: described(response, lang),
                body: body(example),
            }
        });
        let examples = get["x-examples"].as_array().into_iter().flatten();
        let examples = examples.enumerate().map(|(idx, example)| ExampleView {
            id: format!("{id}-{idx}"),
            title: in_language(&example["title"], &example["x-es"], lang),
            command: text(&example["command"]).replace("$SUBCAT_URL", base_url),
        });
        EndpointView {
            path: path.to_owned(),
            summary: in_language(&get["summary"], &get["x-summary-es"], lang),
            description: described(get, lang),
            parameters: parameters
                .map(|p| parameter(&text(&p["name"]), p, &p["schema"], lang))
                .collect(),
            responses: responses.collect(),
            examples: examples.collect(),
            id,
        }
    }
}

/// An example of a body, on one line if it is short.
fn body(example: &Value) -> String {
    if example.is_null() {
        return String::new();
    }
    let line = example.to_string();
    if line.len() <= BODY_LINE_BYTES {
        return line;
    }
    format!("{example:#}")
}

fn parameter(name: &str, described_at: &Value, schema: &Value, lang: Lang) -> ParameterView {
    ParameterView {
        name: name.to_owned(),
        values: values(schema, lang),
        description: described(described_at, lang),
    }
}

/// The values that a schema allows, in a few words.
fn values(schema: &Value, lang: Lang) -> String {
    let bound = |name: &str| schema[name].as_i64();
    let mut words = match (
        bound("minimum"),
        bound("maximum"),
        schema["enum"].as_array(),
    ) {
        (_, _, Some(values)) => values.iter().map(text).collect::<Vec<_>>().join(" | "),
        (Some(min), Some(max), _) => format!("{min} – {max}"),
        (Some(min), None, _) => format!("≥ {min}"),
        _ if schema["format"] == "uuid" => "UUID".to_owned(),
        _ if schema["format"] == "date-time" => "YYYY-MM-DDTHH:MM:SSZ".to_owned(),
        _ => lang.t("text", "texto").to_owned(),
    };
    let is_nullable = |types: &Vec<Value>| types.iter().any(|kind| kind == "null");
    if schema["type"].as_array().is_some_and(is_nullable) {
        words.push_str(", null");
    }
    if !schema["default"].is_null() {
        let by_default = lang.t("default", "valor predeterminado:");
        put(
            &mut words,
            format_args!(", {by_default} {}", schema["default"]),
        );
    }
    words
}

/// The description in the language of the page, as HTML.
fn described(value: &Value, lang: Lang) -> String {
    marked(&in_language(&value["description"], &value["x-es"], lang))
}

fn in_language(english: &Value, spanish: &Value, lang: Lang) -> String {
    match lang {
        Lang::En => text(english),
        Lang::Es => text(spanish),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// HTML of a text: words between backticks become `code`, everything else is escaped.
fn marked(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 32);
    for (idx, part) in text.split('`').enumerate() {
        // Between the first and the second backtick, the third and the fourth, and so on.
        let is_code = idx % 2 == 1;
        html.push_str(if is_code { "<code>" } else { "" });
        for c in part.chars() {
            match c {
                '<' => html.push_str("&lt;"),
                '>' => html.push_str("&gt;"),
                '&' => html.push_str("&amp;"),
                '"' => html.push_str("&quot;"),
                other => html.push(other),
            }
        }
        html.push_str(if is_code { "</code>" } else { "" });
    }
    html
}

fn put(words: &mut String, piece: std::fmt::Arguments<'_>) {
    words.write_fmt(piece).expect("a String takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_and_the_rest_escaped() {
        assert_eq!(marked("a `b` <c>"), "a <code>b</code> &lt;c&gt;");
    }

    #[test]
    fn schemas_are_described_in_a_few_words() {
        let check = |schema: Value, expected: &str| {
            assert_eq!(values(&schema, Lang::En), expected);
        };
        check(
            serde_json::json!({"minimum": 1, "maximum": 200, "default": 100}),
            "1 – 200, default 100",
        );
        check(
            serde_json::json!({"type": ["string", "null"]}),
            "text, null",
        );
        check(
            serde_json::json!({"enum": ["movie", "episode"]}),
            "movie | episode",
        );
    }
}
