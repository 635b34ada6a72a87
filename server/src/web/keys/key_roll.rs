//! Rolling an API key: a new text at once, while the old one works on for a chosen time.

use askama::Template;
use subcat_engine::{ApiKey, ApiKeyState, Day, ROLL_DAYS_MAX};

use super::key;
use super::key_new::{self, KeyForm, Sample};
use crate::ops::OperationError;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::form_rejection::{FormFault, FormRejection};
use crate::web::frame::form_tokens::TokenRejection;
use crate::web::frame::notice::Notice;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::params::Params;
use crate::web::frame::web_request::WebRequest;

/// Grace periods of the old key that the form offers, in days.
const GRACE_DAYS: [u32; 4] = [0, 1, 7, ROLL_DAYS_MAX];
/// The proposal: long enough to change a setting on another machine.
const PROPOSED_DAYS: u32 = 7;

/// An option of the form.
struct GraceChoice {
    days: u32,
    is_proposed: bool,
}

#[derive(Template)]
#[template(path = "keys/key_roll.html")]
struct RollPage {
    page: Frame,
    fault: FormFault,
    number: u64,
    name: String,
    partial: String,
    choices: [GraceChoice; 4],
    /// The expiry of the new key.
    form: KeyForm,
    today: Day,
    /// One-time value of the form.
    token: String,
}

/// `GET /keys/{number}/roll`.
pub(crate) fn show(request: &WebRequest, number: &str) -> PageResult {
    let key = find(request, number)?;
    if !can_be_rolled(request, &key) {
        return Ok(answer::see_other(&format!("/keys/{}", key.id.0)));
    }
    form_page(request, key, KeyForm::blank(), None)
}

/// True for a key that has not ended, and will not because of a roll.
fn can_be_rolled(request: &WebRequest, key: &ApiKey) -> bool {
    key.revoked_at.is_none() && key.state(request.effective_now) == ApiKeyState::Active
}

/// The key, if it may be rolled by the viewer: its owner, or an administrator if it has none. Other
/// administrators may revoke it, but must not get to see its text.
fn find(request: &WebRequest, number: &str) -> Result<ApiKey, PageError> {
    let key = key::find(request, number)?;
    let viewer = request.viewer()?;
    if key.account.is_none_or(|owner| owner == viewer.account.id) {
        Ok(key)
    } else {
        Err(PageError::Forbidden)
    }
}

fn form_page(
    request: &WebRequest,
    key: ApiKey,
    form: KeyForm,
    rejection: Option<FormRejection>,
) -> PageResult {
    let (status, fault) = FormFault::of(rejection, "", request.lang);
    let path = format!("/keys/{}/roll", key.id.0);
    let template = RollPage {
        page: request.form_frame("/keys", &path, &Params::default()),
        fault,
        number: key.id.0,
        name: key.name,
        partial: key.partial,
        choices: GRACE_DAYS.map(|days| GraceChoice {
            days,
            is_proposed: days == PROPOSED_DAYS,
        }),
        form,
        today: request.now.day(),
        token: request.site.form_tokens.issue(),
    };
    answer::page(status, &template)
}

/// `POST /keys/{number}/roll`: shows the new text, this once.
pub(crate) async fn roll(request: &WebRequest, number: &str) -> PageResult {
    let key = find(request, number)?;
    let account = &request.viewer()?.account;
    let days = request.form.get("days").parse();
    let days: u32 = days.map_err(|_| PageError::InvalidForm)?;
    let form = KeyForm::read_for_roll(request);
    let expiry = match form.expiry() {
        Ok(expiry) => expiry,
        Err(rejection) => return form_page(request, key, form, Some(rejection)),
    };
    let token = request.form.get("token");
    let claim = match request.site.form_tokens.claim(account.id, token) {
        Ok(claim) => claim,
        Err(TokenRejection::Unknown) => {
            return form_page(request, key, form, Some(FormRejection::FormTooOld));
        }
        Err(TokenRejection::Used(created)) => {
            let location = created.map_or("/keys".to_owned(), |id| format!("/keys/{}", id.0));
            return Ok(request.see_other_with(&location, Notice::KeyExists));
        }
    };
    // Before the key is created: nothing may fail between creating and showing it.
    let sample = Sample::of(&request.site.service.engine, key.scopes)?;
    let operations = request.operations()?;
    match operations.roll_api_key(key.id, days, expiry).await {
        Ok((api_key, text)) => {
            claim.finish(api_key.id);
            key_new::created_page(request, api_key, text, sample)
        }
        Err(OperationError::Rejected(rejection)) => {
            let shown = FormRejection::of_operation(&rejection);
            let shown = shown.unwrap_or(FormRejection::NotRolled);
            form_page(request, key, form, Some(shown))
        }
        Err(error) => Err(error.into()),
    }
}
