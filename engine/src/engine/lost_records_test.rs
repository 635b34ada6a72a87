//! Older versions of records with checksums that match: the write of a page was lost. The journal
//! and the index have the later ones.

use std::path::Path;
use std::sync::Arc;

use super::test_support::{id, import, now, open, title_of, work_dir};
use crate::catalog::RECORDS;
use crate::data_dir::DataDir;
use crate::database::{CATALOG_FILE, open_store};
use crate::disk::Real;
use crate::store::Store;
use crate::{Engine, MaintenanceTask};

/// A record's number and its bytes; none if there is no row.
type Row = (u64, Option<Vec<u8>>);

/// A directory with some records, all in a segment file.
fn prepare(data: &Path) -> Engine {
    let engine = open(data);
    import(&engine, 0..20, "Uno").unwrap();
    engine.catalog().set_active(id(19), false).unwrap();
    flush(&engine);
    engine
}

fn flush(engine: &Engine) {
    engine.catalog().request_reindex();
    engine.maintain(now()).unwrap();
}

fn rows_of(engine: &Engine, numbers: &[u64]) -> Vec<Row> {
    let store = engine.database().catalog.store();
    let read = store.read(|rows| {
        let of = |&number| Ok((number, rows.get(RECORDS, id(number).as_bytes())?));
        numbers.iter().map(of).collect()
    });
    read.unwrap()
}

fn put_back(store: &Store, before: &[Row]) {
    let put = store.write(|rows| {
        for (number, stored) in before {
            match stored {
                Some(stored) => rows.put(RECORDS, id(*number).as_bytes(), stored)?,
                None => drop(rows.remove(RECORDS, id(*number).as_bytes())?),
            }
        }
        Ok(())
    });
    put.unwrap();
}

fn close_and_change(engine: Engine, data: &Path, change: impl FnOnce(&Store)) {
    engine.close().unwrap();
    drop(engine);
    let data_dir = DataDir::open(Arc::new(Real), data).unwrap();
    let store = open_store(&data_dir, true, &CATALOG_FILE).unwrap();
    change(&store);
    store.close().unwrap();
}

/// Each of these records fails by its name, and no other one does.
fn ensure_left_out(engine: &Engine, left_out: &[u64]) {
    let snapshot = engine.catalog().snapshot();
    for number in 0..22 {
        let found = snapshot.doc(id(number));
        assert_eq!(found.is_err(), left_out.contains(&number), "{number}");
        let stored = engine.catalog().stored_record(id(number));
        assert_eq!(stored.is_err(), left_out.contains(&number), "{number}");
        if let Err(error) = stored {
            assert!(error.to_string().contains(&id(number).to_string()));
        }
    }
    let exported = engine.catalog().export(&mut |record| {
        assert!(left_out.iter().all(|number| id(*number) != record.id));
        Ok(())
    });
    assert_eq!(exported.unwrap().len(), left_out.len());
}

#[test]
fn a_start_believes_the_journal() {
    let dir = work_dir();
    let data = dir.path().join("data");
    let engine = prepare(&data);
    // Replaced, deleted, new; the last one is changed twice.
    let before = rows_of(&engine, &[1, 2, 20]);
    import(&engine, 1..2, "Dos").unwrap();
    engine.catalog().delete_records(&[id(2)]).unwrap();
    import(&engine, 20..22, "Dos").unwrap();
    let first = rows_of(&engine, &[21]);
    import(&engine, 21..22, "Tres").unwrap();
    import(&engine, 5..6, "Dos").unwrap();
    close_and_change(engine, &data, |store| {
        put_back(store, &before);
        put_back(store, &first);
    });
    let engine = open(&data);
    ensure_left_out(&engine, &[1, 2, 20, 21]);
    assert_eq!(title_of(&engine, 5).unwrap(), "Dos 5");
    let noted = engine.take_damage();
    assert_eq!(noted.len(), 4, "{noted:?}");
    assert!(noted.iter().all(|entry| !entry.is_repaired));
    engine.close().unwrap();
    drop(engine);
    // A rebuild of the index does not believe them either.
    std::fs::remove_dir_all(data.join("index")).unwrap();
    let engine = open(&data);
    ensure_left_out(&engine, &[1, 2, 20, 21]);
    import(&engine, 1..3, "Cuatro").unwrap();
    engine.catalog().delete_records(&[id(20), id(21)]).unwrap();
    ensure_left_out(&engine, &[]);
    assert_eq!(title_of(&engine, 2).unwrap(), "Cuatro 2");
    assert_eq!(engine.database().catalog.counts().unwrap(), (20, 19));
}

#[test]
fn the_scrubber_believes_the_index() {
    let dir = work_dir();
    let engine = prepare(dir.path());
    let before = rows_of(&engine, &[1, 3, 19]);
    import(&engine, 1..2, "Dos").unwrap();
    engine.catalog().delete_records(&[id(3)]).unwrap();
    engine.catalog().set_active(id(19), true).unwrap();
    flush(&engine);
    // In the delta: only memory and the journal have it.
    import(&engine, 7..8, "Dos").unwrap();
    put_back(engine.database().catalog.store(), &before);
    while engine.run_task(MaintenanceTask::Scrub, now()).unwrap() {}
    ensure_left_out(&engine, &[1, 3, 19]);
    assert_eq!(engine.take_damage().len(), 3);
    assert_eq!(engine.stats().unwrap().scrub_findings, 3);
    assert_eq!(title_of(&engine, 7).unwrap(), "Dos 7");
}

/// More than a page has: the index is suspected, and nothing is lost.
#[test]
fn the_scrubber_does_not_believe_an_index_that_contradicts_most_records() {
    let dir = work_dir();
    let engine = open(dir.path());
    let numbers: Vec<u64> = (0..400).collect();
    import(&engine, 0..400, "Uno").unwrap();
    let before = rows_of(&engine, &numbers);
    import(&engine, 0..400, "Dos").unwrap();
    flush(&engine);
    put_back(engine.database().catalog.store(), &before);
    while engine.run_task(MaintenanceTask::Scrub, now()).unwrap() {}
    for number in numbers {
        let stored = engine.catalog().stored_record(id(number)).unwrap().unwrap();
        assert_eq!(stored.title, format!("Uno {number}"));
    }
    let noted = engine.take_damage();
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert!(noted[0].place == "index" && !noted[0].is_repaired);
}

/// The language is part of no document: it is compared apart.
#[test]
fn an_older_language_is_noticed() {
    let dir = work_dir();
    let engine = prepare(dir.path());
    let mut record = engine.catalog().stored_record(id(4)).unwrap().unwrap();
    record.language = crate::model::Language::parse("es-MX").unwrap();
    let older = crate::codec::encode_record(&record, Vec::new());
    put_back(engine.database().catalog.store(), &[(4, Some(older))]);
    while engine.run_task(MaintenanceTask::Scrub, now()).unwrap() {}
    ensure_left_out(&engine, &[4]);
}

#[test]
fn a_record_that_only_the_index_has_is_left_out() {
    let dir = work_dir();
    let engine = prepare(dir.path());
    import(&engine, 7..8, "Dos").unwrap();
    let catalog = &engine.database().catalog;
    assert_eq!(catalog.contain_all_contradicted().unwrap(), 0);
    put_back(catalog.store(), &[(1, None), (7, None)]);
    // The second one is in the journal, which is compared at a start.
    assert_eq!(catalog.contain_all_contradicted().unwrap(), 1);
    ensure_left_out_of_index(&engine, 1);
    engine.catalog().delete_records(&[id(1)]).unwrap();
    assert_eq!(catalog.contain_all_contradicted().unwrap(), 0);
    assert!(engine.catalog().snapshot().doc(id(1)).unwrap().is_none());
}

fn ensure_left_out_of_index(engine: &Engine, number: u64) {
    assert!(engine.catalog().snapshot().doc(id(number)).is_err());
    assert!(engine.catalog().stored_record(id(number)).is_err());
}

/// An undetectable loss (DURABILITY.md): with the last header the last commit is lost, whole.
#[test]
fn without_its_last_header_a_file_is_as_before_the_last_commit() {
    const HEADER_BYTES: usize = 4_096;
    let dir = work_dir();
    let data = dir.path().join("data");
    let engine = prepare(&data);
    import(&engine, 20..21, "Dos").unwrap();
    let path = data.join("catalog.redb");
    let header = std::fs::read(&path).unwrap()[..HEADER_BYTES].to_vec();
    import(&engine, (1..3).chain(21..22), "Tres").unwrap();
    assert_eq!(title_of(&engine, 21).unwrap(), "Tres 21");
    // As if the process was killed.
    drop(engine);
    let mut content = std::fs::read(&path).unwrap();
    assert_ne!(content[..HEADER_BYTES], header);
    content[..HEADER_BYTES].copy_from_slice(&header);
    std::fs::write(&path, content).unwrap();
    let engine = open(&data);
    for (number, title) in [(1, "Uno 1"), (2, "Uno 2"), (20, "Dos 20")] {
        assert_eq!(title_of(&engine, number).unwrap(), title);
    }
    assert!(engine.catalog().snapshot().doc(id(21)).unwrap().is_none());
    ensure_left_out(&engine, &[]);
    assert_eq!(engine.verify(false).unwrap(), []);
}
