//! Interruption of an import, with a message about the number of loaded records.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use parking_lot::Mutex;

use super::error::say;
use crate::runtime::{Control, StopSignals};

/// Progress of an import, as far as an interruption depends on it.
#[derive(Debug)]
pub(super) struct ImportStage {
    /// True if nothing is ever loaded.
    is_dry_run: bool,
    /// True if a server does the loading.
    is_remote: bool,
    /// True when every file has been read: only then is anything loaded.
    is_read: Arc<AtomicBool>,
    loading: Mutex<LoadProgress>,
}

/// State of the loading, and of the request to stop it.
#[derive(Debug, Default)]
struct LoadProgress {
    /// Durable records; `None` until loading has begun: a server has received everything by then.
    loaded: Option<u64>,
    is_over: bool,
    is_asked: bool,
}

impl ImportStage {
    pub(super) fn new(is_dry_run: bool, is_remote: bool, is_read: &Arc<AtomicBool>) -> Self {
        Self {
            is_dry_run,
            is_remote,
            is_read: Arc::clone(is_read),
            loading: Mutex::default(),
        }
    }

    /// Notes the number of durable records. After the first note, the loading process has all of
    /// the input. Returns the last line of the process if it was asked to stop: the number is exact
    /// only between two groups, which is now.
    pub(super) fn loaded(&self, records: u64) -> Option<String> {
        let mut loading = self.loading.lock();
        loading.loaded = Some(records);
        loading.is_asked.then(|| self.last_line(records, false))
    }

    /// Notes that every record is durable and searchable: merging can be left to the server.
    pub(super) fn all_loaded(&self) {
        self.loading.lock().is_over = true;
    }

    /// Notes that the process is asked to stop. Returns the last line of the process, unless the
    /// current group is finished first; a second request does not wait for it.
    fn ask_to_stop(&self) -> Option<String> {
        let mut loading = self.loading.lock();
        let was_asked = std::mem::replace(&mut loading.is_asked, true);
        if loading.is_over {
            return Some("interrupted: every record is loaded, the server merges the index".into());
        }
        // Once it has begun, a server continues by itself. Before that, the end of this process
        // cuts off the unsent rest, and nothing is loaded: this process cannot know which.
        let is_waited_for = !self.is_remote || loading.loaded.is_none();
        if self.is_loading() && is_waited_for && !was_asked {
            return None;
        }
        Some(self.last_line(loading.loaded.unwrap_or(0), is_waited_for))
    }

    /// True if records may be loaded by now.
    fn is_loading(&self) -> bool {
        !self.is_dry_run && self.is_read.load(Ordering::SeqCst)
    }

    /// The last line of the process; `is_early` if the end of the current group, or the server's
    /// first report, was not waited for.
    fn last_line(&self, loaded: u64, is_early: bool) -> String {
        if !self.is_loading() {
            return "interrupted: nothing was loaded".to_owned();
        }
        if self.is_remote && is_early {
            return "interrupted before the server had said that it has everything: it loads all \
                    of it or nothing, run the import again"
                .to_owned();
        }
        if self.is_remote {
            return format!(
                "interrupted: {loaded} records are loaded so far, and the server loads the others"
            );
        }
        let or_more = if is_early { " or more" } else { "" };
        format!("interrupted: {loaded} records{or_more} are loaded, run the import again")
    }
}

/// Handles SIGINT and SIGTERM until it is dropped.
pub(super) struct Interrupt {
    control: Option<Control>,
}

impl Interrupt {
    /// Catches the signals; `bar` is removed before the last line is written.
    pub(super) fn watch(stage: Arc<ImportStage>, bar: Option<ProgressBar>) -> io::Result<Self> {
        let control = Control::start()?;
        let mut signals = StopSignals::catch(&control.handle())?;
        control.handle().spawn(async move {
            loop {
                signals.wait().await;
                if let Some(sentence) = stage.ask_to_stop() {
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

    /// Catches the signals for work that ends by itself once `flag` is set. A second signal ends
    /// the process at once.
    pub(super) fn raise(flag: Arc<AtomicBool>) -> io::Result<Self> {
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

/// Ends the process. Durable records stay, as after a crash; nothing else needs to be finished.
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
            let stage = ImportStage::new(false, is_remote, &Arc::default());
            let said = stage.ask_to_stop().unwrap();
            assert_eq!(said, "interrupted: nothing was loaded");
        }
        let stage = ImportStage::new(true, false, &Arc::new(true.into()));
        let said = stage.ask_to_stop().unwrap();
        assert_eq!(said, "interrupted: nothing was loaded");
    }

    #[test]
    fn a_group_under_way_comes_first_unless_asked_twice() {
        let stage = ImportStage::new(false, false, &Arc::new(true.into()));
        assert_eq!(stage.loaded(20_000), None);
        assert_eq!(stage.ask_to_stop(), None);
        let expected = "interrupted: 20000 records or more are loaded, run the import again";
        assert_eq!(stage.ask_to_stop().as_deref(), Some(expected));
        let expected = "interrupted: 40000 records are loaded, run the import again";
        assert_eq!(stage.loaded(40_000).as_deref(), Some(expected));
    }

    #[test]
    fn merging_waits_for_nobody() {
        let stage = ImportStage::new(false, false, &Arc::new(true.into()));
        assert_eq!(stage.loaded(20_000), None);
        stage.all_loaded();
        let expected = "interrupted: every record is loaded, the server merges the index";
        assert_eq!(stage.ask_to_stop().as_deref(), Some(expected));
    }

    #[test]
    fn a_server_is_waited_for_until_it_has_everything() {
        let stage = ImportStage::new(false, true, &Arc::new(true.into()));
        assert_eq!(stage.ask_to_stop(), None);
        let said = stage.ask_to_stop().unwrap();
        assert!(said.contains("loads all of it or nothing"), "{said}");
        let expected = "interrupted: 7 records are loaded so far, and the server loads the others";
        assert_eq!(stage.loaded(7).as_deref(), Some(expected));
    }

    #[test]
    fn a_server_goes_on() {
        let stage = ImportStage::new(false, true, &Arc::new(true.into()));
        assert_eq!(stage.loaded(7), None);
        let expected = "interrupted: 7 records are loaded so far, and the server loads the others";
        assert_eq!(stage.ask_to_stop().as_deref(), Some(expected));
    }
}
