//! An import that is asked to stop: it says how far it came.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use indicatif::ProgressBar;

use super::context::say;
use crate::ops::Failure;
use crate::runtime::{Control, StopSignals};

/// How far an import has come.
#[derive(Debug)]
pub(super) struct Stage {
    /// Whether nothing is ever loaded, or a server does the loading.
    is_dry_run: bool,
    is_remote: bool,
    /// Whether every file has been read: only then is anything loaded.
    is_read: Arc<AtomicBool>,
    loaded: AtomicU64,
    is_all_loaded: AtomicBool,
    is_asked: AtomicBool,
}

impl Stage {
    pub(super) fn new(is_dry_run: bool, is_remote: bool, is_read: &Arc<AtomicBool>) -> Self {
        Self {
            is_dry_run,
            is_remote,
            is_read: Arc::clone(is_read),
            loaded: AtomicU64::new(0),
            is_all_loaded: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
        }
    }

    /// So many records are durable. What to say and end when the process was asked to stop:
    /// between two groups is the place where the number is exact.
    pub(super) fn loaded(&self, records: u64) -> Option<String> {
        self.loaded.store(records, Ordering::SeqCst);
        let is_asked = self.is_asked.load(Ordering::SeqCst);
        is_asked.then(|| self.farewell(false))
    }

    /// Every record is durable and searchable: what goes on can be left to the server.
    pub(super) fn all_loaded(&self) {
        self.is_all_loaded.store(true, Ordering::SeqCst);
    }

    /// What to say at once when the process is asked to stop; none when the group under way comes
    /// first. Who asks twice does not wait for it.
    fn asked(&self) -> Option<String> {
        let was_asked = self.is_asked.swap(true, Ordering::SeqCst);
        if self.is_all_loaded.load(Ordering::SeqCst) {
            return Some("interrupted: every record is loaded, the server merges the index".into());
        }
        let is_loading = self.is_read.load(Ordering::SeqCst) && !self.is_dry_run && !self.is_remote;
        (!is_loading || was_asked).then(|| self.farewell(is_loading))
    }

    fn farewell(&self, is_within_group: bool) -> String {
        let loaded = self.loaded.load(Ordering::SeqCst);
        if self.is_dry_run || !self.is_read.load(Ordering::SeqCst) {
            return "interrupted: nothing was loaded".to_owned();
        }
        if self.is_remote {
            return format!(
                "interrupted: {loaded} records are loaded so far, and the server loads the others"
            );
        }
        let or_more = if is_within_group { " or more" } else { "" };
        format!("interrupted: {loaded} records{or_more} are loaded, run the import again")
    }
}

/// Answers SIGINT and SIGTERM while it lives.
pub(super) struct Interrupt {
    control: Option<Control>,
}

impl Interrupt {
    /// Catches the signals; `bar` is removed before anything is said.
    pub(super) fn watch(stage: Arc<Stage>, bar: Option<ProgressBar>) -> Result<Self, Failure> {
        let control = Control::start()?;
        let mut signals = StopSignals::catch(&control.handle())?;
        control.handle().spawn(async move {
            loop {
                signals.wait().await;
                if let Some(sentence) = stage.asked() {
                    if let Some(bar) = &bar {
                        bar.finish_and_clear();
                    }
                    end(&sentence);
                }
            }
        });
        Ok(Self {
            control: Some(control),
        })
    }
}

impl Interrupt {
    /// Catches the signals for work that ends by itself when `flag` is raised. Who asks twice does
    /// not wait for it.
    pub(super) fn raise(flag: Arc<AtomicBool>) -> Result<Self, Failure> {
        let control = Control::start()?;
        let mut signals = StopSignals::catch(&control.handle())?;
        control.handle().spawn(async move {
            signals.wait().await;
            flag.store(true, Ordering::SeqCst);
            signals.wait().await;
            end("interrupted: the last lines may not be loaded, run the import again");
        });
        Ok(Self {
            control: Some(control),
        })
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if let Some(control) = self.control.take() {
            control.stop();
        }
    }
}

/// What is durable stays, as after a crash; nothing else is to be finished.
pub(super) fn end(sentence: &str) -> ! {
    say(sentence);
    std::process::exit(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_is_not_loaded() {
        for is_remote in [false, true] {
            let stage = Stage::new(false, is_remote, &Arc::default());
            let said = stage.asked().unwrap();
            assert_eq!(said, "interrupted: nothing was loaded");
        }
        let stage = Stage::new(true, false, &Arc::new(true.into()));
        let said = stage.asked().unwrap();
        assert_eq!(said, "interrupted: nothing was loaded");
    }

    #[test]
    fn a_group_under_way_comes_first_unless_asked_twice() {
        let stage = Stage::new(false, false, &Arc::new(true.into()));
        assert_eq!(stage.loaded(20_000), None);
        assert_eq!(stage.asked(), None);
        let expected = "interrupted: 20000 records or more are loaded, run the import again";
        assert_eq!(stage.asked().as_deref(), Some(expected));
        let expected = "interrupted: 40000 records are loaded, run the import again";
        assert_eq!(stage.loaded(40_000).as_deref(), Some(expected));
    }

    #[test]
    fn merging_waits_for_nobody() {
        let stage = Stage::new(false, false, &Arc::new(true.into()));
        assert_eq!(stage.loaded(20_000), None);
        stage.all_loaded();
        let expected = "interrupted: every record is loaded, the server merges the index";
        assert_eq!(stage.asked().as_deref(), Some(expected));
    }

    #[test]
    fn a_server_goes_on() {
        let stage = Stage::new(false, true, &Arc::new(true.into()));
        assert_eq!(stage.loaded(7), None);
        let expected = "interrupted: 7 records are loaded so far, and the server loads the others";
        assert_eq!(stage.asked().as_deref(), Some(expected));
    }
}
