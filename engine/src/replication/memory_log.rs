//! A log in memory, for tests and trials: nodes of one process share it.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::log::{AppendError, Log, LogEntry, LogState, ReadError};

/// A log in memory.
#[derive(Default)]
pub struct MemoryLog {
    entries: Mutex<Entries>,
    appended: Condvar,
}

#[derive(Default)]
struct Entries {
    epoch: u64,
    /// Entries that were dropped.
    dropped_count: u64,
    kept: Vec<Vec<u8>>,
    fault: Option<LogFault>,
}

/// Failure of the next append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFault {
    /// Nothing is stored.
    Unavailable,
    /// The entry is stored, and the caller gets no answer.
    StoredUnknown,
    /// Nothing is stored, and the caller gets no answer.
    LostUnknown,
}

impl MemoryLog {
    /// Makes the next append fail.
    pub fn fail_next(&self, fault: LogFault) {
        self.entries.lock().fault = Some(fault);
    }
}

impl Entries {
    fn last(&self) -> u64 {
        self.dropped_count + self.kept.len() as u64
    }
}

impl Log for MemoryLog {
    fn create(&self, epoch: u64) -> Result<(), ReadError> {
        if self.entries.lock().epoch != 0 {
            return Err(ReadError::Unavailable("there is a log already".into()));
        }
        self.reset(epoch)
    }

    fn reset(&self, epoch: u64) -> Result<(), ReadError> {
        *self.entries.lock() = Entries {
            epoch,
            ..Entries::default()
        };
        Ok(())
    }

    fn state(&self) -> Result<LogState, ReadError> {
        let entries = self.entries.lock();
        Ok(LogState {
            epoch: entries.epoch,
            oldest: entries.dropped_count + 1,
            last: entries.last(),
        })
    }

    fn append(&self, epoch: u64, body: &[u8]) -> Result<u64, AppendError> {
        let mut entries = self.entries.lock();
        let fault = entries.fault.take();
        if fault == Some(LogFault::Unavailable) {
            return Err(AppendError::Unavailable("nothing is stored".into()));
        }
        if entries.epoch == 0 {
            return Err(AppendError::NoLog);
        }
        if entries.epoch != epoch {
            let epoch = entries.epoch;
            return Err(AppendError::OtherEpoch { epoch });
        }
        if fault != Some(LogFault::LostUnknown) {
            entries.kept.push(body.to_vec());
            self.appended.notify_all();
        }
        match fault {
            None => Ok(entries.last()),
            Some(_) => Err(AppendError::Unknown("the answer was lost".into())),
        }
    }

    fn read(&self, after: u64, bytes_max: usize) -> Result<Vec<LogEntry>, ReadError> {
        let entries = self.entries.lock();
        if entries.epoch == 0 {
            return Err(ReadError::NoLog);
        }
        let Some(skipped) = after.checked_sub(entries.dropped_count) else {
            let oldest = entries.dropped_count + 1;
            return Err(ReadError::Truncated { oldest });
        };
        let mut read = Vec::new();
        let mut bytes = 0;
        for (seq, body) in (after + 1..).zip(entries.kept.iter().skip(skipped as usize)) {
            if !read.is_empty() && bytes_max < bytes + body.len() {
                break;
            }
            bytes += body.len();
            let body = body.clone();
            read.push(LogEntry { seq, body });
        }
        Ok(read)
    }

    fn wait(&self, after: u64, at_most: Duration) {
        let mut entries = self.entries.lock();
        if entries.last() <= after {
            self.appended.wait_for(&mut entries, at_most);
        }
    }

    fn truncate(&self, through: u64) -> Result<(), ReadError> {
        let mut entries = self.entries.lock();
        let through = through.min(entries.last());
        let count = through.saturating_sub(entries.dropped_count);
        entries.kept.drain(..count as usize);
        entries.dropped_count += count;
        Ok(())
    }
}
