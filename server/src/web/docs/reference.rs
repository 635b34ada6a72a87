//! The documentation of the API, rendered from its OpenAPI document.

use std::collections::BTreeMap;

use askama::Template;
use http::StatusCode;
use serde_json::Value;
use subcat_engine::{Doc, Engine, Filters, ListOrder, ListPage};

use super::samples::ApiSample;
use crate::limits::SAMPLE_DOCS_MAX;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::assets::SAMPLES_SCRIPT;
use crate::web::frame::error::PageError;
use crate::web::frame::language::Lang;
use crate::web::frame::openapi::{document, example_text, resolve};
use crate::web::frame::packed::Compressible;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::params;
use crate::web::frame::web_request::WebRequest;

/// The first request of a reader. Its second line has no indent: it would become a line by itself
/// where the URL is too long.
const FIRST_COMMAND: &str = "curl -H \"Authorization: Bearer $SUBCAT_KEY\" \\\n\
                             \"$SUBCAT_URL/api/subtitles/search?title=matrix\"";

#[derive(Template)]
#[template(path = "docs/docs.html")]
struct DocsPage {
    page: Frame,
    /// HTML.
    lead: String,
    requests: u32,
    window_seconds: u32,
    endpoints: Vec<EndpointView>,
    rate_headers: Vec<HeaderView>,
    fields: Vec<ParameterView>,
    syntax: Vec<SyntaxView>,
    errors: Vec<ErrorView>,
    first: ApiSample,
    /// Address of the script of the samples.
    script_url: &'static str,
}

/// An endpoint. Descriptions are HTML.
struct EndpointView {
    id: String,
    path: String,
    summary: String,
    description: String,
    parameters: Vec<ParameterView>,
    responses: Vec<ResponseView>,
    examples: Vec<ApiSample>,
    /// Example of an answer; empty for a file.
    answer: String,
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
    /// True if the errors by status have more about it.
    is_error: bool,
    /// HTML.
    description: String,
}

/// A status that is an error, over all endpoints.
struct ErrorView {
    status: String,
    causes: Vec<CauseView>,
    /// HTML.
    remedy: String,
}

/// A cause of an error, and the endpoints that answer so.
struct CauseView {
    /// HTML.
    description: String,
    /// Example of the body; empty if there is none.
    body: String,
    endpoints: Vec<LinkView>,
}

/// A link to an endpoint.
#[derive(Clone)]
struct LinkView {
    id: String,
    summary: String,
}

/// Statuses and their remedies for a client, in English and Spanish.
const REMEDIES: [(&str, &str, &str); 11] = [
    (
        "400",
        "Change the request: the same one gets the same answer.",
        "Cambia la petición: repetirla igual da la misma respuesta.",
    ),
    (
        "401",
        "Check the header, then the key. A revoked or expired key stays rejected: create another.",
        "Revisa la cabecera y después la clave. Una clave revocada o caducada no vuelve a valer: \
         crea otra.",
    ),
    (
        "403",
        "Use a key that has the scope.",
        "Usa una clave que tenga el permiso.",
    ),
    (
        "404",
        "Search for the record again: it may have left the catalog.",
        "Busca la ficha de nuevo: puede haber salido del catálogo.",
    ),
    (
        "412",
        "The file has changed: ask for it again without `If-Match`.",
        "El archivo ha cambiado: pídelo otra vez sin `If-Match`.",
    ),
    (
        "416",
        "Ask for the file without `Range`.",
        "Pide el archivo sin `Range`.",
    ),
    (
        "422",
        "Correct the parameters that `loc` names; `msg` says what is wrong with them.",
        "Corrige los parámetros que nombra `loc`; `msg` dice qué les pasa.",
    ),
    (
        "429",
        "Wait as many seconds as `Retry-After` says.",
        "Espera los segundos que indica `Retry-After`.",
    ),
    (
        "500",
        "Try again later. If it goes on, tell the operator the time of the request.",
        "Inténtalo más tarde. Si continúa, comunica al operador la hora de la petición.",
    ),
    (
        "502",
        "Try again in a minute: a failure is remembered for half a minute.",
        "Inténtalo dentro de un minuto: un fallo se recuerda medio minuto.",
    ),
    (
        "503",
        "Try again in some seconds.",
        "Inténtalo dentro de unos segundos.",
    ),
];

/// A search and its meaning, with a link that runs it.
struct SyntaxView {
    words: &'static str,
    /// Query string of the search.
    query: String,
    meaning: &'static str,
}

/// Examples of the search syntax: words, and their meaning in English and Spanish.
const SYNTAX: [(&str, &str, &str); 7] = [
    (
        "matrix 1999",
        "Words of a title; a year at the end finds records of that year and those without one.",
        "Palabras del título; un año encuentra las fichas de ese año y las que no lo tienen.",
    ),
    (
        "breaking bad s02e03",
        "An episode, also as 2x03; packs of its season come after it.",
        "Un episodio, también como 2x03; después vienen los packs de su temporada.",
    ),
    (
        "breaking bad s02",
        "A season: its packs, then its episodes.",
        "Una temporada: sus packs y después sus episodios.",
    ),
    (
        "brea",
        "The last word may be the beginning of one, from three letters on.",
        "La última palabra puede ser el principio de otra, a partir de tres letras.",
    ),
    (
        "braking bad",
        "If nothing is found, typing mistakes are allowed in words of five letters or more.",
        "Si no hay resultados, se admiten erratas en palabras de cinco letras o más.",
    ),
    (
        "el laberinto del fauno",
        "Accents, capitals and punctuation make no difference.",
        "Los acentos, las mayúsculas y la puntuación no cuentan.",
    ),
    (
        "tt0133093",
        "The ID of a film or series: everything of that title.",
        "El ID de una película o serie: todo lo de ese título.",
    ),
];

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
    let limit = request.site.service.rate_limits.api_key();
    let base_url = request.base_url();
    let texts = ApiTexts {
        document: api,
        lang,
        base_url: &base_url,
        sample_id: &sample_id(&request.site.service.engine)?,
    };
    let endpoints = members(&api["paths"]).map(|(path, item)| texts.endpoint(path, &item["get"]));
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
        syntax: SYNTAX
            .map(|(words, en, es)| SyntaxView {
                words,
                query: format!("query={}", params::encode(words)),
                meaning: lang.t(en, es),
            })
            .into(),
        errors: texts.errors(),
        first: texts.example(
            "first".to_owned(),
            lang.t("First request", "Primera petición").to_owned(),
            FIRST_COMMAND,
        ),
        script_url: &SAMPLES_SCRIPT.url,
    };
    let mut page = answer::page(StatusCode::OK, &template)?;
    page.extensions_mut().insert(Compressible);
    Ok(page)
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
    base_url: &'a str,
    /// Id of a record of this catalog, so that copied examples run unchanged.
    sample_id: &'a str,
}

impl ApiTexts<'_> {
    /// The endpoint at `path`.
    fn endpoint(self, path: &str, get: &Value) -> EndpointView {
        let lang = self.lang;
        let id = text(&get["operationId"]);
        let parameters = get["parameters"].as_array().into_iter().flatten();
        let mut responses: Vec<_> = members(&get["responses"]).collect();
        responses.sort_unstable_by_key(|(status, _)| *status);
        let responses = responses.into_iter().map(|(status, response)| {
            let response = resolve(self.document, response);
            ResponseView {
                status: status.to_owned(),
                is_error: status.starts_with(['4', '5']),
                description: described(response, lang),
            }
        });
        let examples = get["x-examples"].as_array().into_iter().flatten();
        let examples = examples.enumerate().map(|(idx, example)| {
            let title = in_language(&example["title"], &example["x-es"], lang);
            self.example(format!("{id}-{idx}"), title, &text(&example["command"]))
        });
        EndpointView {
            answer: example_text(
                &get["responses"]["200"]["content"]["application/json"]["example"],
            ),
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

impl ApiTexts<'_> {
    /// An example with the values of this service in it, so that a copy runs unchanged.
    fn example(self, id: String, title: String, command: &str) -> ApiSample {
        let command = command
            .replace("$SUBCAT_URL", self.base_url)
            .replace("$SUBTITLE_ID", self.sample_id);
        ApiSample::new(id, title, &command, self.base_url)
    }

    /// The errors of all endpoints by status. A cause that endpoints share appears once.
    fn errors(self) -> Vec<ErrorView> {
        let mut errors: BTreeMap<&str, Vec<CauseView>> = BTreeMap::new();
        for (_, item) in members(&self.document["paths"]) {
            let get = &item["get"];
            let endpoint = LinkView {
                id: text(&get["operationId"]),
                summary: in_language(&get["summary"], &get["x-summary-es"], self.lang),
            };
            for (status, response) in members(&get["responses"]) {
                if !status.starts_with(['4', '5']) {
                    continue;
                }
                let response = resolve(self.document, response);
                let description = described(response, self.lang);
                let body = example_text(&response["content"]["application/json"]["example"]);
                let causes = errors.entry(status).or_default();
                let known = causes
                    .iter_mut()
                    .find(|cause| cause.description == description && cause.body == body);
                if let Some(known) = known {
                    known.endpoints.push(endpoint.clone());
                } else {
                    causes.push(CauseView {
                        description,
                        body,
                        endpoints: vec![endpoint.clone()],
                    });
                }
            }
        }
        let view = |(status, causes): (&str, Vec<CauseView>)| ErrorView {
            remedy: remedy(status, self.lang),
            status: status.to_owned(),
            causes,
        };
        errors.into_iter().map(view).collect()
    }
}

/// Advice to a client about a status, as HTML.
fn remedy(status: &str, lang: Lang) -> String {
    let known = REMEDIES.iter().find(|(known, ..)| *known == status);
    known.map_or(String::new(), |(_, en, es)| marked(lang.t(en, es)))
}

/// Id of a record with a file; a placeholder in an empty catalog.
fn sample_id(engine: &Engine) -> Result<String, PageError> {
    let snapshot = engine.catalog().snapshot();
    let page = ListPage::first(SAMPLE_DOCS_MAX);
    let listing = snapshot.listed(&Filters::default(), ListOrder::Newest, page)?;
    let docs = &listing.docs;
    let with_file = docs.iter().find(|doc| doc.source_release_id().is_some());
    let id = with_file.or(docs.first()).map(Doc::id);
    Ok(id.map_or_else(|| "SUBTITLE-ID".to_owned(), |id| id.to_string()))
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
        words += &format!(", {by_default} {}", schema["default"]);
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
pub(crate) fn marked(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_and_the_rest_escaped() {
        assert_eq!(marked("a `b` <c>"), "a <code>b</code> &lt;c&gt;");
    }

    #[test]
    fn every_error_has_advice() {
        let texts = ApiTexts {
            document: &document().value,
            lang: Lang::Es,
            base_url: "",
            sample_id: "",
        };
        let errors = texts.errors();
        let statuses: Vec<&str> = errors.iter().map(|it| it.status.as_str()).collect();
        assert!(statuses.is_sorted(), "{statuses:?}");
        assert_eq!(statuses, REMEDIES.map(|(status, ..)| status));
        for error in &errors {
            assert!(!error.remedy.is_empty(), "{}", error.status);
        }
        // All four endpoints with a key have the same 401: it appears once.
        let unauthorized = errors.iter().find(|it| it.status == "401").unwrap();
        assert_eq!(unauthorized.causes.len(), 1);
        assert_eq!(unauthorized.causes[0].endpoints.len(), 4);
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
