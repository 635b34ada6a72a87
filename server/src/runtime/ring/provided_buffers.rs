//! Memory into which bytes arrive, lent to the kernel piece by piece (a ring of provided buffers,
//! `io_uring_register_buf_ring(3)`).
#![expect(unsafe_code, reason = "the kernel writes into provided buffers")]

use std::io;
use std::rc::Rc;
use std::slice;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use memmap2::MmapMut;

/// ProvidedBuffers, and bytes of each. A turn brings some twenty requests; kernels before 6.13 bring all
/// there are, and what finds no piece comes with the next turn.
const BUFFERS_COUNT: u16 = 256;
const BUFFER_BYTES: u16 = 4 << 10;
/// The group of these pieces; a ring has no other.
pub(super) const BUFFER_GROUP: u16 = 0;

const _: () = assert!(
    BUFFERS_COUNT.is_power_of_two(),
    "places are counted modulo the pieces"
);

/// The pieces of one ring. INVARIANT: whoever drops them has ended the ring's use of them.
pub(super) struct ProvidedBuffers {
    /// What the two pointers point into.
    memory: Rc<[MmapMut; 2]>,
    entries: *mut BufRingEntry,
    bytes: *mut u8,
    tail: u16,
}

impl ProvidedBuffers {
    /// Lends all of them. Errors: the kernel has no such rings (before 5.19), or no memory.
    pub(super) fn new(uring: &IoUring) -> io::Result<Self> {
        let entries_bytes = usize::from(BUFFERS_COUNT) * size_of::<BufRingEntry>();
        let mut entries = MmapMut::map_anon(entries_bytes)?;
        let mut bytes = MmapMut::map_anon(usize::from(BUFFERS_COUNT) * usize::from(BUFFER_BYTES))?;
        let mut buffers = Self {
            entries: entries.as_mut_ptr().cast(),
            bytes: bytes.as_mut_ptr(),
            memory: Rc::new([entries, bytes]),
            tail: 0,
        };
        let address = buffers.entries.addr() as u64;
        let submitter = uring.submitter();
        // SAFETY: the mapping begins at a page, has room for so many entries, and stays as long
        // as the ring receives (INVARIANT).
        unsafe { submitter.register_buf_ring_with_flags(address, BUFFERS_COUNT, BUFFER_GROUP, 0) }?;
        (0..BUFFERS_COUNT).for_each(|buffer_idx| buffers.give(buffer_idx));
        Ok(buffers)
    }

    /// Lends a piece, whose bytes are read, to the kernel.
    pub(super) fn give(&mut self, buffer_idx: u16) {
        let place = usize::from(self.tail % BUFFERS_COUNT);
        // SAFETY: `place` is among the entries of the mapping, for which zeros are valid. The
        // kernel reads an entry only when the tail has passed it, and there are as many entries as
        // pieces: this one's piece has come back.
        let entry = unsafe { &mut *self.entries.add(place) };
        entry.set_addr(self.start(buffer_idx) as u64);
        entry.set_len(u32::from(BUFFER_BYTES));
        entry.set_bid(buffer_idx);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the first entry, aligned; the kernel only reads it.
        let tail = unsafe { &*BufRingEntry::tail(self.entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }

    /// The bytes that came into a piece which the kernel gave back.
    pub(super) fn read(&self, buffer_idx: u16, bytes_count: usize) -> &[u8] {
        assert!(bytes_count <= usize::from(BUFFER_BYTES), "a piece is full");
        // SAFETY: so many bytes of this piece are within the mapping, and the kernel writes no
        // more into it until it is given again, for which nobody may hold them.
        unsafe { slice::from_raw_parts(self.start(buffer_idx), bytes_count) }
    }

    /// Never unmaps them: the kernel may still write.
    pub(super) fn give_up(&self) {
        std::mem::forget(Rc::clone(&self.memory));
    }

    fn start(&self, buffer_idx: u16) -> *mut u8 {
        assert!(
            buffer_idx < BUFFERS_COUNT,
            "the kernel gives back what it was lent"
        );
        // SAFETY: within the mapping.
        unsafe {
            self.bytes
                .add(usize::from(buffer_idx) * usize::from(BUFFER_BYTES))
        }
    }
}
