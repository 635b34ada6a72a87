//! Interface of an engine in the comparison.

use subcat_engine::{Query, Record};

use crate::error::Result;

/// Hits of a page.
pub const PAGE: usize = 100;

/// Takes records in answer order: the place of each is its rank.
pub trait Builder {
    /// The engine's name in tables.
    const NAME: &'static str;
    /// Index that it builds.
    type Index: Deletions;

    /// Adds the next record.
    fn add(&mut self, record: &Record) -> Result<()>;

    /// The finished index and its bytes, stored documents apart.
    fn finish(self) -> Result<(Self::Index, u64)>;
}

/// An index from which records are deleted after it was built, as the engine's users delete them.
pub trait Deletions {
    /// Deletes the record of a rank.
    fn delete(&mut self, rank: u32, record: &Record) -> Result<()>;

    /// Makes the deletions visible to searches.
    fn commit(&mut self) -> Result<()>;
}

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Ranks of the hits of the first page.
    pub page: Vec<u32>,
    /// Number of records that match.
    pub total: u64,
}

/// A request in the form that an engine runs.
pub type Prepared<'a> = Box<dyn Fn() -> Result<Answer> + 'a>;

/// An engine with its index.
pub trait Peer {
    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// Returns true if the engine finds words with typos.
    fn finds_typos(&self) -> bool;

    /// Prepares a request.
    fn prepare<'a>(&'a self, request: &'a Query) -> Result<Prepared<'a>>;
}
