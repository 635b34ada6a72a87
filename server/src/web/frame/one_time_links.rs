//! Links that an administrator makes for somebody else: an invitation, or a new password. Each is
//! valid once and for a limited time, and needs no mail.
//!
//! The state file holds the digest of each token, so that links outlive a restart and a copy of the
//! file opens no account.

use subcat_engine::{AccountId, LINK_SECONDS_MAX, LinkPurpose, OneTimeLink, Timestamp};

use super::secret::Secret;
use crate::auth::api_key_digest;
use crate::ops::Operations;

/// Lifetime of a link in seconds.
const fn seconds(purpose: LinkPurpose) -> i64 {
    match purpose {
        LinkPurpose::Invitation(_) => LINK_SECONDS_MAX,
        LinkPurpose::NewPassword(_) => 86_400,
    }
}

/// A new link of an administrator, and its path.
pub(crate) fn make(
    purpose: LinkPurpose,
    issuer: AccountId,
    now: Timestamp,
) -> (String, OneTimeLink) {
    let secret = Secret::random();
    let link = OneTimeLink {
        digest: api_key_digest(secret.as_str()),
        purpose,
        issuer: Some(issuer),
        expires_at: now.plus_seconds(seconds(purpose)),
    };
    (format!("/link/{}", secret.as_str()), link)
}

/// The valid link with this token: it was not used or withdrawn, and its maker is an administrator.
pub(crate) fn find(
    operations: &Operations<'_>,
    token: &str,
) -> subcat_engine::Result<Option<OneTimeLink>> {
    // Looked up by its digest: how long that takes says nothing about the token.
    let link = operations.engine.accounts().link(&api_key_digest(token))?;
    let now = operations.effective_now;
    Ok(link.filter(|link| !link.is_expired(now) && operations.has_issuer(link)))
}

/// Returns true for a text that could be the token of a link.
pub(crate) fn is_token(text: &str) -> bool {
    text.len() == Secret::random().as_str().len() && text.bytes().all(|it| it.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use subcat_engine::Role;

    use super::*;

    #[test]
    fn a_link_is_stored_by_its_digest_and_ends() {
        let now = Timestamp::parse("2026-05-03").unwrap();
        let (path, link) = make(LinkPurpose::Invitation(Role::User), AccountId(1), now);
        let token = path.strip_prefix("/link/").unwrap();
        assert!(is_token(token));
        assert!(!is_token("0000"));
        assert_eq!(link.digest, api_key_digest(token));
        assert!(!link.is_expired(now.plus_seconds(7 * 86_400 - 1)));
        assert!(link.is_expired(now.plus_seconds(7 * 86_400)));
    }
}
