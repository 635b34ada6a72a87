//! The second step of a sign-in: asking for a code, turning it on and off.

use std::sync::Arc;

use askama::Template;
use http::StatusCode;
use http::header::RETRY_AFTER;
use subcat_engine::{Account, Change, SecondStep, StepSecret};

use super::owner_check::{code_subject, is_password, refuse_code, use_code};
use super::pending_sign_in::{self, PendingSignIn};
use super::sign_in::{enter, landing, next_of};
use super::totp::{self, QrDrawing};
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::form_rejection::{FormFault, FormRejection};
use crate::web::frame::notice::Notice;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::params::{self, Params};
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "account/sign_in_code.html")]
struct CodePage {
    page: Frame,
    fault: FormFault,
    next: String,
}

impl CodePage {
    fn new(request: &WebRequest, next: String, fault: FormFault) -> Self {
        let kept = Params::of(&[("next", &next)]);
        Self {
            page: request.form_frame("/signin", "/signin/code", &kept),
            fault,
            next,
        }
    }
}

/// The sign-in that has just passed the password step.
fn pending(request: &WebRequest) -> Option<PendingSignIn> {
    pending_sign_in::find(
        &request.site.service.engine,
        &request.headers,
        request.effective_now,
        request.is_secure,
    )
}

/// `GET /signin/code`: asks for the code of the second step.
pub(crate) fn show_code(request: &WebRequest) -> PageResult {
    let next = next_of(request.query.get("next"));
    if request.viewer.is_some() {
        return Ok(answer::see_other(&landing(&next)));
    }
    if pending(request).is_none() {
        return Ok(answer::see_other("/signin"));
    }
    let page = CodePage::new(request, next, FormFault::default());
    answer::page(StatusCode::OK, &page)
}

/// `POST /signin/code`: opens the session if the code is right and was not used.
pub(crate) async fn enter_code(request: &Arc<WebRequest>) -> PageResult {
    let next = next_of(request.form.get("next"));
    // Too late, or the password was changed or the second step turned off since the first step.
    let Some(pending) = pending(request) else {
        return Ok(request.see_other_with("/signin", Notice::CodeTooLate));
    };
    let account = pending.account;
    let subjects = [code_subject(request, &account)];
    if let Err(rejection) = request.site.throttle.take(&subjects, request.elapsed()) {
        let fault = FormRejection::TooManyAttempts.fault("", request.lang);
        let page = CodePage::new(request, next, fault);
        let mut response = answer::page(StatusCode::TOO_MANY_REQUESTS, &page)?;
        let seconds = rejection.retry_after_seconds;
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
        return Ok(response);
    }
    let closed = Some(pending.digest);
    if let Some(rejection) = use_code(request, &account, pending.second, closed).await? {
        tracing::warn!(account = account.id.0, address = %request.peer, "a second step failed");
        let fault = rejection.fault("", request.lang);
        let page = CodePage::new(request, next, fault);
        return answer::page(StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    request.site.throttle.give_back(&subjects);
    let response = enter(request, &account, &landing(&next)).await?;
    let cookie = pending_sign_in::forget(request.is_secure);
    Ok(answer::with_cookie(response, cookie))
}

#[derive(Template)]
#[template(path = "account/second_step.html")]
struct StepPage {
    page: Frame,
    fault: FormFault,
    /// Recovery codes that are left; `None` while the second step is off.
    codes_left: Option<usize>,
    /// True if another key has sealed the secret: the app's codes no longer work.
    is_closed: bool,
    is_required: bool,
    email: String,
    /// New secret, in the form that is typed into an app; empty while the second step is on.
    secret: String,
    /// The secret and everything else that an app needs, as a link.
    url: String,
    drawing: Option<QrDrawing>,
}

impl StepPage {
    /// The secret in groups of four, as people type it; apps ignore the spaces.
    fn secret_in_groups(&self) -> String {
        let digits: Vec<char> = self.secret.chars().collect();
        let groups = digits.chunks(4).map(|group| group.iter().collect());
        groups.collect::<Vec<String>>().join(" ")
    }
}

/// `GET /profile/second-step`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    step_page(request, totp::new_secret(), None)
}

fn step_page(
    request: &WebRequest,
    secret: [u8; 20],
    rejection: Option<FormRejection>,
) -> PageResult {
    let account = &request.viewer()?.account;
    let (status, fault) = FormFault::of(rejection, "", request.lang);
    let service = &request.site.service;
    let second = service.engine.accounts().second_step(account.id);
    let is_opened = |second: &SecondStep| {
        let key = service.sealing_key();
        key.is_some_and(|key| key.open(account.id, &second.secret).is_some())
    };
    let is_closed = second.as_ref().is_some_and(|second| !is_opened(second));
    let codes_left = second.map(|second| second.recovery_digests.len());
    let url = match codes_left {
        Some(_) => String::new(),
        None => totp::otpauth_url(&secret, account.email.as_str()),
    };
    let template = StepPage {
        page: request.frame("/profile"),
        fault,
        codes_left,
        is_closed,
        is_required: service.config().accounts.is_admin_totp_required,
        email: account.email.as_str().to_owned(),
        secret: totp::secret_text(&secret),
        drawing: QrDrawing::of(&url).filter(|_| !url.is_empty()),
        url,
    };
    answer::page(status, &template)
}

/// `POST /profile/second-step`: `action` is `on`, `off`, or `codes` for new recovery codes; all
/// need the password and a code.
pub(crate) async fn change(request: &Arc<WebRequest>) -> PageResult {
    let account = request.viewer()?.account.clone();
    let secret = totp::parse_secret(request.form.get("secret"));
    let secret = secret.unwrap_or_else(totp::new_secret);
    if !is_password(request, &account, "old").await? {
        return step_page(request, secret, Some(FormRejection::WrongCurrentPassword));
    }
    if request.form.get("action") == "on" {
        let turned_on = request
            .changing(move |request| async move { turn_on(&request, &account, secret).await });
        return turned_on.await;
    }
    // A session and the password do not prove the second factor.
    if let Some(rejection) = refuse_code(request, &account).await? {
        return step_page(request, secret, Some(rejection));
    }
    let is_codes = request.form.get("action") == "codes";
    request
        .changing(move |request| async move {
            if is_codes {
                replace_codes(&request, &account).await
            } else {
                turn_off(&request, &account).await
            }
        })
        .await
}

async fn turn_on(request: &WebRequest, account: &Account, secret: [u8; 20]) -> PageResult {
    let engine = &request.site.service.engine;
    if engine.accounts().second_step(account.id).is_some() {
        return Ok(answer::see_other("/profile/second-step"));
    }
    let Some(key) = request.site.service.sealing_key() else {
        return step_page(request, secret, Some(FormRejection::NoSealingKey));
    };
    // The code proves that the app has the secret, and that its clock agrees.
    let code = request.form.get("code");
    let Some(last_step) = totp::step_of(&secret, code, request.now) else {
        return step_page(request, secret, Some(FormRejection::WrongCode));
    };
    let (recovery_digests, codes) = totp::new_recovery_codes();
    let second = SecondStep {
        secret: StepSecret::Sealed(key.seal(account.id, &secret)),
        last_step,
        recovery_digests,
    };
    let turned_on = Change::SetSecondStep(account.id, Some(second));
    request.change(turned_on).await?;
    recovery_page(request, codes, false)
}

/// New recovery codes: the others end.
async fn replace_codes(request: &WebRequest, account: &Account) -> PageResult {
    let (digests, codes) = totp::new_recovery_codes();
    let replaced = Change::ReplaceRecoveryCodes(account.id, digests);
    request.change(replaced).await?;
    recovery_page(request, codes, true)
}

/// The page that shows recovery codes, this once.
fn recovery_page(request: &WebRequest, codes: Vec<String>, is_replaced: bool) -> PageResult {
    let template = RecoveryPage {
        page: request.frame_once("/profile"),
        download: params::encode(&codes.join("\n")).into_owned(),
        codes,
        is_replaced,
    };
    answer::page(StatusCode::OK, &template)
}

#[derive(Template)]
#[template(path = "account/recovery_codes.html")]
struct RecoveryPage {
    page: Frame,
    codes: Vec<String>,
    /// The codes as a file, in the form of an address.
    download: String,
    /// True if they take the place of others.
    is_replaced: bool,
}

async fn turn_off(request: &WebRequest, account: &Account) -> PageResult {
    let turned_off = Change::SetSecondStep(account.id, None);
    request.change(turned_off).await?;
    Ok(request.see_other_with("/profile", Notice::StepOff))
}
