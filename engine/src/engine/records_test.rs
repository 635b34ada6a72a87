//! Records that frames of a log change again before they are shown.

use std::sync::Arc;

use super::test_support::{draft, id, import, open, summary, title_of, work_dir};
use crate::Engine;
use crate::catalog::{CatalogApplier, CatalogEvent, CatalogFrame, EncodedRecords};
use crate::limits::DELTA_RECORDS_MAX;
use crate::log_rows::{FRAME_VERSION, FrameOrigin};
use crate::model::NodeId;
use crate::query::{Filters, Query, SearchText};

/// A number with a record in every chunk here, which makes them as large as they are to be.
const FILLING: u64 = 1 << 20;

fn put(title: &str, numbers: impl IntoIterator<Item = u64>) -> CatalogFrame {
    let mut records = EncodedRecords::default();
    for number in numbers {
        draft(number, title, |draft| records.push(&draft).unwrap());
    }
    let events = records.iter();
    CatalogFrame {
        version: FRAME_VERSION,
        origin: FrameOrigin {
            node: NodeId(1),
            incarnation: 0,
            number: 0,
        },
        events: events
            .map(|(id, stored)| CatalogEvent::PutRecord(id, stored.to_vec()))
            .collect(),
    }
}

fn found(engine: &Engine, word: &str) -> u64 {
    let query = SearchText::query(word).unwrap();
    let query = Query::new(Filters::default(), 10).with_query(query);
    engine.catalog().snapshot().search(&query).unwrap().total()
}

/// An engine and an applier with a chunk that becomes a part of the delta, or a segment file.
fn begin(dir: &std::path::Path, is_large: bool) -> (Engine, CatalogApplier) {
    let engine = open(dir);
    import(&engine, [1].into_iter(), "Zero").unwrap();
    let mut applier = CatalogApplier::new(Arc::clone(&engine.database().catalog));
    let filling_count = if is_large {
        DELTA_RECORDS_MAX as u64 + 1
    } else {
        1
    };
    let filling = (FILLING..).take(filling_count as usize);
    applier.commit(vec![put("Filling", filling)], None).unwrap();
    (engine, applier)
}

#[test]
fn the_last_of_several_changes_of_a_record_is_shown() {
    for is_large in [false, true] {
        let dir = work_dir();
        let (engine, mut applier) = begin(dir.path(), is_large);
        // Record 1 is stored, 2 is new.
        for title in ["One", "Two", "Three"] {
            let frames = vec![put(title, [1, 2]), put("Between", [2]), put(title, [2])];
            applier.commit(frames, None).unwrap();
        }
        assert_eq!(title_of(&engine, 1).unwrap(), "Zero 1");
        assert_eq!(title_of(&engine, 2), None);
        applier.show().unwrap();
        for number in [1, 2] {
            assert_eq!(
                title_of(&engine, number).unwrap(),
                format!("Three {number}")
            );
        }
        let counts = ["zero", "one", "two", "between", "three"].map(|word| found(&engine, word));
        assert_eq!(counts, [0, 0, 0, 0, 2]);
        assert_eq!(engine.verify(false).unwrap(), []);
    }
}

#[test]
fn a_change_of_another_caller_between_them_is_replaced() {
    for is_large in [false, true] {
        let dir = work_dir();
        let (engine, mut applier) = begin(dir.path(), is_large);
        applier
            .commit(vec![put("One", [1, 2, 3, 4])], None)
            .unwrap();
        let others = import(&engine, 1..5, "Other").unwrap();
        assert_eq!(others, summary(0, 4, 0));
        assert_eq!(found(&engine, "other"), 4);
        assert!(
            engine
                .catalog()
                .delete_records(&[id(4)])
                .unwrap()
                .is_empty()
        );
        applier.commit(vec![put("Two", [1, 2])], None).unwrap();
        applier.show().unwrap();
        let titles = [1, 2, 3, 4].map(|number| title_of(&engine, number));
        let expected = [Some("Two 1"), Some("Two 2"), Some("Other 3"), None];
        assert_eq!(titles.each_ref().map(Option::as_deref), expected);
        let counts = ["zero", "one", "other", "two"].map(|word| found(&engine, word));
        assert_eq!(counts, [0, 0, 1, 2]);
        assert_eq!(engine.verify(false).unwrap(), []);
    }
}

/// The caller of the first change has its answer when the segment is built.
#[test]
fn a_record_that_is_being_built_is_shown_before_it_changes_again() {
    let dir = work_dir();
    let (engine, mut applier) = begin(dir.path(), true);
    applier.commit(vec![put("One", [1])], None).unwrap();
    applier.build().unwrap();
    applier.commit(vec![put("Two", [1])], None).unwrap();
    assert_eq!(title_of(&engine, 1).unwrap(), "One 1");
    applier.show().unwrap();
    assert_eq!(title_of(&engine, 1).unwrap(), "Two 1");
    assert_eq!(engine.verify(false).unwrap(), []);
}

#[test]
fn few_and_many_changes_are_shown_when_they_are_answered() {
    let dir = work_dir();
    let engine = open(dir.path());
    let mut applier = CatalogApplier::new(Arc::clone(&engine.database().catalog));
    for (numbers, files_count) in [(0..10, 0), (10..10 + DELTA_RECORDS_MAX as u64 + 1, 1)] {
        let count = numbers.end - numbers.start;
        let outcomes = applier.commit_and_show(vec![put("One", numbers)]).unwrap();
        assert_eq!(outcomes.len() as u64, count);
        assert!(applier.is_empty());
        assert_eq!(engine.stats().unwrap().file_segments, files_count);
    }
    assert_eq!(found(&engine, "one"), 10 + DELTA_RECORDS_MAX as u64 + 1);
    assert_eq!(engine.verify(false).unwrap(), []);
}

/// As after an error, or when a node stops.
#[test]
fn a_chunk_that_is_not_shown_is_shown_by_the_next_change() {
    let dir = work_dir();
    let (engine, mut applier) = begin(dir.path(), true);
    applier.commit(vec![put("One", [1, 2])], None).unwrap();
    drop(applier);
    assert_eq!(found(&engine, "one"), 0);
    import(&engine, [3].into_iter(), "Other").unwrap();
    assert_eq!([found(&engine, "one"), found(&engine, "zero")], [2, 0]);
    assert_eq!(found(&engine, "filling"), DELTA_RECORDS_MAX as u64 + 1);
    assert_eq!(engine.verify(false).unwrap(), []);
}
