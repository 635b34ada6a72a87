//! Handling of mapped bytes that are gone: the file was truncated, or its disk cannot read it.
//!
//! The kernel answers the first touch of such a page with SIGBUS, which ends a process. The
//! handler of this module puts a page of zeros there instead and marks the mapping, so that
//! the reader goes on, asks for the mark at the end and discards what it read.
#![expect(unsafe_code, reason = "the signal handler of a mapping fault")]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// The addresses of one mapping, and whether some of its bytes were gone.
///
/// The handler may look at a guard at any moment, so none is ever freed; they are used again.
#[derive(Debug)]
pub(super) struct MappingGuard {
    start: AtomicUsize,
    end: AtomicUsize,
    is_truncated: AtomicBool,
    next: AtomicPtr<MappingGuard>,
}

/// All guards, newest first.
static FIRST: AtomicPtr<MappingGuard> = AtomicPtr::new(ptr::null_mut());
/// Those that guard nothing.
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
        guard.end.store(addresses.end, Ordering::Relaxed);
        guard.start.store(addresses.start, Ordering::Release);
        guard
    }

    /// Ends the guard: the addresses may become something else's.
    pub(super) fn end(&'static self) {
        self.start.store(usize::MAX, Ordering::Release);
        UNUSED.lock().push(self);
    }

    /// Returns true if bytes were gone when they were read.
    #[inline]
    pub(super) fn is_truncated(&self) -> bool {
        self.is_truncated.load(Ordering::Acquire)
    }

    fn add() -> &'static Self {
        let guard = Box::leak(Box::new(Self {
            start: AtomicUsize::new(usize::MAX),
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

    fn holds(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        start <= address && address < self.end.load(Ordering::Relaxed)
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
    let mut place = FIRST.load(Ordering::Acquire);
    // SAFETY: what the list points to was leaked, so it is valid for ever.
    while let Some(guard) = unsafe { place.as_ref() } {
        if guard.holds(address) {
            // Marked first: a reader of the zeros must find the mark.
            guard.is_truncated.store(true, Ordering::SeqCst);
            if put_zeros(address) {
                return;
            }
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

/// Maps zeros over the page of an address; false when the kernel refuses.
fn put_zeros(address: usize) -> bool {
    let page_bytes = PAGE_BYTES.load(Ordering::Acquire);
    let page = address & !(page_bytes - 1);
    // SAFETY: the page lies in a watched mapping, which is alive because this thread is reading
    // or writing it, and is unmapped as a whole by its owner, whatever lies there then. Readers
    // check every length and offset that they read, so zeros lead them nowhere else; writers may
    // write to what they get.
    let mapped = unsafe {
        libc::mmap(
            ptr::without_provenance_mut(page),
            page_bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}
