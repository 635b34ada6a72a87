//! The catalog for people: the API's own search, and a page for each record.

use askama::Template;
use http::StatusCode;
use subcat_engine::limits::PAGE_SIZE_MAX;
use subcat_engine::model::RecordId;
use subcat_engine::query::Query;

use super::record_view::HitView;
use crate::request::{ParameterRejection, SearchRejection, search_request};
use crate::web::answer::{self, PageResult};
use crate::web::error::PageError;
use crate::web::frame::Frame;
use crate::web::language::Lang;
use crate::web::params::Params;
use crate::web::web_request::WebRequest;

/// Hits on one page of the list: it stays small however many are asked for.
const HITS_PER_PAGE: usize = 25;
/// Characters of a title in a list of hits.
const TITLE_CHARS: usize = 120;
/// Characters of a description in a list of hits.
const DESCRIPTION_CHARS: usize = 140;
/// Characters of a description on the page of its record, which stays within 50 KB whatever they
/// are; the API has all of it.
const RECORD_DESCRIPTION_CHARS: usize = 4_000;

#[derive(Template)]
#[template(path = "catalog.html")]
struct CatalogPage<'a> {
    page: Frame,
    form: &'a Params,
    is_filtered: bool,
    faults: FaultsView,
    results: Option<Results>,
}

struct Results {
    hits: Vec<HitView>,
    total: String,
    is_one: bool,
    /// The position of the first one shown, counted from 1.
    first: usize,
    last: usize,
    /// How many can be leafed through.
    reachable: usize,
    /// Whether there are more than that.
    is_cut: bool,
    page_number: usize,
    pages_count: usize,
    /// The search, for links to its other pages.
    asked: String,
}

/// Why a search cannot be read.
#[derive(Default)]
struct FaultsView {
    parameters: Vec<&'static str>,
    lines: Vec<String>,
}

impl FaultsView {
    fn has(&self, parameter: &str) -> bool {
        self.parameters.contains(&parameter)
    }

    fn of(refusal: SearchRejection, lang: Lang) -> Self {
        match refusal {
            SearchRejection::Parameters(faults) => Self {
                parameters: faults.iter().map(|fault| fault.parameter).collect(),
                lines: faults.iter().map(|fault| fault_text(fault, lang)).collect(),
            },
            SearchRejection::NoCriterion => Self {
                parameters: vec!["query"],
                lines: vec![
                    lang.t(
                        "Write at least one word, a title or an id.",
                        "Escribe al menos una palabra, un título o un id.",
                    )
                    .to_owned(),
                ],
            },
            SearchRejection::SeasonWithoutEpisodes => Self {
                parameters: vec!["season", "episode"],
                lines: vec![
                    lang.t(
                        "Season and episode go with the type “Episodes”.",
                        "Temporada y episodio van con el tipo «Episodios».",
                    )
                    .to_owned(),
                ],
            },
        }
    }
}

/// `GET /catalog`: the parameters of the API's search, in its order. `limit` is the most that an
/// answer has unless given; `page` is which 25 of those hits are shown.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.viewer()?;
    let form = &request.query;
    // Empty fields of the form are not supplied.
    let asked = form.without(&["lang", "theme", "page"]);
    let has_alias = request.site.service.config.compat.imdb_id_alias;
    let (mut faults, mut results) = (FaultsView::default(), None);
    if !asked.is_empty() {
        // Of a repeated parameter the last counts: this limit gives way to any other.
        match search_request(&format!("limit={PAGE_SIZE_MAX}&{asked}"), has_alias) {
            Ok(parsed) => {
                let began_us = request.site.service.clock.now().monotonic_us;
                let found = search(request, &parsed.query, asked.clone())?;
                results = Some(found);
                let ended_us = request.site.service.clock.now().monotonic_us;
                let duration_us = ended_us.saturating_sub(began_us);
                let slow_searches = &request.site.service.slow_searches;
                slow_searches.note(request.now, duration_us, &asked, None);
            }
            Err(refusal) => faults = FaultsView::of(refusal, request.lang),
        }
    }
    let filters = [
        "title",
        "video_type",
        "year",
        "season",
        "episode",
        "language",
        "catalog_id",
        "public_id",
        "imdb_id",
    ];
    let template = CatalogPage {
        page: request.frame("/catalog"),
        form,
        is_filtered: filters.iter().any(|name| !form.get(name).is_empty()),
        faults,
        results,
    };
    let is_refused = !template.faults.lines.is_empty();
    let status = if is_refused {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    answer::page(status, &template)
}

fn search(request: &WebRequest, query: &Query, asked: String) -> Result<Results, PageError> {
    let engine = &request.site.service.engine;
    let snapshot = engine.snapshot();
    let hits = snapshot.search(query)?;
    if query.uses_free_text() {
        engine.request_reindex();
    }
    let pages_count = hits.len().div_ceil(HITS_PER_PAGE).max(1);
    let page_number = request.query.get("page").parse().unwrap_or(1);
    let page_number = usize::clamp(page_number, 1, pages_count);
    let start = (page_number - 1) * HITS_PER_PAGE;
    let end = hits.len().min(start + HITS_PER_PAGE);
    let mut views = Vec::with_capacity(end - start);
    for hit_idx in start..end {
        let doc = snapshot.hit_doc(&hits, hit_idx)?;
        let view = HitView::new(&doc, engine, request.lang)?;
        views.push(view.shortened(TITLE_CHARS, DESCRIPTION_CHARS));
    }
    snapshot.ensure_not_truncated()?;
    Ok(Results {
        total: request.lang.number(hits.total()),
        is_one: hits.total() == 1,
        is_cut: (hits.len() as u64) < hits.total(),
        hits: views,
        first: start + 1,
        last: end,
        reachable: hits.len(),
        page_number,
        pages_count,
        asked,
    })
}

#[derive(Template)]
#[template(path = "record.html")]
struct RecordPage {
    page: Frame,
    hit: HitView,
    base_url: String,
}

/// `GET /catalog/{id}`.
pub(crate) fn show_record(request: &WebRequest, id: &str) -> PageResult {
    request.viewer()?;
    let id = RecordId::parse(id).ok_or(PageError::NotFound)?;
    let engine = &request.site.service.engine;
    let snapshot = engine.snapshot();
    let doc = snapshot.doc(id)?.ok_or(PageError::NotFound)?;
    let mut hit = HitView::new(&doc, engine, request.lang)?;
    let cut = hit.description.char_indices().nth(RECORD_DESCRIPTION_CHARS);
    if let Some((end, _)) = cut {
        hit.description.truncate(end);
        hit.description.push('…');
    }
    let template = RecordPage {
        page: request.frame("/catalog"),
        hit,
        base_url: request.base_url(),
    };
    snapshot.ensure_not_truncated()?;
    answer::page(StatusCode::OK, &template)
}

/// A fault of a parameter, in the language of the page.
fn fault_text(fault: &ParameterRejection, lang: Lang) -> String {
    let name = match fault.parameter {
        "query" => lang.t("Words", "Palabras"),
        "title" => lang.t("Title", "Título"),
        "catalog_id" | "imdb_id" => lang.t("Catalog id", "Id de catálogo"),
        "public_id" => lang.t("Record id", "Id de la ficha"),
        "year" => lang.t("Year", "Año"),
        "video_type" => lang.t("Type", "Tipo"),
        "language" => lang.t("Language", "Idioma"),
        "limit" => lang.t("Results at most", "Resultados como máximo"),
        "season" => lang.t("Season", "Temporada"),
        "episode" => lang.t("Episode", "Episodio"),
        other => other,
    };
    let bound: String = fault.message.chars().filter(char::is_ascii_digit).collect();
    let text = match fault.kind {
        "int_parsing" => lang.t("a whole number is needed", "hace falta un número entero"),
        "greater_than_equal" => lang.t("at least", "como mínimo"),
        "less_than_equal" => lang.t("at most", "como máximo"),
        "uuid_parsing" => lang.t("a UUID is needed", "hace falta un UUID"),
        "string_pattern_mismatch" => lang.t(
            "a language tag such as es-419 is needed",
            "hace falta una etiqueta de idioma como es-419",
        ),
        "string_too_long" => lang.t(
            "too long; characters at most:",
            "demasiado largo; caracteres como máximo:",
        ),
        "too_many_words" => lang.t(
            "too many words; at most",
            "demasiadas palabras; como máximo",
        ),
        _ => lang.t("not one of those offered", "no es ninguna de las opciones"),
    };
    let bound = match fault.kind {
        "greater_than_equal" | "less_than_equal" | "string_too_long" | "too_many_words" => bound,
        _ => String::new(),
    };
    format!("{name}: {text} {bound}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_told_in_both_languages() {
        let check = |query: &str, en: &str, es: &str| {
            let refusal = search_request(query, true).unwrap_err();
            let lines = |lang| FaultsView::of(refusal.clone(), lang).lines.join("; ");
            assert_eq!(lines(Lang::En), en);
            assert_eq!(lines(Lang::Es), es);
        };
        check(
            "query=a&year=x",
            "Year: a whole number is needed",
            "Año: hace falta un número entero",
        );
        check(
            "query=a&year=1",
            "Year: at least 1900",
            "Año: como mínimo 1900",
        );
        check(
            "query=a&limit=201",
            "Results at most: at most 200",
            "Resultados como máximo: como máximo 200",
        );
        check(
            "public_id=x",
            "Record id: a UUID is needed",
            "Id de la ficha: hace falta un UUID",
        );
        check(
            "query=a&video_type=x",
            "Type: not one of those offered",
            "Tipo: no es ninguna de las opciones",
        );
        check(
            "query=a&language=!",
            "Language: a language tag such as es-419 is needed",
            "Idioma: hace falta una etiqueta de idioma como es-419",
        );
        check(
            &format!("title={}", "x".repeat(513)),
            "Title: too long; characters at most: 512",
            "Título: demasiado largo; caracteres como máximo: 512",
        );
        check(
            &format!("query={}", "x+".repeat(33)),
            "Words: too many words; at most 32",
            "Palabras: demasiadas palabras; como máximo 32",
        );
    }
}
