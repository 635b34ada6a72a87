//! Every bound of the server, with its unit. Sections follow the modules of `lib.rs`.

use std::time::Duration;

// ===== config =====

/// Maximum number of edits between an unknown variable and the setting that it is taken to
/// misspell. Others are ignored: Kubernetes, for one, sets `SUBCAT_PORT` and more of its kind
/// beside a service named `subcat`.
pub const MISTYPED_LETTERS_MAX: usize = 2;

/// Maximum size of a file that holds the value of one setting.
pub const SECRET_BYTES_MAX: usize = 16 << 10;

/// Maximum number of log lines that wait to be written: about 2 MB. Further ones are dropped.
pub const LOG_LINES_QUEUED_MAX: usize = 8192;

/// Minimum time without a tick (one per second) before a worker counts as stalled.
pub const WORKER_STILL_MIN: Duration = Duration::from_secs(5);

/// Requests of a worker for each line of the access log, when it is sampled.
pub const ACCESS_SAMPLE: u64 = 100;
/// Maximum length of a client's own id for a request. A longer one is not logged.
pub const REQUEST_ID_BYTES_MAX: usize = 64;

/// Maximum number of bytes read of the answer to a health check.
pub const HEALTH_BYTES_MAX: u64 = 64 << 10;

// ===== runtime =====

/// Maximum number of pages that are read at once.
pub const PAGE_JOBS_MAX: usize = 8;
/// Maximum number of changes by pages that hold a thread at once. Those that wait for the log of a
/// cluster hold none.
pub const CHANGE_JOBS_MAX: usize = 8;
/// Maximum number of files that are compressed or looked into at once.
pub const DECODING_JOBS_MAX: usize = 2;
/// Maximum number of stored files that are opened for the first time at once.
pub const OPENING_JOBS_MAX: usize = 4;
/// Maximum number of fetched files that are stored at once.
pub const STORING_JOBS_MAX: usize = 4;
/// Maximum number of operations of the admin socket at once.
pub const ADMINISTRATION_JOBS_MAX: usize = 4;
/// Maximum number of imports and exports of the admin socket at once. Those of a cluster keep their
/// thread while they wait for its log.
pub const TRANSFER_JOBS_MAX: usize = 4;
/// Maximum number of answers of `/metrics` that are made at once.
pub const METRICS_JOBS_MAX: usize = 2;
/// Milliseconds that the wall clock must jump for its offset to be measured again. Smaller steps
/// are slewing, which the monotonic clock follows.
pub const CLOCK_JUMP_MS_MIN: i64 = 250;
/// Seconds for which a clock must be far ahead, by the same, until its time is stored.
pub const CLOCK_CONFIRM_SECONDS: u64 = 6 * 3600;
/// Milliseconds by which such a clock may drift in that time; more is a jump.
pub const CLOCK_DRIFT_MS_MAX: i64 = 60_000;
/// Maximum number of blobs that the engine keeps open for all workers.
pub const OPEN_BLOBS_MAX: usize = 1024;
/// Maximum number of large files that one worker keeps open.
pub const WORKER_FILES_MAX: usize = 2048;
/// Maximum number of descriptors reserved for stores, counters and administration. Fetches have
/// their own.
pub const OTHER_DESCRIPTORS_MAX: usize = 512;
/// Maximum number of bytes that hyper buffers for one connection: a request head, or queued output.
pub const CONNECTION_BUFFER_BYTES_MAX: usize = 64 << 10;
/// Bytes that hyper gets at a time: one less than what makes it reserve twice as much for the next
/// time, up to [`CONNECTION_BUFFER_BYTES_MAX`].
pub const HYPER_READ_BYTES_MAX: usize = (8 << 10) - 1;
/// Minimum size of an incomplete request head that is passed to hyper.
pub const PARTIAL_HEAD_BYTES_MAX: usize = 4 << 10;
/// Maximum number of bytes of all incomplete requests of a worker. Beyond it, requests end that
/// hold more than [`PARTIAL_HEAD_BYTES_MAX`].
pub const PARTIAL_REQUESTS_BYTES_MAX: u64 = 32 << 20;
/// Maximum number of connections of a worker that release hyper's buffers in one tick: about 2 ms.
pub const RELEASES_PER_TICK_MAX: usize = 1024;
/// Connections that must have released hyper's buffers, 16 KiB each, before a worker trims the
/// heap. It waits for a tick in which no connection releases any.
pub const RELEASES_TO_TRIM_MIN: usize = 1024;
/// Maximum number of open connections of one admin listener. Further ones are closed.
pub const ADMIN_CONNECTIONS_MAX: usize = 256;
/// Maximum number of restarts of a worker within a minute of each other. The next failure ends the
/// process.
pub const WORKER_FAILURES_MAX: usize = 5;
/// Maximum number of connections that are examined for an idle one when a new one finds no place.
pub const IDLE_SCAN_MAX: usize = 1024;
/// Minimum idle time, in ticks of one second, of a connection that is closed for a new one or
/// releases its buffers: more than a second. A connection in use is idle for less between two
/// requests.
pub const IDLE_TICKS_MIN: u32 = 2;
/// Maximum number of rejected connections of one worker in lingering close. Further ones are closed
/// at once, and their clients may see a reset instead of the answer.
pub const REJECTED_CONNECTIONS_MAX: usize = 64;
/// Maximum number of bytes that one system call receives.
pub const RECEIVE_BYTES_MAX: usize = 16 << 10;
/// Maximum number of bytes that one call of `sendfile` sends, so that one reader does not occupy
/// its worker. Several calls in a row are corked: 8 MB took 3.8 to 4.0 ms of processor time without
/// and 3.0 ms with the cork (`compare-serving --only file-8m`, Linux 6.18). In a bare loop 1 MB
/// took the same with and without it, and 256 KB four times as much with it.
pub const SENDFILE_BYTES_MAX: usize = 1 << 20;
/// Maximum number of threads of one worker that read files which are not in memory.
pub const COLD_READERS_MAX: usize = 8;
/// Bytes that such a thread reads at a time.
pub const COLD_READ_BYTES: usize = 256 << 10;
/// Maximum number of bytes of head and body that are copied together and sent by one `send`: with a
/// head of 600 bytes and a body of 400, 2,048 and 8,192 bytes that took 4.18, 4.13 and 4.78 µs
/// where `writev` took 4.46, 4.34 and 4.90 (loopback, Linux 6.18).
pub const JOINED_BYTES_MAX: usize = 8 << 10;
/// Maximum number of slices of one vectored write. A head and its content are two.
pub const WRITE_SLICES_MAX: usize = 4;
/// Maximum number of bytes that lingering close reads and discards: a client that sends a body of
/// some megabytes without asking first reads why it was rejected, instead of a reset.
pub const LINGER_BYTES_MAX: usize = 32 << 20;
/// Maximum length of a Unix socket's path. A longer one is reached through its open directory.
pub const SOCKET_PATH_BYTES_MAX: usize = 100;
/// Failed `io_uring_enter` calls in a row, a millisecond apart, before a ring is given up and its
/// worker falls back to epoll.
pub const RING_FAILURES_MAX: usize = 1000;
/// Maximum number of entries in a ring's submission queue before an answer submits them, ahead of
/// the end of the turn: the first of the twenty or so answers of a turn would wait for the work on
/// all of them.
pub const RING_QUEUED_MAX: usize = 10;
/// Maximum number of unread bytes of one connection. At it the ring stops receiving: the rest stays
/// in the kernel's buffer, and TCP slows the client down.
pub const RING_UNREAD_BYTES_MAX: usize = 16 << 10;
/// Maximum number of buffers that a ring's pool keeps.
pub const POOLED_BUFFERS_MAX: usize = 256;
/// Maximum capacity of a buffer that the pool keeps.
pub const POOLED_BUFFER_BYTES_MAX: usize = 16 << 10;

// ===== limiter =====

/// Maximum number of requests of one rate limit window: as many as 28 bits count.
pub const WINDOW_REQUESTS_MAX: u32 = (1 << 28) - 1;

// ===== auth =====

// ===== request =====

/// Maximum length of a request target.
pub const URL_BYTES_MAX: usize = 8 << 10;
/// Maximum number of bytes of all header fields of a request: name + value + 4 each.
pub const FIELD_BYTES_MAX: usize = 16 << 10;
/// Maximum number of header fields of a request.
pub const FIELDS_MAX: usize = 64;
/// Maximum size of a request body. It is read and discarded, unless it is a form.
pub const BODY_BYTES_MAX: usize = 64 << 10;
/// Maximum size of a form, the only body that takes memory.
pub const FORM_BYTES_MAX: usize = 16 << 10;
/// Maximum length of a `Host` that a connection remembers: no DNS name is longer.
pub const KNOWN_HOST_BYTES_MAX: usize = 255;

// ===== files =====

/// Minimum number of characters of a text for each of its control characters. Compressed bytes have
/// nine.
pub const TEXT_CHARS_PER_CONTROL_MIN: usize = 50;
/// The same for a text that begins as only subtitles do: some have stray bytes.
pub const SUBTITLE_CHARS_PER_CONTROL_MIN: usize = 10;

/// Minimum size of a text from upstream without a subtitle's shape. A shorter one is an error
/// message (API.md 14.4).
pub const SHAPELESS_BYTES_MIN: usize = 200;

/// Maximum length of the comment at the end of a zip.
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
/// Bytes that are unpacked up to the end of one file: a solid archive unpacks the files before it.
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
/// Display time of a text of frames without an end, in milliseconds.
pub const FRAME_TEXT_MS_MAX: u64 = 5_000;

/// Maximum number of bytes that a look into a text decodes.
pub const LOOK_TEXT_BYTES_MAX: usize = 64 << 10;
/// Maximum number of cues that a look into a text shows.
pub const LOOK_CUES_MAX: usize = 20;
/// First cues that the page of a record shows.
pub const RECORD_CUES_MAX: usize = 8;
/// Packs of a season that the page of an episode offers.
pub const EPISODE_PACKS_MAX: usize = 5;
/// Hits of a search that its pages reach, in any order.
pub const REACHED_HITS_MAX: u16 = 10_000;
/// Maximum number of names that a look into an archive shows.
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

/// Maximum number of prepared files of one worker.
pub const PREPARED_FILES_MAX: usize = 4096;
/// Maximum number of record locations that a worker remembers: about 350 KB.
pub const RECORD_LOCATIONS_MAX: usize = 4096;
/// Maximum number of files that a worker keeps open or in memory.
pub const OPEN_FILES_MAX: usize = 2048;
/// Open files of a worker that the cap may be lowered to: a map of two halves holds one in each.
pub const OPEN_FILES_MIN: usize = 2;
/// Maximum number of variants that are remembered as not worth making: 40 bytes each.
pub const USELESS_VARIANTS_MAX: usize = 4096;

// ===== upstream =====

/// Maximum number of redirects that a fetch follows (API.md 14).
pub const UPSTREAM_REDIRECTS_MAX: usize = 3;

/// Maximum number of requests of files to object storage at once. Each takes a socket and may hold
/// a file in memory; others wait for their turn.
#[cfg(feature = "s3")]
pub const STORAGE_REQUESTS_MAX: usize = 32;
/// Attempts of a request to object storage after the first. Clients wait: an outage must show
/// within seconds, where the library's defaults hide it for minutes.
#[cfg(feature = "s3")]
pub const STORAGE_RETRIES_MAX: usize = 1;

/// Seconds until a text without a subtitle's shape is fetched again (API.md 14.5).
pub const REFETCH_SECONDS: i64 = 3_600;

/// Pause before the first probe of an upstream that does not answer.
pub const PROBE_PAUSE_MIN: Duration = Duration::from_secs(1);
/// Maximum pause between two probes. Each failed probe doubles the pause.
pub const PROBE_PAUSE_MAX: Duration = Duration::from_secs(30);
/// Maximum time for which `Retry-After` of upstream suspends requests.
pub const SUSPENSION_MAX: Duration = Duration::from_secs(300);

/// Maximum number of failed fetches that are remembered. The oldest are dropped first.
pub const FETCH_FAILURES_MAX: usize = 10_000;

// ===== cluster =====

/// Maximum length of a stream's name, in characters.
pub const STREAM_NAME_CHARS_MAX: usize = 32;
/// Maximum number of window counts in one message to the other nodes: about 500 KB, half of what
/// NATS accepts.
pub const COUNTS_SENT_MAX: usize = 20_000;
/// Maximum number of windows that are exchanged in short rounds: 25 KB in each.
pub const HOT_WINDOWS_MAX: usize = 1_000;
/// Maximum number of queued messages of other nodes. The oldest are dropped.
pub const COUNT_MESSAGES_MAX: usize = 256;
/// Maximum number of nodes that are counted for one window.
pub const COUNTING_NODES_MAX: usize = 64;
/// Maximum number of entries that one read of a shared log returns.
pub const LOG_ENTRIES_READ_MAX: usize = 1024;
/// Objects of a bucket that are listed at a time.
pub const BUCKET_PAGE: usize = 1_000;
/// Copies that a cluster of NATS servers keeps of the log: one may be lost with its disk, and
/// entries are still accepted while one is away.
pub const NATS_REPLICAS: u64 = 3;
/// Maximum pause before the next attempt to connect to NATS.
pub const RECONNECT_PAUSE_MAX: Duration = Duration::from_millis(500);
/// Oldest version of PostgreSQL that is known to work, as the server writes it.
pub const POSTGRES_VERSION_MIN: i32 = 150_000;

// ===== traces =====

/// Maximum number of spans that wait to be sent: about 2 MB. Further ones are dropped.
pub const SPANS_QUEUED_MAX: usize = 4096;
/// Maximum number of spans in one batch to the collector.
pub const SPANS_SENT_AT_ONCE: usize = 512;
/// Minimum duration, in milliseconds, of a background task that gets a span of its own: most runs
/// find nothing to do.
pub const TASK_SPAN_MS_MIN: u64 = 10;

// ===== service =====

/// Maximum number of served contents that wait to be noted.
pub const SERVED_FILES_MAX: usize = 65_536;
/// Longest pause of a background task after failures: what failed for lack of space works again
/// soon after space is made.
pub const TASK_PAUSE_MAX: Duration = Duration::from_secs(4);
/// The same for merges. Each may write gigabytes before it fails.
pub const MERGE_PAUSE_MAX: Duration = Duration::from_secs(64);
/// Maximum number of slow searches that are kept. The oldest is dropped.
pub const SLOW_SEARCHES_MAX: usize = 20;
/// Maximum number of searches without results that are kept. The oldest is dropped.
pub const EMPTY_SEARCHES_MAX: usize = 20;
/// Hours of key usage that are kept.
pub const HOURLY_USE_HOURS: i64 = 24;
/// Maximum number of keys with usage by hour.
pub const HOURLY_USE_KEYS_MAX: usize = 4_096;
/// Hours of figures that the console keeps.
pub const HISTORY_HOURS_MAX: usize = 24;
/// Minutes of figures that the console keeps.
pub const HISTORY_MINUTES_MAX: usize = 60;
/// Days of figures that the console keeps.
pub const HISTORY_DAYS_MAX: usize = 30;
/// Maximum number of characters that are kept of one value of a slow search.
pub const SLOW_SEARCH_VALUE_CHARS_MAX: usize = 60;

// ===== rows =====

/// Maximum size of one line or row. A record in its longest form (every character of a description
/// of 10,000 written as two `\u` escapes) takes less than a fifth of it.
pub const LINE_BYTES_MAX: usize = 1 << 20;
/// Size of the batch of lines that one parser thread of an import takes. All batches in flight
/// together are smaller than a frame of the admin socket, so that a refused line of a slow pipe is
/// reported soon.
pub const LINE_BATCH_BYTES: usize = 16 << 10;
/// Maximum number of batches in flight. With few for each, the parser threads wait for the reader.
pub const LINE_BATCHES_MAX: usize = 12;
/// Maximum number of parser threads of an import. Two threads sort and store their results.
pub const PARSER_THREADS_MAX: usize = 4;
/// Bytes of a file that one row may take until it is given up. A row of more than
/// [`LINE_BYTES_MAX`] is refused if it ends within these, and the rows after it are read; beyond
/// them a forgotten quote would read the rest of the file into memory (API.md 13.4).
pub const ROW_SPAN_BYTES_MAX: usize = 16 << 20;
/// Bytes that are read from a file at a time.
pub const READ_BUFFER_BYTES: usize = 256 << 10;
/// Bytes of the beginning of a file that identify its format.
pub const SNIFF_BYTES: usize = 64 << 10;
/// Minimum similarity of a name that counts as a misspelt one.
pub const NAME_SIMILARITY_MIN: f64 = 0.7;
/// Minimum digits of seconds since 1970. Fewer are not the time of a subtitle.
pub const UNIX_DIGITS_MIN: usize = 9;
/// Maximum length of the name of an HTML entity.
pub const ENTITY_BYTES_MAX: usize = 10;
/// Columns of one table of SQL.
pub const TABLE_COLUMNS_MAX: usize = 4096;
/// Columns of a table that a message names.
pub const SHOWN_COLUMNS_MAX: usize = 32;
/// Names of unknown fields that an import remembers.
pub const IGNORED_NAMES_MAX: usize = 32;

/// Size of a batch of files that an import brings and stores together.
pub const BROUGHT_BATCH_BYTES: usize = 2 << 20;
/// Maximum size of one such file: `upstream.max_bytes` is not more.
pub const BROUGHT_BYTES_MAX: usize = 1 << 30;

/// Maximum size of each page cache during an import of a folder: the usual ones would be most of
/// its memory.
pub const FOLDER_CACHE_BYTES: usize = 4 << 20;
/// Maximum depth of a file below an imported folder.
pub const FOLDER_DEPTH_MAX: usize = 32;
/// Bytes of a `.nfo` file that are read.
pub const NFO_BYTES_MAX: usize = 64 << 10;
/// Paths that the report of an import shows for each reason.
pub const REASON_PATHS_MAX: usize = 5;
/// Paths of an imported folder that are listed at a time.
pub const PATH_PAGE_COUNT: usize = 2_000;
/// Records of a folder that are loaded at a time: those of one segment.
pub const FOLDER_LINES_MAX: usize = 8_000;
/// Paths whose records were loaded that are remembered at a time.
pub const REMEMBERED_ROWS_MAX: usize = 10_000;
/// Bytes of paths that are remembered at a time: less than the arguments of an operation.
pub const PATH_ROWS_BYTES_MAX: usize = 512 << 10;
/// Records of deleted files that an import may delete even if they are most of a folder's.
pub const PRUNED_ALWAYS_MAX: usize = 10;

// ===== ops =====

/// Maximum number of active keys of one account, whatever `accounts.keys_max` says.
pub const ACTIVE_KEYS_MAX: usize = 1_000;
/// Active keys of an administrator for each one that another account may have.
pub const ADMIN_KEYS_FACTOR: usize = 10;
/// Maximum number of keys of one account in any state. Revoked keys are kept.
pub const KEYS_MAX: usize = 5_000;
/// Days of usage in `key show` and `stats`.
pub const USAGE_DAYS: u32 = 30;

// ===== api =====

/// Maximum size of a file that is read once and sent from memory. A larger one goes from the file
/// to the socket. One connection at a time, `writev` took less CPU than `send` and `sendfile` below
/// 24 KB (4 KB: 12.1 and 13.4 µs, 40 KB: 15.4 and 14.4; loopback, Linux 6.18). With 64 at a time
/// the copy meets cold memory: of what nginx takes by `sendfile`, a variant of 13.9 KB took 1.5 to
/// 1.6 times from memory, and one of 16.7 KB 1.0 to 1.1 times from its file.
pub const FILE_READ_BYTES_MAX: u64 = 4 << 10;

// ===== web =====

/// Bytes of a page. A larger one is a fault of the server: it is answered with 500.
pub const PAGE_BYTES_MAX: usize = 256 << 10;

/// Stored files on one page of their list.
pub const STORED_FILES_PER_PAGE: usize = 50;

/// Maximum number of pages that are kept compressed, 10 KB each.
pub const PACKED_PAGES_MAX: usize = 32;

/// Maximum number of pairs that are read of one form or query string.
pub const FORM_PAIRS_MAX: usize = 64;

/// Minimum length of a password, in characters (API.md, 12.5).
pub const PASSWORD_CHARS_MIN: usize = 8;

/// Maximum length of a password: a bound on the work of one request.
pub const PASSWORD_BYTES_MAX: usize = 256;

/// Maximum number of passwords that wait for a hashing thread, of known applicants and of others
/// each: about a second of work for one thread.
pub const PASSWORD_QUEUE_MAX: usize = 64;
/// The same of administrators, who have a queue that others cannot fill.
pub const ADMIN_PASSWORD_QUEUE_MAX: usize = 8;
/// Passwords of one account, or from one network, that are in the queue or hashed at once.
pub const PASSWORDS_IN_FLIGHT_MAX: usize = 2;
/// Passwords of one account, or from one network, that wait for those before the queue.
pub const PASSWORDS_WAITING_MAX: usize = 14;

/// Maximum number of subjects with counted attempts.
pub const THROTTLE_ENTRIES_MAX: usize = 65_536;

/// Recovery codes that an account gets with its second step.
pub const RECOVERY_CODES: usize = 8;

/// Maximum number of sent forms that are remembered to recognise a repetition.
pub const FORM_TOKENS_MAX: usize = 4_096;

/// Bytes of an email address that the throttle counts by; longer ones have no account.
pub const COUNTED_EMAIL_BYTES_MAX: usize = 254;

/// Maximum number of bars of a chart that are elements of their own. More would make the page
/// large.
pub const NAMED_BARS_MAX: usize = 31;

/// Maximum ratio of a key's limit to its busiest day at which the chart draws the limit. The bars
/// beside a higher line would be too small to be seen.
pub const LIMIT_LINE_FACTOR_MAX: u64 = 4;

/// Maximum lifetime of a new API key, in days: a hundred years.
pub const EXPIRY_DAYS_MAX: u32 = 36_525;

/// Records searched for one with a file, to show how to request it with a new API key.
pub const SAMPLE_DOCS_MAX: usize = 100;

/// Maximum number of languages that the filter of the catalog offers.
pub const LANGUAGES_OFFERED_MAX: usize = 100;
/// Languages that are offered beside the chips of a search, those of most records.
pub const LANGUAGES_NARROWING_MAX: usize = 4;

/// Search results on one page.
pub const HITS_PER_PAGE: usize = 25;

/// Newest records on the front page.
pub const FRONT_HITS: usize = 5;

/// Maximum number of characters of a title in the list of results.
pub const HIT_TITLE_CHARS_MAX: usize = 120;

/// Maximum number of characters of a description in the list of results.
pub const HIT_DESCRIPTION_CHARS_MAX: usize = 140;

/// Maximum number of characters of a description on the page of its record: the page stays within
/// 50 KB. The API has all of it.
pub const RECORD_DESCRIPTION_CHARS_MAX: usize = 4_000;

/// Maximum number of characters of an uploader's name in a list.
pub const UPLOADER_CHARS_MAX: usize = 40;

/// Maximum number of characters of the name of a release's group. A longer one is something else.
pub const GROUP_CHARS_MAX: usize = 24;

/// Maximum number of entries of a feed.
pub const FEED_ENTRIES_MAX: usize = 50;

/// Maximum number of pages of a list of records without words.
pub const LIST_PAGES_MAX: usize = 100;

/// Maximum number of other versions on the page of a record. The page of its title has all.
pub const OTHER_VERSIONS_MAX: usize = 8;

/// Maximum number of episodes that the page of a series shows at once. For a longer one it shows
/// the episodes of the chosen season.
pub const GRID_EPISODES_MAX: usize = 250;

/// API keys on one page of their list.
pub const KEYS_PER_PAGE: usize = 25;

/// Maximum number of accounts in the list of the administration pages.
pub const ACCOUNTS_SHOWN_MAX: usize = 50;

/// Entries of the audit log that one page reads at most, for those that pass its filter.
pub const AUDIT_ENTRIES_READ_MAX: usize = 20_000;

/// Newest entries of the audit log that the page of an account searches for its last sign-in.
pub const SIGN_IN_ENTRIES_READ_MAX: usize = 1_000;

/// Entries in one export of the audit log.
pub const AUDIT_ENTRIES_EXPORTED_MAX: usize = 10_000;

/// Newest API keys among which the console finds the busiest ones.
pub const USED_KEYS_READ_MAX: usize = 500;

/// Titles with the most downloads that the console shows.
pub const TOP_TITLES_SHOWN: usize = 10;

/// The busiest API keys that the console shows.
pub const TOP_KEYS_SHOWN: usize = 5;

/// Entries on one page of the audit log.
pub const AUDIT_ENTRIES_PER_PAGE: usize = 100;

// ===== admin =====

/// Maximum size of one frame of an import.
pub const FRAME_BYTES_MAX: usize = 256 << 10;
const _: () = assert!(LINE_BATCHES_MAX * LINE_BATCH_BYTES < FRAME_BYTES_MAX);
const _: () = assert!(2 * PARSER_THREADS_MAX <= LINE_BATCHES_MAX);
/// Maximum number of pieces of a body that are queued between its two sides.
pub const BODY_PIECES_MAX: usize = 8;
/// Maximum size of the arguments of one operation.
pub const OPERATION_BYTES_MAX: usize = 1 << 20;
/// Maximum size of a piece of a body on the admin socket: lines are gathered to it.
pub const SOCKET_PIECE_BYTES_MAX: usize = 256 << 10;

// ===== command =====

/// Maximum number of lines of a batch of `import --follow`.
pub const BATCH_LINES_MAX: u64 = 10_000;
/// Size of such a batch at which it ends, in bytes.
pub const BATCH_BYTES_MAX: usize = 16 << 20;
/// Maximum number of lines that `import --follow` reads ahead.
pub const LINES_AHEAD_MAX: usize = 64;

/// Maximum number of symbolic links on the way to an output file, as in the kernel.
pub const OUTPUT_LINKS_MAX: usize = 40;

/// Minimum free space of a database file at which `stats` proposes to compact it.
pub const COMPACTION_BYTES_MIN: u64 = 16 << 20;
/// Seconds between two signs of life of a node of a cluster.
pub const BEAT_SECONDS: u64 = 2;
/// Maximum number of items of a group commit: their events fit a frame of a cluster's log.
pub const GROUP_ITEMS_MAX: usize = 256;
/// Callers that wait at a time until other nodes obey a revocation; others are told which nodes
/// have not confirmed.
pub const CONFIRM_WAITERS_MAX: usize = 1_000;
/// Seconds of silence after which the other nodes stop waiting for one that accepts keys for ever.
pub const NODE_SILENT_SECONDS: u64 = 60;

// ===== address =====

/// Maximum number of hits of a search below an address on its pages, and of items of a page.
pub const ADDRESS_ITEMS_MAX: u16 = 200;
/// Memory that the JSON of a prepared item begins with.
pub const ADDRESS_ITEM_BYTES: usize = 768;
/// Memory that the beginning of URLs begins with: a scheme, a host and a key.
pub const URL_START_BYTES: usize = 160;
/// Maximum page number. A larger one is taken for this one.
pub const ADDRESS_PAGE_MAX: u32 = 1_000_000;
/// Maximum number of subtitles that the add-on lists for a video.
pub const ADDON_ITEMS_MAX: usize = 50;
/// Maximum number of lines of the first release of an item that name the title.
pub const TITLE_LINES_MAX: usize = 6;
/// Maximum number of releases that the record of an item names.
pub const NAMED_RELEASES_MAX: usize = 8;
/// Minimum number of parts of the name of a release.
pub const RELEASE_PARTS_MIN: usize = 3;
/// Minimum number of characters of a name in parentheses.
pub const INNER_NAME_CHARS_MIN: usize = 4;
/// Maximum number of words, separated by white space, in one episode marker: `S01 E 02`.
pub const EPISODE_PIECES_MAX: usize = 3;
/// Maximum number of characters of such a release.
pub const RELEASE_NAME_CHARS_MAX: usize = 200;
/// Maximum number of records of a catalog for counting its languages anew after every change.
pub const LANGUAGES_COUNTED_MAX: u64 = 100_000;
/// Maximum age of the language counts of a larger catalog.
pub const LANGUAGE_COUNTS_AGE_MAX: Duration = Duration::from_secs(15 * 60);
