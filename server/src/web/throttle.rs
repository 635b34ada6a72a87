//! How often something may be tried: sign-ins per account and address, sign-ups per address
//! (API.md, 12.5), pages of the catalog per account (12.4).

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;

/// Who is counted, at most; when the table is full of open windows, newcomers are refused.
const ENTRIES_MAX: usize = 65_536;

/// What a window belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// Tries at one e-mail address, whether or not it has an account.
    SignInAccount(String),
    /// Tries from one client address.
    SignInAddress(IpAddr),
    /// Accounts made from one client address.
    SignUpAddress(IpAddr),
    /// Tries at the password of a signed-in account.
    PasswordChange(u64),
    /// Searches, records and downloads on pages of the catalog.
    Catalog(u64),
}

impl Subject {
    /// How many tries in how long a window.
    const fn bound(&self) -> (u32, Duration) {
        match self {
            Self::SignInAccount(_) | Self::PasswordChange(_) => (10, Duration::from_secs(600)),
            Self::SignInAddress(_) => (40, Duration::from_secs(600)),
            Self::SignUpAddress(_) => (20, Duration::from_secs(3600)),
            Self::Catalog(_) => (120, Duration::from_secs(60)),
        }
    }
}

#[derive(Clone, Copy)]
struct Window {
    started_at: Duration,
    tries: u32,
    /// Whether a try was refused in it.
    is_shut: bool,
}

/// The windows of every subject. Hashing is seeded: subjects are what clients send.
#[derive(Default)]
pub(crate) struct Throttle(Mutex<HashMap<Subject, Window>>);

/// Too many attempts, and when the next one is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("too many attempts: the next is allowed in {retry_after_seconds} s")]
pub(crate) struct AttemptsRejection {
    pub(crate) retry_after_seconds: u64,
    /// Whose window is full, when this is the first refusal in it.
    pub(crate) newly_shut: Option<Subject>,
}

impl Throttle {
    /// Counts a try of each subject before it is made, so that tries at the same time do not slip
    /// through. When one of them has none left, nothing is counted.
    pub(crate) fn take(
        &self,
        subjects: &[Subject],
        now: Duration,
    ) -> Result<(), AttemptsRejection> {
        let mut windows = self.0.lock();
        if ENTRIES_MAX < windows.len() + subjects.len() {
            windows.retain(|subject, window| now < window.started_at + subject.bound().1);
        }
        if ENTRIES_MAX < windows.len() + subjects.len() {
            return Err(AttemptsRejection {
                retry_after_seconds: 60,
                newly_shut: None,
            });
        }
        for subject in subjects {
            let (tries_max, length) = subject.bound();
            if let Some(window) = windows.get_mut(subject) {
                let left = (window.started_at + length).saturating_sub(now);
                if !left.is_zero() && tries_max <= window.tries {
                    let was_shut = std::mem::replace(&mut window.is_shut, true);
                    return Err(AttemptsRejection {
                        retry_after_seconds: left.as_secs() + 1,
                        newly_shut: (!was_shut).then(|| subject.clone()),
                    });
                }
            }
        }
        for subject in subjects {
            let length = subject.bound().1;
            let fresh = Window {
                started_at: now,
                tries: 0,
                is_shut: false,
            };
            let window = windows.entry(subject.clone()).or_insert(fresh);
            if window.started_at + length <= now {
                *window = fresh;
            }
            window.tries += 1;
        }
        Ok(())
    }

    /// Gives a try back: it succeeded.
    pub(crate) fn give_back(&self, subjects: &[Subject]) {
        let mut windows = self.0.lock();
        for subject in subjects {
            if let Some(window) = windows.get_mut(subject) {
                window.tries = window.tries.saturating_sub(1);
            }
        }
    }
}

/// The address that is counted: IPv4 as it is, IPv6 by its /64.
pub(crate) fn counted_address(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(email: &str) -> Subject {
        Subject::SignInAccount(email.to_owned())
    }

    #[test]
    fn an_account_has_ten_tries_in_ten_minutes() {
        let (throttle, start) = (Throttle::default(), Duration::from_secs(7));
        for _ in 0..10 {
            throttle.take(&[account("a@b")], start).unwrap();
        }
        let late = start + Duration::from_secs(599);
        let refused = |newly_shut| {
            Err(AttemptsRejection {
                retry_after_seconds: 2,
                newly_shut,
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
    fn an_address_is_refused_whatever_the_account_and_counts_nothing_then() {
        let (throttle, now) = (Throttle::default(), Duration::from_secs(7));
        let address = Subject::SignInAddress(counted_address("2001:db8::1".parse().unwrap()));
        let neighbour = Subject::SignInAddress(counted_address("2001:db8::2".parse().unwrap()));
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
    fn a_success_gives_its_try_back_and_the_table_is_bounded() {
        let (throttle, now) = (Throttle::default(), Duration::from_secs(7));
        for _ in 0..100 {
            throttle.take(&[account("a@b")], now).unwrap();
            throttle.give_back(&[account("a@b")]);
        }
        for number in 1..ENTRIES_MAX {
            throttle.take(&[account(&number.to_string())], now).unwrap();
        }
        throttle.take(&[account("one more")], now).unwrap_err();
        let later = now + Duration::from_secs(600);
        throttle.take(&[account("one more")], later).unwrap();
    }
}
