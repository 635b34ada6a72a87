//! The profile of the signed-in account: name, password, sessions.

use std::sync::Arc;

use askama::Template;
use http::StatusCode;
use http::header::SET_COOKIE;
use subcat_engine::{Change, Outcome, Session, StateEvent};

use super::form_rejection::{FormFault, FormRejection};
use super::sign_in::{display_name, new_password};
use crate::service::Actor;
use crate::web::answer::{self, PageResult};
use crate::web::error::PageError;
use crate::web::frame::Frame;
use crate::web::notice::Notice;
use crate::web::session;
use crate::web::throttle::AttemptSubject;
use crate::web::web_request::WebRequest;

#[derive(Template)]
#[template(path = "profile.html")]
struct ProfilePage<'a> {
    page: Frame,
    fault: FormFault,
    email: &'a str,
    name: &'a str,
    since: String,
    sessions: Vec<SessionRow>,
}

/// An open session of the account.
struct SessionRow {
    /// First digits of its digest, which name it in the form.
    name: String,
    opened: String,
    expires: String,
    is_this: bool,
}

impl SessionRow {
    fn new(session: &Session, request: &WebRequest, this: &[u8; 32]) -> Self {
        Self {
            name: session_name(&session.digest),
            opened: request.lang.moment(session.created_at),
            expires: request.lang.moment(session.expires_at),
            is_this: session.digest == *this,
        }
    }
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
    let accounts = request.site.service.engine.accounts();
    let mut sessions = accounts.sessions_of(request.viewer()?.account.id);
    sessions.retain(|session| !session.is_expired(request.effective_now));
    sessions.reverse();
    Ok(sessions)
}

/// Closes one session of the account; its own is closed by signing out.
fn close_session(request: &WebRequest) -> PageResult {
    let name = request.form.get("session");
    let this = &request.viewer()?.session_digest;
    let is_meant =
        |session: &Session| session.digest != *this && session_name(&session.digest) == name;
    if let Some(session) = open_sessions(request)?.into_iter().find(is_meant) {
        let closed = StateEvent::CloseSession(session.digest);
        request.site.service.engine.apply(vec![closed])?;
    }
    Ok(request.see_other_with("/profile", Notice::SessionClosed))
}

/// `GET /profile`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    profile_page(request, None)
}

/// The page, with the reason if a form was rejected.
fn profile_page(request: &WebRequest, rejection: Option<FormRejection>) -> PageResult {
    let (status, fault) = match rejection {
        Some(rejection) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            rejection.fault("new", request.lang),
        ),
        None => (StatusCode::OK, FormFault::default()),
    };
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
        since: request.lang.date(account.created_at),
        sessions: open_sessions(request)?
            .iter()
            .map(|session| SessionRow::new(session, request, &viewer.session_digest))
            .collect(),
    };
    answer::page(status, &template)
}

/// `POST /profile`: `action` is `name`, `password` or `session`.
pub(crate) async fn change(request: &Arc<WebRequest>) -> PageResult {
    request.viewer()?;
    match request.form.get("action") {
        "name" => request.blocking(change_name).await,
        "password" => change_password(request).await,
        "session" => request.blocking(close_session).await,
        _ => Err(PageError::InvalidForm),
    }
}

fn change_name(request: &WebRequest) -> PageResult {
    let account = &request.viewer()?.account;
    let name = match display_name(request) {
        Ok(name) => name,
        Err(rejection) => return profile_page(request, Some(rejection)),
    };
    let renamed = Change::SetDisplayName(account.id, name);
    let actor = Actor::Account(&account.email);
    request.site.service.change(renamed, actor)?;
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
    // A session left open must not allow guessing the password.
    let subjects = [AttemptSubject::PasswordChange(account.id.0)];
    request.site.throttle.take(&subjects, request.elapsed())?;
    let hashing = &request.site.hashing;
    let old = request.form.raw("old");
    let old_hash = account.password_hash.clone();
    let verified = hashing.verify(old, Some(old_hash.clone())).await;
    if verified.is_err() {
        request.site.throttle.give_back(&subjects);
    }
    if !verified? {
        return profile_page(request, Some(FormRejection::WrongCurrentPassword));
    }
    request.site.throttle.give_back(&subjects);
    let hash = hashing.hash(password).await?;
    let (opened, cookie) = session::open(
        account.id,
        hash.clone(),
        request.effective_now,
        request.is_secure,
    );
    let replaced = Change::ReplacePassword {
        account: account.id,
        old: old_hash,
        new: hash,
    };
    request
        .blocking(move |request| {
            let service = &request.site.service;
            let actor = Actor::Account(&account.email);
            if service.change_with_session(replaced, opened, actor)? != Outcome::Done {
                // The account was disabled, or its password changed, since it was verified.
                return Err(PageError::NotSignedIn);
            }
            let mut response = request.see_other_with("/profile", Notice::PasswordChanged);
            response.headers_mut().append(SET_COOKIE, cookie);
            Ok(response)
        })
        .await
}
