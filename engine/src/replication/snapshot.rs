//! Snapshots: the rows that all nodes share, at one position of the log, as one stream of bytes.
//!
//! ```text
//! stream  = block*                      the first is the header, the last the end
//! block   = length: u32, bytes, xxh3 of the bytes: u64
//! bytes   = kind: u8, content
//! header  = version, epoch, seq, digest, sum of catalog.redb, sum of state.redb
//! rows    = number of the table, (row key, value)*
//! end     = number of rows
//! ```

use std::io::{Read, Write};
use std::ops::ControlFlow;

use xxhash_rust::xxh3::xxh3_64;

use super::membership::enter;
use crate::catalog::SHARED_CATALOG_TABLES;
use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result};
use crate::limits::SNAPSHOT_BLOCK_BYTES_MAX;
use crate::log_rows::{CLUSTER, LogPosition, is_node_row, read_position, read_sum};
use crate::model::NodeId;
use crate::state::{OWN_STATE_ROWS, SHARED_STATE_TABLES};
use crate::store::{Rows, Span, Store, Table};

const VERSION: u8 = 1;
const PLACE: &str = "a snapshot of the cluster";
/// Size of the rows at which a block ends, in bytes.
const BLOCK_BYTES: usize = 4 << 20;
const HEADER: u8 = 0;
const CATALOG_ROWS: u8 = 1;
const STATE_ROWS: u8 = 2;
const END: u8 = 3;

/// Identity of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotSummary {
    /// Epoch of the log.
    pub epoch: u64,
    /// Sequence number of the last entry that it covers.
    pub seq: u64,
    /// Digest of that entry ([`LogEntry::digest`](super::LogEntry::digest)); 0 before the first.
    pub digest: u64,
    /// Sum of the rows: the same on all nodes.
    pub state_hash: u64,
    /// Count of rows.
    pub rows: u64,
}

/// Writes the rows of one moment.
pub(crate) fn write_rows(
    catalog: &Rows<'_>,
    state: &Rows<'_>,
    out: &mut dyn Write,
) -> Result<SnapshotSummary> {
    let position = read_position(state)?.ok_or_else(|| Error::Cluster {
        problem: "this data directory is in no cluster: run `subcat cluster init`".into(),
    })?;
    let sums = (read_sum(catalog)?, read_sum(state)?);
    let mut header = Encoder::new(HEADER);
    header.put_u8(VERSION);
    header.put_integer(position.epoch);
    header.put_integer(position.seq);
    header.put_integer(position.digest);
    header.put_raw(&sums.0.to_le_bytes());
    header.put_raw(&sums.1.to_le_bytes());
    let mut writer = BlockWriter { out, rows: 0 };
    writer.put_block(&header.finish())?;
    // The applied frames are among the rows: all nodes skip a frame that is in the log again.
    for table in SHARED_CATALOG_TABLES.iter().chain([&CLUSTER]) {
        writer.put_table(CATALOG_ROWS, catalog, *table)?;
    }
    for table in SHARED_STATE_TABLES.iter().chain([&CLUSTER]) {
        writer.put_table(STATE_ROWS, state, *table)?;
    }
    let mut end = Encoder::new(END);
    end.put_integer(writer.rows);
    let rows = writer.rows;
    writer.put_block(&end.finish())?;
    Ok(SnapshotSummary {
        epoch: position.epoch,
        seq: position.seq,
        digest: position.digest,
        state_hash: sums.0.wrapping_add(sums.1),
        rows,
    })
}

struct BlockWriter<'w> {
    out: &'w mut dyn Write,
    rows: u64,
}

impl BlockWriter<'_> {
    fn put_table(&mut self, kind: u8, rows: &Rows<'_>, table: Table) -> Result<()> {
        let mut block = begin_block(kind, table);
        let mut block_bytes = 0;
        rows.range(table, Span::ALL, &mut |row_key, value| {
            if !is_shared(table, row_key) {
                return Ok(ControlFlow::Continue(()));
            }
            block.put_bytes(row_key);
            block.put_bytes(value);
            block_bytes += row_key.len() + value.len();
            self.rows += 1;
            if BLOCK_BYTES <= block_bytes {
                block_bytes = 0;
                let full = std::mem::replace(&mut block, begin_block(kind, table));
                self.put_block(&full.finish())?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        self.put_block(&block.finish())
    }

    fn put_block(&mut self, block: &[u8]) -> Result<()> {
        let length = u32::try_from(block.len()).expect("a block is small");
        let parts = [&length.to_le_bytes(), block, &xxh3_64(block).to_le_bytes()];
        for part in parts {
            self.out.write_all(part).map_err(|source| Error::Source {
                action: "write a snapshot to",
                source,
            })?;
        }
        Ok(())
    }
}

/// Returns true for rows that all nodes have; position and sum are a node's own.
fn is_shared(table: Table, row_key: &[u8]) -> bool {
    if table == CLUSTER {
        return is_node_row(row_key);
    }
    !OWN_STATE_ROWS.contains(&(table, row_key))
}

fn begin_block(kind: u8, table: Table) -> Encoder {
    let mut block = Encoder::new(kind);
    block.put_text(table.0);
    block
}

/// Puts the rows of a snapshot into two empty files, and makes them follow the log from there.
///
/// Errors: the snapshot is incomplete, or its rows do not have the stated sum. The files are
/// unusable then.
pub(crate) fn load_rows(
    from: &mut dyn Read,
    catalog: &Store,
    state: &Store,
    node: NodeId,
) -> Result<SnapshotSummary> {
    let header = read_block(from)?;
    let mut fields = Decoder::new(&header, HEADER, PLACE)?;
    if fields.u8()? != VERSION {
        return Err(
            fields.error("a snapshot of version 1: run the version of subcat that wrote it")
        );
    }
    let position = LogPosition {
        node,
        epoch: fields.integer()?,
        seq: fields.integer()?,
        digest: fields.integer()?,
    };
    let sums = [fields.array()?, fields.array()?].map(u64::from_le_bytes);
    fields.finish()?;
    let mut count = 0;
    let rows = loop {
        let block = read_block(from)?;
        let kind = block.first().copied().unwrap_or(u8::MAX);
        let mut fields = Decoder::new(&block, kind, PLACE)?;
        match kind {
            CATALOG_ROWS => {
                let tables = [SHARED_CATALOG_TABLES, &[CLUSTER]].concat();
                count += load_block(&mut fields, catalog, &tables)?;
            }
            STATE_ROWS => {
                let tables = [SHARED_STATE_TABLES, &[CLUSTER]].concat();
                count += load_block(&mut fields, state, &tables)?;
            }
            END => {
                let rows = fields.integer()?;
                fields.finish()?;
                break rows;
            }
            _ => return Err(fields.error("a kind of block, 1 to 3")),
        }
    };
    if rows != count {
        return Err(Error::corrupt(PLACE, count, "as many rows as it says"));
    }
    ensure_end(from)?;
    enter(catalog, state, &position)?;
    let found = [catalog, state].map(|store| store.read(read_sum));
    let [of_catalog, of_state] = found;
    if [of_catalog?, of_state?] != sums {
        return Err(Error::corrupt(
            PLACE,
            count,
            "rows that have the sum that it says",
        ));
    }
    Ok(SnapshotSummary {
        epoch: position.epoch,
        seq: position.seq,
        digest: position.digest,
        state_hash: sums[0].wrapping_add(sums[1]),
        rows,
    })
}

fn load_block(from: &mut Decoder<'_>, store: &Store, tables: &[Table]) -> Result<u64> {
    let name = from.text()?;
    let table = tables.iter().find(|table| table.0 == name).copied();
    let table = from.parsed(table, "a table that nodes share")?;
    let mut loaded = 0;
    store.write(|rows| {
        while !from.is_at_end() {
            let row_key = from.bytes()?;
            if !is_shared(table, row_key) {
                return Err(from.error("a row that nodes share"));
            }
            rows.put(table, row_key, from.bytes()?)?;
            loaded += 1;
        }
        Ok(())
    })?;
    Ok(loaded)
}

fn read_block(from: &mut dyn Read) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    read_exact(from, &mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if SNAPSHOT_BLOCK_BYTES_MAX < length {
        return Err(Error::corrupt(PLACE, 0, "blocks of at most 16 MiB"));
    }
    let mut block = vec![0; length];
    read_exact(from, &mut block)?;
    let mut sum = [0; 8];
    read_exact(from, &mut sum)?;
    if xxh3_64(&block).to_le_bytes() != sum {
        return Err(Error::corrupt(
            PLACE,
            0,
            "blocks that match their checksums",
        ));
    }
    Ok(block)
}

/// Errors: there are bytes after the last block, which no writer of snapshots puts there.
fn ensure_end(from: &mut dyn Read) -> Result<()> {
    let mut byte = [0];
    match from.read_exact(&mut byte) {
        Ok(()) => Err(Error::corrupt(
            PLACE,
            0,
            "a stream that ends with the block that says how many rows it has",
        )),
        Err(source) if source.kind() == std::io::ErrorKind::UnexpectedEof => Ok(()),
        Err(source) => Err(not_read(source)),
    }
}

fn read_exact(from: &mut dyn Read, into: &mut [u8]) -> Result<()> {
    from.read_exact(into).map_err(|source| match source.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::corrupt(PLACE, 0, "a stream that is whole"),
        _ => not_read(source),
    })
}

fn not_read(source: std::io::Error) -> Error {
    Error::Source {
        action: "read a snapshot from",
        source,
    }
}
