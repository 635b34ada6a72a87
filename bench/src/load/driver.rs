//! One thread of load: an epoll loop over its share of the connections.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::connection::{Connection, Progress, READ_BYTES_MAX};
use super::plan::{Extent, Pace, Picker, Plan};
use super::report::Counts;
use crate::error::{BenchError, Result};

/// Events taken at once.
const EVENTS_MAX: usize = 256;
/// Longest wait for events, and so the longest delay until a thread sees that it must stop.
const WAIT_NS: i64 = 20_000_000;
/// A pause shorter than this is spent polling: timers are too coarse for it.
const POLL_NS: u64 = 2_500_000;
/// Time without any answer after which the run ends with an error.
const STALL_NS: u64 = 10_000_000_000;
/// Broken connections after which the run ends with an error.
const BROKEN_MAX: u64 = 10_000;
/// Requests that may be overdue and unsent; beyond, the rate is absurd for this server.
const WAITING_MAX: usize = 5_000_000;

/// State that the threads of a run share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Zero of the run's clock.
    pub origin: Instant,
    /// Requests due from here on are measured, in ns of the run's clock.
    pub measured_from_ns: AtomicU64,
    /// Set when all threads must stop.
    pub is_over: AtomicBool,
}

impl Shared {
    /// Nanoseconds since the run began.
    pub(super) fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

/// Complete answers of one thread, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Completed(pub AtomicU64);

/// One thread's share of a run.
pub(super) struct Driver<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    completed: &'a Completed,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// Open loop: connections without a request, longest idle first.
    free: VecDeque<usize>,
    /// Open loop: when requests were due that found no free connection.
    waiting: VecDeque<u64>,
    picker: Picker,
    /// Requests that have not been sent or queued yet.
    unsent: u64,
    under_way: usize,
    buffer: Vec<u8>,
    counts: Counts,
}

impl<'a> Driver<'a> {
    /// Opens this thread's connections.
    pub(super) fn connect(
        plan: &'a Plan,
        shared: &'a Shared,
        completed: &'a Completed,
        thread_idx: usize,
    ) -> Result<Self> {
        let epoll =
            epoll::create(CreateFlags::CLOEXEC).map_err(BenchError::on("create an epoll"))?;
        let share = |all: usize| all / plan.threads + usize::from(thread_idx < all % plan.threads);
        let mut driver = Self {
            plan,
            shared,
            completed,
            epoll,
            connections: Vec::new(),
            free: VecDeque::new(),
            waiting: VecDeque::new(),
            picker: Picker::new(plan.order, plan.requests.len(), thread_idx),
            unsent: match plan.extent {
                Extent::Count(count) => share(count as usize) as u64,
                Extent::Time { .. } => u64::MAX,
            },
            under_way: 0,
            buffer: vec![0; READ_BYTES_MAX],
            counts: Counts::new(),
        };
        for idx in 0..share(plan.connections) {
            let connection = Connection::open(plan.server)?;
            driver.watch(&connection, idx)?;
            driver.connections.push(connection);
            driver.free.push_back(idx);
        }
        Ok(driver)
    }

    fn watch(&self, connection: &Connection, idx: usize) -> Result<()> {
        let data = EventData::new_u64(idx as u64);
        epoll::add(&self.epoll, connection.stream(), data, EventFlags::IN)
            .map_err(BenchError::on("watch a socket"))
    }

    /// Runs the load to its end and returns the counts.
    pub(super) fn run(mut self) -> Result<Counts> {
        let mut arrivals = Arrivals::new(self.plan.pace, self.plan.threads, self.shared.now_ns());
        if arrivals.is_none() {
            for idx in 0..self.connections.len() {
                self.ask_at_once(idx)?;
            }
        }
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        let mut last_answer_ns = self.shared.now_ns();
        let mut answered = 0;
        while self.is_going_on() {
            let pause_ns = match &mut arrivals {
                Some(arrivals) => self.admit(arrivals)?,
                None => u64::MAX,
            };
            self.wait(&mut events, pause_ns)?;
            for event in events.drain(..) {
                self.read(event.data.u64() as usize)?;
            }
            if answered < self.counts.answers {
                answered = self.counts.answers;
                last_answer_ns = self.shared.now_ns();
            } else if 0 < self.under_way {
                self.check_stall(last_answer_ns)?;
            }
        }
        self.close_books();
        Ok(self.counts)
    }

    fn is_going_on(&self) -> bool {
        let is_exhausted = self.unsent == 0 && self.under_way == 0 && self.waiting.is_empty();
        !is_exhausted && !self.shared.is_over.load(Ordering::Relaxed)
    }

    fn check_stall(&self, last_answer_ns: u64) -> Result<()> {
        if self.shared.now_ns() < last_answer_ns + STALL_NS {
            return Ok(());
        }
        let server = self.plan.server;
        Err(BenchError::new(format!(
            "{server} has not answered for 10 s"
        )))
    }

    /// Open loop: sends or queues what is due; ns until the next one is.
    fn admit(&mut self, arrivals: &mut Arrivals) -> Result<u64> {
        let now_ns = self.shared.now_ns();
        while arrivals.next_ns() <= now_ns && 0 < self.unsent {
            let due_ns = arrivals.take();
            self.unsent -= 1;
            if WAITING_MAX <= self.waiting.len() {
                return Err(BenchError::new(
                    "the rate is far beyond this server: lower --rate",
                ));
            }
            self.waiting.push_back(due_ns);
        }
        while !self.waiting.is_empty() {
            let Some(idx) = self.free.pop_front() else {
                break;
            };
            self.ask_overdue(idx)?;
        }
        let is_last = self.unsent == 0;
        Ok(if is_last {
            u64::MAX
        } else {
            arrivals.next_ns().saturating_sub(now_ns)
        })
    }

    fn wait(&self, events: &mut Vec<Event>, pause_ns: u64) -> Result<()> {
        let timeout_ns = if pause_ns < POLL_NS {
            0
        } else {
            WAIT_NS.min(1_000_000)
        };
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: if pause_ns == u64::MAX {
                WAIT_NS
            } else {
                timeout_ns
            },
        };
        let spare = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, spare, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(cause) => Err(BenchError::on("wait for sockets")(cause)),
        }
    }

    fn read(&mut self, idx: usize) -> Result<()> {
        match self.connections[idx].read(&mut self.buffer) {
            Progress::Waiting => Ok(()),
            Progress::Done(head) => {
                self.under_way -= 1;
                self.count(idx, head.status, head.body_bytes);
                if head.is_last {
                    self.replace(idx)?;
                }
                self.go_on(idx)
            }
            Progress::Broken(breakage) => {
                self.counts.note_broken(&breakage);
                if self.connections[idx].is_busy {
                    self.under_way -= 1;
                }
                self.replace(idx)?;
                self.go_on(idx)
            }
        }
    }

    fn count(&mut self, idx: usize, status: u16, body_bytes: u64) {
        let due_ns = self.connections[idx].due_ns;
        self.completed.0.fetch_add(1, Ordering::Relaxed);
        let is_measured = self.shared.measured_from_ns.load(Ordering::Relaxed) <= due_ns;
        let latency_ns = is_measured.then(|| self.shared.now_ns() - due_ns);
        let expected = self.plan.expectation;
        let is_right = status == expected.status;
        let is_whole = !is_right || expected.body_bytes.is_none_or(|bytes| bytes == body_bytes);
        self.counts.note_answer(status, body_bytes, latency_ns);
        self.counts.wrong_status += u64::from(!is_right);
        self.counts.wrong_length += u64::from(!is_whole);
    }

    fn replace(&mut self, idx: usize) -> Result<()> {
        if BROKEN_MAX < self.counts.broken {
            let what = "the server broke 10,000 connections: the run was given up";
            return Err(BenchError::new(what));
        }
        let connection = Connection::open(self.plan.server)?;
        self.watch(&connection, idx)?;
        self.connections[idx] = connection;
        Ok(())
    }

    /// Gives a connection that has become free its next request.
    fn go_on(&mut self, idx: usize) -> Result<()> {
        match self.plan.pace {
            Pace::Closed => self.ask_at_once(idx),
            Pace::Open(_) if self.waiting.is_empty() => {
                self.free.push_back(idx);
                Ok(())
            }
            Pace::Open(_) => self.ask_overdue(idx),
        }
    }

    fn ask_at_once(&mut self, idx: usize) -> Result<()> {
        if self.unsent == 0 {
            return Ok(());
        }
        self.unsent -= 1;
        let now_ns = self.shared.now_ns();
        self.ask(idx, now_ns)
    }

    fn ask_overdue(&mut self, idx: usize) -> Result<()> {
        match self.waiting.pop_front() {
            Some(due_ns) => self.ask(idx, due_ns),
            None => Ok(()),
        }
    }

    fn ask(&mut self, idx: usize, due_ns: u64) -> Result<()> {
        let request = &self.plan.requests[self.picker.pick()];
        if !self.connections[idx].ask(request, due_ns) {
            // An idle connection that the server closed: its requests go over a new one.
            self.counts.broken += 1;
            self.replace(idx)?;
            if !self.connections[idx].ask(request, due_ns) {
                return Err(BenchError::new("a fresh connection takes no request"));
            }
        }
        self.under_way += 1;
        Ok(())
    }

    /// Open loop: requests that were due and have no answer count with their age.
    fn close_books(&mut self) {
        if self.plan.pace == Pace::Closed {
            return;
        }
        let now_ns = self.shared.now_ns();
        let from_ns = self.shared.measured_from_ns.load(Ordering::Relaxed);
        let busy = self.connections.iter().filter(|c| c.is_busy);
        let due = busy.map(|c| c.due_ns).chain(self.waiting.iter().copied());
        for due_ns in due.filter(|due_ns| from_ns <= *due_ns) {
            self.counts.note_unfinished(now_ns - due_ns);
        }
    }
}

/// Moments at which requests fall due: evenly spaced.
#[derive(Debug)]
struct Arrivals {
    start_ns: u64,
    gap_ns: f64,
    taken: u64,
}

impl Arrivals {
    /// One thread's share; `None` in a closed loop.
    fn new(pace: Pace, threads: usize, start_ns: u64) -> Option<Self> {
        let Pace::Open(per_second) = pace else {
            return None;
        };
        Some(Self {
            start_ns,
            gap_ns: 1e9 * threads as f64 / per_second,
            taken: 0,
        })
    }

    fn next_ns(&self) -> u64 {
        self.start_ns + (self.gap_ns * self.taken as f64) as u64
    }

    fn take(&mut self) -> u64 {
        let due_ns = self.next_ns();
        self.taken += 1;
        due_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_keep_their_rate() {
        let mut arrivals = Arrivals::new(Pace::Open(3000.0), 1, 5).unwrap();
        let due: Vec<u64> = (0..4).map(|_| arrivals.take()).collect();
        assert_eq!(due, [5, 333_338, 666_671, 1_000_005]);
        for _ in 4..3000 {
            arrivals.take();
        }
        assert_eq!(arrivals.next_ns(), 1_000_000_005);
        assert!(Arrivals::new(Pace::Closed, 1, 0).is_none());
    }
}
