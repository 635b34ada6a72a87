//! Handling of mapped bytes that are gone: the file was truncated, or its disk cannot read it.
//!
//! The kernel answers the first touch of such a page with SIGBUS, which ends a process. The handler
//! of this module puts zeros there instead, from that page to the end of the mapping, and marks the
//! mapping, so that the reader continues, asks for the mark at the end and discards what it read.
//! One mapping of zeros for the whole rest: a page each would reach the limit of mappings of a
//! process.
#![expect(unsafe_code, reason = "the signal handler of a mapping fault")]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};

use parking_lot::Mutex;

/// The addresses of one mapping, and whether some of its bytes were gone.
///
/// The handler may look at a guard at any moment, so none is ever freed; they are used again.
///
/// INVARIANT: `generation` is odd while the addresses change, and another number afterwards. So the
/// handler never takes the start of one use and the end of another for a mapping.
#[derive(Debug)]
pub(super) struct MappingGuard {
    generation: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
    is_truncated: AtomicBool,
    next: AtomicPtr<MappingGuard>,
}

/// All guards, newest first.
static FIRST: AtomicPtr<MappingGuard> = AtomicPtr::new(ptr::null_mut());
/// Guards that watch no addresses.
static UNUSED: Mutex<Vec<&'static MappingGuard>> = Mutex::new(Vec::new());
/// Handler that was installed before: Rust's runtime reports stack overflows by it.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);

impl MappingGuard {
    /// Watches some addresses until [`MappingGuard::end`]. Cost: a lock, and an allocation when no
    /// guard is unused.
    pub(super) fn begin(addresses: Range<usize>) -> &'static Self {
        PREVIOUS.get_or_init(install);
        let unused = UNUSED.lock().pop();
        let guard = unused.unwrap_or_else(Self::add);
        guard.is_truncated.store(false, Ordering::Relaxed);
        guard.set(addresses);
        guard
    }

    /// Changes the addresses. Called by one thread at a time: the one that owns the guard.
    fn set(&self, addresses: Range<usize>) {
        let generation = self.generation.load(Ordering::Relaxed);
        self.generation.store(generation + 1, Ordering::Relaxed);
        // A thread that sees one of the addresses below sees the odd generation, too.
        fence(Ordering::Release);
        self.start.store(addresses.start, Ordering::Relaxed);
        self.end.store(addresses.end, Ordering::Relaxed);
        self.generation.store(generation + 2, Ordering::Release);
    }

    /// Ends the guard: the addresses may become something else's.
    pub(super) fn end(&'static self) {
        self.set(0..0);
        UNUSED.lock().push(self);
    }

    /// Returns true if bytes were gone when they were read.
    #[inline]
    pub(super) fn is_truncated(&self) -> bool {
        // The reads before this must not move behind the load: an acquire load alone orders only
        // what comes after it.
        fence(Ordering::Acquire);
        self.is_truncated.load(Ordering::Relaxed)
    }

    fn add() -> &'static Self {
        let guard = Box::leak(Box::new(Self {
            generation: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            is_truncated: AtomicBool::new(false),
            next: AtomicPtr::new(ptr::null_mut()),
        }));
        let added: *mut Self = guard;
        let mut first = FIRST.load(Ordering::Relaxed);
        loop {
            guard.next.store(first, Ordering::Relaxed);
            let pushed =
                FIRST.compare_exchange_weak(first, added, Ordering::AcqRel, Ordering::Relaxed);
            match pushed {
                Ok(_) => return guard,
                Err(newer) => first = newer,
            }
        }
    }

    /// Marks the mapping, then fills what is gone; false if that is refused. Marked first: a reader
    /// of the zeros must find the mark.
    fn mark_and_fill(&self, fill: impl FnOnce() -> bool) -> bool {
        self.is_truncated.store(true, Ordering::SeqCst);
        fill()
    }

    /// The end of the mapping, if the address lies in it.
    ///
    /// A guard that changes during the look-up is another one's: that of the faulting thread's
    /// mapping does not change while the thread reads there.
    fn end_if_held(&self, address: usize) -> Option<usize> {
        let generation = self.generation.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Relaxed);
        let end = self.end.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let is_stable = generation == self.generation.load(Ordering::Relaxed);
        let is_settled = generation.is_multiple_of(2);
        let holds = is_stable && is_settled && start <= address && address < end;
        holds.then_some(end)
    }
}

/// Makes the handler the one of SIGBUS; returns what was there before.
fn install() -> libc::sigaction {
    // SAFETY: asking for a limit of the system touches no memory of ours.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page_bytes = usize::try_from(page_bytes).expect("a system has pages");
    PAGE_BYTES.store(page_bytes, Ordering::Release);
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_bus_error;
    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a zeroed `sigaction` is a valid one (no handler, no flags); the mask is emptied in
    // place; the handler has the signature that SA_SIGINFO asks for, lives as long as the
    // process, and does only what a signal handler may; `previous` is written whole by the call
    // and, if that fails, is the valid zeroed one.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, previous.as_mut_ptr());
        previous.assume_init()
    }
}

/// Replaces the missing page by zeros when it belongs to a watched mapping; otherwise lets happen
/// what would have happened without this handler.
///
/// Does only what is safe in a signal handler: atomics and system calls.
extern "C" fn on_bus_error(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel hands a handler with SA_SIGINFO a valid `siginfo_t`, in which SIGBUS
    // fills the address.
    let address = unsafe { (*info).si_addr() } as usize;
    // SAFETY: as above; every signal has this field.
    let code = unsafe { (*info).si_code };
    if code <= 0 {
        // Sent by a process, not by a fault: no memory is meant, and the handler stays.
        return;
    }
    let mut place = FIRST.load(Ordering::Acquire);
    // SAFETY: what the list points to was leaked, so it is valid for ever.
    while let Some(guard) = unsafe { place.as_ref() } {
        if let Some(end) = guard.end_if_held(address)
            && guard.mark_and_fill(|| put_zeros(address, end))
        {
            return;
        }
        place = guard.next.load(Ordering::Acquire);
    }
    let previous = PREVIOUS.get().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `previous` is what the kernel gave, or null, with which nothing is changed. The
    // instruction that faulted runs again after the return and meets the previous handler.
    unsafe {
        if previous.is_null() {
            libc::signal(signal, libc::SIG_DFL);
        } else {
            libc::sigaction(signal, previous, ptr::null_mut());
        }
    }
}

/// Maps zeros from the page of an address to the end of its mapping; false when the kernel refuses.
fn put_zeros(address: usize, end: usize) -> bool {
    let page_bytes = PAGE_BYTES.load(Ordering::Acquire);
    let page = address & !(page_bytes - 1);
    let rest_bytes = end.next_multiple_of(page_bytes) - page;
    // SAFETY: the pages lie in a watched mapping, which is alive because this thread is reading
    // or writing it, and is unmapped as a whole by its owner, whatever lies there then. Readers
    // expect any bytes: lengths and offsets are checked when they are used, and where a library
    // panics instead, `read_whole` catches it. Writers may write to what they get, and learn by the
    // mark that the file does not have it.
    let mapped = unsafe {
        libc::mmap(
            ptr::without_provenance_mut(page),
            rest_bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_there_before_the_zeros() {
        let guard = MappingGuard::begin(0..0);
        assert!(!guard.is_truncated());
        assert!(guard.mark_and_fill(|| guard.is_truncated()));
        guard.end();
    }

    /// The start of one use with the end of another would take in what lies between them.
    #[test]
    fn addresses_that_change_hold_nothing_between_them() {
        const LOW: Range<usize> = 0x1000..0x2000;
        const HIGH: Range<usize> = 0x9000..0xa000;
        const BETWEEN: usize = 0x5000;
        let guard = MappingGuard::begin(LOW);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..200_000 {
                    guard.set(HIGH);
                    guard.set(LOW);
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(guard.end_if_held(BETWEEN), None);
            }
        });
        assert_eq!(guard.end_if_held(LOW.start), Some(LOW.end));
        // Half changed: it is neither the old guard nor the new one.
        guard.generation.fetch_add(1, Ordering::Relaxed);
        assert_eq!(guard.end_if_held(LOW.start), None);
        guard.generation.fetch_add(1, Ordering::Relaxed);
        guard.end();
        assert_eq!(guard.end_if_held(LOW.start), None);
    }
}
