//! A catalog file as records, read when they are needed: only line offsets stay in memory.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::Value;
use subcat_engine::{
    CatalogId, FileName, Language, Number, Record, RecordId, ReleaseId, Timestamp, VideoType, Year,
    fold,
    internals::{Segment, SegmentBuilder, spanish_region},
};

use crate::error::{BenchError, Result};

/// Records that are read before the clock of an index builder starts.
pub const BATCH: usize = 1000;

/// Records by number.
pub trait Records {
    /// Number of records.
    fn count(&self) -> usize;

    /// The record at `idx`. Panics when there are fewer.
    fn record(&self, idx: usize) -> Result<Record>;
}

impl Records for [Record] {
    fn count(&self) -> usize {
        self.len()
    }

    fn record(&self, idx: usize) -> Result<Record> {
        Ok(self[idx].clone())
    }
}

/// The first lines of a file of import records, which must all be good.
///
/// Cost: 12 bytes of memory a record; reading one is a system call and a parse.
pub struct RecordFile {
    file: File,
    /// Start of each line, and the end of the last one.
    starts: Vec<u64>,
    answer_order: Vec<u32>,
}

impl RecordFile {
    /// Reads the first `count_max` lines once.
    pub fn open(path: &Path, count_max: usize) -> Result<Self> {
        let open = || File::open(path).map_err(BenchError::on(format!("open {}", path.display())));
        let mut lines = BufReader::with_capacity(1 << 20, open()?);
        let (mut starts, mut order) = (vec![0], Vec::new());
        let mut line = String::new();
        while starts.len() <= count_max {
            line.clear();
            let bytes_count = lines
                .read_line(&mut line)
                .map_err(BenchError::on("read the catalog"))?;
            if bytes_count == 0 {
                break;
            }
            let idx = starts.len() - 1;
            let record = parse_record(&line).ok_or_else(|| {
                BenchError::new(format!("line {} is not a valid record", idx + 1))
            })?;
            if record.is_active {
                order.push((Reverse(record.posted_at), record.id, idx as u32));
            }
            starts.push(starts[idx] + bytes_count as u64);
        }
        order.sort_unstable();
        Ok(Self {
            file: open()?,
            starts,
            answer_order: order.into_iter().map(|(_, _, idx)| idx).collect(),
        })
    }

    /// The numbers of the active records, newest first, then by id (SEARCH.md 5).
    pub fn answer_order(&self) -> &[u32] {
        &self.answer_order
    }

    /// The records with these numbers.
    pub fn batch(&self, numbers: &[u32]) -> Result<Vec<Record>> {
        let numbers = numbers.iter();
        numbers.map(|&idx| self.record(idx as usize)).collect()
    }

    /// All records as one segment in memory.
    pub fn segment(&self) -> Result<Segment> {
        let failed = BenchError::on::<subcat_engine::Error>;
        let mut builder = SegmentBuilder::new();
        for batch in self.answer_order().chunks(BATCH) {
            for record in &self.batch(batch)? {
                builder.add(record).map_err(failed("add a record"))?;
            }
        }
        let mut bytes = Vec::new();
        builder
            .finish(&mut bytes)
            .map_err(failed("finish the segment"))?;
        Segment::open(bytes.into(), "bench").map_err(failed("open the segment"))
    }
}

impl Records for RecordFile {
    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn record(&self, idx: usize) -> Result<Record> {
        let mut line = vec![0; (self.starts[idx + 1] - self.starts[idx]) as usize];
        self.file
            .read_exact_at(&mut line, self.starts[idx])
            .map_err(BenchError::on("read the catalog"))?;
        let record = str::from_utf8(&line).ok().and_then(parse_record);
        record.ok_or_else(|| BenchError::new(format!("line {} has changed", idx + 1)))
    }
}

fn integer<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    T::try_from(value.as_u64()?).ok()
}

/// Reads one line; `None` when it is not a valid record.
pub fn parse_record(line: &str) -> Option<Record> {
    let line: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| line[name].as_str();
    let description = text("description");
    let language = Language::parse(text("language").unwrap_or("es"))?;
    let region = spanish_region(&fold(description.unwrap_or("")));
    let language = match region {
        Some(region) if language.as_str() == "es" => Language::parse(region.tag())?,
        _ => language,
    };
    Some(Record {
        video_type: VideoType::parse(text("video_type")?)?,
        season: integer(&line["season"]).and_then(Number::new),
        episode: integer(&line["episode"]).and_then(Number::new),
        year: integer(&line["year"]).and_then(Year::new),
        catalog_id: text("catalog_id").and_then(CatalogId::parse),
        parent_catalog_id: text("parent_catalog_id").and_then(CatalogId::parse),
        description: description.map(str::to_owned),
        uploader_name: text("uploader_name").map(str::to_owned),
        posted_at: Timestamp::parse(text("posted_at")?)?,
        downloads: integer(&line["downloads"]).unwrap_or(0),
        is_active: line["is_active"].as_bool().unwrap_or(true),
        source_release_id: text("source_release_id").and_then(ReleaseId::parse),
        language,
        file_name: text("file_name").and_then(FileName::parse),
        ..Record::new(RecordId::parse(text("id")?)?, text("title")?)
    })
}
