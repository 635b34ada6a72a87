//! Links that an administrator makes for somebody else: an invitation, or a new password. Each is
//! valid once and for a limited time, and needs no mail.
//!
//! The state file holds the digest of each token, so that links outlive a restart and a copy of the
//! file opens no account.

use subcat_engine::{Engine, LinkPurpose, OneTimeLink, Outcome, StateEvent, Timestamp};

use crate::auth::api_key_digest;
use crate::web::frame::secret::Secret;

/// Lifetime of a link in seconds.
const fn seconds(purpose: LinkPurpose) -> i64 {
    match purpose {
        LinkPurpose::Invitation(_) => 7 * 86_400,
        LinkPurpose::NewPassword(_) => 86_400,
    }
}

/// A new link: its path, and the event that stores it.
pub(crate) fn make(purpose: LinkPurpose, now: Timestamp) -> (String, StateEvent) {
    let secret = Secret::random();
    let link = OneTimeLink {
        digest: api_key_digest(secret.as_str()),
        purpose,
        expires_at: now.plus_seconds(seconds(purpose)),
    };
    let path = format!("/link/{}", secret.as_str());
    (path, StateEvent::IssueLink(link))
}

/// Purpose of an unused link.
pub(crate) fn purpose(
    engine: &Engine,
    token: &str,
    now: Timestamp,
) -> subcat_engine::Result<Option<LinkPurpose>> {
    // Looked up by its digest: how long that takes says nothing about the token.
    let link = engine.accounts().link(&api_key_digest(token))?;
    let valid = link.filter(|link| !link.is_expired(now));
    Ok(valid.map(|link| link.purpose))
}

/// Uses a link up: of two callers with the same one only the first gets true.
pub(crate) fn take(engine: &Engine, token: &str) -> subcat_engine::Result<bool> {
    let taken = StateEvent::TakeLink(api_key_digest(token));
    Ok(engine.apply(vec![taken])? == [Outcome::Done])
}

#[cfg(test)]
mod tests {
    use subcat_engine::Role;

    use super::*;

    #[test]
    fn a_link_is_stored_by_its_digest_and_ends() {
        let now = Timestamp::parse("2026-05-03").unwrap();
        let (path, event) = make(LinkPurpose::Invitation(Role::User), now);
        let StateEvent::IssueLink(link) = event else {
            panic!("{event:?}");
        };
        let token = path.strip_prefix("/link/").unwrap();
        assert_eq!(link.digest, api_key_digest(token));
        assert!(!link.is_expired(now.plus_seconds(7 * 86_400 - 1)));
        assert!(link.is_expired(now.plus_seconds(7 * 86_400)));
    }
}
