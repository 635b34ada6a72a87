//! Links that an administrator makes for somebody else: an invitation, or a new password. Each is
//! valid once and for a limited time, and needs no mail.
//!
//! They are kept in memory only: after a restart of the server they are made again.

use std::collections::VecDeque;

use parking_lot::Mutex;
use subcat_engine::{AccountId, Role, Timestamp};

use super::secret::Secret;
use crate::limits::ONE_TIME_LINKS_MAX;

/// Purpose of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkPurpose {
    /// Creates an account with this role.
    Invitation(Role),
    /// Sets a new password of this account.
    NewPassword(AccountId),
}

impl LinkPurpose {
    /// Lifetime of the link in seconds.
    const fn seconds(self) -> i64 {
        match self {
            Self::Invitation(_) => 7 * 86_400,
            Self::NewPassword(_) => 86_400,
        }
    }
}

struct OneTimeLink {
    secret: Secret,
    purpose: LinkPurpose,
    expires_at: Timestamp,
}

/// The links that have not been used, oldest first.
#[derive(Default)]
pub(crate) struct OneTimeLinks(Mutex<VecDeque<OneTimeLink>>);

impl OneTimeLinks {
    /// Makes a link; returns its path. Another link for a new password of the same account ends.
    pub(crate) fn issue(&self, purpose: LinkPurpose, now: Timestamp) -> String {
        let secret = Secret::random();
        let path = format!("/link/{}", secret.as_str());
        let mut links = self.0.lock();
        links.retain(|link| {
            let is_replaced =
                matches!(purpose, LinkPurpose::NewPassword(_)) && link.purpose == purpose;
            now < link.expires_at && !is_replaced
        });
        if ONE_TIME_LINKS_MAX <= links.len() {
            links.pop_front();
        }
        links.push_back(OneTimeLink {
            secret,
            purpose,
            expires_at: now.plus_seconds(purpose.seconds()),
        });
        path
    }

    /// Purpose of an unused link.
    pub(crate) fn purpose(&self, text: &str, now: Timestamp) -> Option<LinkPurpose> {
        let links = self.0.lock();
        let mut valid = links.iter().filter(|link| now < link.expires_at);
        valid
            .find(|link| link.secret.is_equal(text))
            .map(|link| link.purpose)
    }

    /// Uses a link up: of two callers with the same one only the first gets its purpose.
    pub(crate) fn take(&self, text: &str, now: Timestamp) -> Option<LinkPurpose> {
        let mut links = self.0.lock();
        let idx = links
            .iter()
            .position(|link| now < link.expires_at && link.secret.is_equal(text))?;
        links.remove(idx).map(|link| link.purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVITATION: LinkPurpose = LinkPurpose::Invitation(Role::User);

    fn secret(path: &str) -> &str {
        path.strip_prefix("/link/").unwrap()
    }

    #[test]
    fn a_link_is_valid_once_and_for_a_time() {
        let (links, now) = (
            OneTimeLinks::default(),
            Timestamp::from_seconds(1_000_000).unwrap(),
        );
        let path = links.issue(INVITATION, now);
        assert_eq!(links.purpose(secret(&path), now), Some(INVITATION));
        assert_eq!(links.take(secret(&path), now), Some(INVITATION));
        assert_eq!(links.take(secret(&path), now), None);
        assert_eq!(links.purpose("", now), None);
        let path = links.issue(INVITATION, now);
        let late = now.plus_seconds(7 * 86_400);
        assert_eq!(links.purpose(secret(&path), late), None);
        assert_eq!(links.take(secret(&path), late), None);
    }

    #[test]
    fn a_newer_link_for_a_password_ends_the_older_one() {
        let (links, now) = (
            OneTimeLinks::default(),
            Timestamp::from_seconds(1_000_000).unwrap(),
        );
        let reset = LinkPurpose::NewPassword(AccountId(3));
        let first = links.issue(reset, now);
        let other = links.issue(LinkPurpose::NewPassword(AccountId(4)), now);
        let second = links.issue(reset, now);
        assert_eq!(links.purpose(secret(&first), now), None);
        assert_eq!(links.purpose(secret(&second), now), Some(reset));
        assert!(links.purpose(secret(&other), now).is_some());
    }

    #[test]
    fn the_table_is_bounded() {
        let (links, now) = (
            OneTimeLinks::default(),
            Timestamp::from_seconds(1_000_000).unwrap(),
        );
        for _ in 0..=ONE_TIME_LINKS_MAX {
            links.issue(INVITATION, now);
        }
        assert_eq!(links.0.lock().len(), ONE_TIME_LINKS_MAX);
    }
}
