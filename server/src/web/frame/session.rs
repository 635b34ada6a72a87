//! Cookies: sessions, and the choices of language and colour scheme.

use std::sync::Arc;
use std::time::Duration;

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use subcat_engine::{
    AccountId, AuditEntry, Engine, Outcome, Role, Session, StateEvent, Timestamp, error_chain,
};

use super::secret::Secret;
use super::viewer::Viewer;
use crate::auth;
use crate::service::Service;

/// Name of a sign-in in the audit log.
pub(crate) const SIGN_IN_ACTION: &str = "sign-in";
/// Name of a sign-in with a wrong password in the audit log.
pub(crate) const FAILED_SIGN_IN_ACTION: &str = "sign-in failed";

/// Lifetime of a session.
const SESSION_SECONDS: i64 = 14 * 86_400;
/// Minimum time between two groups of sign-ins. A durable transaction keeps its core
/// in the kernel for up to a millisecond, and a worker on that core has to wait: with a transaction
/// for each of 50 sign-ins a second, the p99 of searches rose by a third (`pages`, 2 cores).
pub(crate) const SIGN_INS_PAUSE: Duration = Duration::from_millis(200);
/// Lifetime of a choice of language or colour scheme.
const CHOICE_SECONDS: i64 = 365 * 86_400;

/// The value of the cookie `name`; the first of several, as browsers send the most specific first.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// Name of the session cookie. Browsers accept the prefix `__Host-` only for a cookie that is
/// `Secure`, of this host alone and valid for every path.
const fn session_cookie_name(is_secure: bool) -> &'static str {
    if is_secure {
        "__Host-subcat-session"
    } else {
        "subcat-session"
    }
}

/// The signed-in account, if the cookie names an open session of an enabled account.
pub(crate) fn viewer(
    service: &Service,
    headers: &HeaderMap,
    is_secure: bool,
    effective_now: Timestamp,
) -> Option<Viewer> {
    let value = cookie(headers, session_cookie_name(is_secure))?;
    // Only the digest is stored, so that a stolen state file opens no session.
    let session_digest = auth::api_key_digest(value);
    let engine = &service.engine;
    let session = engine.accounts().session(&session_digest)?;
    let account = engine.accounts().get(session.account)?;
    let is_expired = session.is_expired(effective_now);
    if is_expired {
        service.observe_time(effective_now);
    }
    if is_expired || account.disabled_at.is_some() {
        return None;
    }
    let is_totp_required = service.config().accounts.is_admin_totp_required;
    let is_step_missing = is_totp_required
        && account.role == Role::Admin
        && engine.accounts().second_step(account.id).is_none();
    Some(Viewer {
        account,
        session_digest,
        is_use_due: session.is_use_due(effective_now),
        is_step_missing,
    })
}

/// A sign-in to be stored: with the right password, open or waiting for its code, or a failed one.
pub(crate) struct SignIn {
    pub(crate) account: AccountId,
    /// Opens the session, unless the account was changed while the password was verified; of a
    /// failed sign-in the line of the audit log.
    pub(crate) event: StateEvent,
    /// Digest of the session that the browser had before, which ends.
    pub(crate) replaced: Option<[u8; 32]>,
}

/// Outcome of one sign-in: true if its session is open, false if the account was changed before
/// that; or why the whole commit failed.
pub(crate) type SignInOutcome = Result<bool, Arc<subcat_engine::Error>>;

/// Opens sessions in one durable transaction, and returns the outcome of each.
///
/// The same transaction closes the sessions that they replace.
pub(crate) async fn store_sign_ins(engine: &Engine, sign_ins: &[SignIn]) -> Vec<SignInOutcome> {
    // Closed first: a replaced session does not count against the bound.
    let closed = sign_ins.iter().filter_map(|sign_in| sign_in.replaced);
    let mut events: Vec<StateEvent> = closed.map(StateEvent::CloseSession).collect();
    let closed_count = events.len();
    events.extend(sign_ins.iter().map(|sign_in| sign_in.event.clone()));
    match engine.submit(events).await {
        Ok(outcomes) => {
            let own = outcomes.iter().skip(closed_count);
            let is_open: Vec<bool> = own.map(|outcome| *outcome == Outcome::Done).collect();
            let opened = sign_ins.iter().zip(&is_open);
            let opened = opened.filter(|(_, is_open)| **is_open);
            note_sign_ins(engine, opened.map(|(sign_in, _)| sign_in)).await;
            is_open.into_iter().map(Ok).collect()
        }
        Err(error) => {
            let error = Arc::new(error);
            vec![Err(error); sign_ins.len()]
        }
    }
}

/// Adds sign-ins to the audit log. Only now is it known which were accepted; a failure costs their
/// lines, not the sign-ins.
async fn note_sign_ins<'a>(engine: &Engine, sign_ins: impl Iterator<Item = &'a SignIn>) {
    let line = |sign_in: &SignIn| {
        let StateEvent::OpenSession(session, _) = &sign_in.event else {
            return None;
        };
        // A sign-in is one only after the code.
        if session.is_pending {
            return None;
        }
        let account = engine.accounts().get(sign_in.account)?;
        Some(StateEvent::AuditSignIn(AuditEntry {
            at: session.created_at,
            actor: account.email.as_str().to_owned(),
            action: SIGN_IN_ACTION.to_owned(),
            account: Some(account.id),
            api_key: None,
            detail: session.device.clone(),
        }))
    };
    let lines: Vec<StateEvent> = sign_ins.filter_map(line).collect();
    if lines.is_empty() {
        return;
    }
    if let Err(error) = engine.submit(lines).await {
        let error = error_chain(&error);
        tracing::error!(error, "sign-ins could not be recorded in the audit log");
    }
}

/// A new session of an account with the password hash `hash`: the event that opens it, and the
/// cookie. The event carries the hash, so that a password change in between rejects it.
pub(crate) fn open(
    account: AccountId,
    hash: String,
    now: Timestamp,
    device: String,
    is_secure: bool,
) -> (StateEvent, HeaderValue) {
    let secret = Secret::random();
    let session = Session {
        digest: auth::api_key_digest(secret.as_str()),
        account,
        created_at: now,
        expires_at: now.plus_seconds(SESSION_SECONDS),
        device,
        last_used_at: None,
        is_pending: false,
    };
    let header = set_cookie(
        session_cookie_name(is_secure),
        secret.as_str(),
        SESSION_SECONDS,
        is_secure,
    );
    (StateEvent::OpenSession(session, hash), header)
}

/// The header that removes the session cookie.
pub(crate) fn forget(is_secure: bool) -> HeaderValue {
    set_cookie(session_cookie_name(is_secure), "", 0, is_secure)
}

/// The header that stores a choice (`lang`, `theme`). It opens nothing, so it also comes along with
/// a link from another site: the page is then in the chosen language.
pub(crate) fn remember(name: &str, value: &str, is_secure: bool) -> HeaderValue {
    let secure = if is_secure { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path=/; Max-Age={CHOICE_SECONDS}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::try_from(text).expect("names and values of cookies are plain ASCII")
}

/// The header of a cookie of this site, for every path, that scripts cannot read.
pub(crate) fn set_cookie(name: &str, value: &str, seconds: i64, is_secure: bool) -> HeaderValue {
    let secure = if is_secure { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).expect("names and values of cookies are plain ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_read_from_every_header() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "a=1; subcat-session=abc".parse().unwrap());
        headers.append(COOKIE, "lang=es".parse().unwrap());
        assert_eq!(cookie(&headers, "subcat-session"), Some("abc"));
        assert_eq!(cookie(&headers, "lang"), Some("es"));
        assert_eq!(cookie(&headers, "session"), None);
    }

    #[test]
    fn cookies_are_restricted_to_this_site() {
        let plain = remember("lang", "es", false);
        assert_eq!(
            plain.to_str().unwrap(),
            "lang=es; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax"
        );
        let secure = forget(true);
        assert_eq!(
            secure.to_str().unwrap(),
            "__Host-subcat-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure"
        );
    }
}
