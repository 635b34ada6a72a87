//! A new API key: the form, and the one page that shows the key.

use askama::Template;
use http::StatusCode;
use subcat_engine::{AccountId, ApiKey, Day, Doc, Engine, Expiry, KeyName, Scopes};

use crate::limits::{EXPIRY_DAYS_MAX, SAMPLE_DOCS_MAX};
use crate::ops::{KeyDraft, OperationError};
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::form_rejection::{FormFault, FormRejection};
use crate::web::frame::form_tokens::TokenRejection;
use crate::web::frame::language::Lang;
use crate::web::frame::notice::Notice;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::params::Params;
use crate::web::frame::scope_names::scope_names;
use crate::web::frame::web_request::WebRequest;

/// Periods that the form offers, in days.
const PRESET_DAYS: [&str; 3] = ["30", "90", "365"];
/// The period that a new form proposes: a key that is forgotten ends by itself.
const PROPOSED_DAYS: &str = "90";

/// The filled-in form.
pub(super) struct KeyForm {
    name: String,
    expires: String,
    pub(super) expires_on: String,
    expires_days: String,
    scopes: Scopes,
}

/// An option for the expiry of a key.
pub(super) struct ExpiryChoice {
    pub(super) value: String,
    pub(super) text: String,
    pub(super) is_chosen: bool,
}

impl KeyForm {
    /// The form before any input.
    pub(super) fn blank() -> Self {
        Self {
            name: String::new(),
            expires: PROPOSED_DAYS.to_owned(),
            expires_on: String::new(),
            expires_days: String::new(),
            scopes: Scopes::ALL,
        }
    }

    pub(super) fn read(request: &WebRequest) -> Self {
        let form = &request.form;
        let chosen = Scopes::NAMES
            .into_iter()
            .filter(|(_, name)| form.has_pair("scope", name));
        let scopes = if form.has_pair("scope", "address") {
            // This scope excludes the others: the boxes that a new form has ticked do not count
            // beside it.
            Scopes::ADDRESS
        } else {
            chosen.fold(Scopes::NONE, |all, (scope, _)| all.union(scope))
        };
        Self {
            name: form.get("name").to_owned(),
            expires: form.get("expires").to_owned(),
            expires_on: form.get("expires_on").to_owned(),
            expires_days: form.get("expires_days").to_owned(),
            // None at all stays none: a browser does not send boxes that are not ticked, and an
            // empty form does not ask for a key that may do everything.
            scopes,
        }
    }

    /// The form of a roll: without a choice, as scripts may send it, the proposed period counts.
    pub(super) fn read_for_roll(request: &WebRequest) -> Self {
        let mut form = Self::read(request);
        let fields = [&form.expires, &form.expires_on, &form.expires_days];
        if fields.iter().all(|field| field.is_empty()) {
            form.expires = PROPOSED_DAYS.to_owned();
        }
        form
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

    fn has_address(&self) -> bool {
        self.scopes.is_address()
    }

    /// Options of the expiry. A number of days that is not offered, as scripts may send it, is kept
    /// as an option when the form is shown again.
    pub(super) fn choices(&self, lang: &Lang) -> Vec<ExpiryChoice> {
        let choice = |value: &str, text: String| ExpiryChoice {
            value: value.to_owned(),
            text,
            is_chosen: self.expires == value,
        };
        let unit = lang.t("days", "días");
        let days = PRESET_DAYS.map(|days| choice(days, format!("{days} {unit}")));
        let mut choices = Vec::from(days);
        let other = self.expires_days.as_str();
        if !other.is_empty() {
            choices.push(ExpiryChoice {
                is_chosen: self.expires == "days",
                ..choice(other, format!("{other} {unit}"))
            });
        }
        choices.push(choice("never", lang.t("Never", "Nunca").to_owned()));
        choices.push(choice(
            "date",
            lang.t("On a date", "En una fecha").to_owned(),
        ));
        choices
    }

    /// True if the field of the date is shown whatever is chosen: it has a value.
    pub(super) fn has_date(&self) -> bool {
        !self.expires_on.is_empty() || self.expires == "date"
    }

    /// The key that the form describes.
    fn draft(&self, owner: AccountId) -> Result<KeyDraft, FormRejection> {
        let name = KeyName::parse(&self.name).ok_or(FormRejection::InvalidKeyName)?;
        if self.scopes == Scopes::NONE {
            return Err(FormRejection::NoScopes);
        }
        Ok(KeyDraft {
            name,
            account: Some(owner),
            scopes: self.scopes,
            limit: None,
            expiry: self.expiry()?,
        })
    }

    /// Expiry of the key (API.md, 12.7): a date means the end of that day, a number of days counts
    /// from now, 0 means never.
    ///
    /// The field of a chosen option must be filled in: a user who chose a date and left it empty
    /// did not mean a key that never expires.
    ///
    /// The field of another option, which the page may hide, does not count. Without a choice, as
    /// scripts send the form, a filled-in field counts, the date first.
    pub(super) fn expiry(&self) -> Result<Expiry, FormRejection> {
        let choice = self.expires.as_str();
        match choice {
            "never" => Ok(Expiry::Never),
            "date" => on_date(&self.expires_on),
            "days" => after_days(&self.expires_days),
            "" if !self.expires_on.is_empty() => on_date(&self.expires_on),
            "" if self.expires_days.is_empty() => Ok(Expiry::Never),
            "" => after_days(&self.expires_days),
            days => after_days(days),
        }
    }
}

fn on_date(text: &str) -> Result<Expiry, FormRejection> {
    if text == "0" {
        return Ok(Expiry::Never);
    }
    match Day::parse(text) {
        Some(day) => Ok(Expiry::EndOf(day)),
        None => Err(FormRejection::InvalidExpiryDate),
    }
}

fn after_days(text: &str) -> Result<Expiry, FormRejection> {
    let days: i64 = match text.parse() {
        Ok(days) => days,
        Err(_) => return Err(FormRejection::InvalidExpiryDays),
    };
    match u32::try_from(days) {
        Ok(days @ 0..=EXPIRY_DAYS_MAX) => Ok(Expiry::after_days(days)),
        Err(_) if days < 0 => Err(FormRejection::ExpiryPassed),
        _ => Err(FormRejection::ExpiryTooFar),
    }
}

#[derive(Template)]
#[template(path = "keys/key_new.html")]
struct NewKeyPage {
    page: Frame,
    fault: FormFault,
    form: KeyForm,
    today: Day,
    /// One-time value of the form.
    token: String,
}

/// `GET /keys/new`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.viewer()?;
    form_page(request, KeyForm::blank(), None)
}

/// The form, again with the reason if it was rejected.
fn form_page(request: &WebRequest, form: KeyForm, rejection: Option<FormRejection>) -> PageResult {
    let (status, fault) = FormFault::of(rejection, "", request.lang);
    let template = NewKeyPage {
        page: request.form_frame("/keys", "/keys/new", &Params::default()),
        fault,
        form,
        today: request.now.day(),
        token: request.site.form_tokens.issue(),
    };
    answer::page(status, &template)
}

#[derive(Template)]
#[template(path = "keys/key_created.html")]
struct KeyCreatedPage {
    page: Frame,
    name: String,
    text: String,
    base_url: String,
    sample: Sample,
    expires: String,
    scopes: String,
    /// The address in each variety of Spanish; none for a key of the API.
    addresses: Vec<AddressView>,
}

/// An address, for entering in programs.
struct AddressView {
    /// Variety of Spanish that its searches keep to.
    variety: &'static str,
    /// Name of the fields about it, unlike those of the others.
    field: &'static str,
    url: String,
    /// Link that installs the add-on in Stremio; empty without https, which Stremio wants.
    install_link: String,
}

impl AddressView {
    /// The address of a key in each variety of Spanish (API.md 20.3).
    fn all(base_url: &str, text: &str, lang: Lang) -> Vec<Self> {
        let varieties = [
            ("", "any", lang.t("Any Spanish", "Cualquier español")),
            (
                "/es-419",
                "latin",
                lang.t("Latin American Spanish", "Español de Latinoamérica"),
            ),
            (
                "/es-ES",
                "spain",
                lang.t("Spanish of Spain", "Español de España"),
            ),
        ];
        let view = |(tag, field, variety)| {
            let url = format!("{base_url}/a/{text}{tag}");
            let host = url.strip_prefix("https://");
            let link = host.map(|host| format!("stremio://{host}/manifest.json"));
            Self {
                variety,
                field,
                install_link: link.unwrap_or_default(),
                url,
            }
        };
        varieties.map(view).into()
    }
}

/// An example request that a new key is allowed to send.
pub(crate) struct Sample {
    /// Options of `curl`, with a final space.
    options: &'static str,
    target: String,
}

impl Sample {
    /// A search if the scopes allow it; otherwise an existing record, or its file.
    pub(crate) fn of(engine: &Engine, scopes: Scopes) -> Result<Self, PageError> {
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

/// `POST /keys`: creates a key and shows it, this once. The key works when the answer is sent.
pub(crate) async fn create(request: &WebRequest) -> PageResult {
    let owner = &request.viewer()?.account;
    let form = KeyForm::read(request);
    let draft = match form.draft(owner.id) {
        Ok(draft) => draft,
        Err(rejection) => return form_page(request, form, Some(rejection)),
    };
    // A reload of the answer, or a second click, sends the form again: it has created its key.
    let token = request.form.get("token");
    let claim = match request.site.form_tokens.claim(owner.id, token) {
        Ok(claim) => claim,
        Err(TokenRejection::Unknown) => {
            return form_page(request, form, Some(FormRejection::FormTooOld));
        }
        Err(TokenRejection::Used(created)) => {
            let location = created.map_or("/keys".to_owned(), |id| format!("/keys/{}", id.0));
            return Ok(request.see_other_with(&location, Notice::KeyExists));
        }
    };
    // Before the key is created: nothing may fail between creating and showing it.
    let sample = Sample::of(&request.site.service.engine, draft.scopes)?;
    let (api_key, text) = match request.operations()?.create_api_key(&draft).await {
        Ok(created) => created,
        Err(OperationError::Rejected(rejection)) => {
            return match FormRejection::of_operation(&rejection) {
                Some(rejection) => form_page(request, form, Some(rejection)),
                None => Err(PageError::Rejected(rejection)),
            };
        }
        Err(error) => return Err(error.into()),
    };
    claim.finish(api_key.id);
    created_page(request, api_key, text, sample)
}

/// The page that shows the text of a new key, this once.
pub(crate) fn created_page(
    request: &WebRequest,
    api_key: ApiKey,
    text: String,
    sample: Sample,
) -> PageResult {
    let lang = request.lang;
    let never = lang.t("never", "nunca").to_owned();
    let base_url = request.base_url();
    let addresses = if api_key.scopes.is_address() {
        AddressView::all(&base_url, &text, lang)
    } else {
        Vec::new()
    };
    let template = KeyCreatedPage {
        page: request.frame_once("/keys"),
        name: api_key.name,
        text,
        base_url,
        sample,
        expires: api_key.expires_at.map_or(never, |time| lang.moment(time)),
        scopes: scope_names(api_key.scopes, lang),
        addresses,
    };
    answer::page(StatusCode::OK, &template)
}

#[cfg(test)]
mod tests {
    use subcat_engine::Timestamp;

    use super::*;

    fn check(expires: &str, expires_on: &str, expires_days: &str, expected: Option<Option<&str>>) {
        let form = KeyForm {
            expires: expires.to_owned(),
            expires_on: expires_on.to_owned(),
            expires_days: expires_days.to_owned(),
            ..KeyForm::blank()
        };
        let now = Timestamp::parse("2026-05-03T10:00:00Z").unwrap();
        let expiry = form.expiry().ok();
        let found = expiry.and_then(|expiry| expiry.resolve(now).ok());
        let found = found.map(|time| time.map(|time| time.to_string()));
        let found = found.as_ref().map(Option::as_deref);
        assert_eq!(found, expected, "{expires} {expires_on} {expires_days}");
    }

    #[test]
    fn rule_20_1_an_address_has_a_link_to_stremio_only_by_https() {
        let all = AddressView::all("https://s.example", "KEY", Lang::En);
        let urls: Vec<_> = all.iter().map(|view| view.url.as_str()).collect();
        let base = "https://s.example/a/KEY";
        assert_eq!(
            urls,
            [base, &format!("{base}/es-419"), &format!("{base}/es-ES")]
        );
        let link = "stremio://s.example/a/KEY/es-419/manifest.json";
        assert_eq!(all[1].install_link, link);
        let plain = AddressView::all("http://nas:8080", "KEY", Lang::En);
        assert!(plain.iter().all(|view| view.install_link.is_empty()));
    }

    #[test]
    fn a_key_expires_never_on_a_date_or_after_days() {
        check("never", "", "", Some(None));
        check("never", "", "0", Some(None));
        check("never", "2027-01-31", "", Some(None));
        check("30", "2027-01-31", "7", Some(Some("2026-06-02T10:00:00Z")));
        check(
            "date",
            "2027-01-31",
            "7",
            Some(Some("2027-01-31T23:59:59Z")),
        );
        check(
            "days",
            "2027-01-31",
            "7",
            Some(Some("2026-05-10T10:00:00Z")),
        );
        check("30", "", "", Some(Some("2026-06-02T10:00:00Z")));
        check("date", "2027-01-31", "", Some(Some("2027-01-31T23:59:59Z")));
        check("date", "2026-05-03", "", Some(Some("2026-05-03T23:59:59Z")));
        check("date", "", "", None);
        check("date", "0", "", Some(None));
        check("date", "2026-05-02", "", None);
        check("date", "1969-12-31", "", None);
        check("date", "31/01/2027", "", None);
        check("days", "", "7", Some(Some("2026-05-10T10:00:00Z")));
        check("days", "", "", None);
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
