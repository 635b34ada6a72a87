//! Tests that every storage engine must pass.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::checksummed::SpaceGuard;
use super::{
    MemoryEngine, RedbEngine, RedbPlace, Rows, ScanOrder, Span, Store, StoreEngine, Table,
};
use crate::disk::{Disk, Fault, Faulty, PowerCut, Real};
use crate::error::{Error, Result};

const A: Table = Table("a");
const B: Table = Table("b");

fn redb(dir: &Path, disk: &Arc<dyn Disk>) -> Result<Box<dyn StoreEngine>> {
    Ok(Box::new(RedbEngine::open(RedbPlace {
        disk: Arc::clone(disk),
        path: dir.join("test.redb"),
        temporary: dir.join("test.tmp"),
        file: "test.redb",
        tables: &[A, B],
        cache_bytes: 1 << 20,
        may_create: true,
    })?))
}

fn store(engine: Box<dyn StoreEngine>, dir: &Path) -> Store {
    let guard = SpaceGuard {
        disk: Arc::new(Real),
        dir: dir.to_path_buf(),
        needed_bytes: 1,
        reserve_bytes: Arc::default(),
    };
    Store::new(engine, "test.redb", guard)
}

/// Runs a test over both engines.
fn over_both(test: impl Fn(&Store)) {
    let dir = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(Real);
    test(&store(redb(dir.path(), &disk).unwrap(), dir.path()));
    test(&store(Box::new(MemoryEngine::default()), dir.path()));
}

fn rows_of(rows: &Rows<'_>, table: Table, span: Span<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    rows.range(table, span, &mut |row_key, value| {
        found.push((row_key.to_vec(), value.to_vec()));
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    found
}

#[test]
fn rows_are_put_and_removed() {
    over_both(|store| {
        let was_there = store.write(|rows| {
            rows.put(A, b"1", b"one")?;
            rows.put(A, b"2", b"")?;
            rows.put(A, b"1", b"uno")?;
            rows.put(B, b"1", b"other")?;
            Ok((rows.remove(A, b"2")?, rows.remove(A, b"3")?))
        });
        assert_eq!(was_there.unwrap(), (true, false));
        let read = |rows: &Rows<'_>| {
            assert_eq!(rows.get(A, b"1")?.unwrap(), b"uno");
            assert_eq!(rows.get(A, b"2")?, None);
            assert_eq!(rows.rows_count(A)?, 1);
            rows.get(B, b"1")
        };
        assert_eq!(store.read(read).unwrap().unwrap(), b"other");
    });
}

#[test]
fn a_transaction_sees_its_own_changes() {
    over_both(|store| {
        store.write(|rows| rows.put(A, b"1", b"x")).unwrap();
        let gone = store.write(|rows| {
            rows.put(A, b"2", b"y")?;
            rows.remove(A, b"1")?;
            let mut seen = Vec::new();
            rows.inspect(A, Span::ALL, &mut |row_key, _| {
                seen.extend_from_slice(row_key);
                Ok(ControlFlow::Continue(()))
            })?;
            assert_eq!(seen, b"2");
            rows.get(A, b"1")
        });
        assert_eq!(gone.unwrap(), None);
        let counted = store.read(|rows| rows.rows_count(A));
        assert_eq!(counted.unwrap(), 1);
    });
}

#[test]
fn a_transaction_visits_rows_as_it_changed_them() {
    over_both(|store| {
        let put = store.write(|rows| {
            for row_key in [1u8, 3, 5, 7] {
                rows.put(A, &[row_key], b"old")?;
            }
            Ok(())
        });
        put.unwrap();
        let visited = store.write(|rows| {
            for row_key in [0u8, 3, 4, 9] {
                rows.put(A, &[row_key], b"new")?;
            }
            rows.remove(A, &[5])?;
            rows.remove(A, &[8])?;
            let mut visited = Vec::new();
            for order in [ScanOrder::Ascending, ScanOrder::Descending] {
                let (from, to) = (&[1][..], Some(&[9][..]));
                let mut found = Vec::new();
                rows.inspect(A, Span { from, to, order }, &mut |row_key, value| {
                    let value = value?;
                    found.push((row_key[0], value == b"new"));
                    if found.len() == 3 {
                        return Ok(ControlFlow::Break(()));
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
                visited.push(found);
            }
            Ok(visited)
        });
        let expected = [
            [(1, false), (3, true), (4, true)],
            [(7, false), (4, true), (3, true)],
        ];
        assert_eq!(visited.unwrap(), expected);
    });
}

#[test]
fn a_transaction_that_changes_nothing_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    let disk: Arc<dyn Disk> = Arc::clone(&faulty) as Arc<dyn Disk>;
    let store = store(redb(dir.path(), &disk).unwrap(), dir.path());
    store.write(|rows| rows.put(A, b"1", b"x")).unwrap();
    let ops_count = faulty.ops_count();
    for _ in 0..3 {
        let looked = store.write(|rows| Ok((rows.get(A, b"1")?, rows.remove(B, b"1")?)));
        assert_eq!(looked.unwrap(), (Some(b"x".to_vec()), false));
    }
    assert_eq!(faulty.ops_count(), ops_count);
    store.write(|rows| rows.put(A, b"2", b"y")).unwrap();
    let counted = store.read(|rows| rows.rows_count(A));
    assert_eq!(counted.unwrap(), 2);
}

#[test]
fn a_transaction_that_fails_changes_nothing() {
    over_both(|store| {
        store.write(|rows| rows.put(A, b"1", b"x")).unwrap();
        let failed = store.write(|rows| {
            rows.put(A, b"1", b"y")?;
            rows.put(A, b"2", b"y")?;
            Err::<(), _>(Error::corrupt("elsewhere", 0, "a test"))
        });
        assert!(failed.is_err());
        let found = store.read(|rows| Ok(rows_of(rows, A, Span::ALL)));
        assert_eq!(found.unwrap(), [(b"1".to_vec(), b"x".to_vec())]);
    });
}

#[test]
fn spans_are_half_open_and_run_both_ways() {
    over_both(|store| {
        let put = store.write(|rows| {
            for row_key in 0..10u8 {
                rows.put(A, &[row_key], b"x")?;
            }
            Ok(())
        });
        put.unwrap();
        let check = |from: &[u8], to: Option<&[u8]>, order: ScanOrder, expected: &[u8]| {
            let span = Span { from, to, order };
            let found = store.read(|rows| Ok(rows_of(rows, A, span))).unwrap();
            let row_keys: Vec<u8> = found.iter().map(|(row_key, _)| row_key[0]).collect();
            assert_eq!(row_keys, expected);
        };
        check(&[3], Some(&[6]), ScanOrder::Ascending, &[3, 4, 5]);
        check(&[3], Some(&[6]), ScanOrder::Descending, &[5, 4, 3]);
        check(&[8], None, ScanOrder::Ascending, &[8, 9]);
        check(&[6], Some(&[3]), ScanOrder::Ascending, &[]);
        check(
            &[],
            None,
            ScanOrder::Descending,
            &[9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
        );
    });
}

#[test]
fn a_reader_sees_one_moment() {
    over_both(|store| {
        store.write(|rows| rows.put(A, b"1", b"old")).unwrap();
        let read = |rows: &Rows<'_>| {
            store.write(|rows| rows.put(A, b"1", b"new"))?;
            rows.get(A, b"1")
        };
        assert_eq!(store.read(read).unwrap().unwrap(), b"old");
        let after = store.read(|rows| rows.get(A, b"1"));
        assert_eq!(after.unwrap().unwrap(), b"new");
    });
}

#[test]
fn too_little_space_is_told_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let guard = SpaceGuard {
        disk: Arc::new(Real),
        dir: dir.path().to_path_buf(),
        needed_bytes: u64::MAX,
        reserve_bytes: Arc::default(),
    };
    let store = Store::new(Box::new(MemoryEngine::default()), "test.redb", guard);
    let refused = store.write(|rows| rows.put(A, b"1", b"x"));
    assert!(matches!(refused, Err(Error::Space { .. })));
}

#[test]
fn what_was_committed_is_there_after_closing_and_after_not_closing() {
    let dir = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(Real);
    for round in 0..4u8 {
        let store = store(redb(dir.path(), &disk).unwrap(), dir.path());
        let rows_count = store.read(|rows| rows.rows_count(A)).unwrap();
        assert_eq!(rows_count, u64::from(round));
        store.write(|rows| rows.put(A, &[round], b"x")).unwrap();
        if round % 2 == 0 {
            store.close().unwrap();
            assert!(store.read(|rows| rows.rows_count(A)).is_err());
        }
    }
}

#[test]
fn an_empty_or_foreign_file_is_damaged_and_not_new() {
    for content in [b"".to_vec(), b"something else".to_vec(), vec![0; 1 << 20]] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("test.redb"), &content).unwrap();
        assert!(redb(dir.path(), &(Arc::new(Real) as Arc<dyn Disk>)).is_err());
        let after = std::fs::read(dir.path().join("test.redb")).unwrap();
        assert_eq!(after, content, "the damaged file was changed");
    }
}

#[test]
fn a_flipped_bit_in_a_value_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(Real);
    let first = store(redb(dir.path(), &disk).unwrap(), dir.path());
    let value = b"a value that is easy to find in the file";
    first.write(|rows| rows.put(A, b"row", value)).unwrap();
    first.close().unwrap();
    let path = dir.path().join("test.redb");
    let mut content = std::fs::read(&path).unwrap();
    let starts: Vec<usize> = (0..content.len() - value.len())
        .filter(|start| content[*start..].starts_with(value))
        .collect();
    assert!(!starts.is_empty());
    for start in starts {
        content[start + 5] ^= 4;
    }
    std::fs::write(&path, content).unwrap();
    let second = store(redb(dir.path(), &disk).unwrap(), dir.path());
    let found = second.read(|rows| rows.get(A, b"row"));
    let message = found.unwrap_err().to_string();
    assert!(message.contains("table a, row 726f77"), "{message}");
}

#[test]
fn garbage_pages_are_errors_and_never_wrong_values() {
    let dir = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(Real);
    let first = store(redb(dir.path(), &disk).unwrap(), dir.path());
    let put = first.write(|rows| {
        for row_key in 0..2_000u32 {
            rows.put(A, &row_key.to_be_bytes(), &[row_key as u8; 100])?;
        }
        Ok(())
    });
    put.unwrap();
    first.close().unwrap();
    let path = dir.path().join("test.redb");
    let content = std::fs::read(&path).unwrap();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut faults_count = 0;
    for page in 1..content.len() / 4096 {
        let mut damaged = content.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0xa7);
        std::fs::write(&path, damaged).unwrap();
        let Ok(engine) = redb(dir.path(), &disk) else {
            faults_count += 1;
            continue;
        };
        let store = store(engine, dir.path());
        for row_key in [0, 1_000u32, 1_999] {
            match store.read(|rows| rows.get(A, &row_key.to_be_bytes())) {
                Ok(Some(value)) => assert_eq!(value, [row_key as u8; 100]),
                Ok(None) => panic!("page {page}: row {row_key} is silently gone"),
                Err(_) => faults_count += 1,
            }
        }
    }
    std::panic::set_hook(hook);
    assert!(0 < faults_count);
}

#[test]
fn a_fault_at_any_operation_loses_nothing_and_heals() {
    for op_idx in 0..400 {
        let dir = tempfile::tempdir().unwrap();
        let faulty = Arc::new(Faulty::new(Fault {
            first: op_idx,
            count: 3,
            errno: Fault::ENOSPC,
        }));
        let disk: Arc<dyn Disk> = Arc::clone(&faulty) as Arc<dyn Disk>;
        let opened = (0..5).find_map(|_| redb(dir.path(), &disk).ok());
        let store = store(opened.expect("it opens when the fault is over"), dir.path());
        let mut acknowledged = Vec::new();
        for row_key in 0..12u8 {
            let put = store.write(|rows| rows.put(A, &[row_key], &[row_key; 3_000]));
            if put.is_ok() {
                acknowledged.push(row_key);
            }
        }
        assert!(
            8 < acknowledged.len(),
            "operation {op_idx}: it does not heal"
        );
        for row_key in &acknowledged {
            let read = || store.read(|rows| rows.get(A, &[*row_key])).ok();
            let found = (0..4).find_map(|_| read()).expect("it heals for readers");
            assert_eq!(found.unwrap(), [*row_key; 3_000], "operation {op_idx}");
        }
        drop(store);
        faulty.set_fault(Fault::NONE);
        let again = self::store(redb(dir.path(), &disk).unwrap(), dir.path());
        for row_key in acknowledged {
            let found = again.read(|rows| rows.get(A, &[row_key])).unwrap();
            assert_eq!(found.unwrap(), [row_key; 3_000], "operation {op_idx}");
        }
    }
}

/// Opening a suspect database waits for readers to end, and one of them may be the caller.
#[test]
fn a_reader_that_reads_again_after_a_fault_does_not_wait_for_itself() {
    let dir = tempfile::tempdir().unwrap();
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    let disk: Arc<dyn Disk> = Arc::clone(&faulty) as Arc<dyn Disk>;
    let store = store(redb(dir.path(), &disk).unwrap(), dir.path());
    store.write(|rows| rows.put(A, b"1", b"x")).unwrap();
    let mut is_reached = false;
    let _ = store.read(|_| {
        faulty.set_fault(Fault {
            first: faulty.ops_count(),
            count: 1,
            errno: Fault::ENOSPC,
        });
        assert!(store.write(|rows| rows.put(A, b"2", b"y")).is_err());
        // Whatever redb answers, it answers.
        let _ = store.read(|rows| rows.get(A, b"1"));
        is_reached = true;
        Ok(())
    });
    assert!(is_reached);
    let found = store.read(|rows| rows.get(A, b"1")).unwrap();
    assert_eq!(found, Some(b"x".to_vec()));
}

/// A store of 300 rows, reduced to each tenth and compacted on this disk. Returns the result of the
/// compaction.
fn compact_half_empty(dir: &Path, disk: &Arc<dyn Disk>, is_prepared: bool) -> Result<(u64, u64)> {
    let store = store(redb(dir, disk)?, dir);
    if !is_prepared {
        for base in [0, 100u32, 200] {
            store.write(|rows| {
                (base..base + 100).try_for_each(|row_key| {
                    rows.put(A, &row_key.to_be_bytes(), &[row_key as u8; 3_000])
                })
            })?;
        }
        store.write(|rows| {
            let removed = (0..300u32).filter(|row_key| row_key % 10 != 0);
            removed.into_iter().try_for_each(|row_key| {
                rows.remove(A, &row_key.to_be_bytes())
                    .map(|was_there| assert!(was_there))
            })
        })?;
        store.close()?;
        return Ok((0, 0));
    }
    let reclaimable = store.reclaimable_bytes()?;
    let (before, after) = store.compact()?;
    assert!(
        before - after <= reclaimable,
        "{before} {after} {reclaimable}"
    );
    let rest = store.reclaimable_bytes()?;
    assert!(rest < reclaimable / 2, "{rest} of {reclaimable}");
    Ok((before, after))
}

fn check_half_empty(dir: &Path, context: u64) {
    let disk: Arc<dyn Disk> = Arc::new(Real);
    let store = store(redb(dir, &disk).unwrap(), dir);
    store
        .read(|rows| {
            assert_eq!(rows.rows_count(A)?, 30, "{context}");
            for row_key in (0..300u32).step_by(10) {
                let value = rows.get(A, &row_key.to_be_bytes())?;
                assert_eq!(value.unwrap(), [row_key as u8; 3_000], "{context}");
            }
            Ok(())
        })
        .unwrap();
    store.check().unwrap();
    store.write(|rows| rows.put(B, b"later", b"works")).unwrap();
}

#[test]
fn compaction_gives_free_space_back_and_keeps_all_rows() {
    let dir = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(Real);
    compact_half_empty(dir.path(), &disk, false).unwrap();
    let (before, after) = compact_half_empty(dir.path(), &disk, true).unwrap();
    assert!(after * 2 < before, "{after} of {before}");
    check_half_empty(dir.path(), u64::MAX);
}

#[test]
fn a_power_cut_at_any_operation_of_a_compaction_loses_nothing() {
    let prepared = tempfile::tempdir().unwrap();
    let real: Arc<dyn Disk> = Arc::new(Real);
    compact_half_empty(prepared.path(), &real, false).unwrap();
    let mut cuts_count = 0;
    for cut_at in 0.. {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(
            prepared.path().join("test.redb"),
            dir.path().join("test.redb"),
        )
        .unwrap();
        let cut = Arc::new(PowerCut::new(dir.path(), cut_at, None).unwrap());
        let disk: Arc<dyn Disk> = Arc::clone(&cut) as Arc<dyn Disk>;
        let compacted = compact_half_empty(dir.path(), &disk, true);
        if cut.ops_count() <= cut_at {
            compacted.unwrap();
            break;
        }
        cuts_count += 1;
        let survivors = tempfile::tempdir().unwrap();
        cut.write_survivors(survivors.path(), cut_at).unwrap();
        check_half_empty(survivors.path(), cut_at);
    }
    assert!(20 < cuts_count, "{cuts_count}");
}
