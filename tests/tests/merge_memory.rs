//! Memory of a merge, counted: it stays below the bound by which merges are chosen, whatever the
//! titles are.
#![expect(unsafe_code, reason = "counts memory in a global allocator")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use subcat_engine::internals::{Segment, SegmentBuilder, Tombstones, merge, merge_memory_bytes};
use subcat_engine::{Record, RecordId};

/// The system's allocator, counting the bytes in use, and the most since they were last asked for.
struct Counting;

static USED: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);

fn take(bytes: usize) {
    let used = USED.fetch_add(bytes as u64, Ordering::SeqCst) + bytes as u64;
    MOST.fetch_max(used, Ordering::SeqCst);
}

fn give_back(bytes: usize) {
    USED.fetch_sub(bytes as u64, Ordering::SeqCst);
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller keeps the promises of `GlobalAlloc`, which are the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: `memory` came from the system's allocator with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while the content is copied.
        take(size);
        give_back(layout.size());
        // SAFETY: `memory` came from the system's allocator with this layout.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that every merge takes: buffers, and documents of terms on their way between threads.
const EVERY_MERGE_BYTES: u64 = 4 << 20;
const INPUTS_COUNT: u64 = 4;

type Part = (Arc<Segment>, Arc<Tombstones>);

/// A segment of records with these titles and descriptions.
fn part(numbers: std::ops::Range<u64>, text_of: &dyn Fn(u64) -> [String; 2]) -> Part {
    let mut builder = SegmentBuilder::new();
    for number in numbers {
        let [title, description] = text_of(number);
        let id = RecordId::from_bytes(u128::from(number).to_be_bytes());
        let record = Record {
            description: Some(description),
            ..Record::new(id, &title)
        };
        builder.add(&record).unwrap();
    }
    let mut bytes = Vec::new();
    builder.finish(&mut bytes).unwrap();
    let segment = Segment::open(bytes.into(), "test").unwrap();
    (Arc::new(segment), Arc::new(Tombstones::new()))
}

/// Merges segments of `docs_count` records in all, and compares the memory with the bound.
fn check(name: &str, docs_count: u64, text_of: &dyn Fn(u64) -> [String; 2]) {
    let each = docs_count / INPUTS_COUNT;
    let parts: Vec<Part> = (0..INPUTS_COUNT)
        .map(|input| part(input * each..(input + 1) * each, text_of))
        .collect();
    let bounds = parts
        .iter()
        .map(|(segment, _)| merge_memory_bytes(segment, each));
    let bound = bounds.sum::<u64>();
    let before = USED.load(Ordering::SeqCst);
    MOST.store(before, Ordering::SeqCst);
    merge(&parts, &mut io::sink()).unwrap();
    let most = MOST.load(Ordering::SeqCst) - before;
    println!("{name}: {most} bytes of {bound}");
    assert!(
        most < bound + EVERY_MERGE_BYTES,
        "{name}: {most} bytes of {bound}"
    );
}

/// Words that hardly repeat.
fn words(number: u64, count: u64) -> String {
    let word = |idx: u64| {
        let mixed = (number * count + idx).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{:04x} ", mixed >> 48)
    };
    (0..count).map(word).collect()
}

#[test]
fn a_merge_stays_below_its_bound_whatever_the_titles_are() {
    let shared = "Actas de la Villa ".repeat(24);
    check("few titles, long descriptions", 8_000, &|number| {
        [format!("Title {}", number % 50), words(number, 60)]
    });
    check("short titles of their own", 40_000, &|number| {
        [format!("T {number}"), "the same".into()]
    });
    check(
        "titles that share hundreds of characters",
        8_000,
        &|number| [format!("{shared}{number}"), String::new()],
    );
    check("titles of words of their own", 4_000, &|number| {
        [words(number, 80), String::new()]
    });
}
