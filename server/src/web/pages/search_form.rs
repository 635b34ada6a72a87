//! The search form of the catalog: its fields, and the messages about invalid values.

use crate::request::{ParameterRejection, SearchRejection};
use crate::web::language::Lang;
use crate::web::params::Params;

/// A parameter of a search, as the form shows it. A new parameter is a line in [`FIELDS`].
struct SearchField {
    name: &'static str,
    label_en: &'static str,
    label_es: &'static str,
    input: SearchInput,
}

enum SearchInput {
    /// Not a filter: the search words, which stand above the filters, or the page size.
    NotAFilter,
    /// Accepted in the address, but not in the form.
    AddressOnly,
    /// A text field, in a broad column.
    BroadText { chars_max: u32 },
    /// A text field with a placeholder.
    Text {
        chars_max: u32,
        placeholder: &'static str,
    },
    /// A whole number.
    Number,
    /// A choice of values with their labels in English and Spanish.
    Choice(&'static [(&'static str, &'static str, &'static str)]),
}

const fn field(
    name: &'static str,
    label_en: &'static str,
    label_es: &'static str,
    input: SearchInput,
) -> SearchField {
    SearchField {
        name,
        label_en,
        label_es,
        input,
    }
}

/// `maxlength` of a text; a test compares it with the bound of the engine.
const TEXT_MAXLENGTH: u32 = 512;

/// Every parameter of a search, in the order of the form.
const FIELDS: [SearchField; 12] = [
    field("query", "Words", "Palabras", SearchInput::NotAFilter),
    field(
        "title",
        "Title",
        "Título",
        SearchInput::BroadText {
            chars_max: TEXT_MAXLENGTH,
        },
    ),
    field(
        "video_type",
        "Type",
        "Tipo",
        SearchInput::Choice(&[
            ("", "All", "Todos"),
            ("movie", "Films", "Películas"),
            ("episode", "Episodes", "Episodios"),
        ]),
    ),
    field("year", "Year", "Año", SearchInput::Number),
    field("season", "Season", "Temporada", SearchInput::Number),
    field("episode", "Episode", "Episodio", SearchInput::Number),
    field(
        "language",
        "Language",
        "Idioma",
        SearchInput::Choice(&[
            ("", "All", "Todos"),
            ("es-ES", "Spanish (Spain)", "Español (España)"),
            (
                "es-419",
                "Spanish (Latin America)",
                "Español (Latinoamérica)",
            ),
        ]),
    ),
    field(
        "catalog_id",
        "Catalog ID",
        "ID de catálogo",
        SearchInput::Text {
            chars_max: TEXT_MAXLENGTH,
            placeholder: "tt…",
        },
    ),
    field(
        "public_id",
        "Record ID",
        "ID de la ficha",
        SearchInput::BroadText { chars_max: 64 },
    ),
    field(
        "release",
        "Release or file name",
        "Versión o nombre de archivo",
        SearchInput::BroadText {
            chars_max: TEXT_MAXLENGTH,
        },
    ),
    field(
        "imdb_id",
        "Catalog ID",
        "ID de catálogo",
        SearchInput::AddressOnly,
    ),
    field(
        "limit",
        "Maximum results",
        "Máximo de resultados",
        SearchInput::NotAFilter,
    ),
];

/// A filter with its value, for the template.
pub(super) struct FilterView {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) value: String,
    pub(super) is_broad: bool,
    pub(super) is_number: bool,
    pub(super) is_invalid: bool,
    pub(super) chars_max: u32,
    pub(super) placeholder: &'static str,
    /// Options of a choice; empty for a text field.
    pub(super) options: Vec<OptionView>,
}

/// An option of a choice.
pub(super) struct OptionView {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) is_selected: bool,
}

impl OptionView {
    fn new(value: &str, label: &str, chosen: &str) -> Self {
        Self {
            value: value.to_owned(),
            label: label.to_owned(),
            is_selected: value == chosen,
        }
    }
}

/// A parameter that is set, with the link that takes it away.
pub(super) struct Chip {
    pub(super) label: &'static str,
    pub(super) value: String,
    /// Query string of the same search without it.
    pub(super) without: String,
}

/// The search form as it was filled in.
pub(super) struct SearchForm {
    pub(super) query: String,
    pub(super) is_query_invalid: bool,
    /// True if a filter has to be corrected, so that the filters are shown open.
    pub(super) is_open: bool,
    pub(super) filters: Vec<FilterView>,
    pub(super) chips: Vec<Chip>,
}

impl SearchForm {
    /// The form with the values of a query string and marks at the invalid ones.
    pub(super) fn new(params: &Params, errors: &SearchErrors, lang: Lang) -> Self {
        let fields = FIELDS.iter();
        let filters: Vec<FilterView> = fields
            .clone()
            .filter_map(|field| field.view(params, errors, lang))
            .collect();
        Self {
            query: params.get("query").to_owned(),
            is_query_invalid: errors.has("query"),
            is_open: filters.iter().any(|filter| filter.is_invalid),
            filters,
            chips: fields
                .filter_map(|field| field.chip(params, lang))
                .collect(),
        }
    }
}

impl SearchField {
    const fn label(&self, lang: Lang) -> &'static str {
        lang.t(self.label_en, self.label_es)
    }

    /// The chip of a filter that is set.
    fn chip(&self, params: &Params, lang: Lang) -> Option<Chip> {
        let value = params.get(self.name);
        let is_implied = self.name == "video_type"
            && !(params.get("season").is_empty() && params.get("episode").is_empty());
        if value.is_empty() || is_implied || matches!(self.input, SearchInput::NotAFilter) {
            return None;
        }
        let shown = match &self.input {
            SearchInput::Choice(options) => {
                let known = options.iter().find(|(known, ..)| *known == value);
                known.map_or(value, |(_, en, es)| lang.t(en, es))
            }
            _ => value,
        };
        Some(Chip {
            label: self.label(lang),
            value: shown.to_owned(),
            without: params.without(&[self.name, "lang", "theme", "page"]),
        })
    }

    /// The field as a filter; `None` if the form has no input for it.
    fn view(&self, params: &Params, errors: &SearchErrors, lang: Lang) -> Option<FilterView> {
        let mut view = FilterView {
            name: self.name,
            label: self.label(lang),
            value: params.get(self.name).to_owned(),
            is_broad: false,
            is_number: false,
            is_invalid: errors.has(self.name),
            chars_max: 0,
            placeholder: "",
            options: Vec::new(),
        };
        match &self.input {
            SearchInput::NotAFilter | SearchInput::AddressOnly => return None,
            SearchInput::BroadText { chars_max } => {
                view.chars_max = *chars_max;
                view.is_broad = true;
            }
            SearchInput::Text {
                chars_max,
                placeholder,
            } => {
                view.chars_max = *chars_max;
                view.placeholder = placeholder;
            }
            SearchInput::Number => {
                view.chars_max = 6;
                view.is_number = true;
            }
            SearchInput::Choice(options) => {
                let chosen = view.value.as_str();
                let mut shown: Vec<OptionView> = options
                    .iter()
                    .map(|&(value, en, es)| OptionView::new(value, lang.t(en, es), chosen))
                    .collect();
                // A value from an address, such as another language, stays chosen.
                if !options.iter().any(|(value, ..)| *value == chosen) {
                    shown.push(OptionView::new(chosen, chosen, chosen));
                }
                view.options = shown;
            }
        }
        Some(view)
    }
}

/// Messages about a search that is not valid; empty for a valid one.
#[derive(Default)]
pub(super) struct SearchErrors {
    parameters: Vec<&'static str>,
    pub(super) messages: Vec<String>,
}

impl SearchErrors {
    /// The messages of a rejected search, in the language of the page.
    pub(super) fn new(rejection: &SearchRejection, lang: Lang) -> Self {
        let one = |parameters: &[&'static str], message: &str| Self {
            parameters: parameters.to_vec(),
            messages: vec![message.to_owned()],
        };
        match rejection {
            SearchRejection::Parameters(rejections) => Self {
                parameters: rejections.iter().map(|it| it.parameter).collect(),
                messages: rejections.iter().map(|it| message(it, lang)).collect(),
            },
            SearchRejection::NoCriterion => one(
                &["query"],
                lang.t(
                    "Enter at least one word, a title or an ID.",
                    "Escribe al menos una palabra, un título o un ID.",
                ),
            ),
            SearchRejection::SeasonWithoutEpisodes => one(
                &["season", "episode"],
                lang.t(
                    "Season and episode need the type “Episodes”.",
                    "Temporada y episodio requieren el tipo «Episodios».",
                ),
            ),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    fn has(&self, parameter: &str) -> bool {
        self.parameters.contains(&parameter)
    }
}

/// The message about one parameter. The bound is taken from the API's message, so that it stands
/// in one place.
fn message(rejection: &ParameterRejection, lang: Lang) -> String {
    let field = FIELDS
        .iter()
        .find(|field| field.name == rejection.parameter);
    let label = field.map_or(rejection.parameter, |field| field.label(lang));
    let bound: String = rejection
        .message
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let text = match rejection.kind {
        "int_parsing" => lang.t("must be a whole number", "debe ser un número entero"),
        "greater_than_equal" => lang.t("must be at least {}", "debe ser {} como mínimo"),
        "less_than_equal" => lang.t("must be at most {}", "debe ser {} como máximo"),
        "uuid_parsing" => lang.t("must be a UUID", "debe ser un UUID"),
        "string_pattern_mismatch" => lang.t(
            "must be a language tag such as es-419",
            "debe ser una etiqueta de idioma, como es-419",
        ),
        "string_too_long" => lang.t(
            "must have at most {} characters",
            "debe tener {} caracteres como máximo",
        ),
        "too_many_words" => lang.t(
            "must have at most {} words",
            "debe tener {} palabras como máximo",
        ),
        _ => lang.t("must be one of the options", "debe ser una de las opciones"),
    };
    format!("{label}: {}", text.replace("{}", &bound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{SEARCH_PARAMETERS, search_request};

    #[test]
    fn every_parameter_of_a_search_has_a_field() {
        let mut names = FIELDS.map(|field| field.name);
        let mut expected = SEARCH_PARAMETERS;
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected);
        let chars_max = subcat_engine::SEARCH_TEXT_CHARS_MAX;
        assert_eq!(TEXT_MAXLENGTH as usize, chars_max);
    }

    #[test]
    fn every_message_is_in_both_languages() {
        let check = |query: &str, en: &str, es: &str| {
            let rejection = search_request(query, true).unwrap_err();
            let messages = |lang| SearchErrors::new(&rejection, lang).messages.join("; ");
            assert_eq!(messages(Lang::En), en);
            assert_eq!(messages(Lang::Es), es);
        };
        check(
            "query=a&year=x",
            "Year: must be a whole number",
            "Año: debe ser un número entero",
        );
        check(
            "query=a&year=1",
            "Year: must be at least 1900",
            "Año: debe ser 1900 como mínimo",
        );
        check(
            "query=a&limit=201",
            "Maximum results: must be at most 200",
            "Máximo de resultados: debe ser 200 como máximo",
        );
        check(
            "public_id=x",
            "Record ID: must be a UUID",
            "ID de la ficha: debe ser un UUID",
        );
        check(
            "query=a&video_type=x",
            "Type: must be one of the options",
            "Tipo: debe ser una de las opciones",
        );
        check(
            "query=a&language=!",
            "Language: must be a language tag such as es-419",
            "Idioma: debe ser una etiqueta de idioma, como es-419",
        );
        check(
            &format!("title={}", "x".repeat(513)),
            "Title: must have at most 512 characters",
            "Título: debe tener 512 caracteres como máximo",
        );
        check(
            &format!("query={}", "x+".repeat(33)),
            "Words: must have at most 32 words",
            "Palabras: debe tener 32 palabras como máximo",
        );
    }
}
