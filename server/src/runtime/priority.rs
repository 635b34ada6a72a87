//! Scheduling priorities of threads.
#![expect(unsafe_code, reason = "the C library has no wrapper for sched_setattr")]

use std::io;

use rustix::process::getpriority_process;

/// Shortest time slice that the kernel grants, in nanoseconds.
const SHORT_SLICE_NS: u64 = 100_000;

/// Priority of a thread when several compete for one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Workers: little work at a time, but at once. A short slice lets a waking thread preempt one
    /// in the middle of a longer slice (Linux 6.12 and newer; no effect on older kernels).
    Prompt,
    /// Control runtime: a third of a worker's share of the core.
    Behind,
    /// Background work: the smallest share of the core, but never none.
    Low,
    /// Floods of password hashes: only the time that nothing else uses. Any other thread that wakes
    /// preempts it.
    Idle,
}

impl Priority {
    /// Gives the calling thread this priority, but never a lower niceness than the process has.
    ///
    /// Cost: two system calls. Errors: the kernel does not allow it; that costs only fairness.
    pub fn enter(self) -> io::Result<()> {
        let (policy, niceness, slice_ns) = match self {
            Self::Prompt => (libc::SCHED_OTHER, 0, SHORT_SLICE_NS),
            Self::Behind => (libc::SCHED_OTHER, 5, 0),
            Self::Low => (libc::SCHED_OTHER, 19, 0),
            Self::Idle => (libc::SCHED_IDLE, 19, 0),
        };
        let attributes = libc::sched_attr {
            size: size_of::<libc::sched_attr>() as u32,
            sched_policy: policy as u32,
            sched_flags: 0,
            // On Linux this is the niceness of the calling thread alone.
            sched_nice: getpriority_process(None)?.max(niceness),
            sched_priority: 0,
            sched_runtime: slice_ns,
            sched_deadline: 0,
            sched_period: 0,
        };
        // SAFETY: 0 means the calling thread. The kernel reads `size` bytes of the attributes,
        // which is their size, and they live until the call returns.
        let outcome =
            unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
        if outcome == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The niceness and the scheduling policy of the calling thread, as the kernel reports them.
    fn niceness_and_policy() -> [String; 2] {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let fields: Vec<&str> = fields.split_whitespace().collect();
        // Fields 19 and 41 of proc(5); the first one here is field 3.
        [19, 41].map(|field| fields[field - 3].to_owned())
    }

    #[test]
    fn a_thread_lowers_its_priority_and_only_in_part_raises_it() {
        let before = niceness_and_policy();
        let thread = std::thread::spawn(|| {
            for (priority, expected) in [
                (Priority::Prompt, [0, 0]),
                (Priority::Behind, [5, 0]),
                (Priority::Low, [19, 0]),
                (Priority::Idle, [19, 5]),
                (Priority::Prompt, [19, 0]),
            ] {
                priority.enter().unwrap();
                let [niceness, policy] = niceness_and_policy();
                // A process that was made nicer stays so.
                let [expected_niceness, expected_policy] = expected;
                assert!(expected_niceness <= niceness.parse::<i32>().unwrap());
                assert_eq!(policy.parse(), Ok(expected_policy), "{priority:?}");
            }
        });
        thread.join().unwrap();
        assert_eq!(niceness_and_policy(), before);
    }
}
