//! Settings of the running service. A reload replaces them while requests are served.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use subcat_engine::{ApiKey, RateLimit};

use crate::auth::DefaultLimits;
use crate::config::{AccessLog, Config, Origins, RateLimits};
use crate::limits::ACCESS_SAMPLE;

/// The settings in effect.
pub(super) struct LiveSettings {
    current: ArcSwap<Config>,
    /// Origins of the values; `None` in tests, which have no sources.
    origins: ArcSwapOption<Origins>,
}

impl LiveSettings {
    pub(super) fn new(config: Config) -> Self {
        Self {
            current: ArcSwap::from_pointee(config),
            origins: ArcSwapOption::empty(),
        }
    }

    pub(super) fn current(&self) -> Guard<Arc<Config>> {
        self.current.load()
    }

    pub(super) fn replace(&self, config: Config) {
        self.current.store(Arc::new(config));
    }

    pub(super) fn origins(&self) -> Option<Arc<Origins>> {
        self.origins.load_full()
    }

    /// Replaces the origins of settings in effect: at first those of all, later those of the
    /// settings that a reload applies.
    pub(super) fn set_origins(&self, loaded: &Origins) {
        let origins = match self.origins() {
            Some(running) => loaded.applied_over(&running),
            None => loaded.clone(),
        };
        self.origins.store(Some(Arc::new(origins)));
    }
}

/// The default limits, apart from the other settings: every request reads them, and a load of a
/// number costs less than one of the shared pointer.
pub struct LiveRateLimits {
    /// Requests, shifted left by 32, and the seconds of the window: they change together.
    api_key: AtomicU64,
    address_requests: AtomicU32,
    anonymous_requests: AtomicU32,
    account_factor: AtomicU32,
}

impl LiveRateLimits {
    pub(super) fn new(limits: &RateLimits) -> Self {
        let live = Self {
            api_key: AtomicU64::new(0),
            address_requests: AtomicU32::new(0),
            anonymous_requests: AtomicU32::new(0),
            account_factor: AtomicU32::new(0),
        };
        live.set(limits);
        live
    }

    pub(super) fn set(&self, limits: &RateLimits) {
        let RateLimit {
            requests,
            window_seconds,
        } = limits.api_key;
        let word = u64::from(requests.get()) << 32 | u64::from(window_seconds.get());
        self.api_key.store(word, Ordering::Relaxed);
        let address = limits.address_requests.get();
        self.address_requests.store(address, Ordering::Relaxed);
        let anonymous = limits.anonymous_requests.get();
        self.anonymous_requests.store(anonymous, Ordering::Relaxed);
        let factor = limits.account_factor;
        self.account_factor.store(factor, Ordering::Relaxed);
    }

    /// Default limit of a key. Cost: one relaxed load.
    pub fn api_key(&self) -> RateLimit {
        let word = self.api_key.load(Ordering::Relaxed);
        RateLimit {
            requests: not_zero((word >> 32) as u32),
            window_seconds: not_zero(word as u32),
        }
    }

    /// Limits of keys without a limit of their own.
    pub fn defaults(&self) -> DefaultLimits {
        let api_key = self.api_key();
        let address_key = RateLimit {
            requests: not_zero(self.address_requests.load(Ordering::Relaxed)),
            ..api_key
        };
        DefaultLimits {
            api_key,
            address_key,
        }
    }

    /// Limit of a key: its own, or that of its scopes.
    pub fn of_key(&self, api_key: &ApiKey) -> RateLimit {
        let default = || self.defaults().of_scopes(api_key.scopes);
        api_key.limit.unwrap_or_else(default)
    }

    /// Limit of a client address, for requests without a valid key.
    pub fn address(&self) -> RateLimit {
        RateLimit {
            requests: not_zero(self.anonymous_requests.load(Ordering::Relaxed)),
            ..self.api_key()
        }
    }

    /// Requests of all keys of an account together, as a multiple of a key's limit; `None` if they
    /// have no common limit.
    pub fn account_factor(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.account_factor.load(Ordering::Relaxed))
    }
}

/// The requests that get a line in the log, apart from the other settings: every request asks.
pub struct LiveAccessLog {
    setting: AtomicU8,
    /// Random id of this process, so that names of requests differ from those before a restart.
    process: u32,
}

impl LiveAccessLog {
    pub(super) fn new(setting: AccessLog) -> Self {
        Self {
            setting: AtomicU8::new(setting as u8),
            // Without randomness names repeat after a restart, and nothing else is lost.
            process: getrandom::u32().unwrap_or(0),
        }
    }

    pub(super) fn set(&self, setting: AccessLog) {
        self.setting.store(setting as u8, Ordering::Relaxed);
    }

    /// Returns true if no request gets a line. Cost: one relaxed load.
    pub fn is_off(&self) -> bool {
        self.setting.load(Ordering::Relaxed) == AccessLog::Off as u8
    }

    /// Returns true if the request of this number gets a line.
    pub fn wants(&self, number: u64) -> bool {
        let setting = self.setting.load(Ordering::Relaxed);
        setting == AccessLog::All as u8
            || (setting == AccessLog::Sampled as u8 && number.is_multiple_of(ACCESS_SAMPLE))
    }

    /// The name of a request of this number: no other one has it, on any worker, before or after
    /// a restart.
    pub fn request_id(&self, worker_idx: usize, number: u64) -> String {
        format!("{:08x}-{worker_idx}-{number}", self.process)
    }
}

/// A number that was stored from a [`NonZeroU32`].
fn not_zero(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use subcat_engine::Scopes;

    use super::*;

    #[test]
    fn a_sample_is_one_request_of_a_hundred() {
        let log = LiveAccessLog::new(AccessLog::Off);
        let wanted = |log: &LiveAccessLog| (0..1000).filter(|number| log.wants(*number)).count();
        assert_eq!((log.is_off(), wanted(&log)), (true, 0));
        log.set(AccessLog::Sampled);
        assert_eq!((log.is_off(), wanted(&log)), (false, 10));
        log.set(AccessLog::All);
        assert_eq!((log.is_off(), wanted(&log)), (false, 1000));
    }

    #[test]
    fn names_of_requests_differ_by_process_worker_and_number() {
        let [log, after_restart] = [(); 2].map(|()| LiveAccessLog::new(AccessLog::All));
        let mut names = vec![log.request_id(0, 1), log.request_id(0, 2)];
        names.extend([log.request_id(1, 1), after_restart.request_id(0, 1)]);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 4, "{names:?}");
    }

    #[test]
    fn limits_are_those_that_were_set_last() {
        let live = LiveRateLimits::new(&RateLimits::default());
        assert_eq!(live.api_key().to_string(), "60/60");
        assert_eq!(live.defaults().of_scopes(Scopes::ALL).to_string(), "60/60");
        assert_eq!(
            live.defaults().of_scopes(Scopes::ADDRESS).to_string(),
            "3000/60"
        );
        assert_eq!(live.address().to_string(), "600/60");
        assert_eq!(live.account_factor().map(NonZeroU32::get), Some(5));
        let limits = RateLimits {
            api_key: RateLimit::parse("4294967295/86400").unwrap(),
            address_requests: NonZeroU32::MAX,
            anonymous_requests: NonZeroU32::MIN,
            account_factor: 0,
        };
        live.set(&limits);
        assert_eq!(live.api_key(), limits.api_key);
        assert_eq!(live.address().to_string(), "1/86400");
        assert_eq!(live.account_factor(), None);
    }
}
