//! Damage to the rows about the index: seconds until answers are right again.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use super::test_support::{copy_dir, id, import, now, open, title_of, with_store, work_dir};
use crate::Engine;
use crate::catalog::{JOURNAL, SEGMENTS, TOMBSTONES};
use crate::database::CATALOG_FILE;
use crate::store::{Span, Table};

/// Records without `SUBCAT_HEAL_RECORDS` (`scripts/crash --healing`).
const RECORDS: u64 = 2_000;
/// Time in which answers must be right again, for each 100,000 records.
const HEALING_MAX: Duration = Duration::from_secs(10);
/// Records that are deleted: a segment has tombstones.
const DELETED: u64 = 10;
/// Records that changed last: they are in the journal.
const CHANGED: u64 = 30;

/// Makes a directory with two segments, tombstones and a journal.
fn prepare(data: &Path, records: u64) {
    let engine = open(data);
    let flush = || {
        engine.catalog().request_reindex();
        while engine.maintain(now()).unwrap() {}
    };
    import(&engine, 0..records, "Uno").unwrap();
    flush();
    let ids: Vec<_> = (0..DELETED).map(id).collect();
    engine.catalog().delete_records(&ids).unwrap();
    import(&engine, records..records + 5, "Dos").unwrap();
    flush();
    import(&engine, DELETED..CHANGED, "Tres").unwrap();
    engine.close().unwrap();
}

/// Changes a byte of the first row of a table, wherever the file has its value.
fn damage_first_row(data: &Path, table: Table) {
    let mut value = Vec::new();
    with_store(data, &CATALOG_FILE, |store| {
        let read = store.read(|rows| {
            rows.range(table, Span::ALL, &mut |_, stored| {
                value = stored.to_vec();
                Ok(ControlFlow::Break(()))
            })
        });
        read.unwrap();
    });
    let path = data.join("catalog.redb");
    let mut bytes = std::fs::read(&path).unwrap();
    let places = bytes.windows(value.len()).enumerate();
    let places = places.filter(|(_, found)| *found == value);
    let places: Vec<usize> = places.map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "{table:?} has a row");
    for at in places {
        bytes[at + value.len() / 2] ^= 0x10;
    }
    std::fs::write(&path, bytes).unwrap();
}

fn is_right(engine: &Engine, records: u64) -> bool {
    (0..records + 5).all(|number| {
        let expected = match number {
            _ if number < DELETED => None,
            _ if number < CHANGED => Some(format!("Tres {number}")),
            _ if number < records => Some(format!("Uno {number}")),
            _ => Some(format!("Dos {number}")),
        };
        title_of(engine, number) == expected
    })
}

#[test]
fn a_damaged_row_about_the_index_heals_within_seconds() {
    let records = std::env::var("SUBCAT_HEAL_RECORDS").map_or(RECORDS, |it| it.parse().unwrap());
    let dir = work_dir();
    let prepared = dir.path().join("prepared");
    prepare(&prepared, records);
    for (name, table) in [
        ("manifest", SEGMENTS),
        ("tombstones", TOMBSTONES),
        ("journal", JOURNAL),
    ] {
        let data = dir.path().join(name);
        copy_dir(&prepared, &data);
        damage_first_row(&data, table);
        let began = Instant::now();
        let engine = open(&data);
        while !is_right(&engine, records) {
            engine.maintain(now()).unwrap();
        }
        let healed_after = began.elapsed();
        println!("{records} records, a row of the {name}: right after {healed_after:?}");
        let times = records.div_ceil(100_000) as u32;
        assert!(healed_after <= HEALING_MAX * times, "{healed_after:?}");
        assert_ne!(engine.take_damage(), [], "it is told");
        engine.close().unwrap();
        drop(engine);
        std::fs::remove_dir_all(&data).unwrap();
    }
}
