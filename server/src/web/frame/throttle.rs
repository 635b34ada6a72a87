//! Rate limits of the pages: sign-ins per account, address and browser, sign-ups per address
//! (API.md, 12.5), pages of the catalog and forms per account (12.4, 12.12).
//!
//! Each kind of subject has a bounded table of its own, so that a flood of one kind pushes out
//! nothing of another: invented email addresses never meet the windows of accounts.

use std::time::Duration;

use parking_lot::Mutex;

use crate::cache::ExpiringMap;
use crate::limits::THROTTLE_ENTRIES_MAX;
use crate::runtime::ClientNetwork;

/// The account of a sign-in, as far as attempts are counted by it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum SignInAccount {
    /// An account, and a digest of its password's hash: a new password opens a new window.
    Known(u64, u64),
    /// An address without an account. It is limited alike, so that the limit does not reveal this.
    Unknown(String),
}

/// Subject of the counted attempts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum AttemptSubject {
    /// Sign-ins with one account from one client address.
    SignInPair(SignInAccount, ClientNetwork),
    /// Sign-ins with one account from everywhere.
    SignInAccount(SignInAccount),
    /// Sign-ins from one client address.
    SignInAddress(ClientNetwork),
    /// Sign-ins from a browser that has signed in to the account before.
    SignInDevice([u8; 32]),
    /// Sign-ins with the right password of an account: each costs as much as a wrong one.
    SignInRight(u64),
    /// Sign-ups from one client address.
    SignUpAddress(ClientNetwork),
    /// Password changes of a signed-in account.
    PasswordChange(u64),
    /// Codes of the second step of an account.
    SignInCode(u64),
    /// The same from a browser that has signed in to the account before: an outsider with only the
    /// password does not lock its owner out.
    SignInCodeDevice([u8; 32]),
    /// Changes of the address of an account: each may reveal, at the next sign-in, whether an
    /// address has an account.
    AddressChange(u64),
    /// Forms that an account submits.
    Form(u64),
    /// Pages of the catalog (searches, records, downloads) shown to an account.
    Catalog(u64),
    /// The same of a public catalog, shown without a session.
    CatalogAddress(ClientNetwork),
}

/// Kinds of subjects, each with a table.
const TABLES_COUNT: usize = 15;

impl AttemptSubject {
    /// Allowed attempts in a window, and its length (API.md, 12.4, 12.5 and 12.12).
    const fn limit(&self) -> (u32, Duration) {
        match self {
            Self::SignInPair(..)
            | Self::SignInDevice(_)
            | Self::PasswordChange(_)
            | Self::SignInCode(_)
            | Self::SignInCodeDevice(_) => (10, Duration::from_secs(600)),
            Self::SignInAccount(_) => (50, Duration::from_secs(600)),
            Self::SignInAddress(_) => (40, Duration::from_secs(600)),
            Self::SignInRight(_) => (30, Duration::from_secs(600)),
            Self::SignUpAddress(_) => (20, Duration::from_secs(3600)),
            Self::AddressChange(_) => (5, Duration::from_secs(3600)),
            Self::Form(_) => (60, Duration::from_secs(60)),
            Self::Catalog(_) | Self::CatalogAddress(_) => (120, Duration::from_secs(60)),
        }
    }

    const fn table_idx(&self) -> usize {
        match self {
            Self::SignInPair(SignInAccount::Known(..), _) => 0,
            Self::SignInPair(SignInAccount::Unknown(_), _) => 1,
            Self::SignInAccount(SignInAccount::Known(..)) => 2,
            Self::SignInAccount(SignInAccount::Unknown(_)) => 3,
            Self::SignInAddress(_) => 4,
            Self::SignInDevice(_) => 5,
            Self::SignUpAddress(_) => 6,
            Self::PasswordChange(_) => 7,
            Self::Form(_) => 8,
            Self::Catalog(_) => 9,
            Self::CatalogAddress(_) => 10,
            Self::SignInCode(_) => 11,
            Self::SignInCodeDevice(_) => 12,
            Self::AddressChange(_) => 13,
            Self::SignInRight(_) => 14,
        }
    }
}

struct AttemptWindow {
    attempts: u32,
    /// True if an attempt was rejected in this window.
    is_exhausted: bool,
}

/// Windows of one kind of subjects. A flood can win its sender a fresh window, but neither take
/// memory nor end the windows of all others.
type AttemptTable = ExpiringMap<AttemptSubject, AttemptWindow, Duration>;

/// Windows of all subjects.
pub(crate) struct Throttle(Mutex<[AttemptTable; TABLES_COUNT]>);

impl Default for Throttle {
    fn default() -> Self {
        let table = |_| AttemptTable::new(THROTTLE_ENTRIES_MAX);
        Self(Mutex::new(std::array::from_fn(table)))
    }
}

/// Too many attempts, and when the next one is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("too many attempts: the next is allowed in {retry_after_seconds} s")]
pub(crate) struct AttemptsRejection {
    pub(crate) retry_after_seconds: u64,
    /// Subject of the exhausted window, if this is the first rejection in it: the audit log notes
    /// it once.
    pub(crate) newly_exhausted: Option<AttemptSubject>,
}

impl Throttle {
    /// Counts an attempt of each subject before it is made, so that concurrent attempts cannot
    /// exceed the limit.
    ///
    /// If one of the subjects has none left, nothing is counted for the others: otherwise a client
    /// without attempts could use up those of another account.
    pub(crate) fn take(
        &self,
        subjects: &[AttemptSubject],
        now: Duration,
    ) -> Result<(), AttemptsRejection> {
        let mut tables = self.0.lock();
        // First check all subjects, then count them all.
        for subject in subjects {
            let (attempts_max, _) = subject.limit();
            let Some((window, ends_at)) = tables[subject.table_idx()].get_mut(subject) else {
                continue;
            };
            if ends_at <= now || window.attempts < attempts_max {
                continue;
            }
            let left = ends_at - now;
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
        for subject in subjects {
            count(&mut tables[subject.table_idx()], subject, now);
        }
        Ok(())
    }

    /// Returns an attempt that succeeded, or that was not made.
    pub(crate) fn give_back(&self, subjects: &[AttemptSubject]) {
        let mut tables = self.0.lock();
        for subject in subjects {
            if let Some((window, _)) = tables[subject.table_idx()].get_mut(subject) {
                window.attempts = window.attempts.saturating_sub(1);
            }
        }
    }
}

/// Counts an attempt in the open window of a subject, or in a new one.
fn count(table: &mut AttemptTable, subject: &AttemptSubject, now: Duration) {
    if let Some((window, ends_at)) = table.get_mut(subject)
        && now < ends_at
    {
        window.attempts += 1;
        return;
    }
    let window = AttemptWindow {
        attempts: 1,
        is_exhausted: false,
    };
    table.insert(subject.clone(), window, now + subject.limit().1, now);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(7);

    fn network(number: u32) -> ClientNetwork {
        ClientNetwork::of(std::net::Ipv4Addr::from_bits(number).into())
    }

    fn known(id: u64) -> SignInAccount {
        SignInAccount::Known(id, 0)
    }

    fn unknown(number: u32) -> SignInAccount {
        SignInAccount::Unknown(format!("{number}@example.org"))
    }

    /// The subjects of a sign-in.
    fn sign_in(account: SignInAccount, address: u32) -> [AttemptSubject; 3] {
        [
            AttemptSubject::SignInPair(account.clone(), network(address)),
            AttemptSubject::SignInAccount(account),
            AttemptSubject::SignInAddress(network(address)),
        ]
    }

    #[test]
    fn an_account_has_ten_attempts_in_ten_minutes_from_an_address() {
        let throttle = Throttle::default();
        let subjects = sign_in(known(1), 1);
        for _ in 0..10 {
            throttle.take(&subjects, NOW).unwrap();
        }
        let late = NOW + Duration::from_secs(599);
        let refused = |newly_exhausted| {
            Err(AttemptsRejection {
                retry_after_seconds: 2,
                newly_exhausted,
            })
        };
        let first = throttle.take(&subjects, late);
        assert_eq!(first, refused(Some(subjects[0].clone())));
        assert_eq!(throttle.take(&subjects, late), refused(None));
        throttle.take(&sign_in(known(2), 1), NOW).unwrap();
        // Another address is another person, up to the account's own limit.
        throttle.take(&sign_in(known(1), 2), NOW).unwrap();
        let end = NOW + Duration::from_secs(600);
        throttle.take(&subjects, end).unwrap();
    }

    #[test]
    fn an_account_has_fifty_attempts_from_everywhere_and_a_new_password_more() {
        let throttle = Throttle::default();
        for number in 0..50 {
            throttle.take(&sign_in(known(1), number), NOW).unwrap();
        }
        let rejected = throttle.take(&sign_in(known(1), 99), NOW).unwrap_err();
        let subject = AttemptSubject::SignInAccount(known(1));
        assert_eq!(rejected.newly_exhausted, Some(subject));
        throttle
            .take(&sign_in(SignInAccount::Known(1, 7), 99), NOW)
            .unwrap();
        let device = [AttemptSubject::SignInDevice([1; 32])];
        throttle.take(&device, NOW).unwrap();
    }

    #[test]
    fn a_rejected_address_uses_up_no_attempts_of_an_account() {
        let throttle = Throttle::default();
        let network = |text: &str| ClientNetwork::of(text.parse().unwrap());
        let address = AttemptSubject::SignInAddress(network("2001:db8::1"));
        let neighbour = AttemptSubject::SignInAddress(network("2001:db8::2"));
        assert_eq!(address, neighbour);
        let account = |account| AttemptSubject::SignInAccount(account);
        for number in 0..40 {
            let subjects = [account(unknown(number)), address.clone()];
            throttle.take(&subjects, NOW).unwrap();
        }
        for _ in 0..60 {
            let subjects = [account(known(1)), neighbour.clone()];
            throttle.take(&subjects, NOW).unwrap_err();
        }
        throttle.take(&[account(known(1))], NOW).unwrap();
    }

    #[test]
    fn a_success_returns_its_attempt() {
        let throttle = Throttle::default();
        for _ in 0..100 {
            throttle.take(&sign_in(known(1), 1), NOW).unwrap();
            throttle.give_back(&sign_in(known(1), 1));
        }
    }

    /// A flood of invented addresses from as many networks changes nothing for the others: neither
    /// for those with attempts left, nor for those without.
    #[test]
    fn a_flood_switches_nobody_off_and_lifts_no_limit() {
        let throttle = Throttle::default();
        for _ in 0..10 {
            throttle.take(&sign_in(known(1), 1), NOW).unwrap();
        }
        for number in 0..70_000 {
            let subjects = sign_in(unknown(number), 1_000 + number);
            throttle.take(&subjects, NOW).unwrap();
        }
        throttle.take(&sign_in(known(1), 1), NOW).unwrap_err();
        throttle.take(&sign_in(known(2), 2), NOW).unwrap();
        let sign_up = [AttemptSubject::SignUpAddress(network(3))];
        throttle.take(&sign_up, NOW).unwrap();
        for table in throttle.0.lock().iter() {
            assert!(table.count(NOW) <= THROTTLE_ENTRIES_MAX);
        }
    }
}
