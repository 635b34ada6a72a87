//! The search form of the catalog: its fields, and the messages about invalid values.

use super::language_badge::name_of;
use super::language_filter::{LanguageChoice, canonical_tag};
use super::result_order::ResultOrder;
use crate::limits::LANGUAGES_NARROWING_MAX;
use crate::request::{ParameterRejection, SearchRejection};
use crate::web::frame::language::Lang;
use crate::web::frame::params::Params;

/// A parameter of a search, as the form shows it. A new parameter is a line in [`FIELDS`].
struct SearchField {
    name: &'static str,
    label_en: &'static str,
    label_es: &'static str,
    input: SearchInput,
}

enum SearchInput {
    /// Not a filter: the search words above the filters, or the page size.
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
    /// A choice of the languages that the catalog has.
    Language,
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

/// Choice of a flag: an empty value is not supplied, and lets all records pass.
const FLAG_CHOICE: SearchInput = SearchInput::Choice(&[
    ("", "All", "Todos"),
    ("exclude", "Without", "Sin ellos"),
    ("only", "Only", "Solo ellos"),
]);

/// Every parameter of a search, in the order of the form.
const FIELDS: [SearchField; 16] = [
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
    field("language", "Language", "Idioma", SearchInput::Language),
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
        "hearing_impaired",
        "For the deaf (SDH)",
        "Para sordos (SDH)",
        FLAG_CHOICE,
    ),
    field("forced", "Forced", "Forzados", FLAG_CHOICE),
    field(
        "machine_translated",
        "Machine translation",
        "Traducción automática",
        FLAG_CHOICE,
    ),
    field(
        "since",
        "Posted since",
        "Publicado desde",
        SearchInput::Text {
            chars_max: 32,
            placeholder: "2026-01-31",
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
pub(crate) struct FilterView {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) value: String,
    pub(crate) is_broad: bool,
    pub(crate) is_number: bool,
    /// Message about the value; empty if it is valid.
    pub(crate) fault: String,
    /// True for the first filter with a fault, which gets the focus.
    pub(crate) is_first_fault: bool,
    pub(crate) chars_max: u32,
    pub(crate) placeholder: &'static str,
    /// Options of a choice; empty for a text field.
    pub(crate) options: Vec<OptionView>,
}

/// An option of a choice.
pub(crate) struct OptionView {
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) is_selected: bool,
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
pub(crate) struct Chip {
    pub(crate) label: &'static str,
    pub(crate) value: String,
    /// Query string of the same search without it.
    pub(crate) without: String,
}

/// A value of a filter that is not set, with the link that sets it.
pub(crate) struct NarrowLink {
    pub(crate) label: String,
    /// Query string of the same search with it.
    pub(crate) query: String,
}

/// Filters whose values are offered beside the chips.
const OFFERED: [&str; 2] = ["video_type", "language"];

/// The filled-in search form.
pub(crate) struct SearchForm {
    pub(crate) query: String,
    /// Message about the words; empty if they are valid.
    pub(crate) query_fault: String,
    /// True if a filter has to be corrected, so that the filters are shown open.
    pub(crate) is_open: bool,
    pub(crate) filters: Vec<FilterView>,
    pub(crate) chips: Vec<Chip>,
    /// Values that narrow the search, of filters that are not set.
    pub(crate) narrowing: Vec<NarrowLink>,
    /// Order of the results, which the next search keeps; empty for the default.
    pub(crate) sort: &'static str,
}

impl SearchForm {
    /// The form with the values of a query string, marks at the invalid ones, and these languages
    /// to choose.
    pub(crate) fn new(
        params: &Params,
        errors: &SearchErrors,
        languages: &[LanguageChoice],
        lang: Lang,
    ) -> Self {
        let fields = FIELDS.iter();
        let mut filters: Vec<FilterView> = fields
            .clone()
            .filter_map(|field| field.view(params, errors, languages, lang))
            .collect();
        let query_fault = errors.at("query");
        let has_fault = |filter: &&mut FilterView| !filter.fault.is_empty();
        let first_fault = filters.iter_mut().find(has_fault);
        let is_open = first_fault.is_some();
        if let Some(filter) = first_fault {
            filter.is_first_fault = query_fault.is_empty();
        }
        Self {
            query: params.get("query").to_owned(),
            query_fault,
            is_open,
            filters,
            chips: fields
                .filter_map(|field| field.chip(params, lang))
                .collect(),
            narrowing: FIELDS
                .iter()
                .flat_map(|field| field.narrowing(params, languages, lang))
                .collect(),
            sort: ResultOrder::of(params).value(),
        }
    }
}

/// The filters of a search in words: `Films, 1999`. Empty without filters.
pub(crate) fn filters_in_words(params: &Params, lang: Lang) -> String {
    let chips = FIELDS.iter().filter_map(|field| field.chip(params, lang));
    let values: Vec<String> = chips.map(|chip| chip.value).collect();
    values.join(", ")
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
                known.map_or(value, |(_, en, es)| lang.t(en, es)).to_owned()
            }
            SearchInput::Language => name_of(&canonical_tag(value), lang),
            _ => value.to_owned(),
        };
        Some(Chip {
            label: self.label(lang),
            value: shown,
            without: params.without(&[self.name, "lang", "theme", "page"]),
        })
    }

    /// The values of an offered filter, as long as none is chosen.
    fn narrowing(
        &self,
        params: &Params,
        languages: &[LanguageChoice],
        lang: Lang,
    ) -> Vec<NarrowLink> {
        let has_numbers = !(params.get("season").is_empty() && params.get("episode").is_empty());
        let is_implied = self.name == "video_type" && has_numbers;
        if !OFFERED.contains(&self.name) || !params.get(self.name).is_empty() || is_implied {
            return Vec::new();
        }
        let link = |value: &str, label: &str| {
            let mut narrowed = params.clone();
            narrowed.set(self.name, value);
            NarrowLink {
                label: label.to_owned(),
                query: narrowed.without(&["lang", "theme", "page"]),
            }
        };
        match &self.input {
            SearchInput::Choice(options) => {
                let offered = options.iter().filter(|(value, ..)| !value.is_empty());
                offered
                    .map(|(value, en, es)| link(value, lang.t(en, es)))
                    .collect()
            }
            // One language does not narrow a list.
            SearchInput::Language if 1 < languages.len() => {
                let offered = languages.iter().take(LANGUAGES_NARROWING_MAX);
                offered.map(|it| link(&it.tag, &it.name)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The field as a filter; `None` if the form has no input for it.
    fn view(
        &self,
        params: &Params,
        errors: &SearchErrors,
        languages: &[LanguageChoice],
        lang: Lang,
    ) -> Option<FilterView> {
        let mut view = FilterView {
            name: self.name,
            label: self.label(lang),
            value: params.get(self.name).to_owned(),
            is_broad: false,
            is_number: false,
            fault: errors.at(self.name),
            is_first_fault: false,
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
                let options = options.iter();
                let known = options.map(|&(value, en, es)| (value, lang.t(en, es)));
                view.options = options_with(&view.value, &view.value, known.collect());
            }
            SearchInput::Language => {
                let chosen = canonical_tag(&view.value);
                let mut known = vec![("", lang.t("All", "Todos"))];
                known.extend(
                    languages
                        .iter()
                        .map(|it| (it.tag.as_str(), it.name.as_str())),
                );
                view.options = options_with(&chosen, &name_of(&chosen, lang), known);
            }
        }
        Some(view)
    }
}

/// The options of a choice. A value from an address that is not among them stays chosen, by this
/// label.
fn options_with<'o>(
    chosen: &'o str,
    label: &'o str,
    mut known: Vec<(&'o str, &'o str)>,
) -> Vec<OptionView> {
    if !known.iter().any(|(value, _)| *value == chosen) {
        known.push((chosen, label));
    }
    let options = known.into_iter();
    options
        .map(|(value, label)| OptionView::new(value, label, chosen))
        .collect()
}

/// Messages about a search that is not valid; none for a valid one.
#[derive(Default)]
pub(crate) struct SearchErrors(Vec<SearchFault>);

/// A sentence, and the parameter that it is about.
struct SearchFault {
    parameter: &'static str,
    /// Name of the parameter for people, if the sentence is not shown at its field.
    label: &'static str,
    message: String,
}

impl SearchFault {
    /// The sentence with the name of the parameter before it: `Year: must be at least 1900.`
    fn named(&self) -> String {
        let mut letters = self.message.chars();
        let first = letters.next().unwrap_or_default().to_lowercase();
        format!("{}: {first}{}", self.label, letters.as_str())
    }
}

impl SearchErrors {
    /// The messages of a rejected search, in the language of the page.
    pub(crate) fn new(rejection: &SearchRejection, lang: Lang) -> Self {
        let one = |parameter, message: &str| {
            Self(vec![SearchFault {
                parameter,
                label: "",
                message: message.to_owned(),
            }])
        };
        match rejection {
            SearchRejection::Parameters(rejections) => {
                let fault = |it: &ParameterRejection| SearchFault {
                    parameter: it.parameter,
                    label: label_of(it.parameter, lang),
                    message: message(it, lang),
                };
                Self(rejections.iter().map(fault).collect())
            }
            SearchRejection::NoCriterion => one(
                "query",
                lang.t(
                    "Enter at least one word, a title or an ID.",
                    "Escribe al menos una palabra, un título o un ID.",
                ),
            ),
            SearchRejection::SeasonWithoutEpisodes => one(
                "season",
                lang.t(
                    "Season and episode need the type “Episodes”.",
                    "Temporada y episodio requieren el tipo «Episodios».",
                ),
            ),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The message about a parameter; empty if there is none.
    fn at(&self, parameter: &str) -> String {
        let fault = self.0.iter().find(|fault| fault.parameter == parameter);
        fault.map_or(String::new(), |fault| fault.message.clone())
    }

    /// Messages about parameters that the form does not show.
    pub(crate) fn of_address(&self) -> Vec<String> {
        let is_shown = |name: &str| {
            FIELDS.iter().any(|field| {
                let has_input = !matches!(
                    field.input,
                    SearchInput::NotAFilter | SearchInput::AddressOnly
                );
                field.name == name && (has_input || name == "query")
            })
        };
        let hidden = self.0.iter().filter(|fault| !is_shown(fault.parameter));
        hidden.map(SearchFault::named).collect()
    }
}

/// Name of a parameter for people.
fn label_of(parameter: &'static str, lang: Lang) -> &'static str {
    let field = FIELDS.iter().find(|field| field.name == parameter);
    field.map_or(parameter, |field| field.label(lang))
}

/// The sentence about one parameter. The bound is taken from the API's message, so that it is
/// defined once.
fn message(rejection: &ParameterRejection, lang: Lang) -> String {
    let bound: String = rejection
        .message
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let text = match rejection.kind {
        "int_parsing" => lang.t("Must be a whole number.", "Debe ser un número entero."),
        "greater_than_equal" => lang.t("Must be at least {}.", "Debe ser {} como mínimo."),
        "less_than_equal" => lang.t("Must be at most {}.", "Debe ser {} como máximo."),
        "uuid_parsing" => lang.t("Must be a UUID.", "Debe ser un UUID."),
        "string_pattern_mismatch" => lang.t(
            "Must be a language tag such as es-419.",
            "Debe ser una etiqueta de idioma, como es-419.",
        ),
        "datetime_parsing" => lang.t(
            "Must be a date or a time such as 2026-01-31.",
            "Debe ser una fecha u hora, como 2026-01-31.",
        ),
        "string_too_long" => lang.t(
            "Must have at most {} characters.",
            "Debe tener {} caracteres como máximo.",
        ),
        "too_many_words" => lang.t(
            "Must have at most {} words.",
            "Debe tener {} palabras como máximo.",
        ),
        _ => lang.t(
            "Must be one of the options.",
            "Debe ser una de las opciones.",
        ),
    };
    text.replace("{}", &bound)
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
    fn a_fault_stands_at_its_field_or_above_the_form() {
        let form = |query: &str| {
            let rejection = search_request(query, true).unwrap_err();
            let errors = SearchErrors::new(&rejection, Lang::En);
            let hidden = errors.of_address().join("; ");
            let form = SearchForm::new(&Params::parse(query), &errors, &[], Lang::En);
            let focused = form.filters.iter().find(|filter| filter.is_first_fault);
            let focused = focused.map_or("", |filter| filter.name);
            (form.is_open, focused, form.query_fault, hidden)
        };
        let none = String::new;
        let found = form("query=a&year=x&episode=0&video_type=episode");
        assert_eq!(found, (true, "year", none(), none()));
        let too_long = form(&format!("query={}", "x+".repeat(33)));
        assert_eq!((too_long.0, too_long.1), (false, ""));
        assert!(too_long.2.contains("32 words"), "{too_long:?}");
        let of_address = "Maximum results: must be at most 200.".to_owned();
        assert_eq!(form("query=a&limit=201"), (false, "", none(), of_address));
    }

    #[test]
    fn every_message_is_in_both_languages() {
        let check = |query: &str, en: &str, es: &str| {
            let rejection = search_request(query, true).unwrap_err();
            let messages = |lang| {
                let SearchErrors(faults) = SearchErrors::new(&rejection, lang);
                let messages: Vec<String> = faults.into_iter().map(|it| it.message).collect();
                messages.join("; ")
            };
            assert_eq!(messages(Lang::En), en);
            assert_eq!(messages(Lang::Es), es);
        };
        check(
            "query=a&year=x",
            "Must be a whole number.",
            "Debe ser un número entero.",
        );
        check(
            "query=a&year=1",
            "Must be at least 1900.",
            "Debe ser 1900 como mínimo.",
        );
        check(
            "query=a&limit=201",
            "Must be at most 200.",
            "Debe ser 200 como máximo.",
        );
        check("public_id=x", "Must be a UUID.", "Debe ser un UUID.");
        check(
            "query=a&video_type=x",
            "Must be one of the options.",
            "Debe ser una de las opciones.",
        );
        check(
            "query=a&language=!",
            "Must be a language tag such as es-419.",
            "Debe ser una etiqueta de idioma, como es-419.",
        );
        check(
            &format!("title={}", "x".repeat(513)),
            "Must have at most 512 characters.",
            "Debe tener 512 caracteres como máximo.",
        );
        check(
            &format!("query={}", "x+".repeat(33)),
            "Must have at most 32 words.",
            "Debe tener 32 palabras como máximo.",
        );
    }
}
