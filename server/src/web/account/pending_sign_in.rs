//! The time between the two steps of a sign-in: a cookie says that the password was right.
//!
//! It is a random value; its digest is stored as a session that is not open. It leads to the page
//! that asks for the code and nowhere else, and is used up by the right code. A new password ends
//! it, as all sessions.

use http::{HeaderMap, HeaderValue};
use subcat_engine::{Account, Engine, SecondStep, Session, StateEvent, Timestamp};

use crate::auth::api_key_digest;
use crate::web::frame::secret::Secret;
use crate::web::frame::session::{cookie, set_cookie};

/// Time limit for typing the code.
const PENDING_SECONDS: i64 = 600;

const fn cookie_name(is_secure: bool) -> &'static str {
    if is_secure {
        "__Host-subcat-step"
    } else {
        "subcat-step"
    }
}

/// A sign-in of `account` that waits for its code: the event that stores it, and the cookie.
pub(crate) fn open(
    account: &Account,
    now: Timestamp,
    is_secure: bool,
) -> (StateEvent, HeaderValue) {
    let secret = Secret::random();
    let pending = Session {
        digest: api_key_digest(secret.as_str()),
        account: account.id,
        created_at: now,
        expires_at: now.plus_seconds(PENDING_SECONDS),
        device: String::new(),
        last_used_at: None,
        is_pending: true,
    };
    let name = cookie_name(is_secure);
    let cookie = set_cookie(name, secret.as_str(), PENDING_SECONDS, is_secure);
    let hash = account.password_hash.clone();
    (StateEvent::OpenSession(pending, hash), cookie)
}

/// The header that takes the cookie away.
pub(crate) fn forget(is_secure: bool) -> HeaderValue {
    set_cookie(cookie_name(is_secure), "", 0, is_secure)
}

/// A sign-in that waits for its code.
pub(crate) struct PendingSignIn {
    /// Digest of its cookie.
    pub(crate) digest: [u8; 32],
    pub(crate) account: Account,
    pub(crate) second: SecondStep,
}

/// The sign-in that waits for its code, of an enabled account that has a second step: this cookie
/// alone, without a code, opens no session.
pub(crate) fn find(
    engine: &Engine,
    headers: &HeaderMap,
    now: Timestamp,
    is_secure: bool,
) -> Option<PendingSignIn> {
    let accounts = engine.accounts();
    let digest = api_key_digest(cookie(headers, cookie_name(is_secure))?);
    let pending = accounts.pending_sign_in(&digest)?;
    if pending.is_expired(now) {
        return None;
    }
    let account = accounts.get(pending.account)?;
    let second = accounts.second_step(account.id)?;
    account.disabled_at.is_none().then_some(PendingSignIn {
        digest,
        account,
        second,
    })
}
