//! Threads that give way to others.
#![allow(unsafe_code)]

use std::io;

/// The lowest nice value there is.
const NICENESS: i32 = 19;

/// When a thread in the background may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// With the smallest share of its core: it goes on, slowly, whatever else runs.
    Low,
    /// Only when nothing else wants its core. Whatever wakes there goes first at once.
    Idle,
}

impl Background {
    /// Puts the calling thread in this class. Cost: two system calls. Errors: the kernel refuses;
    /// that costs nothing but fairness.
    pub fn enter(self) -> io::Result<()> {
        let policy = match self {
            Self::Low => libc::SCHED_OTHER,
            Self::Idle => libc::SCHED_IDLE,
        };
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: 0 names the calling thread, and the parameters outlive the call.
        let outcome = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
        // On Linux this is the priority of the calling thread alone.
        rustix::process::setpriority_process(None, NICENESS)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduling policy of the calling thread, as the kernel tells it.
    fn policy() -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        // Field 41 of proc(5); the first one here is field 3.
        fields.split_whitespace().nth(41 - 3).unwrap().to_owned()
    }

    #[test]
    fn a_thread_goes_to_the_background_and_comes_back_a_little() {
        let thread = std::thread::spawn(|| {
            Background::Idle.enter().unwrap();
            assert_eq!(policy(), libc::SCHED_IDLE.to_string());
            Background::Low.enter().unwrap();
            assert_eq!(policy(), libc::SCHED_OTHER.to_string());
        });
        thread.join().unwrap();
        assert_eq!(policy(), libc::SCHED_OTHER.to_string());
    }
}
