//! Known devices: browsers that have signed in to an account before.
//!
//! An outsider who tries passwords locks an account for outsiders only. The cookie proves an
//! earlier sign-in; it opens nothing by itself. It is made with the sealing key, which no copy of
//! the data has, and bound to the password's hash: a new password ends it.

use http::{HeaderMap, HeaderValue};
use subcat_engine::{Account, Timestamp};

use crate::auth::SealingKey;
use crate::web::frame::secret::is_equal;
use crate::web::frame::session::{cookie, set_cookie};

/// Lifetime of the proof.
const DEVICE_SECONDS: i64 = 365 * 86_400;

const fn cookie_name(is_secure: bool) -> &'static str {
    if is_secure {
        "__Host-subcat-device"
    } else {
        "subcat-device"
    }
}

/// The proof of a sign-in to `account` that is valid until `end`.
fn proof(key: &SealingKey, account: &Account, end: i64) -> [u8; 32] {
    let hash = &account.password_hash;
    key.proof(&format!("device {} {end} {hash}", account.id.0))
}

/// The header that remembers this browser.
pub(crate) fn remember(
    key: &SealingKey,
    account: &Account,
    now: Timestamp,
    is_secure: bool,
) -> HeaderValue {
    let end = now.seconds() + DEVICE_SECONDS;
    let mut value = format!("{end}.");
    for byte in proof(key, account, end) {
        value.push_str(&format!("{byte:02x}"));
    }
    set_cookie(cookie_name(is_secure), &value, DEVICE_SECONDS, is_secure)
}

/// The proof that the browser has signed in to `account` before, if it has one.
pub(crate) fn known(
    key: &SealingKey,
    headers: &HeaderMap,
    account: &Account,
    now: Timestamp,
    is_secure: bool,
) -> Option<[u8; 32]> {
    let (end, hex) = cookie(headers, cookie_name(is_secure))?.split_once('.')?;
    let end: i64 = end.parse().ok()?;
    if end <= now.seconds() {
        return None;
    }
    let proof = proof(key, account, end);
    let expected: String = proof.iter().map(|byte| format!("{byte:02x}")).collect();
    is_equal(&expected, hex).then_some(proof)
}

#[cfg(test)]
mod tests {
    use http::header::COOKIE;
    use subcat_engine::{AccountId, Email, Role};

    use super::*;

    fn account(id: u64, password_hash: &str) -> Account {
        Account {
            id: AccountId(id),
            email: Email::parse("ana@example.org").unwrap(),
            display_name: String::new(),
            role: Role::User,
            password_hash: password_hash.to_owned(),
            created_at: Timestamp::parse("2026-01-01").unwrap(),
            disabled_at: None,
        }
    }

    #[test]
    fn a_browser_is_known_for_its_account_and_password_until_the_end() {
        let ana = account(1, "hash");
        let key = SealingKey::new(&[1; 32]);
        let other_key = SealingKey::new(&[2; 32]);
        let now = Timestamp::parse("2026-05-03").unwrap();
        for is_secure in [false, true] {
            let header = remember(&key, &ana, now, is_secure);
            let pair = header.to_str().unwrap().split(';').next().unwrap();
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_str(pair).unwrap());
            let is_known = |account: &Account, now: Timestamp| {
                known(&key, &headers, account, now, is_secure).is_some()
            };
            assert!(is_known(&ana, now));
            assert!(is_known(&ana, now.plus_seconds(DEVICE_SECONDS - 1)));
            assert!(!is_known(&ana, now.plus_seconds(DEVICE_SECONDS)));
            assert!(!is_known(&account(2, "hash"), now));
            assert!(!is_known(&account(1, "other"), now));
            assert!(known(&key, &headers, &ana, now, !is_secure).is_none());
            assert!(known(&other_key, &headers, &ana, now, is_secure).is_none());
            let longer = pair.replace("=1", "=2");
            headers.insert(COOKIE, HeaderValue::from_str(&longer).unwrap());
            assert!(known(&key, &headers, &ana, now, is_secure).is_none());
        }
    }
}
