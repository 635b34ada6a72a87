//! The profile of the signed-in account: name, password, sessions.

use std::sync::Arc;

use askama::Template;
use subcat_engine::{AccountId, ApiKey, ApiKeyState, Change, Email, Outcome, Session, StateEvent};

use super::owner_check::{is_password, refuse_code};
use super::sign_in::{display_name, new_password};
use crate::ops::{OperationError, OperationRejection};
use crate::service::Actor;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::feed_token::is_feed_key;
use crate::web::frame::form_rejection::{FormFault, FormRejection};
use crate::web::frame::hashing::Applicant;
use crate::web::frame::notice::Notice;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::session;
use crate::web::frame::throttle::AttemptSubject;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "account/profile.html")]
struct ProfilePage<'a> {
    page: Frame,
    fault: FormFault,
    email: &'a str,
    name: &'a str,
    /// Address in the form that changes it.
    new_email: &'a str,
    since: String,
    has_second_step: bool,
    /// Creation day of the address of the feeds; empty without one.
    feed_since: String,
    /// One-time value of the form of such an address.
    token: String,
    sessions: Vec<SessionRow>,
}

/// An open session of the account.
struct SessionRow {
    /// First digits of its digest, which name it in the form.
    name: String,
    device: String,
    opened: String,
    last_used: String,
    expires: String,
    is_this: bool,
}

impl SessionRow {
    fn new(session: &Session, request: &WebRequest, this: &[u8; 32]) -> Self {
        Self {
            name: session_name(&session.digest),
            device: session.device.clone(),
            opened: request.lang.moment(session.created_at),
            last_used: last_used(session, request),
            expires: request.lang.moment(session.expires_at),
            is_this: session.digest == *this,
        }
    }
}

/// The time since the last use, which is noted once an hour: no page tells more than that.
fn last_used(session: &Session, request: &WebRequest) -> String {
    if !session.is_use_due(request.effective_now) {
        let (en, es) = ("in the last hour", "en la última hora");
        return request.lang.t(en, es).to_owned();
    }
    let last = session.last_used_at.unwrap_or(session.created_at);
    request.lang.ago(last, request.effective_now)
}

/// A name for a session that does not open it: the beginning of the digest of its cookie.
fn session_name(digest: &[u8; 32]) -> String {
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The open sessions of the account, newest first.
fn open_sessions(request: &WebRequest) -> Result<Vec<Session>, PageError> {
    let accounts = request.accounts();
    let mut sessions = accounts.sessions_of(request.viewer()?.account.id);
    sessions.retain(|session| !session.is_expired(request.effective_now));
    sessions.reverse();
    Ok(sessions)
}

/// Closes one session of the account; its own is closed by signing out.
async fn close_session(request: &WebRequest) -> PageResult {
    let name = request.form.get("session");
    let this = &request.viewer()?.session_digest;
    let is_meant =
        |session: &Session| session.digest != *this && session_name(&session.digest) == name;
    if let Some(session) = open_sessions(request)?.into_iter().find(is_meant) {
        let closed = StateEvent::CloseSession(session.digest);
        request.site.service.engine.submit(vec![closed]).await?;
    }
    Ok(request.see_other_with("/profile", Notice::SessionClosed))
}

/// `GET /profile`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    profile_page(request, None)
}

/// The page, with the reason if a form was rejected.
fn profile_page(request: &WebRequest, rejection: Option<FormRejection>) -> PageResult {
    let (status, fault) = FormFault::of(rejection, "new", request.lang);
    let viewer = request.viewer()?;
    let account = &viewer.account;
    let typed_name = request.form.get("name");
    let name = match fault.field {
        "name" => typed_name,
        _ => &account.display_name,
    };
    let template = ProfilePage {
        page: request.frame("/profile"),
        fault,
        email: account.email.as_str(),
        name,
        new_email: match fault.field {
            "email" | "address-password" => request.form.get("email"),
            _ => "",
        },
        has_second_step: request.accounts().second_step(account.id).is_some(),
        feed_since: feed_since(request, account.id),
        token: request.site.form_tokens.issue(),
        since: request.lang.date(account.created_at),
        sessions: open_sessions(request)?
            .iter()
            .map(|session| SessionRow::new(session, request, &viewer.session_digest))
            .collect(),
    };
    answer::page(status, &template)
}

/// The creation day of the address of the account's feeds; empty without one.
fn feed_since(request: &WebRequest, account: AccountId) -> String {
    let keys = request.accounts().api_keys_of(account);
    let is_open =
        |key: &&ApiKey| is_feed_key(key) && key.state(request.effective_now) == ApiKeyState::Active;
    let key = keys.iter().rfind(is_open);
    key.map_or(String::new(), |key| request.lang.date(key.created_at))
}

/// `POST /profile`: `action` is `name`, `address`, `password` or `session`.
pub(crate) async fn change(request: &Arc<WebRequest>) -> PageResult {
    request.viewer()?;
    match request.form.get("action") {
        "name" => {
            let changed = request.changing(|request| async move { change_name(&request).await });
            changed.await
        }
        "password" => change_password(request).await,
        "address" => change_address(request).await,
        "session" => {
            let closed = request.changing(|request| async move { close_session(&request).await });
            closed.await
        }
        _ => Err(PageError::InvalidForm),
    }
}

/// Changes the address, which the account signs in with afterwards. This session ends, whether the
/// address was free or not.
async fn change_address(request: &Arc<WebRequest>) -> PageResult {
    let account = request.viewer()?.account.clone();
    let Some(email) = Email::parse(request.form.get("email")) else {
        return profile_page(request, Some(FormRejection::InvalidEmail));
    };
    if !is_password(request, &account, "address-password").await? {
        return profile_page(request, Some(FormRejection::WrongPasswordForAddress));
    }
    let subjects = [AttemptSubject::AddressChange(account.id.0)];
    request.site.throttle.take(&subjects, request.elapsed())?;
    request
        .changing(move |request| async move {
            let service = &request.site.service;
            let this = request.viewer()?.session_digest;
            let changed = Change::SetEmail(account.id, email);
            let closed = StateEvent::CloseSession(this);
            // The same for an address that is taken, so that the answer does not reveal which ones
            // have accounts.
            let actor = Actor::Account(&account.email);
            service.change_with_session(changed, closed, actor).await?;
            Ok(request.signed_out(Notice::AddressAsked))
        })
        .await
}

#[derive(Template)]
#[template(path = "account/profile_delete.html")]
struct DeletePage {
    page: Frame,
    fault: FormFault,
    email: String,
    /// API keys that are active.
    keys_count: usize,
    /// True if a code is required, too.
    has_second_step: bool,
}

/// `GET /profile/delete`: lists the data that is deleted with the account, and asks for the
/// password.
pub(crate) fn show_delete(request: &WebRequest) -> PageResult {
    delete_page(request, None)
}

fn delete_page(request: &WebRequest, rejection: Option<FormRejection>) -> PageResult {
    let account = &request.viewer()?.account;
    let (status, fault) = FormFault::of(rejection, "", request.lang);
    let accounts = request.accounts();
    let keys = accounts.api_keys_of(account.id);
    let is_active = |key: &&ApiKey| {
        key.state(request.effective_now) == ApiKeyState::Active && !is_feed_key(key)
    };
    let template = DeletePage {
        page: request.frame("/profile"),
        fault,
        email: account.email.as_str().to_owned(),
        keys_count: keys.iter().filter(is_active).count(),
        has_second_step: accounts.second_step(account.id).is_some(),
    };
    answer::page(status, &template)
}

/// `POST /profile/delete`: deletes the account, after a check of its password and of its second
/// step.
pub(crate) async fn delete(request: &Arc<WebRequest>) -> PageResult {
    let account = request.viewer()?.account.clone();
    if !is_password(request, &account, "old").await? {
        return delete_page(request, Some(FormRejection::WrongCurrentPassword));
    }
    if let Some(rejection) = refuse_code(request, &account).await? {
        return delete_page(request, Some(rejection));
    }
    request
        .changing(move |request| async move {
            match request.operations()?.delete_account(account.id).await {
                Err(OperationError::Rejected(OperationRejection::LastAdministrator)) => {
                    return delete_page(&request, Some(FormRejection::LastAdministrator));
                }
                deleted => deleted?,
            }
            Ok(request.signed_out(Notice::AccountDeleted))
        })
        .await
}

async fn change_name(request: &WebRequest) -> PageResult {
    let account = &request.viewer()?.account;
    let name = match display_name(request) {
        Ok(name) => name,
        Err(rejection) => return profile_page(request, Some(rejection)),
    };
    let renamed = Change::SetDisplayName(account.id, name);
    request.change(renamed).await?;
    Ok(request.see_other_with("/profile", Notice::NameSaved))
}

/// Changes the password. One transaction replaces it, closes every session of the account and
/// opens a new one for this browser, so that a stolen session ends with the old password.
async fn change_password(request: &Arc<WebRequest>) -> PageResult {
    let account = request.viewer()?.account.clone();
    let password = match new_password(request, "new", &account.email) {
        Ok(password) => password,
        Err(rejection) => return profile_page(request, Some(rejection)),
    };
    if !is_password(request, &account, "old").await? {
        return profile_page(request, Some(FormRejection::WrongCurrentPassword));
    }
    let old_hash = account.password_hash.clone();
    let hashing = &request.site.hashing;
    let hash = hashing.hash(Applicant::Known, password).await?;
    let (opened, cookie) = session::open(
        account.id,
        hash.clone(),
        request.effective_now,
        request.device(),
        request.is_secure,
    );
    let replaced = Change::ReplacePassword {
        account: account.id,
        old: old_hash,
        new: hash,
    };
    request
        .changing(move |request| async move {
            let service = &request.site.service;
            let actor = Actor::Account(&account.email);
            let outcome = service.change_with_session(replaced, opened, actor).await?;
            if outcome != Outcome::Done {
                // The account was disabled, or its password changed, since it was verified.
                return Err(PageError::NotSignedIn);
            }
            let response = request.see_other_with("/profile", Notice::PasswordChanged);
            Ok(answer::with_cookie(response, cookie))
        })
        .await
}
