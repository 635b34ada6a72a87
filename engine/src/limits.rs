//! Bounds of the engine, each with its unit.

/// Maximum length of a record's title, in characters (API.md, import record).
pub const TITLE_CHARS_MAX: usize = 500;
/// Maximum length of a record's description, in characters.
pub const DESCRIPTION_CHARS_MAX: usize = 10_000;
/// Maximum length of an uploader's name, in characters.
pub const UPLOADER_CHARS_MAX: usize = 200;
/// Maximum length of an upstream release id, in bytes (it is ASCII).
pub const RELEASE_ID_BYTES_MAX: usize = 200;
/// Maximum length of a stored file name, in characters.
pub const FILE_NAME_CHARS_MAX: usize = 255;
/// Maximum number of characters of a refused value that its reason quotes.
pub const SHOWN_VALUE_CHARS_MAX: usize = 60;
/// Maximum length of an API key's name, in characters.
pub const KEY_NAME_CHARS_MAX: usize = 100;
/// Maximum length of an account's display name, in characters.
pub const DISPLAY_NAME_CHARS_MAX: usize = 80;
/// Maximum number of digits of a catalog id.
pub const CATALOG_ID_DIGITS_MAX: usize = 12;
/// First second of the year 0001, since 1970.
pub const TIMESTAMP_SECONDS_MIN: i64 = -62_135_596_800;
/// Last second of the year 9999, since 1970.
pub const TIMESTAMP_SECONDS_MAX: i64 = 253_402_300_799;
/// Earliest year that a record may carry.
pub const YEAR_MIN: u16 = 1850;
/// Latest year that a record may carry.
pub const YEAR_MAX: u16 = 2100;
/// Earliest year that a search may name.
pub const SEARCH_YEAR_MIN: u16 = 1900;
/// Maximum length of a search text (`query`, `title`, `catalog_id`, `release`), in characters.
pub const SEARCH_TEXT_CHARS_MAX: usize = 512;
/// Maximum number of words of a `query` after folding.
pub const QUERY_WORDS_MAX: usize = 32;
/// Minimum length of `title` for matching inside words, in characters (SEARCH.md 4.3).
pub const INNER_TEXT_CHARS_MIN: usize = 3;
/// Minimum length of the last plain word for matching as a prefix of a title word, in characters
/// (SEARCH.md 4.5).
pub const PREFIX_CHARS_MIN: usize = 3;
/// Minimum length of a plain word for matching with one typo, in characters (SEARCH.md 4.6).
pub const ONE_TYPO_CHARS_MIN: usize = 5;
/// Minimum length of a plain word for matching with two typos, in characters.
pub const TWO_TYPOS_CHARS_MIN: usize = 9;
/// Maximum number of plain words that may have typos: with more there is no second try.
pub const TYPO_WORDS_MAX: usize = 8;
/// Maximum alignment distance between a title word and a plain word.
pub const TYPO_DISTANCE_MAX: usize = 2;
/// Maximum number of release words that are weighed: each costs an intersection (SEARCH.md 5.6).
pub const RELEASE_WORDS_MAX: usize = 16;
/// Maximum sum of the weights of the release words: a group and 15 words of the next weight.
pub const MISSING_WEIGHT_MAX: u8 = 68;
/// Maximum number of query words that are looked up as an episode number.
pub const NAME_NUMBERS_MAX: usize = 3;
/// Maximum size of a word that gives the source of a release in a name, in bytes.
pub const NAME_SOURCE_BYTES_MAX: usize = 8;
/// Maximum number of words left out at the end of a film's title, when it is looked up by its year.
pub const FILM_WORDS_LEFT_OUT_MAX: usize = 8;
/// Highest episode that the last two digits of a number such as `102` can be (NAMES.md P2).
pub const COMPACT_EPISODE_MAX: u32 = 30;
/// Maximum number of hits in one search answer (the `limit` parameter).
pub const PAGE_SIZE_MAX: u16 = 200;
/// Maximum number of records that the pages of a list without words can reach.
pub const LISTED_DOCS_MAX: usize = 20_001;
/// Number of hits in one search answer without a `limit` parameter.
pub const PAGE_SIZE_DEFAULT: u16 = 100;
/// Number of threads that wait for the disk when many blobs are stored at once.
pub const PUT_THREADS: usize = 8;
/// Threads that write when many contents are stored at once.
pub const PUT_WRITERS: usize = 2;
/// Files that one of them keeps open until they are synced.
pub const OPEN_WRITTEN_MAX: usize = 64;
/// Minimum number of files for which one sync of the whole file system is cheaper: it waits for
/// what others have written, too.
pub const WHOLE_SYNC_FILES_MIN: usize = 32;
/// Maximum number of files that an import brings at once.
pub const BROUGHT_FILES_MAX: usize = 2048;
/// Maximum length of a path that an import remembers, in bytes.
pub const IMPORT_PATH_BYTES_MAX: usize = 4096;
/// Records in one durable transaction of an import.
pub const COMMIT_RECORDS_MAX: usize = 20_000;
/// Size of such a transaction's records at which it ends, in bytes.
pub const COMMIT_BYTES_MAX: usize = 16 << 20;
/// About what a record takes besides its bytes, in memory or in a frame of a log.
pub const RECORD_OVERHEAD_BYTES: usize = 64;
/// Maximum number of records in the delta; a larger commit becomes a file segment directly.
pub const DELTA_RECORDS_MAX: usize = 4_096;
/// Maximum size of the delta's records, in bytes.
pub const DELTA_BYTES_MAX: usize = 16 << 20;
/// Bytes of records that all imports together sort in memory before they spill to disk.
pub const IMPORT_SORT_BYTES_MAX: usize = 256 << 20;
/// Size of the records that each import may sort in memory, in bytes, whatever the others hold.
pub const IMPORT_SORT_BYTES_MIN: usize = 4 << 20;
/// Runs of an import after which that memory grows by as much again: 4 GB are 180 files.
pub const IMPORT_RUNS_STEP: usize = 16;
/// Number of records above which two threads sort them.
pub const PARALLEL_SORT_MIN: usize = 1 << 14;
/// Memory in which an import merges its spilled runs, in bytes.
pub const IMPORT_MERGE_BYTES: usize = 32 << 20;
/// Minimum size of the read buffer of each spilled run, in bytes.
pub const RUN_BUFFER_BYTES_MIN: usize = 64 << 10;
/// Number of records in one segment of an import: small, so that a restart after a crash has little
/// to repeat.
pub const IMPORT_SEGMENT_RECORDS: usize = 20_000;
/// Size of such a segment's records at which it ends, in bytes. An import has four such portions in
/// memory, each read, committed or built.
pub const IMPORT_SEGMENT_BYTES: usize = 16 << 20;
/// Threads that build segments of an import or a log: building takes three times as long as
/// committing.
pub const IMPORT_BUILDERS: usize = 2;
/// Memory of a segment at which a rebuild of the index writes it, in bytes.
pub const BUILD_BYTES_MAX: usize = 256 << 20;
/// Seconds after which the delta becomes a segment file, even if no search requests it.
pub const DELTA_SECONDS_MAX: i64 = 60;
/// Number of segments of one size tier that are merged into one.
pub const MERGE_SEGMENTS_COUNT: usize = 4;
/// Maximum number of segments in one merge: as many as an import of a million records leaves.
pub const MERGE_INPUTS_MAX: usize = 64;
/// Approximate maximum of the memory that a merge takes, in bytes.
pub const MERGE_MEMORY_MAX: u64 = 384 << 20;
/// Approximate number of documents in a batch of terms that one merge thread hands to another:
/// collecting them takes longer than handing them over.
pub const MERGE_BATCH_DOCS: usize = 1 << 16;
/// Maximum number of such batches waiting to be written: none, since the batch of a frequent term
/// has four bytes for each document. One is collected while another is written.
pub const MERGE_BATCHES_MAX: usize = 0;
/// Maximum number of documents in a merged segment.
pub const SEGMENT_DOCS_MAX: u32 = 20_000_000;
/// Number of bit sets that a thread keeps for its next searches. Each has up to one bit for every
/// document of a segment.
pub const SPARE_BITS_MAX: usize = 4;
/// Maximum number of deleted documents that are looked up in a set one by one; for those before
/// them the set's count is remembered.
pub const RECENT_TOMBSTONES_MAX: usize = 64;
/// Maximum number of sets of a segment with a remembered count of deleted documents: 8 bytes each.
pub const SET_COUNTS_SLOTS: usize = 1 << 12;
/// Number of probes after which an interpolation search becomes a binary search: unevenly spread
/// ids cannot make it linear.
pub const INTERPOLATIONS_MAX: usize = 8;
/// Maximum number of words and catalog ids of a segment for which a filter is kept in memory, with
/// two bytes for each.
pub const FILTERED_KEYS_MAX: usize = 1 << 18;
/// Maximum number of occurrences of a text for each title of a segment that a search visits one by
/// one; where a text has more, the repeats are passed over.
pub const OCCURRENCES_PER_TITLE_MAX: usize = 2;
/// Maximum width of a packed number, in bits: it begins in the first of 8 bytes that are read.
pub const PACKED_BITS_MAX: u32 = 56;
/// Maximum size of a roaring container stored as an array: given by the portable format.
pub const CONTAINER_ARRAY_MAX: usize = 4096;
/// Minimum count of numbers that are sorted by bits; fewer are compared.
pub const BIT_SORTED_MIN: usize = 64;
/// Maximum size of a posting set that is always stored as a list.
pub const POSTINGS_LIST_MAX: usize = 128;
/// Size of a posting set above which a bitmap may take four times the bytes of a list instead of
/// twice: such sets are few, and most searches would decode a whole list to read a part of it.
pub const POSTINGS_SHORT_LIST_MAX: usize = 1 << 14;
/// Maximum size of one cached file, in bytes, whatever the settings say.
pub const BLOB_BYTES_MAX: u64 = 1 << 30;

/// Maximum number of concurrent uploads in a cluster before a file is known: each holds a copy of
/// its file. Others are queued, and their clients do not wait.
pub const SHARED_UPLOADS_MAX: usize = 4;
/// Maximum number of files that one maintenance step uploads.
pub const UPLOADS_BATCH_MAX: usize = 256;

/// Number of consecutive failed uploads after which a maintenance step ends.
pub const UPLOADS_FAILED_MAX: usize = 3;

/// Maximum number of blobs that one transaction evicts.
pub const EVICTION_BATCH_MAX: usize = 256;
/// Seconds until the next listing after one that found too much, all of it served recently.
pub const EVICTION_SECONDS: i64 = 10;
/// Seconds for which a file is not evicted after it was served or stored.
pub const SERVED_SECONDS_MIN: i64 = 60;
/// Bytes of the texts that were made from stored files and are kept, each with
/// [`MADE_TEXT_OVERHEAD_BYTES`].
pub const MADE_TEXTS_BYTES_MAX: u64 = 1 << 30;
/// Bytes that a made text takes beside its content.
pub const MADE_TEXT_OVERHEAD_BYTES: u64 = 16 << 10;
/// Number of pages of a mapping that are checked for residency at a time: just over 8 MiB.
pub const RESIDENT_PAGES_MAX: usize = 2_100;
/// Maximum number of blobs that are kept open and mapped.
pub const OPEN_BLOBS_MAX: usize = 1024;
/// Size of the page cache of the catalog's store, in bytes.
pub const CATALOG_CACHE_BYTES: usize = 96 << 20;
/// Size of the page cache of the state's store, in bytes.
pub const STATE_CACHE_BYTES: usize = 12 << 20;
/// Minimum free space for writing records, segments or files, in bytes.
pub const FREE_BYTES_MIN: u64 = 48 << 20;
/// Minimum free space for writing accounts, keys and counts, in bytes: less, so that a key can
/// still be revoked when imports are refused.
pub const STATE_FREE_BYTES_MIN: u64 = 8 << 20;
/// Maximum size of one file of a counter lane, in bytes; then the lane begins another.
pub const COUNTER_FILE_BYTES_MAX: u64 = 1 << 20;
/// Maximum age of counted downloads before they are aggregated, in seconds.
pub const AGGREGATE_SECONDS_MAX: i64 = 10;
/// Size of counted entries that are aggregated at once, in bytes, so that each transaction adds up
/// about as many.
pub const AGGREGATE_BYTES_MAX: u64 = COUNTER_FILE_BYTES_MAX / 2;
/// Maximum number of downloads in one entry of a log file: one byte stores the number less one.
pub const ENTRY_DOWNLOADS_MAX: u64 = 256;
/// Maximum number of records in the list of most downloaded; twice as many are counted.
pub const BUSIEST_RECORDS_MAX: usize = 512;
/// Records with the most downloads from this service whose counts every list by downloads looks up;
/// up to twice as many are kept.
pub const MOST_DOWNLOADED_MAX: usize = 4_096;
/// Minimum number of free slots in a part of the table of download counts.
pub const DOWNLOAD_SLOTS_MIN: usize = 64;
/// Maximum number of damaged record ids that are remembered and answered with an error; beyond it,
/// damaged records are not found.
pub const DAMAGED_RECORDS_MAX: usize = 1 << 16;
/// Maximum number of entries in the log of contained damage while a data directory is open.
pub const DAMAGE_ENTRIES_MAX: usize = 1_000;
/// Maximum number of downloads that wait in memory while the disk refuses them.
pub const WAITING_DOWNLOADS_MAX: usize = 100_000;
/// Minimum time without a file before an orphaned blob is removed, in seconds.
pub const ORPHAN_SECONDS_MIN: i64 = 3_600;
/// Seconds between two searches for orphaned blobs.
pub const SWEEP_SECONDS: i64 = ORPHAN_SECONDS_MIN / 2;
/// Number of bytes of files that one scrubber step reads. Chosen here: with a step each second it
/// reads ten gigabytes in three hours.
pub const SCRUB_BYTES: u64 = 1 << 20;
/// Number of rows of cached files in memory at a time where all are visited.
pub const FILE_ROWS_PAGE: usize = 1_000;
/// Number of rows that one scrubber step reads.
pub const SCRUB_ROWS: usize = 2_000;
/// Maximum number of records that one step leaves out because they differ from the index: more than
/// a page of the store has.
pub const CONTRADICTED_RECORDS_MAX: usize = 256;
/// Maximum size of a store file that is checked page by page at a start and by the scrubber, in
/// bytes: for a larger one the check would delay the start, and writes, for too long.
pub const PAGES_CHECK_BYTES_MAX: u64 = 64 << 20;
/// Seconds between the starts of two scrubber rounds.
pub const SCRUB_ROUND_SECONDS: i64 = 86_400;
/// Number of days of a key's usage that are kept before its latest day.
pub const USAGE_DAYS_MAX: u32 = 400;
/// Number of days with stored figures, the latest included.
pub const FIGURE_DAYS_MAX: u32 = 30;
/// Maximum number of figures in a day.
pub const FIGURES_MAX: usize = 64;
/// Maximum number of seconds by which a moment may be ahead of the latest second and be remembered
/// without a confirmation.
pub const CLOCK_STEP_SECONDS_MAX: i64 = 86_400;
/// Entries of the audit log that are kept.
pub const AUDIT_ENTRIES_MAX: u64 = 100_000;
/// Maximum number of sessions of one account; the oldest are closed first.
pub const SESSIONS_MAX: usize = 50;
/// Maximum grace period of a rolled key, in days.
pub const ROLL_DAYS_MAX: u32 = 30;
/// Maximum lifetime of a one-time link, in seconds.
pub const LINK_SECONDS_MAX: i64 = 7 * 86_400;
/// Seconds within which further uses of a session are not noted.
pub const SESSION_USE_SECONDS: i64 = 3_600;
/// Maximum number of pending sign-ins of one account; the oldest end first.
pub const PENDING_SIGN_INS_MAX: usize = 8;
/// Maximum number of audit log entries about sign-ins.
pub const SIGN_IN_ENTRIES_MAX: u64 = 10_000;
/// Maximum number of entries of one kind about the sign-ins of one account: a script that repeats
/// sign-ins does not push out the entries of other accounts.
pub const SIGN_IN_ENTRIES_OF_ACCOUNT_MAX: usize = 100;
/// Maximum number of valid one-time links; beyond it, the one that expires first is removed.
pub const ONE_TIME_LINKS_MAX: usize = 1_000;

const _: () = assert!(STATE_FREE_BYTES_MIN < FREE_BYTES_MIN);
const _: () = assert!(YEAR_MIN < SEARCH_YEAR_MIN);
const _: () = assert!(SEARCH_YEAR_MIN < YEAR_MAX);
const _: () = assert!(PAGE_SIZE_DEFAULT < PAGE_SIZE_MAX);
const _: () = assert!(DELTA_RECORDS_MAX < COMMIT_RECORDS_MAX);
const _: () = assert!(DELTA_BYTES_MAX <= COMMIT_BYTES_MAX);
const _: () = assert!(ENTRY_DOWNLOADS_MAX == 1 << 8);
/// Maximum size of one frame of a cluster's log, in bytes.
pub const FRAME_BYTES_MAX: usize = 512 << 10;
/// Size of the records that an import puts into one frame, in bytes: others share the frame.
pub const IMPORT_PART_BYTES_MAX: usize = FRAME_BYTES_MAX / 2;
/// Maximum number of frames by which an import is ahead of what is applied: 16 MiB.
pub const IMPORT_FRAMES_MAX: usize = 64;
/// Maximum number of counted downloads in one frame: each may have its own record and key.
pub const FRAME_DOWNLOADS_MAX: u64 = 5_000;
/// Number of usage sums in one batch: each takes up to 60 bytes of a frame.
pub const USAGE_DELTAS_MAX: usize = 4_096;
/// Size of the log entries that are read and applied at a time, in bytes.
pub const LOG_READ_BYTES: usize = 8 << 20;
/// The same, over a link that is slow.
pub const LOG_READ_BYTES_MIN: usize = FRAME_BYTES_MAX;
/// Reads over a slow link before more is asked for again.
pub const SLOW_READS_COUNT: u32 = 16;
/// Maximum size of a block of a snapshot, in bytes.
pub const SNAPSHOT_BLOCK_BYTES_MAX: usize = 16 << 20;
/// Number of row sums that are kept for comparison with other nodes.
pub const STATE_HASHES_MAX: usize = 64;
/// Maximum number of files stored while the log was unavailable and still to be announced to other
/// nodes.
pub const UNANNOUNCED_FILES_MAX: usize = 100_000;
/// Maximum number of file announcements in one frame.
pub const ANNOUNCED_FILES_MAX: usize = 256;
