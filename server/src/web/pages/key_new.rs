//! A new API key: what is asked, and the one page that shows it.

use askama::Template;
use http::StatusCode;
use subcat_engine::{AccountId, Day, Doc, Engine, Expiry, KeyName, Scopes};

use super::key::scope_names;
use crate::ops::{KeyDraft, OperationError, OperationRejection, Operations};
use crate::service::Actor;
use crate::web::answer::{self, PageResult};
use crate::web::error::PageError;
use crate::web::frame::Frame;
use crate::web::language::Lang;
use crate::web::web_request::WebRequest;

/// Days until a key expires, at most: a hundred years.
const EXPIRY_DAYS_MAX: u32 = 36_525;
/// Records among which one with a file is looked for, to show how it is asked for.
const SAMPLE_DOCS_MAX: usize = 100;
/// The periods that are offered, in days.
const PRESET_DAYS: [&str; 3] = ["30", "90", "365"];

/// What is wrong with a form, in the language of the page.
type Fault = &'static str;

/// The form as it was typed.
struct KeyForm {
    name: String,
    expires: String,
    expires_on: String,
    expires_days: String,
    scopes: Scopes,
}

/// One way to say when a key expires.
struct Choice {
    value: &'static str,
    text: String,
    is_chosen: bool,
}

impl KeyForm {
    /// What a new form says.
    fn blank() -> Self {
        Self {
            name: String::new(),
            expires: "never".to_owned(),
            expires_on: String::new(),
            expires_days: String::new(),
            scopes: Scopes::ALL,
        }
    }

    fn read(request: &WebRequest) -> Self {
        let form = &request.form;
        let chosen = Scopes::NAMES
            .into_iter()
            .filter(|(_, name)| form.has_pair("scope", name));
        let scopes = chosen.fold(Scopes::NONE, |all, (scope, _)| all.union(scope));
        Self {
            name: form.get("name").to_owned(),
            expires: form.get("expires").to_owned(),
            expires_on: form.get("expires_on").to_owned(),
            expires_days: form.get("expires_days").to_owned(),
            // A form that says nothing of scopes means all of them, as the command line does.
            scopes: if form.has("scope") {
                scopes
            } else {
                Scopes::ALL
            },
        }
    }

    fn has_search(&self) -> bool {
        self.scopes.contains(Scopes::SEARCH)
    }

    fn has_read(&self) -> bool {
        self.scopes.contains(Scopes::READ)
    }

    fn has_download(&self) -> bool {
        self.scopes.contains(Scopes::DOWNLOAD)
    }

    fn choices(&self, lang: &Lang) -> Vec<Choice> {
        let choice = |value: &'static str, text: String| Choice {
            value,
            text,
            is_chosen: self.expires == value,
        };
        let days = PRESET_DAYS.map(|days| {
            let unit = lang.t("days", "días");
            choice(days, format!("{days} {unit}"))
        });
        let mut choices = vec![choice("never", lang.t("never", "nunca").to_owned())];
        choices.extend(days);
        choices.push(choice(
            "date",
            lang.t("on a date", "en una fecha").to_owned(),
        ));
        choices.push(choice(
            "days",
            lang.t("after some days", "tras unos días").to_owned(),
        ));
        choices
    }

    /// The key that the form describes.
    fn draft(&self, lang: Lang, owner: AccountId) -> Result<KeyDraft, Fault> {
        let name = KeyName::parse(&self.name).ok_or(lang.t(
            "Give the key a name of 1 to 100 characters.",
            "Ponle a la clave un nombre de 1 a 100 caracteres.",
        ))?;
        Ok(KeyDraft {
            name,
            account: Some(owner),
            scopes: self.scopes,
            limit: None,
            expiry: self.expiry(lang)?,
        })
    }

    /// Expiry of the key (API.md, 12.7): a date means the end of that day, a number of days counts
    /// from now, blank or 0 is never. What is filled in beside another choice is refused: the key
    /// would live longer than somebody meant. Without a choice whatever is filled in counts, the
    /// date first.
    fn expiry(&self, lang: Lang) -> Result<Expiry, Fault> {
        let choice = self.expires.as_str();
        let is_left_out = |field: &str, text: &str| {
            !choice.is_empty() && choice != field && !text.is_empty() && text != "0"
        };
        if is_left_out("date", &self.expires_on) || is_left_out("days", &self.expires_days) {
            return Err(lang.t(
                "A date or days are filled in, but something else is chosen: choose or empty them.",
                "Hay una fecha o unos días, pero has elegido otra cosa: elígelos o vacíalos.",
            ));
        }
        match choice {
            "never" => Ok(Expiry::Never),
            "date" => on_date(&self.expires_on, lang),
            "days" => after_days(&self.expires_days, lang),
            "" if !self.expires_on.is_empty() => on_date(&self.expires_on, lang),
            "" => after_days(&self.expires_days, lang),
            days => after_days(days, lang),
        }
    }
}

fn on_date(text: &str, lang: Lang) -> Result<Expiry, Fault> {
    if text.is_empty() || text == "0" {
        return Ok(Expiry::Never);
    }
    let day = Day::parse(text).ok_or(lang.t(
        "Write the date as YYYY-MM-DD.",
        "Escribe la fecha como AAAA-MM-DD.",
    ))?;
    Ok(Expiry::EndOf(day))
}

fn after_days(text: &str, lang: Lang) -> Result<Expiry, Fault> {
    let days: i64 = match text {
        "" => 0,
        text => text.parse().map_err(|_| {
            lang.t(
                "Write the days as a whole number.",
                "Escribe los días como un número entero.",
            )
        })?,
    };
    match u32::try_from(days) {
        Ok(days @ 0..=EXPIRY_DAYS_MAX) => Ok(Expiry::after_days(days)),
        Err(_) if days < 0 => Err(lang.t(
            "That is in the past: the key would never work.",
            "Eso es pasado: la clave no funcionaría nunca.",
        )),
        _ => Err(lang.t(
            "That is too far away: at most 36525 days.",
            "Es demasiado lejos: como mucho 36525 días.",
        )),
    }
}

#[derive(Template)]
#[template(path = "key_new.html")]
struct NewKeyPage {
    page: Frame,
    error: &'static str,
    draft: KeyForm,
    today: Day,
}

/// `GET /keys/new`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.viewer()?;
    form_page(request, StatusCode::OK, KeyForm::blank(), "")
}

fn form_page(request: &WebRequest, status: StatusCode, form: KeyForm, error: Fault) -> PageResult {
    let template = NewKeyPage {
        page: request.frame("/keys"),
        error,
        draft: form,
        today: request.now.day(),
    };
    answer::page(status, &template)
}

#[derive(Template)]
#[template(path = "key_created.html")]
struct KeyCreatedPage {
    page: Frame,
    name: String,
    text: String,
    base_url: String,
    sample: Sample,
    expires: String,
    scopes: String,
}

/// A request that a new key may make.
struct Sample {
    /// Of `curl`, each with a space behind it.
    options: &'static str,
    target: String,
}

impl Sample {
    /// A search if the key may; else a record that there is, or its file.
    fn of(engine: &Engine, scopes: Scopes) -> Result<Self, PageError> {
        if scopes.contains(Scopes::SEARCH) {
            return Ok(Self {
                options: "",
                target: "/api/subtitles/search?title=matrix".to_owned(),
            });
        }
        let (options, end) = if scopes.contains(Scopes::READ) {
            ("", "")
        } else {
            ("-OJ ", "/download")
        };
        let snapshot = engine.catalog().snapshot();
        let docs: Vec<_> = snapshot
            .docs()
            .take(SAMPLE_DOCS_MAX)
            .collect::<Result<_, _>>()?;
        let with_file = docs.iter().find(|doc| doc.source_release_id().is_some());
        let id = with_file.or(docs.first()).map(Doc::id);
        let id = id.map_or_else(|| "SUBTITLE-ID".to_owned(), |id| id.to_string());
        Ok(Self {
            options,
            target: format!("/api/subtitles/{id}{end}"),
        })
    }
}

/// `POST /keys`: makes a key and shows it, this once. The key works when the answer is sent.
pub(crate) fn create(request: &WebRequest) -> PageResult {
    let owner = &request.viewer()?.account;
    let form = KeyForm::read(request);
    let draft = match form.draft(request.lang, owner.id) {
        Ok(draft) => draft,
        Err(error) => return form_page(request, StatusCode::UNPROCESSABLE_ENTITY, form, error),
    };
    let service = &request.site.service;
    // Before there is a key: one that was made is shown, whatever else fails.
    let sample = Sample::of(&service.engine, draft.scopes)?;
    let operations = Operations::of_service(service, Actor::Account(&owner.email));
    let (api_key, text) = match operations.create_api_key(draft) {
        Ok(created) => created,
        Err(OperationError::Rejected(rejection)) => {
            let Some(error) = fault_of(&rejection, request.lang) else {
                return Err(PageError::Rejected(rejection));
            };
            return form_page(request, StatusCode::UNPROCESSABLE_ENTITY, form, error);
        }
        Err(error) => return Err(error.into()),
    };
    let lang = request.lang;
    let mut page = request.frame("/keys");
    page.is_switchable = false;
    let never = lang.t("never", "nunca").to_owned();
    let template = KeyCreatedPage {
        page,
        name: api_key.name,
        text,
        base_url: request.base_url(),
        sample,
        expires: api_key.expires_at.map_or(never, |time| lang.moment(time)),
        scopes: scope_names(api_key.scopes),
    };
    answer::page(StatusCode::OK, &template)
}

/// The words of a rejection that a form can cause; none of any other.
fn fault_of(rejection: &OperationRejection, lang: Lang) -> Option<Fault> {
    Some(match rejection {
        OperationRejection::ExpiryPassed(_) => lang.t(
            "That date is in the past: the key would never work.",
            "Esa fecha ya ha pasado: la clave no funcionaría nunca.",
        ),
        OperationRejection::NoScopes => lang.t(
            "Choose at least one thing that the key may be used for.",
            "Elige al menos una cosa que la clave permita.",
        ),
        OperationRejection::TooManyKeys => lang.t(
            "You have made 5000 keys, revoked ones included: no account may have more.",
            "Has creado 5000 claves, contando las revocadas: ninguna cuenta puede tener más.",
        ),
        OperationRejection::TooManyActiveKeys => lang.t(
            "You have 1000 active keys, which is all an account may have. Revoke one first.",
            "Tienes 1000 claves activas, el máximo de una cuenta. Revoca una antes.",
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use subcat_engine::Timestamp;

    use super::*;

    fn check(expires: &str, expires_on: &str, expires_days: &str, expected: Option<Option<&str>>) {
        let draft = KeyForm {
            expires: expires.to_owned(),
            expires_on: expires_on.to_owned(),
            expires_days: expires_days.to_owned(),
            ..KeyForm::blank()
        };
        let now = Timestamp::parse("2026-05-03T10:00:00Z").unwrap();
        let expiry = draft.expiry(Lang::En).ok();
        let found = expiry.and_then(|expiry| expiry.resolve(now).ok());
        let found = found.map(|time| time.map(|time| time.to_string()));
        let found = found.as_ref().map(Option::as_deref);
        assert_eq!(found, expected, "{expires} {expires_on} {expires_days}");
    }

    #[test]
    fn a_key_expires_never_on_a_date_or_after_days() {
        check("never", "", "", Some(None));
        check("never", "", "0", Some(None));
        check("never", "2027-01-31", "", None);
        check("30", "", "7", None);
        check("date", "2027-01-31", "7", None);
        check("days", "2027-01-31", "7", None);
        check("30", "", "", Some(Some("2026-06-02T10:00:00Z")));
        check("date", "2027-01-31", "", Some(Some("2027-01-31T23:59:59Z")));
        check("date", "2026-05-03", "", Some(Some("2026-05-03T23:59:59Z")));
        check("date", "", "", Some(None));
        check("date", "0", "", Some(None));
        check("date", "2026-05-02", "", None);
        check("date", "1969-12-31", "", None);
        check("date", "31/01/2027", "", None);
        check("days", "", "7", Some(Some("2026-05-10T10:00:00Z")));
        check("days", "", "", Some(None));
        check("days", "", "0", Some(None));
        check("days", "", "-1", None);
        check("days", "", "1.5", None);
        check("days", "", "36526", None);
        check("days", "", "99999999999999999999", None);
        check("", "2027-01-31", "7", Some(Some("2027-01-31T23:59:59Z")));
        check("", "", "7", Some(Some("2026-05-10T10:00:00Z")));
        check("", "", "", Some(None));
        check("sometime", "", "", None);
    }
}
