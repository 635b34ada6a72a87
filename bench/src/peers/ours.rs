//! The engine of this project, through its public API.

use std::sync::Arc;

use subcat_engine::{
    Hits, Query, Record, RecordId, Snapshot,
    internals::{Segment, SegmentBuilder, Tombstones},
};

use crate::error::{BenchError, Result};

use super::peer::{Answer, Builder, Deletions};

/// Builds segments.
pub struct OurBuilder {
    builder: SegmentBuilder,
    ids: Vec<(RecordId, u32)>,
    /// First rank of each segment.
    starts: Vec<u32>,
    parts: Vec<Part>,
    index_bytes: u64,
}

/// A segment and its deleted documents.
#[derive(Clone)]
struct Part {
    /// Rank of its first document.
    start: u32,
    segment: Arc<Segment>,
    tombstones: Tombstones,
}

/// Segments of the engine, newest first.
pub struct Ours {
    parts: Vec<Part>,
    snapshot: Snapshot,
    ranks: Vec<(RecordId, u32)>,
}

impl OurBuilder {
    /// Builds segments that start at these ranks; the first is 0.
    pub fn new(starts: Vec<u32>) -> Self {
        Self {
            builder: SegmentBuilder::new(),
            ids: Vec::new(),
            starts,
            parts: Vec::new(),
            index_bytes: 0,
        }
    }

    fn end_segment(&mut self) -> Result<()> {
        let mut bytes = Vec::new();
        let summary = std::mem::take(&mut self.builder)
            .finish(&mut bytes)
            .map_err(BenchError::on("finish the segment"))?;
        self.index_bytes += summary.segment_bytes - summary.document_bytes;
        let segment =
            Segment::open(bytes.into(), "compared").map_err(BenchError::on("open the segment"))?;
        self.parts.push(Part {
            start: self.starts[self.parts.len()],
            segment: Arc::new(segment),
            tombstones: Tombstones::new(),
        });
        Ok(())
    }
}

impl Builder for OurBuilder {
    const NAME: &'static str = "subcat";
    type Index = Ours;

    fn add(&mut self, record: &Record) -> Result<()> {
        let rank = self.ids.len() as u32;
        if self.starts.get(self.parts.len() + 1) == Some(&rank) {
            self.end_segment()?;
        }
        self.ids.push((record.id, rank));
        self.builder
            .add(record)
            .map_err(BenchError::on("add a record"))
    }

    fn finish(mut self) -> Result<(Ours, u64)> {
        self.end_segment()?;
        self.ids.sort_unstable();
        let ours = Ours {
            snapshot: snapshot(&self.parts),
            parts: self.parts,
            ranks: self.ids,
        };
        Ok((ours, self.index_bytes))
    }
}

fn snapshot(parts: &[Part]) -> Snapshot {
    let parts = parts.iter();
    let parts = parts.map(|part| (part.segment.clone(), Arc::new(part.tombstones.clone())));
    Snapshot::new(1, parts.collect())
}

impl Deletions for Ours {
    fn delete(&mut self, rank: u32, _: &Record) -> Result<()> {
        let after = self.parts.partition_point(|part| part.start <= rank);
        let part = &mut self.parts[after - 1];
        part.tombstones.insert(rank - part.start);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.snapshot = snapshot(&self.parts);
        Ok(())
    }
}

impl Ours {
    /// Runs a request.
    pub fn search(&self, request: &Query) -> Result<Hits> {
        self.snapshot
            .search(request)
            .map_err(BenchError::on("search"))
    }

    /// True if no record matched the words as they are (SEARCH.md 4.6, 4.8).
    pub fn is_second_try(&self, request: &Query) -> Result<bool> {
        let explained = self.snapshot.explanation(request, &|| 0);
        let explained = explained.map_err(BenchError::on("explain a search"))?;
        Ok(explained.is_typo_search || explained.is_name_search)
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
