//! Rate limits of the pages: sign-ins per account and address, sign-ups per address (API.md,
//! 12.5), pages of the catalog per account (12.4).

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::limits::THROTTLE_ENTRIES_MAX;
use crate::runtime::ClientNetwork;

/// Subject whose attempts are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum AttemptSubject {
    /// Sign-ins with one email address, whether or not it has an account.
    SignInAccount(String),
    /// Sign-ins from one client address.
    SignInAddress(ClientNetwork),
    /// Sign-ups from one client address.
    SignUpAddress(ClientNetwork),
    /// Password changes of a signed-in account.
    PasswordChange(u64),
    /// Pages of the catalog (searches, records, downloads) shown to an account.
    Catalog(u64),
}

impl AttemptSubject {
    /// Number of attempts in a window, and its length (API.md, 12.4 and 12.5).
    const fn limit(&self) -> (u32, Duration) {
        match self {
            Self::SignInAccount(_) | Self::PasswordChange(_) => (10, Duration::from_secs(600)),
            Self::SignInAddress(_) => (40, Duration::from_secs(600)),
            Self::SignUpAddress(_) => (20, Duration::from_secs(3600)),
            Self::Catalog(_) => (120, Duration::from_secs(60)),
        }
    }
}

#[derive(Clone, Copy)]
struct AttemptWindow {
    started_at: Duration,
    attempts: u32,
    /// True if an attempt was rejected in this window.
    is_exhausted: bool,
}

/// Windows of all subjects. The hash is seeded, because clients choose the subjects.
#[derive(Default)]
pub(crate) struct Throttle(Mutex<HashMap<AttemptSubject, AttemptWindow>>);

/// Too many attempts, and when the next one is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("too many attempts: the next is allowed in {retry_after_seconds} s")]
pub(crate) struct AttemptsRejection {
    pub(crate) retry_after_seconds: u64,
    /// Subject whose window is exhausted, if this is the first rejection in it: the audit log
    /// notes it once.
    pub(crate) newly_exhausted: Option<AttemptSubject>,
}

impl Throttle {
    /// Counts an attempt of each subject before it is made, so that concurrent attempts cannot
    /// exceed the limit.
    ///
    /// If one of the subjects has none left, nothing is counted for the others: otherwise a
    /// client without attempts could use up those of somebody else's account. If the table is
    /// full of open windows, the attempt is rejected: dropping windows would lift the limits.
    pub(crate) fn take(
        &self,
        subjects: &[AttemptSubject],
        now: Duration,
    ) -> Result<(), AttemptsRejection> {
        let mut windows = self.0.lock();
        if THROTTLE_ENTRIES_MAX < windows.len() + subjects.len() {
            // Ended windows are dropped only here: an attempt usually costs no pass over the table.
            windows.retain(|subject, window| now < window.started_at + subject.limit().1);
        }
        if THROTTLE_ENTRIES_MAX < windows.len() + subjects.len() {
            return Err(AttemptsRejection {
                retry_after_seconds: 60,
                newly_exhausted: None,
            });
        }
        // First check all subjects, then count them all.
        for subject in subjects {
            let (attempts_max, length) = subject.limit();
            if let Some(window) = windows.get_mut(subject) {
                let left = (window.started_at + length).saturating_sub(now);
                if !left.is_zero() && attempts_max <= window.attempts {
                    let was_exhausted = std::mem::replace(&mut window.is_exhausted, true);
                    return Err(AttemptsRejection {
                        retry_after_seconds: left.as_secs() + 1,
                        newly_exhausted: if was_exhausted {
                            None
                        } else {
                            Some(subject.clone())
                        },
                    });
                }
            }
        }
        for subject in subjects {
            let length = subject.limit().1;
            let fresh = AttemptWindow {
                started_at: now,
                attempts: 0,
                is_exhausted: false,
            };
            let window = windows.entry(subject.clone()).or_insert(fresh);
            if window.started_at + length <= now {
                *window = fresh;
            }
            window.attempts += 1;
        }
        Ok(())
    }

    /// Returns an attempt that succeeded.
    pub(crate) fn give_back(&self, subjects: &[AttemptSubject]) {
        let mut windows = self.0.lock();
        for subject in subjects {
            if let Some(window) = windows.get_mut(subject) {
                window.attempts = window.attempts.saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(email: &str) -> AttemptSubject {
        AttemptSubject::SignInAccount(email.to_owned())
    }

    #[test]
    fn an_account_has_ten_attempts_in_ten_minutes() {
        let (throttle, start) = (Throttle::default(), Duration::from_secs(7));
        for _ in 0..10 {
            throttle.take(&[account("a@b")], start).unwrap();
        }
        let late = start + Duration::from_secs(599);
        let refused = |newly_exhausted| {
            Err(AttemptsRejection {
                retry_after_seconds: 2,
                newly_exhausted,
            })
        };
        let first = throttle.take(&[account("a@b")], late);
        assert_eq!(first, refused(Some(account("a@b"))));
        assert_eq!(throttle.take(&[account("a@b")], late), refused(None));
        throttle.take(&[account("c@d")], start).unwrap();
        throttle
            .take(&[account("a@b")], start + Duration::from_secs(600))
            .unwrap();
    }

    #[test]
    fn a_rejected_address_uses_up_no_attempts_of_an_account() {
        let (throttle, now) = (Throttle::default(), Duration::from_secs(7));
        let address =
            AttemptSubject::SignInAddress(ClientNetwork::of("2001:db8::1".parse().unwrap()));
        let neighbour =
            AttemptSubject::SignInAddress(ClientNetwork::of("2001:db8::2".parse().unwrap()));
        assert_eq!(address, neighbour);
        for number in 0..40 {
            let subjects = [account(&format!("{number}@b")), address.clone()];
            throttle.take(&subjects, now).unwrap();
        }
        for _ in 0..20 {
            let subjects = [account("victim@b"), neighbour.clone()];
            throttle.take(&subjects, now).unwrap_err();
        }
        throttle.take(&[account("victim@b")], now).unwrap();
    }

    #[test]
    fn a_success_returns_its_attempt_and_the_table_is_bounded() {
        let (throttle, now) = (Throttle::default(), Duration::from_secs(7));
        for _ in 0..100 {
            throttle.take(&[account("a@b")], now).unwrap();
            throttle.give_back(&[account("a@b")]);
        }
        for number in 1..THROTTLE_ENTRIES_MAX {
            throttle.take(&[account(&number.to_string())], now).unwrap();
        }
        throttle.take(&[account("one more")], now).unwrap_err();
        let later = now + Duration::from_secs(600);
        throttle.take(&[account("one more")], later).unwrap();
    }
}
