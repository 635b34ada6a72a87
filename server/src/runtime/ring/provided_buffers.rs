//! Provided buffers: memory into which the kernel receives (`io_uring_register_buf_ring(3)`).
//!
//! All connections share them. A connection that waits for bytes holds no buffer, so thousands of
//! idle ones cost nothing.
#![expect(unsafe_code, reason = "memory is lent to the kernel")]

use std::io;
use std::rc::Rc;
use std::slice;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use memmap2::MmapMut;

/// Buffers of a ring. A turn brings about twenty requests. Kernels before 6.13 bring all pending
/// bytes; without a free buffer they come with the next turn.
const BUFFERS_COUNT: u16 = 256;
/// Bytes of each buffer.
const BUFFER_BYTES: u16 = 4 << 10;
/// Group of the buffers; a ring has no other.
pub(super) const BUFFER_GROUP: u16 = 0;

const _: () = assert!(
    BUFFERS_COUNT.is_power_of_two(),
    "entries are counted modulo the buffers"
);

/// The provided buffers of one ring.
///
/// INVARIANT: they are dropped only after the ring has stopped receiving; else they are leaked.
pub(super) struct ProvidedBuffers {
    /// Mappings of the entries and of the bytes: targets of the two pointers.
    memory: Rc<[MmapMut; 2]>,
    entries: *mut BufRingEntry,
    bytes: *mut u8,
    /// Buffers lent so far, modulo 2^16.
    tail: u16,
}

impl ProvidedBuffers {
    /// Lends all buffers to the kernel. Errors: kernels before 5.19; no memory.
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
        // SAFETY: the mapping starts at a page, has room for that many entries, and stays as long
        // as the ring receives (the invariant).
        unsafe { submitter.register_buf_ring_with_flags(address, BUFFERS_COUNT, BUFFER_GROUP, 0) }?;
        (0..BUFFERS_COUNT).for_each(|buffer_idx| buffers.give(buffer_idx));
        Ok(buffers)
    }

    /// Lends a buffer to the kernel. Its bytes must have been read.
    pub(super) fn give(&mut self, buffer_idx: u16) {
        let entry_idx = usize::from(self.tail % BUFFERS_COUNT);
        // SAFETY: `entry_idx` is within the mapping, and zeros are valid entries. The kernel reads
        // an entry only once the tail has passed it. There are as many entries as buffers, and this
        // buffer is ours, so the kernel has given this entry back, too.
        let entry = unsafe { &mut *self.entries.add(entry_idx) };
        entry.set_addr(self.start(buffer_idx) as u64);
        entry.set_len(u32::from(BUFFER_BYTES));
        entry.set_bid(buffer_idx);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is a field of the first entry, aligned, and the kernel only reads it.
        let tail = unsafe { &*BufRingEntry::tail(self.entries).cast::<AtomicU16>() };
        // Release: the kernel must see the entry before the tail that covers it.
        tail.store(self.tail, Ordering::Release);
    }

    /// The received bytes in a buffer that the kernel has returned.
    pub(super) fn read(&self, buffer_idx: u16, bytes_count: usize) -> &[u8] {
        assert!(
            bytes_count <= usize::from(BUFFER_BYTES),
            "the kernel fills one buffer"
        );
        // SAFETY: these bytes of the buffer are within the mapping. The kernel writes to them only
        // after `give`, which needs `&mut self` and so the end of this borrow.
        unsafe { slice::from_raw_parts(self.start(buffer_idx), bytes_count) }
    }

    /// Leaks the mappings: the kernel may still write to them.
    pub(super) fn leak(&self) {
        std::mem::forget(Rc::clone(&self.memory));
    }

    fn start(&self, buffer_idx: u16) -> *mut u8 {
        assert!(
            buffer_idx < BUFFERS_COUNT,
            "the kernel gives back a buffer that it was lent"
        );
        // SAFETY: the index is below the number of buffers, so the result is within the mapping.
        unsafe {
            self.bytes
                .add(usize::from(buffer_idx) * usize::from(BUFFER_BYTES))
        }
    }
}
