//! Bytes of a segment built from a fixed catalog. A server trusts every segment file of the version
//! that it builds with: so no byte may change without the version.

use std::sync::Arc;

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use super::recovery::index_version;
use crate::index::{Segment, SegmentBuilder, Tombstones, merge};
use crate::model::{
    CatalogId, FileName, Flag, Language, Number, Record, RecordFlags, RecordId, ReleaseId,
    Timestamp, VideoType, Year,
};

/// Version, then the xxh3 of the segments, one line for each earlier version.
const LEDGER: &str = include_str!("golden_segments.txt");
/// Enough for a bitmap, and for more than one array.
const RECORDS: u64 = 9_000;

/// Records with every field, in every form.
fn record(number: u64) -> Record {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let id = RecordId::from_bytes(((u128::from(spread) << 64) | u128::from(number)).to_be_bytes());
    let small = spread >> 48;
    let words = [
        "Amélie",
        "señor",
        "Straße",
        "千と千尋",
        "l'été",
        "Ran",
        "3:10",
    ];
    let word = |at: u64| words[(small >> at) as usize % words.len()];
    let is_episode = number.is_multiple_of(3);
    Record {
        video_type: if is_episode {
            VideoType::Episode
        } else {
            VideoType::Movie
        },
        season: is_episode
            .then(|| Number::new(1 + (small % 30) as u16))
            .flatten(),
        episode: number
            .is_multiple_of(6)
            .then(|| Number::new(1 + (small % 300) as u16))
            .flatten(),
        year: Year::new(1_900 + (small % 120) as u16),
        catalog_id: CatalogId::from_digits(&format!("{:07}", small % 5_000)),
        parent_catalog_id: CatalogId::from_digits(&format!("{:08}", small % 50)),
        description: (!number.is_multiple_of(4))
            .then(|| format!("{} 1080p {} S01E02", word(3), word(5))),
        uploader_name: number
            .is_multiple_of(5)
            .then(|| "José \"el\" grande".to_owned()),
        posted_at: Timestamp::from_seconds(1_000_000_000 + small as i64 * 7_001).unwrap(),
        downloads: small as u32,
        is_active: number % 50 != 49,
        source_release_id: ReleaseId::parse(&format!("r-{number}")),
        language: Language::parse(["es", "es-MX", "pt"][number as usize % 3]).unwrap(),
        file_name: FileName::parse(&format!("{}.srt", word(2))),
        flags: Flag::ALL
            .into_iter()
            .zip([3, 7, 11])
            .fold(RecordFlags::default(), |flags, (flag, rarity)| {
                flags.with(flag, Some(number.is_multiple_of(rarity)))
            }),
        ..Record::new(id, &format!("{} {} {}", word(0), word(1), small % 400))
    }
}

fn segment(numbers: std::ops::Range<u64>) -> Vec<u8> {
    let mut builder = SegmentBuilder::new();
    for number in numbers {
        builder.add(&record(number)).unwrap();
    }
    let mut bytes = Vec::new();
    builder.finish(&mut bytes).unwrap();
    bytes
}

/// Ledger line of the segments that this program builds and merges.
fn line() -> String {
    let built = segment(0..RECORDS);
    let open = |bytes| {
        let segment = Segment::open(Bytes::from(bytes), "index/1.seg").unwrap();
        (Arc::new(segment), Arc::<Tombstones>::default())
    };
    let inputs = [open(segment(0..100)), open(segment(100..RECORDS))];
    let mut merged = Vec::new();
    merge(&inputs, &mut merged).unwrap();
    let format = u32::from_le_bytes(*built[8..].first_chunk().unwrap());
    let (built, merged) = (xxh3_64(&built), xxh3_64(&merged));
    let version = index_version();
    format!("format {format}, {version}: built {built:016x}, merged {merged:016x}")
}

#[test]
fn bytes_of_a_segment_change_with_their_version_only() {
    let lines: Vec<&str> = LEDGER.lines().collect();
    let versions = lines.iter().map(|line| line.split(": ").next());
    let distinct: std::collections::BTreeSet<_> = versions.collect();
    assert_eq!(distinct.len(), lines.len(), "one line for a version");
    assert_eq!(
        *lines.last().unwrap(),
        line(),
        "a segment has other bytes: raise INDEX_RULES (catalog/recovery.rs), so that the index of \
         every data directory is rebuilt, and add this line to catalog/golden_segments.txt"
    );
}

#[test]
fn the_design_names_the_format_of_segments() {
    let bytes = segment(0..1);
    let format = u32::from_le_bytes(*bytes[8..].first_chunk().unwrap());
    let row = format!("format version, {format}\n");
    assert!(include_str!("../../DESIGN.md").contains(&row), "{row}");
}
