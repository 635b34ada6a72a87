//! Threads that go first, and threads that give way.
#![expect(unsafe_code, reason = "sets the priority of a thread by system calls")]

use std::io;

use rustix::process::getpriority_process;

/// The shortest slice that the kernel gives, in nanoseconds.
const SHORT_SLICE_NS: u64 = 100_000;

/// How soon a thread runs when several want one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// For threads that answer: little work at a time, but at once. A short slice lets a thread
    /// that wakes go before one in the middle of a longer slice (Linux 6.12 and newer; older
    /// kernels go on as before).
    Prompt,
    /// For work that others wait for less: a third of the share of its core.
    Behind,
    /// With the smallest share of its core: it goes on, slowly, whatever else runs.
    Low,
    /// Only when nothing else wants its core. Whatever wakes there goes first at once.
    Idle,
}

impl Priority {
    /// Gives the calling thread this priority; it never becomes nicer to itself than the process
    /// was made. Cost: two system calls. Errors: the kernel refuses; that costs nothing but
    /// fairness.
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
        // SAFETY: 0 names the calling thread, and the attributes, whose size they say, outlive the
        // call.
        let outcome =
            unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
        match outcome {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The niceness and the scheduling policy of the calling thread, as the kernel tells them.
    fn niceness_and_policy() -> [String; 2] {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let fields: Vec<&str> = fields.split_whitespace().collect();
        // Fields 19 and 41 of proc(5); the first one here is field 3.
        [19, 41].map(|field| fields[field - 3].to_owned())
    }

    #[test]
    fn a_thread_gives_way_and_comes_back_a_little() {
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
