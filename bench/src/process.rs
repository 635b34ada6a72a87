//! Processor time and memory of running processes, from /proc.

use std::fs;
use std::time::Duration;

use crate::error::{BenchError, Result};

/// Linux counts `utime` and `stime` of /proc/PID/stat in hundredths of a second (USER_HZ).
const TICKS_PER_SECOND: u64 = 100;

/// Processor time of all threads of one or more processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTime {
    /// On a processor, user and system together, to the scheduler's precision.
    pub total: Duration,
    /// In user mode, by ticks of 10 ms.
    pub user: Duration,
    /// In the kernel, by ticks of 10 ms.
    pub system: Duration,
}

impl CpuTime {
    /// Time used since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            total: self.total.saturating_sub(earlier.total),
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }

    fn add(&mut self, other: Self) {
        self.total += other.total;
        self.user += other.user;
        self.system += other.system;
    }
}

/// Resident memory of one or more processes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Everything resident.
    pub resident_bytes: u64,
    /// Anonymous memory: heap and stacks.
    pub anonymous_bytes: u64,
    /// Mapped files, which the kernel can drop and read again.
    pub file_bytes: u64,
    /// The most that was resident at any time.
    pub peak_bytes: u64,
}

/// Processor time of these processes so far. Threads that ended since are in `user` and `system`
/// only. Cost: one read per thread.
pub fn cpu_time(pids: &[u32]) -> Result<CpuTime> {
    let mut sum = CpuTime::default();
    for &pid in pids {
        let mut time = parse_stat(&read(&format!("/proc/{pid}/stat"))?)
            .ok_or_else(|| BenchError::new(format!("/proc/{pid}/stat has an unknown form")))?;
        time.total = on_processor(pid)?.unwrap_or(time.user + time.system);
        sum.add(time);
    }
    Ok(sum)
}

/// Memory of these processes now.
pub fn memory(pids: &[u32]) -> Result<Memory> {
    let mut sum = Memory::default();
    for &pid in pids {
        let path = format!("/proc/{pid}/status");
        let memory = parse_status(&read(&path)?)
            .ok_or_else(|| BenchError::new(format!("{path} has an unknown form")))?;
        sum.resident_bytes += memory.resident_bytes;
        sum.anonymous_bytes += memory.anonymous_bytes;
        sum.file_bytes += memory.file_bytes;
        sum.peak_bytes += memory.peak_bytes;
    }
    Ok(sum)
}

/// Processor time of all children that this process has waited for, by ticks of 10 ms.
pub fn children_cpu_time() -> Result<Duration> {
    let text = read("/proc/self/stat")?;
    let fields = text.rsplit_once(')').map(|(_, fields)| fields);
    let ticks = fields.map(|f| {
        f.split_whitespace()
            .skip(13)
            .take(2)
            .flat_map(str::parse::<u64>)
    });
    let ticks: u64 = ticks.map_or(0, Iterator::sum);
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// Processes whose parent is `pid`, in ascending order.
pub fn children(pid: u32) -> Result<Vec<u32>> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = read(&path)?;
    let mut pids: Vec<u32> = text.split_whitespace().flat_map(str::parse).collect();
    pids.sort_unstable();
    Ok(pids)
}

/// Nanoseconds on a processor, summed over the threads; `None` when the kernel does not say.
fn on_processor(pid: u32) -> Result<Option<Duration>> {
    let folder = format!("/proc/{pid}/task");
    let threads = fs::read_dir(&folder).map_err(BenchError::on(format!("read {folder}")))?;
    let mut total_ns = 0;
    for thread in threads.flatten() {
        // A thread may end between the listing and this read: then its time is gone.
        let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) else {
            continue;
        };
        let ns: Option<u64> = text.split(' ').next().and_then(|ns| ns.parse().ok());
        total_ns += ns.unwrap_or(0);
    }
    Ok((0 < total_ns).then(|| Duration::from_nanos(total_ns)))
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).map_err(BenchError::on(format!("read {path}")))
}

/// `user` and `system` of /proc/PID/stat, proc(5); the command's name may hold spaces.
fn parse_stat(text: &str) -> Option<CpuTime> {
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || -> Option<Duration> {
        let ticks: u64 = fields.next()?.parse().ok()?;
        Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
    };
    let user = ticks()?;
    let system = ticks()?;
    Some(CpuTime {
        total: user + system,
        user,
        system,
    })
}

fn parse_status(text: &str) -> Option<Memory> {
    let bytes = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    };
    Some(Memory {
        resident_bytes: bytes("VmRSS:")?,
        anonymous_bytes: bytes("RssAnon:")?,
        file_bytes: bytes("RssFile:")?,
        peak_bytes: bytes("VmHWM:")?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn reads_stat_behind_an_odd_name() {
        let text = "7 (a b) c) S 1 7 7 0 -1 4194560 9 0 0 0 250 13 0 0 20 0 1 0 5 6 7";
        let time = parse_stat(text).unwrap();
        assert_eq!(time.user, Duration::from_millis(2500));
        assert_eq!(time.system, Duration::from_millis(130));
        assert!(parse_stat("7 (a").is_none());
    }

    #[test]
    fn reads_memory_in_bytes() {
        let text = "VmHWM:\t  9 kB\nVmRSS:\t    8 kB\nRssAnon:\t  5 kB\nRssFile:\t 3 kB\n";
        let memory = parse_status(text).unwrap();
        assert_eq!(memory.resident_bytes, 8 * 1024);
        assert_eq!(memory.anonymous_bytes, 5 * 1024);
        assert_eq!(memory.file_bytes, 3 * 1024);
        assert_eq!(memory.peak_bytes, 9 * 1024);
        assert!(parse_status("VmRSS:\t8 kB\n").is_none());
    }

    #[test]
    fn sees_the_time_of_this_process_grow() {
        let pids = [std::process::id()];
        let before = cpu_time(&pids).unwrap();
        // The scheduler accounts a running thread's time when it leaves the processor, which a
        // yield brings about only if another thread waits: a busy machine decides when.
        let deadline = Instant::now() + Duration::from_secs(20);
        let used = loop {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(30) {
                std::hint::spin_loop();
            }
            std::thread::yield_now();
            let used = cpu_time(&pids).unwrap().since(before);
            if Duration::ZERO < used.total || deadline < Instant::now() {
                break used;
            }
        };
        assert!(Duration::ZERO < used.total, "{used:?}");
        assert!(0 < memory(&pids).unwrap().resident_bytes);
    }
}
