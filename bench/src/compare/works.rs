//! Works of the comparison: the requests, and the goal for the service.

/// Origin of an answer's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// JSON that the service assembles; nginx returns the same bytes from its configuration.
    Json,
    /// A file of the cache; nginx sends the same file.
    File,
    /// A file's gzip variant; nginx sends the same bytes by `gzip_static`.
    Gzip,
}

/// One work.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Name in tables and options.
    pub name: &'static str,
    /// Description in the table.
    pub what: &'static str,
    /// Origin of the answer's bytes.
    pub kind: Kind,
    /// Bytes of the file, or approximate bytes of the JSON.
    pub bytes: usize,
    /// Connections; the goal is for the first count.
    pub connections: &'static [usize],
    /// Highest allowed CPU time per request as a multiple of nginx's.
    pub bar: f64,
}

/// Every work, in the order of the table.
pub const WORKS: &[Work] = &[
    Work {
        name: "search",
        what: "cached search answer, 2 KB",
        kind: Kind::Json,
        bytes: 2048,
        connections: &[64, 1, 256],
        bar: 1.1,
    },
    Work {
        name: "record",
        what: "record answer",
        kind: Kind::Json,
        bytes: 400,
        connections: &[64, 1, 256],
        bar: 1.1,
    },
    Work {
        name: "file-40k",
        what: "cached download of 40 KB, counted",
        kind: Kind::File,
        bytes: 40 * 1024,
        connections: &[64, 1, 256],
        bar: 1.0,
    },
    Work {
        name: "file-8m",
        what: "cached download of 8 MB, counted",
        kind: Kind::File,
        bytes: 8 * 1024 * 1024,
        connections: &[16],
        bar: 1.05,
    },
    Work {
        name: "gzip-60k",
        what: "gzip variant of a 60 KB .srt, counted",
        kind: Kind::Gzip,
        bytes: 60 * 1024,
        connections: &[64, 1, 256],
        bar: 1.0,
    },
];
