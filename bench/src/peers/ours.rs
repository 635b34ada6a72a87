//! The engine of this project, through its public API.

use std::sync::Arc;

use subcat_engine::{
    Hits, Query, Record, RecordId, Snapshot,
    internals::{Segment, SegmentBuilder, Tombstones},
};

use crate::error::{BenchError, Result};

use super::peer::{Answer, Builder};

/// Builds a segment.
#[derive(Default)]
pub struct OurBuilder {
    builder: SegmentBuilder,
    ids: Vec<(RecordId, u32)>,
}

/// One segment of the engine.
pub struct Ours {
    snapshot: Snapshot,
    ranks: Vec<(RecordId, u32)>,
}

impl Builder for OurBuilder {
    const NAME: &'static str = "subcat";
    type Index = Ours;

    fn add(&mut self, record: &Record) -> Result<()> {
        self.ids.push((record.id, self.ids.len() as u32));
        self.builder
            .add(record)
            .map_err(BenchError::on("add a record"))
    }

    fn finish(mut self) -> Result<(Ours, u64)> {
        let mut bytes = Vec::new();
        let summary = self
            .builder
            .finish(&mut bytes)
            .map_err(BenchError::on("finish the segment"))?;
        let segment =
            Segment::open(bytes.into(), "compared").map_err(BenchError::on("open the segment"))?;
        self.ids.sort_unstable();
        let ours = Ours {
            snapshot: Snapshot::new(1, vec![(Arc::new(segment), Arc::new(Tombstones::new()))]),
            ranks: self.ids,
        };
        Ok((ours, summary.segment_bytes - summary.document_bytes))
    }
}

impl Ours {
    /// Runs a request.
    pub fn search(&self, request: &Query) -> Result<Hits> {
        self.snapshot
            .search(request)
            .map_err(BenchError::on("search"))
    }

    /// Ranks of the hits.
    pub fn answer(&self, hits: &Hits) -> Result<Answer> {
        let mut page = Vec::with_capacity(hits.len());
        for hit_idx in 0..hits.len() {
            let doc = self.snapshot.hit_doc(hits, hit_idx);
            let id = doc.map_err(BenchError::on("read a hit"))?.id();
            let at = self.ranks.binary_search_by_key(&id, |(id, _)| *id);
            let at = at.map_err(|_| BenchError::new("a hit is not a record of the file"))?;
            page.push(self.ranks[at].1);
        }
        Ok(Answer {
            page,
            total: hits.total(),
        })
    }
}
