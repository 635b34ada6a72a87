//! Every bound of the server, with its unit. Sections follow the modules of `lib.rs`.

use std::time::Duration;

// ===== config =====

/// Edits up to which an unknown variable counts as a setting that was mistyped. Others are ignored:
/// Kubernetes, for one, sets `SUBCAT_PORT` and more of its kind beside a service named `subcat`.
pub const MISTYPED_LETTERS_MAX: usize = 2;

/// Bytes of a file that holds the value of one setting, at most.
pub const SECRET_BYTES_MAX: usize = 16 << 10;

/// Lines of the log that wait to be written, at most: about 2 MB. Further ones are dropped.
pub const LOG_LINES_QUEUED_MAX: usize = 8192;

/// Time without a tick, of which there is one a second, after which a worker may count as one that
/// stands still, at least.
pub const WORKER_STILL_MIN: Duration = Duration::from_secs(5);

/// Requests of a worker of which one gets a line, when the access log is sampled.
pub const ACCESS_SAMPLE: u64 = 100;
/// Bytes of a client's own name for a request, at most. A longer one is not logged.
pub const REQUEST_ID_BYTES_MAX: usize = 64;

/// Bytes of the answer to a question after the server's health that are read, at most.
pub const HEALTH_BYTES_MAX: u64 = 64 << 10;

// ===== runtime =====

/// Maximum of pages that are read at once.
pub const PAGE_JOBS_MAX: usize = 8;
/// Maximum of changes of pages at once, each of which may wait for the log of a cluster.
pub const CHANGE_JOBS_MAX: usize = 8;
/// Maximum of files that are compressed or looked into at once.
pub const DECODING_JOBS_MAX: usize = 2;
/// Maximum of stored files that are opened at once for the first time.
pub const OPENING_JOBS_MAX: usize = 4;
/// Maximum of fetched files that are stored at once.
pub const STORING_JOBS_MAX: usize = 4;
/// Maximum of operations of the admin socket at once.
pub const ADMINISTRATION_JOBS_MAX: usize = 4;
/// Maximum of imports and exports of the admin socket at once.
pub const TRANSFER_JOBS_MAX: usize = 4;
/// Maximum of answers of `/metrics` that are made at once.
pub const METRICS_JOBS_MAX: usize = 2;
/// Milliseconds that the wall clock must jump for its offset to be measured again. Smaller steps
/// are slewing, which the monotonic clock follows.
pub const CLOCK_JUMP_MS_MIN: i64 = 250;
/// Blobs that the engine keeps open for all workers, at most.
pub const OPEN_BLOBS_MAX: usize = 1024;
/// Large files that one worker keeps open, at most.
pub const WORKER_FILES_MAX: usize = 2048;
/// Descriptors reserved for stores, counters and administration, at most. Fetches have their own.
pub const OTHER_DESCRIPTORS_MAX: usize = 512;
/// Bytes of one connection that hyper buffers, at most: a request head, or queued output.
pub const CONNECTION_BUFFER_BYTES_MAX: usize = 64 << 10;
/// Bytes that hyper gets at a time: one less than what makes it reserve twice as much for the next
/// time, up to [`CONNECTION_BUFFER_BYTES_MAX`].
pub const HYPER_READ_BYTES_MAX: usize = (8 << 10) - 1;
/// Bytes of a head that is not complete, at which hyper gets it, at least.
pub const PARTIAL_HEAD_BYTES_MAX: usize = 4 << 10;
/// Bytes of all requests of a worker that are not complete, at most: beyond them those end that
/// have more than [`PARTIAL_HEAD_BYTES_MAX`].
pub const PARTIAL_REQUESTS_BYTES_MAX: u64 = 32 << 20;
/// Connections of a worker that are asked for hyper's buffers at one tick, at most: about 2 ms.
pub const RELEASES_PER_TICK_MAX: usize = 1024;
/// Connections that have released hyper's buffers, 16 KiB each, at which a worker that releases no
/// more gives free memory back to the system, at least.
pub const RELEASES_TO_TRIM_MIN: usize = 1024;
/// Connections of one listener of administration at once, at most: beyond them new ones are closed.
pub const ADMIN_CONNECTIONS_MAX: usize = 256;
/// Ends of a worker within a minute of each other, at most: at the next one the process ends.
pub const WORKER_FAILURES_MAX: usize = 5;
/// Connections that are looked at for one that is idle, at most, when a new one finds no place.
pub const IDLE_SCAN_MAX: usize = 1024;
/// Ticks of a worker's clock, one a second, that a connection has been idle for, at least, to end
/// for a new one or to release its buffers: more than a second. Between two requests one that is in
/// use is idle for less.
pub const IDLE_TICKS_MIN: u32 = 2;
/// Rejected connections of one worker in lingering close, at most. More of them are closed at
/// once, and their clients may see a reset instead of the answer.
pub const REJECTED_CONNECTIONS_MAX: usize = 64;
/// Bytes that one system call receives, at most.
pub const RECEIVE_BYTES_MAX: usize = 16 << 10;
/// Bytes that one call of `sendfile` sends, at most, so that one reader does not occupy its
/// worker. What takes several calls is corked meanwhile: 8 MB took 3.8 to 4.0 ms of processor time
/// without and 3.0 ms with the cork (`compare-serving --only file-8m`, Linux 6.18). In a bare loop
/// 1 MB took the same with and without it, and 256 KB four times as much with it.
pub const SENDFILE_BYTES_MAX: usize = 1 << 20;
/// Threads of one worker that read files which are not in memory, at most.
pub const COLD_READERS_MAX: usize = 8;
/// Bytes that such a thread reads at a time.
pub const COLD_READ_BYTES: usize = 256 << 10;
/// Bytes of head and body that are copied together and sent by one `send`, at most: with a head of
/// 600 bytes and a body of 400, 2,048 and 8,192 bytes that took 4.18, 4.13 and 4.78 µs where
/// `writev` took 4.46, 4.34 and 4.90 (loopback, Linux 6.18).
pub const JOINED_BYTES_MAX: usize = 8 << 10;
/// Slices of one vectored write, at most. A head and its content are two.
pub const WRITE_SLICES_MAX: usize = 4;
/// Bytes that lingering close reads and discards, at most: a client that sends a body of some
/// megabytes without asking first reads why it was rejected, instead of a reset.
pub const LINGER_BYTES_MAX: usize = 32 << 20;
/// Bytes of a Unix socket's path, at most. A longer one is reached through its open directory.
pub const SOCKET_PATH_BYTES_MAX: usize = 100;
/// Failed `io_uring_enter` calls in a row, a millisecond apart, after which a ring is given up: its
/// worker goes on with epoll.
pub const RING_FAILURES_MAX: usize = 1000;
/// Entries of a ring's submission queue at which an answer submits them before the turn ends: the
/// first of the twenty or so answers of a turn would wait for the work on all of them.
pub const RING_QUEUED_MAX: usize = 10;
/// Unread bytes of one connection at which its ring stops receiving: the rest stays in the
/// kernel's buffer, and TCP slows the client down.
pub const RING_UNREAD_BYTES_MAX: usize = 16 << 10;
/// Buffers that a ring's pool keeps, at most.
pub const POOLED_BUFFERS_MAX: usize = 256;
/// Bytes of capacity of a buffer that the pool keeps, at most.
pub const POOLED_BUFFER_BYTES_MAX: usize = 16 << 10;

// ===== limiter =====

/// Requests of one rate limit window, at most: as many as 28 bits count.
pub const WINDOW_REQUESTS_MAX: u32 = (1 << 28) - 1;

// ===== auth =====

// ===== request =====

/// Bytes of a request target, at most.
pub const URL_BYTES_MAX: usize = 8 << 10;
/// Bytes of all header fields of a request, at most: name + value + 4 each.
pub const FIELD_BYTES_MAX: usize = 16 << 10;
/// Header fields of a request, at most.
pub const FIELDS_MAX: usize = 64;
/// Bytes of a request body, at most: it is read and discarded, unless it is a form.
pub const BODY_BYTES_MAX: usize = 64 << 10;
/// Bytes of a form, at most: the only body that takes memory.
pub const FORM_BYTES_MAX: usize = 16 << 10;
/// Bytes of a `Host` that a connection remembers, at most: no DNS name is longer.
pub const KNOWN_HOST_BYTES_MAX: usize = 255;

// ===== files =====

/// Characters of a text for each of its control characters, at least; compressed bytes have nine.
pub const TEXT_CHARS_PER_CONTROL_MIN: usize = 50;
/// The same for a text that begins as only subtitles do: some have stray bytes.
pub const SUBTITLE_CHARS_PER_CONTROL_MIN: usize = 10;

/// Bytes of a text from upstream that has no subtitle's shape, at least; a shorter one is an error
/// message (API.md 14.4).
pub const SHAPELESS_BYTES_MIN: usize = 200;

/// Maximum of bytes of the comment at the end of a zip.
pub const ZIP_COMMENT_BYTES_MAX: usize = 0xFFFF;
/// Entries of an archive that are read (API.md 20.4).
pub const ARCHIVE_ENTRIES_MAX: usize = 1_000;
/// Headers of a rar archive that are read: those of entries, and others.
pub const ARCHIVE_HEADERS_MAX: u64 = 4 * ARCHIVE_ENTRIES_MAX as u64;
/// Bytes of all headers of a rar archive.
pub const ARCHIVE_HEADER_BYTES_MAX: u64 = 4 << 20;
/// Bytes of a name in an archive that are decoded: more than the longest path that counts.
pub const ARCHIVE_NAME_BYTES_MAX: usize = 4 << 10;
/// Characters of the path of a text in an archive (API.md 20.1).
pub const ARCHIVE_PATH_CHARS_MAX: usize = 512;
const _: () = assert!(4 * ARCHIVE_PATH_CHARS_MAX < ARCHIVE_NAME_BYTES_MAX);
/// Bytes of a text in an archive.
pub const TEXT_BYTES_MAX: u64 = 10 << 20;
/// Bytes that are unpacked up to the end of one file: a solid archive unpacks what precedes it.
pub const UNPACKED_BYTES_MAX: u64 = 64 << 20;
/// Bytes of memory of one decoder.
pub const DECODER_BYTES_MAX: u64 = 96 << 20;
/// Decoders of archives that work at once; others wait.
pub const DECODERS_MAX: usize = 2;
/// Time for unpacking one file.
pub const UNPACKING_TIME_MAX: Duration = Duration::from_secs(2);

/// Digits of the number of a frame (API.md 17.14).
pub const FRAME_DIGITS_MAX: usize = 9;
/// Digits of a frame rate behind its point: as many as can be calculated with.
pub const FRAME_RATE_DIGITS_MAX: usize = 20;
/// Milliseconds for which a text of frames without an end is shown.
pub const FRAME_TEXT_MS_MAX: u64 = 5_000;

/// Bytes of a text that a look into it decodes, at most.
pub const LOOK_TEXT_BYTES_MAX: usize = 64 << 10;
/// Cues that a look into a text shows, at most.
pub const LOOK_CUES_MAX: usize = 20;
/// First cues that the page of a record shows.
pub const RECORD_CUES_MAX: usize = 8;
/// Packs of a season that the page of an episode offers.
pub const EPISODE_PACKS_MAX: usize = 5;
/// Hits of a search that its pages reach, and that are compared for another order than relevance.
pub const REACHED_HITS_MAX: u16 = 10_000;
/// Names that a look into an archive shows, at most.
pub const LOOK_NAMES_MAX: usize = 200;
/// Bytes of the paths that a look into an archive puts into links.
pub const LOOK_LINKS_BYTES_MAX: usize = 24 << 10;
/// Characters of a name in an archive that a look shows.
pub const LOOK_NAME_CHARS_MAX: usize = 160;
/// Characters of a cue that a look shows.
pub const LOOK_CUE_CHARS_MAX: usize = 1_000;
/// Characters of the start of a cue that a look shows.
pub const LOOK_START_CHARS_MAX: usize = 20;

// ===== respond =====

// ===== cache =====

/// Prepared files of one worker, at most.
pub const PREPARED_FILES_MAX: usize = 4096;
/// Records whose place in the snapshot a worker remembers, at most: about 350 KB.
pub const RECORD_LOCATIONS_MAX: usize = 4096;
/// Files that a worker keeps open or in memory, at most.
pub const OPEN_FILES_MAX: usize = 2048;
/// Open files of a worker that the cap may be lowered to: a map of two halves holds one in each.
pub const OPEN_FILES_MIN: usize = 2;
/// Variants that are remembered as not worth making, at most: 40 bytes each.
pub const USELESS_VARIANTS_MAX: usize = 4096;

// ===== upstream =====

/// Redirects that a fetch follows, at most (API.md 14).
pub const UPSTREAM_REDIRECTS_MAX: usize = 3;

/// Attempts of a request to object storage after the first. Clients wait: an outage must show
/// within seconds, where the library's defaults hide it for minutes.
#[cfg(feature = "s3")]
pub const STORAGE_RETRIES_MAX: usize = 1;

/// Seconds after which a text without a subtitle's shape is fetched again (API.md 14.5).
pub const REFETCH_SECONDS: i64 = 3_600;

/// Pause before the first probe of an upstream that does not answer.
pub const PROBE_PAUSE_MIN: Duration = Duration::from_secs(1);
/// Pause between two probes, at most: each that fails doubles it.
pub const PROBE_PAUSE_MAX: Duration = Duration::from_secs(30);
/// Time for which upstream can ask to be left alone, at most.
pub const SUSPENSION_MAX: Duration = Duration::from_secs(300);

/// Failed fetches that are remembered at once, at most; the oldest are dropped first.
pub const FETCH_FAILURES_MAX: usize = 10_000;

// ===== cluster =====

/// Characters of a stream's name, at most.
pub const STREAM_NAME_CHARS_MAX: usize = 32;
/// Counts of rate limit windows in one message to the other nodes, at most: about 500 KB, half of
/// what NATS accepts.
pub const COUNTS_SENT_MAX: usize = 20_000;
/// Windows that are exchanged in short rounds, at most: 25 KB in each.
pub const HOT_WINDOWS_MAX: usize = 1_000;
/// Messages of other nodes that wait to be taken, at most: the oldest ones are dropped.
pub const COUNT_MESSAGES_MAX: usize = 256;
/// Nodes whose counts of one window are remembered, at most.
pub const COUNTING_NODES_MAX: usize = 64;
/// Entries of a shared log that are read at once, at most.
pub const LOG_ENTRIES_READ_MAX: usize = 1024;
/// Copies that a cluster of NATS servers keeps of the log: one may be lost with its disk, and
/// entries are still accepted while one is away.
pub const NATS_REPLICAS: usize = 3;
/// Pause before the next attempt to connect to NATS, at most.
pub const RECONNECT_PAUSE_MAX: Duration = Duration::from_millis(500);
/// Oldest version of PostgreSQL that is known to work, as the server writes it.
pub const POSTGRES_VERSION_MIN: i32 = 150_000;

// ===== traces =====

/// Spans that wait to be sent, at most: about 2 MB. Further ones are dropped.
pub const SPANS_QUEUED_MAX: usize = 4096;
/// Spans that are sent to the collector at once, at most.
pub const SPANS_SENT_AT_ONCE: usize = 512;
/// Milliseconds that a background task takes for a span of its own, at least: most runs find
/// nothing to do.
pub const TASK_SPAN_MS_MIN: u64 = 10;

// ===== service =====

/// Contents that were served and are not noted yet, at most.
pub const SERVED_FILES_MAX: usize = 65_536;
/// Longest pause of a background task after failures: what failed for lack of space works again
/// soon after space is made.
pub const TASK_PAUSE_MAX: Duration = Duration::from_secs(4);
/// The same for merges, each of which may write gigabytes before it fails.
pub const MERGE_PAUSE_MAX: Duration = Duration::from_secs(64);
/// Slow searches that are kept, at most: the oldest is dropped.
pub const SLOW_SEARCHES_MAX: usize = 20;
/// Searches without results that are kept, at most: the oldest is dropped.
pub const EMPTY_SEARCHES_MAX: usize = 20;
/// Hours whose use of keys is kept.
pub const HOURLY_USE_HOURS: i64 = 24;
/// Keys whose use by hour is kept, at most.
pub const HOURLY_USE_KEYS_MAX: usize = 4_096;
/// Hours whose figures the console keeps.
pub const HISTORY_HOURS_MAX: usize = 24;
/// Minutes whose figures the console keeps.
pub const HISTORY_MINUTES_MAX: usize = 60;
/// Days whose figures the console keeps.
pub const HISTORY_DAYS_MAX: usize = 30;
/// Characters of one value of a slow search that are kept, at most.
pub const SLOW_SEARCH_VALUE_CHARS_MAX: usize = 60;

// ===== rows =====

/// Bytes of one line or row, at most. A record in its longest form (every character of a
/// description of 10,000 written as two `\u` escapes) takes less than a fifth of it.
pub const LINE_BYTES_MAX: usize = 1 << 20;
/// Bytes of lines at which a batch ends that one thread of an import parses. All batches under way
/// together are less than a frame of the admin socket: a refused line of a slow pipe is told soon.
pub const LINE_BATCH_BYTES: usize = 16 << 10;
/// Batches under way, at most: with few for each, the threads that parse wait for the one that
/// reads.
pub const LINE_BATCHES_MAX: usize = 12;
/// Threads that parse lines of an import, at most: what they find is sorted and stored by two.
pub const PARSER_THREADS_MAX: usize = 4;
/// Bytes of a file that one row may take until it is given up. A row of more than
/// [`LINE_BYTES_MAX`] is refused if it ends within these, and the rows after it are read; beyond
/// them a forgotten quote would read the rest of the file into memory (API.md 13.4).
pub const ROW_SPAN_BYTES_MAX: usize = 16 << 20;
/// Bytes that are read from a file at a time.
pub const READ_BUFFER_BYTES: usize = 256 << 10;
/// Bytes of the beginning of a file by which it is recognised.
pub const SNIFF_BYTES: usize = 64 << 10;
/// Similarity from which on a name is taken for a misspelt one.
pub const NAME_SIMILARITY_MIN: f64 = 0.7;
/// Digits of seconds since 1970, at least: fewer are not the time of a subtitle.
pub const UNIX_DIGITS_MIN: usize = 9;
/// Bytes of the name of an entity of HTML, at most.
pub const ENTITY_BYTES_MAX: usize = 10;
/// Columns of one table of SQL.
pub const TABLE_COLUMNS_MAX: usize = 4096;
/// Columns of a table that a message names.
pub const SHOWN_COLUMNS_MAX: usize = 32;
/// Names of unknown fields that an import remembers.
pub const IGNORED_NAMES_MAX: usize = 32;

/// Bytes of files that an import brings at which a batch of them is stored.
pub const BROUGHT_BATCH_BYTES: usize = 4 << 20;
/// Bytes of one such file, at most: `upstream.max_bytes` is not more.
pub const BROUGHT_BYTES_MAX: usize = 1 << 30;

/// Folders between an imported folder and a file, at most.
pub const FOLDER_DEPTH_MAX: usize = 32;
/// Bytes of a `.nfo` file that are read.
pub const NFO_BYTES_MAX: usize = 64 << 10;
/// Paths that the report of an import shows for each reason.
pub const REASON_PATHS_MAX: usize = 5;
/// Paths of an imported folder that are listed at a time.
pub const PATH_PAGE_COUNT: usize = 2_000;
/// Records of a folder that are loaded at a time: those of one segment.
pub const FOLDER_LINES_MAX: usize = 20_000;
/// Paths whose records were loaded that are remembered at a time.
pub const REMEMBERED_ROWS_MAX: usize = 10_000;
/// Bytes of paths that are remembered at a time: less than the arguments of an operation.
pub const PATH_ROWS_BYTES_MAX: usize = 512 << 10;
/// Records of files that are gone which are deleted even if they are most of a folder's.
pub const PRUNED_ALWAYS_MAX: usize = 10;

// ===== ops =====

/// Active keys of one account, at most, whatever `accounts.keys_max` says.
pub const ACTIVE_KEYS_MAX: usize = 1_000;
/// Active keys of an administrator for each one that another account may have.
pub const ADMIN_KEYS_FACTOR: usize = 10;
/// Keys of one account in any state, at most: revoked ones are kept.
pub const KEYS_MAX: usize = 5_000;
/// Days for which a rolled key goes on working, at most.
pub const ROLL_DAYS_MAX: u32 = 30;
/// Days of usage that `key show` and `stats` go back.
pub const USAGE_DAYS: u32 = 30;

// ===== api =====

/// Bytes of a file that is read once and sent from memory, at most; a larger one goes from the
/// file to the socket. One connection at a time, `writev` took less CPU than `send` and `sendfile`
/// below 24 KB (4 KB: 12.1 and 13.4 µs, 40 KB: 15.4 and 14.4; loopback, Linux 6.18). With 64 at a
/// time the copy meets cold memory: of what nginx takes by `sendfile`, a variant of 13.9 KB took
/// 1.5 to 1.6 times from memory, and one of 16.7 KB 1.0 to 1.1 times from its file.
pub const FILE_READ_BYTES_MAX: u64 = 4 << 10;

// ===== web =====

/// Bytes of a page. A larger one is a fault of the server: it is answered with 500.
pub const PAGE_BYTES_MAX: usize = 256 << 10;

/// Stored files on a page of their list, at most.
pub const STORED_FILES_PER_PAGE: usize = 50;

/// Number of pages that are kept compressed, at most: of 10 KB each.
pub const PACKED_PAGES_MAX: usize = 32;

/// Pairs of one form or query string that are read, at most.
pub const FORM_PAIRS_MAX: usize = 64;

/// Characters of a password, at least (API.md, 12.5).
pub const PASSWORD_CHARS_MIN: usize = 8;

/// Bytes of a password, at most: a bound on the work of one request.
pub const PASSWORD_BYTES_MAX: usize = 256;

/// Passwords that wait for a hashing thread, at most, those of known applicants and of others
/// each: about a second of work for one thread.
pub const PASSWORD_QUEUE_MAX: usize = 64;
/// The same of administrators: a place of their own, which nobody else can fill.
pub const ADMIN_PASSWORD_QUEUE_MAX: usize = 8;
/// Passwords of one account, or from one network, that are in the queue or hashed at once.
pub const PASSWORDS_IN_FLIGHT_MAX: usize = 2;
/// Passwords of one account, or from one network, that wait for those before the queue.
pub const PASSWORDS_WAITING_MAX: usize = 14;

/// Subjects whose attempts are counted at once, at most.
pub const THROTTLE_ENTRIES_MAX: usize = 65_536;

/// Recovery codes that an account gets with its second step.
pub const RECOVERY_CODES: usize = 8;

/// Forms that were sent and are remembered, so that a repetition is recognised, at most.
pub const FORM_TOKENS_MAX: usize = 4_096;

/// Bytes of an email address that the throttle counts by; longer ones have no account.
pub const COUNTED_EMAIL_BYTES_MAX: usize = 254;

/// Bars of a chart that are elements of their own, at most: more would make the page large.
pub const NAMED_BARS_MAX: usize = 31;

/// A key's limit as a multiple of its busiest day, at most, at which the chart draws it: the bars
/// beside a higher line would be too small to be seen.
pub const LIMIT_LINE_FACTOR_MAX: u64 = 4;

/// Days until a new API key expires, at most: a hundred years.
pub const EXPIRY_DAYS_MAX: u32 = 36_525;

/// Records searched for one with a file, to show how to request it with a new API key.
pub const SAMPLE_DOCS_MAX: usize = 100;

/// Search results on one page.
pub const HITS_PER_PAGE: usize = 25;

/// Newest records on the front page.
pub const FRONT_HITS: usize = 5;

/// Characters of a title in the list of results, at most.
pub const HIT_TITLE_CHARS_MAX: usize = 120;

/// Characters of a description in the list of results, at most.
pub const HIT_DESCRIPTION_CHARS_MAX: usize = 140;

/// Characters of a description on the page of its record, at most: the page stays within 50 KB.
/// The API has all of it.
pub const RECORD_DESCRIPTION_CHARS_MAX: usize = 4_000;

/// Characters of the name of an uploader in a list, at most.
pub const UPLOADER_CHARS_MAX: usize = 40;

/// Characters of the name of a release's group, at most: what is longer is something else.
pub const GROUP_CHARS_MAX: usize = 24;

/// Entries of a feed, at most.
pub const FEED_ENTRIES_MAX: usize = 50;

/// Newest records among which a list without words finds the most downloaded. Nothing lists them by
/// their downloads, which change with each one: their counts are read, about 0.8 µs a record.
pub const COMPARED_DOWNLOADS_MAX: usize = 20_000;

/// Pages of a list of records without words, at most.
pub const LIST_PAGES_MAX: usize = 100;

/// Newest records that are read for those of an uploader: about 25 ms.
pub const UPLOADER_RECORDS_READ_MAX: usize = 250_000;
/// Newest records that are read to offer the page of an uploader whose name was searched in vain.
pub const UPLOADER_OFFER_READ_MAX: usize = 10_000;

/// Other versions on the page of a record, at most; the page of its title has all.
pub const OTHER_VERSIONS_MAX: usize = 8;

/// Episodes of a series that its page shows at once, at most; of a longer one it shows the episodes
/// of the chosen season.
pub const GRID_EPISODES_MAX: usize = 250;

/// API keys on one page of their list.
pub const KEYS_PER_PAGE: usize = 25;

/// Accounts in the list of the administration pages, at most.
pub const ACCOUNTS_SHOWN_MAX: usize = 50;

/// Entries of the audit log that one page reads at most, for those that pass its filter.
pub const AUDIT_ENTRIES_READ_MAX: usize = 20_000;

/// Newest entries of the audit log among which the page of an account finds its last sign-in.
pub const SIGN_IN_ENTRIES_READ_MAX: usize = 1_000;

/// Entries in one export of the audit log.
pub const AUDIT_ENTRIES_EXPORTED_MAX: usize = 10_000;

/// API keys, the newest first, whose usage the console reads to find the busiest ones.
pub const USED_KEYS_READ_MAX: usize = 500;

/// Titles with the most downloads that the console shows.
pub const TOP_TITLES_SHOWN: usize = 10;

/// The busiest API keys that the console shows.
pub const TOP_KEYS_SHOWN: usize = 5;

/// Entries on one page of the audit log.
pub const AUDIT_ENTRIES_PER_PAGE: usize = 100;

// ===== admin =====

/// Bytes of one frame of an import, at most.
pub const FRAME_BYTES_MAX: usize = 256 << 10;
const _: () = assert!(LINE_BATCHES_MAX * LINE_BATCH_BYTES < FRAME_BYTES_MAX);
const _: () = assert!(2 * PARSER_THREADS_MAX <= LINE_BATCHES_MAX);
/// Pieces of a body that wait between its two sides, at most.
pub const BODY_PIECES_MAX: usize = 8;
/// Bytes of the arguments of one operation, at most.
pub const OPERATION_BYTES_MAX: usize = 1 << 20;
/// Bytes of a piece of a body on the admin socket, at most: lines are gathered to it.
pub const SOCKET_PIECE_BYTES_MAX: usize = 256 << 10;

// ===== command =====

/// Lines of a batch of `import --follow`, at most.
pub const BATCH_LINES_MAX: u64 = 10_000;
/// Bytes of such a batch at which it ends.
pub const BATCH_BYTES_MAX: usize = 16 << 20;
/// Lines that `import --follow` reads ahead, at most.
pub const LINES_AHEAD_MAX: usize = 64;

/// Symbolic links that lead to the file of an output, at most, as in the kernel.
pub const OUTPUT_LINKS_MAX: usize = 40;

/// Free bytes of a database file from which on `stats` proposes to compact it.
pub const COMPACTION_BYTES_MIN: u64 = 16 << 20;
/// Seconds between two signs of life of a node of a cluster.
pub const BEAT_SECONDS: u64 = 2;
/// Callers that wait at a time until other nodes obey a revocation; others are told which nodes
/// have not confirmed.
pub const CONFIRM_WAITERS_MAX: usize = 4;
/// Seconds of silence after which nobody waits for a node that accepts keys for ever.
pub const NODE_SILENT_SECONDS: u64 = 60;

// ===== address =====

/// Hits of a search below an address that its pages show, at most, and items of a page.
pub const ADDRESS_ITEMS_MAX: u16 = 200;
/// Number of a page; a larger one is taken for this one.
pub const ADDRESS_PAGE_MAX: u32 = 1_000_000;
/// Subtitles that the add-on lists for a video, at most.
pub const ADDON_ITEMS_MAX: usize = 50;
/// Lines of the first release of an item that name the title, at most.
pub const TITLE_LINES_MAX: usize = 6;
/// Releases of an item that its record names, at most.
pub const NAMED_RELEASES_MAX: usize = 8;
/// Parts of the name of a release, at least.
pub const RELEASE_PARTS_MIN: usize = 3;
/// Characters of a name in parentheses, at least.
pub const INNER_NAME_CHARS_MIN: usize = 4;
/// White-space separated words that one episode word is written in, at most: `S01 E 02`.
pub const EPISODE_PIECES_MAX: usize = 3;
/// Characters of such a release, at most.
pub const RELEASE_NAME_CHARS_MAX: usize = 200;
/// Records of a catalog whose languages are counted anew after every change.
pub const LANGUAGES_COUNTED_MAX: u64 = 100_000;
/// Age of counts of languages of a larger catalog, at most.
pub const LANGUAGE_COUNTS_AGE_MAX: Duration = Duration::from_secs(15 * 60);
