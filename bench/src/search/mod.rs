//! Search measured: a catalog in memory, sets of queries made from its records, CPU time of each.

mod deletion;
mod record_file;
mod query_set;
mod release_sets;
mod states;
mod stopwatch;
mod worst;

pub use deletion::Deletion;
pub use query_set::{QuerySet, query_sets};
pub use record_file::{BATCH, RecordFile, Records, parse_record};
pub use release_sets::{HeldOut, held_out, release_sets, with_release};
pub use states::{State, deleted_ranks, piece_starts};
pub use stopwatch::{Times, process_nanoseconds, thread_nanoseconds, wall_nanoseconds};
pub use worst::worst_requests;
