//! A catalog that came in by and by: a large segment, six smaller ones and a delta.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use subcat_engine::{Engine, Timestamp};
use subcat_server::rows::read_line;

use crate::error::{BenchError, Result};
use crate::past;
use crate::search::{Deletion, piece_starts};

/// Records of each segment that an import builds (`IMPORT_SEGMENT_RECORDS` of the engine). An
/// import of up to 64 such segments that leaves no record over is merged to one.
const IMPORTED_RECORDS: usize = 20_000;
/// Segments of one size that are merged into one (`MERGE_SEGMENTS_COUNT` of the engine).
const MERGED_SEGMENTS: usize = 4;

/// Imports a catalog of about a million records as `search --pieces` divides it: a segment of the
/// oldest, six segments of 2,000 to 44,000 and a delta of the newest 4,000. Deletes some of the
/// records before the newest: all at once would end the delta. Returns how many were deleted.
///
/// The last record of the file counts as the newest. Segments are merged as the service does it, so
/// a piece of more records than an import puts in one segment comes in four imports.
pub fn import_pieces(data: &Path, catalog: &Path, deleted: Deletion) -> Result<usize> {
    let open = || -> Result<_> {
        let file = File::open(catalog).map_err(BenchError::on("open the catalog"))?;
        Ok(BufReader::new(file))
    };
    let lines_count = open()?.split(b'\n').count();
    let mut lines = open()?;
    let engine = past::open(data)?;
    let sizes = piece_sizes(lines_count);
    let (newest, others) = sizes.split_first().expect("there is a newest piece");
    for (older_count, &size) in others.iter().rev().enumerate() {
        let is_split = 0 < older_count && IMPORTED_RECORDS < size;
        let parts_count = if is_split { MERGED_SEGMENTS } else { 1 };
        for part in 0..parts_count {
            let part_end = size * (part + 1) / parts_count;
            import(&engine, &mut lines, part_end - size * part / parts_count)?;
        }
        settle(&engine)?;
    }
    let deleted_count = past::delete(&engine, deleted)?;
    settle(&engine)?;
    import(&engine, &mut lines, *newest)?;
    engine
        .close()
        .map_err(BenchError::on("close the data directory"))?;
    Ok(deleted_count)
}

/// Records of each piece, the newest first. Those of the largest are a multiple of what an import
/// puts in a segment, if the one before can give as many.
fn piece_sizes(lines_count: usize) -> Vec<usize> {
    let mut starts: Vec<usize> = piece_starts(lines_count as u32)
        .into_iter()
        .map(|start| start as usize)
        .collect();
    starts.push(lines_count);
    let mut sizes: Vec<usize> = starts
        .windows(2)
        .map(|bounds| bounds[1] - bounds[0])
        .collect();
    if let [.., before, largest] = &mut sizes[..] {
        let missing = largest.next_multiple_of(IMPORTED_RECORDS) - *largest;
        if missing < *before {
            *largest += missing;
            *before -= missing;
        }
    }
    sizes
}

fn import(engine: &Engine, lines: &mut impl BufRead, count: usize) -> Result<()> {
    let failed = BenchError::on::<subcat_engine::Error>;
    let mut importer = engine.catalog().importer();
    let mut line = Vec::new();
    for number in 0..count {
        line.clear();
        let read = lines.read_until(b'\n', &mut line);
        read.map_err(BenchError::on("read the catalog"))?;
        let row = read_line(number as u64, &line);
        // What an import refuses it passes over; the one before has counted that.
        let Ok(row) = row else { continue };
        // The inner error is a refusal, too.
        let _ = importer.push(row.draft).map_err(failed("import"))?;
    }
    importer.finish(&mut |_| {}).map_err(failed("import"))?;
    Ok(())
}

/// Flushes the delta and merges, until nothing is left to do.
fn settle(engine: &Engine) -> Result<()> {
    engine.catalog().request_reindex();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs() as i64);
    let now = Timestamp::from_seconds(seconds)
        .ok_or_else(|| BenchError::new("the clock of this machine is not set"))?;
    while engine
        .maintain(now)
        .map_err(BenchError::on("merge segments"))?
    {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_piece_fills_its_segments() {
        let sizes = piece_sizes(1_000_000);
        let expected = [4_000, 2_000, 5_000, 10_000, 20_000, 35_000, 44_000, 880_000];
        assert_eq!(sizes, expected);
        for count in [1_000, 100_000, 1_234_567] {
            assert_eq!(piece_sizes(count).iter().sum::<usize>(), count);
        }
    }
}
