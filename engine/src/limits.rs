//! Bounds of the engine, each with its unit.

/// Characters of a record's title, at most (API.md, import record).
pub const TITLE_CHARS_MAX: usize = 500;
/// Characters of a record's description, at most.
pub const DESCRIPTION_CHARS_MAX: usize = 10_000;
/// Characters of an uploader's name, at most.
pub const UPLOADER_CHARS_MAX: usize = 200;
/// Bytes of an upstream release id, at most (it is ASCII).
pub const RELEASE_ID_BYTES_MAX: usize = 200;
/// Characters of a stored file name, at most.
pub const FILE_NAME_CHARS_MAX: usize = 255;
/// Characters of a refused value that its reason shows, at most.
pub const SHOWN_VALUE_CHARS_MAX: usize = 60;
/// Characters of an API key's name, at most.
pub const KEY_NAME_CHARS_MAX: usize = 100;
/// Characters of an account's display name, at most.
pub const DISPLAY_NAME_CHARS_MAX: usize = 80;
/// Digits of a catalog id, at most.
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
/// Characters of a search text (`query`, `title`, `catalog_id`, `release`), at most.
pub const SEARCH_TEXT_CHARS_MAX: usize = 512;
/// Words of a `query` after folding, at most.
pub const QUERY_WORDS_MAX: usize = 32;
/// Characters of a `title` value from which on it is found inside words (SEARCH.md 4.3).
pub const INNER_TEXT_CHARS_MIN: usize = 3;
/// Characters of the last plain word from which on it may be the prefix of a title word
/// (SEARCH.md 4.5).
pub const PREFIX_CHARS_MIN: usize = 3;
/// Characters of a plain word from which on it is searched with a typo (SEARCH.md 4.6).
pub const ONE_TYPO_CHARS_MIN: usize = 5;
/// Characters of a plain word from which on it is searched with two typos.
pub const TWO_TYPOS_CHARS_MIN: usize = 9;
/// Plain words that may have typos, at most: with more there is no second try.
pub const TYPO_WORDS_MAX: usize = 8;
/// Alignment distance of a title word from a plain word, at most.
pub const TYPO_DISTANCE_MAX: usize = 2;
/// Words of a release that are weighed, at most: each costs an intersection (SEARCH.md 5.6).
pub const RELEASE_WORDS_MAX: usize = 16;
/// Sum of the weights of the release words, at most: a group and 15 words of the next weight.
pub const MISSING_WEIGHT_MAX: u8 = 68;
/// Words of a query that are looked up as the number of an episode, at most.
pub const NAME_NUMBERS_MAX: usize = 3;
/// Words left out from the end of the title of a film that is looked up by its year, at most.
pub const FILM_WORDS_LEFT_OUT_MAX: usize = 8;
/// Episode that the last two digits of a number such as `102` can be, at most (NAMES.md P2).
pub const COMPACT_EPISODE_MAX: u32 = 30;
/// Hits of one search answer, at most (the `limit` parameter).
pub const PAGE_SIZE_MAX: u16 = 200;
/// Records of a list without words that a page can reach, at most.
pub const LISTED_DOCS_MAX: usize = 20_001;
/// Hits of one search answer when nothing is said.
pub const PAGE_SIZE_DEFAULT: u16 = 100;
/// Threads that wait for the disk when many contents are stored at once.
pub const PUT_THREADS: usize = 8;
/// Threads that write when many contents are stored at once.
pub const PUT_WRITERS: usize = 2;
/// Files that one of them keeps open until they are synced.
pub const OPEN_WRITTEN_MAX: usize = 64;
/// Files from which on one sync of the whole file system is cheaper than theirs: it waits for what
/// others have written, too.
pub const WHOLE_SYNC_FILES_MIN: usize = 32;
/// Files that an import brings at once, at most.
pub const BROUGHT_FILES_MAX: usize = 2048;
/// Bytes of a path that an import remembers, at most.
pub const IMPORT_PATH_BYTES_MAX: usize = 4096;
/// Records in one durable transaction of an import.
pub const COMMIT_RECORDS_MAX: usize = 20_000;
/// Bytes of records at which such a transaction ends.
pub const COMMIT_BYTES_MAX: usize = 16 << 20;
/// Records of the delta, at most; a larger commit becomes a file segment directly.
pub const DELTA_RECORDS_MAX: usize = 4_096;
/// Bytes of records of the delta, at most.
pub const DELTA_BYTES_MAX: usize = 16 << 20;
/// Bytes of records that all imports together sort in memory before they spill to disk.
pub const IMPORT_SORT_BYTES_MAX: usize = 256 << 20;
/// Bytes of records that each import may sort in memory, whatever the others hold.
pub const IMPORT_SORT_BYTES_MIN: usize = 4 << 20;
/// Runs of an import after which that memory grows by as much again: 4 GB are 180 files.
pub const IMPORT_RUNS_STEP: usize = 16;
/// Records in memory from which on two threads sort them.
pub const PARALLEL_SORT_MIN: usize = 1 << 14;
/// Bytes of memory in which an import merges what it spilled.
pub const IMPORT_MERGE_BYTES: usize = 32 << 20;
/// Bytes of memory for each file that it spilled, at least.
pub const RUN_BUFFER_BYTES_MIN: usize = 64 << 10;
/// Records of one segment that an import builds: what a start after a crash must do again stays
/// short.
pub const IMPORT_SEGMENT_RECORDS: usize = 20_000;
/// Bytes of records at which such a segment ends. An import has five such portions in memory, each
/// read, committed, waiting or built.
pub const IMPORT_SEGMENT_BYTES: usize = 16 << 20;
/// Threads that build segments of an import or a log: building takes three times as long as
/// committing.
pub const IMPORT_BUILDERS: usize = 2;
/// Bytes of memory of one segment that is built anew from the records.
pub const BUILD_BYTES_MAX: usize = 256 << 20;
/// Seconds after which the delta becomes a segment file, even if no search requests it.
pub const DELTA_SECONDS_MAX: i64 = 60;
/// Segments of one size that are merged into one.
pub const MERGE_SEGMENTS_COUNT: usize = 4;
/// Segments that one merge takes, at most: what an import leaves of a million records.
pub const MERGE_INPUTS_MAX: usize = 64;
/// Bytes of memory that a merge takes, about and at most.
pub const MERGE_MEMORY_MAX: u64 = 384 << 20;
/// Documents of terms that one thread of a merge hands to another at a time, about: collecting them
/// takes longer than handing them over.
pub const MERGE_BATCH_DOCS: usize = 1 << 16;
/// Such batches that wait to be written, at most: none, as that of a frequent term has four bytes
/// for each document. One is collected while another is written.
pub const MERGE_BATCHES_MAX: usize = 0;
/// Documents of a merged segment, at most.
pub const SEGMENT_DOCS_MAX: u32 = 20_000_000;
/// Sets of bits, each of a bit for every document of a segment at most, that a thread keeps for its
/// next searches.
pub const SPARE_BITS_MAX: usize = 4;
/// Deleted documents that are looked up in a set one by one, at most; the number of those before
/// them in a set is remembered.
pub const RECENT_TOMBSTONES_MAX: usize = 64;
/// Sets of a segment of which the number of deleted documents is remembered, at most: 8 bytes each.
pub const SET_COUNTS_SLOTS: usize = 1 << 12;
/// Probes of an interpolation search before it goes on as a binary search: ids that are not spread
/// evenly cannot make it linear.
pub const INTERPOLATIONS_MAX: usize = 8;
/// Words and catalog ids of a segment up to which it has a filter of them in memory, of two bytes
/// each.
pub const FILTERED_KEYS_MAX: usize = 1 << 18;
/// Bits of a packed number, at most: it begins in the first of 8 bytes that are read.
pub const PACKED_BITS_MAX: u32 = 56;
/// Numbers of a roaring container up to which it is an array: given by the portable format.
pub const CONTAINER_ARRAY_MAX: usize = 4096;
/// Numbers up to which a posting set is always a list.
pub const POSTINGS_LIST_MAX: usize = 128;
/// Numbers beyond which a bitmap may take four times the bytes of a list instead of twice: such
/// sets are few, and most searches would decode a whole list to read a part of it.
pub const POSTINGS_SHORT_LIST_MAX: usize = 1 << 14;
/// Bytes of one cached file, at most, whatever the settings say.
pub const BLOB_BYTES_MAX: u64 = 1 << 30;

/// Uploads at once before a file is known, in a cluster: each holds a thread that others need.
pub const SHARED_UPLOADS_MAX: u64 = 4;
/// Files that one step of maintenance uploads.
pub const UPLOADS_BATCH_MAX: usize = 256;

/// Uploads that fail in a row before a step of maintenance ends.
pub const UPLOADS_FAILED_MAX: usize = 3;

/// Contents that are evicted by one transaction, at most.
pub const EVICTION_BATCH_MAX: usize = 256;
/// Seconds after a listing that found too much, all of it served recently, until the next one.
pub const EVICTION_SECONDS: i64 = 10;
/// Seconds for which a file that was served, or stored, is not evicted.
pub const SERVED_SECONDS_MIN: i64 = 60;
/// Bytes of the texts that were made from stored files and are kept, each with
/// [`MADE_TEXT_OVERHEAD_BYTES`].
pub const MADE_TEXTS_BYTES_MAX: u64 = 1 << 30;
/// Bytes that a made text takes beside its content.
pub const MADE_TEXT_OVERHEAD_BYTES: u64 = 16 << 10;
/// Pages of a mapping that are looked at, at a time, for being in memory: a megabyte and a bit.
pub const RESIDENT_PAGES_MAX: usize = 320;
/// Blobs that are kept open and mapped, at most.
pub const OPEN_BLOBS_MAX: usize = 1024;
/// Bytes of memory for pages of the catalog's store.
pub const CATALOG_CACHE_BYTES: usize = 96 << 20;
/// Bytes of memory for pages of the state's store.
pub const STATE_CACHE_BYTES: usize = 12 << 20;
/// Bytes that must be free before records, segments or files are written.
pub const FREE_BYTES_MIN: u64 = 48 << 20;
/// Bytes that must be free before accounts, keys and counts are written: fewer, so that a key can
/// be revoked when imports are refused already.
pub const STATE_FREE_BYTES_MIN: u64 = 8 << 20;
/// Bytes of one file of a counter lane; then the lane begins another.
pub const COUNTER_FILE_BYTES_MAX: u64 = 1 << 20;
/// Seconds after which what was counted is aggregated, however little it is.
pub const AGGREGATE_SECONDS_MAX: i64 = 10;
/// Bytes of counted entries that are aggregated as soon as they are seen, so that one transaction
/// adds up about as many.
pub const AGGREGATE_BYTES_MAX: u64 = COUNTER_FILE_BYTES_MAX / 2;
/// Downloads that one entry of a log file counts at most: one byte has them, less one.
pub const ENTRY_DOWNLOADS_MAX: u64 = 256;
/// Records with the most downloads that are told, at most; twice as many are counted.
pub const BUSIEST_RECORDS_MAX: usize = 512;
/// Slots of a part of the table of download counts, beyond those of what is counted already.
pub const DOWNLOAD_SLOTS_MIN: usize = 64;
/// Ids of damaged records that are remembered, so that they answer with an error; of more, the rest
/// are not found.
pub const DAMAGED_RECORDS_MAX: usize = 1 << 16;
/// Entries of the log of contained damage that are kept while a data directory is open.
pub const DAMAGE_ENTRIES_MAX: usize = 1_000;
/// Downloads that wait in memory while the disk refuses them.
pub const WAITING_DOWNLOADS_MAX: usize = 100_000;
/// Seconds for which content must have been without a file before it is removed.
pub const ORPHAN_SECONDS_MIN: i64 = 3_600;
/// Seconds from one search for such content to the next.
pub const SWEEP_SECONDS: i64 = ORPHAN_SECONDS_MIN / 2;
/// Bytes of files that one step of the scrubber reads. Chosen here: with a step each second it
/// reads ten gigabytes in three hours.
pub const SCRUB_BYTES: u64 = 1 << 20;
/// Rows that one step of the scrubber reads.
pub const SCRUB_ROWS: usize = 2_000;
/// Records of such a step that differ from the index and are left out, at most: a page of the store
/// has fewer.
pub const CONTRADICTED_RECORDS_MAX: usize = 256;
/// Size up to which a file of the truth is checked page by page at a start and by the scrubber, in
/// bytes: above it the check would delay the start, and whoever changes something, for too long.
pub const PAGES_CHECK_BYTES_MAX: u64 = 64 << 20;
/// Seconds from the beginning of one round of the scrubber to that of the next.
pub const SCRUB_ROUND_SECONDS: i64 = 86_400;
/// Days of a key's usage that are kept before the latest on which it was used.
pub const USAGE_DAYS_MAX: u32 = 400;
/// Days whose figures are kept, the latest included.
pub const FIGURE_DAYS_MAX: u32 = 30;
/// Figures of a day, at most.
pub const FIGURES_MAX: usize = 64;
/// Entries of the audit log that are kept.
pub const AUDIT_ENTRIES_MAX: u64 = 100_000;
/// Sessions of one account, at most; the oldest are closed first.
pub const SESSIONS_MAX: usize = 50;
/// Sign-ins of one account that wait for their code, at most; the oldest end first.
pub const PENDING_SIGN_INS_MAX: usize = 8;
/// Entries of the audit log about sign-ins that are kept.
pub const SIGN_IN_ENTRIES_MAX: u64 = 10_000;
/// Entries of one kind about the sign-ins of one account that are kept: of the sign-ins that are
/// repeated by a script the others' lines are not pushed out.
pub const SIGN_IN_ENTRIES_OF_ACCOUNT_MAX: usize = 100;
/// One-time links that are valid at the same time; beyond, the one that ends first goes.
pub const ONE_TIME_LINKS_MAX: usize = 1_000;

const _: () = assert!(STATE_FREE_BYTES_MIN < FREE_BYTES_MIN);
const _: () = assert!(YEAR_MIN < SEARCH_YEAR_MIN);
const _: () = assert!(SEARCH_YEAR_MIN < YEAR_MAX);
const _: () = assert!(PAGE_SIZE_DEFAULT < PAGE_SIZE_MAX);
const _: () = assert!(DELTA_RECORDS_MAX < COMMIT_RECORDS_MAX);
const _: () = assert!(DELTA_BYTES_MAX <= COMMIT_BYTES_MAX);
const _: () = assert!(ENTRY_DOWNLOADS_MAX == 1 << 8);
/// Bytes of one frame of the log of a cluster.
pub const FRAME_BYTES_MAX: usize = 512 << 10;
/// Bytes of records that an import puts into one frame: it may have those of others, too.
pub const IMPORT_PART_BYTES_MAX: usize = FRAME_BYTES_MAX / 2;
/// Frames that an import is ahead of what is applied, at most: 16 MiB.
pub const IMPORT_FRAMES_MAX: usize = 64;
/// Counted downloads in one frame, at most: each may be of another record and key.
pub const FRAME_DOWNLOADS_MAX: u64 = 5_000;
/// Sums of usage in one batch: each takes up to 60 bytes of a frame.
pub const USAGE_DELTAS_MAX: usize = 4_096;
/// Bytes of entries that are read from the log and applied at a time.
pub const LOG_READ_BYTES: usize = 8 << 20;
/// The same, over a link that is slow.
pub const LOG_READ_BYTES_MIN: usize = FRAME_BYTES_MAX;
/// Reads over a slow link before more is asked for again.
pub const SLOW_READS_COUNT: u32 = 16;
/// Bytes of a block of a snapshot, at most.
pub const SNAPSHOT_BLOCK_BYTES_MAX: usize = 16 << 20;
/// Sums of rows that are kept, to be compared with those of other nodes.
pub const STATE_HASHES_MAX: usize = 64;
/// Files that were stored while the log was away, and are told to other nodes later, at most.
pub const UNANNOUNCED_FILES_MAX: usize = 100_000;
/// Such files in one frame.
pub const ANNOUNCED_FILES_MAX: usize = 256;
