//! The time between the two steps of a sign-in: a cookie says that the password was right.
//!
//! Nothing is stored. The cookie carries an end and a proof made from the password's hash, which
//! only this server knows: a new password ends it. Alone it opens nothing.

use http::{HeaderMap, HeaderValue};
use subcat_engine::{Account, AccountId, Engine, Timestamp};

use crate::auth::api_key_digest;
use crate::web::frame::secret::is_equal;
use crate::web::frame::session::{cookie, set_cookie};

/// Time in which the code must be typed.
const PENDING_SECONDS: i64 = 600;

const fn cookie_name(is_secure: bool) -> &'static str {
    if is_secure {
        "__Host-subcat-step"
    } else {
        "subcat-step"
    }
}

fn proof(account: &Account, end: i64) -> String {
    let hash = &account.password_hash;
    // The secret stands on both sides: SHA-256 alone would let a proof be extended.
    let digest = api_key_digest(&format!("step {hash} {} {end} {hash}", account.id.0));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The header that remembers that the password of `account` was right.
pub(crate) fn remember(account: &Account, now: Timestamp, is_secure: bool) -> HeaderValue {
    let end = now.seconds() + PENDING_SECONDS;
    let value = format!("{}.{end}.{}", account.id.0, proof(account, end));
    set_cookie(cookie_name(is_secure), &value, PENDING_SECONDS, is_secure)
}

/// The header that takes the cookie away.
pub(crate) fn forget(is_secure: bool) -> HeaderValue {
    set_cookie(cookie_name(is_secure), "", 0, is_secure)
}

/// The enabled account whose password was right.
pub(crate) fn account(
    engine: &Engine,
    headers: &HeaderMap,
    now: Timestamp,
    is_secure: bool,
) -> Option<Account> {
    let mut parts = cookie(headers, cookie_name(is_secure))?.splitn(3, '.');
    let id: u64 = parts.next()?.parse().ok()?;
    let end: i64 = parts.next()?.parse().ok()?;
    let typed = parts.next()?;
    if end <= now.seconds() {
        return None;
    }
    let account = engine.accounts().get(AccountId(id))?;
    let is_right = is_equal(&proof(&account, end), typed) && account.disabled_at.is_none();
    is_right.then_some(account)
}
