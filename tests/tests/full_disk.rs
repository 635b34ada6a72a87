//! A disk that is really full: the engine opens, reads, counts in memory, and says what is wrong.
//!
//! It is a small tmpfs that the test mounts, which takes root; without that the test is skipped.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use subcat_engine::{Engine, Error, Filters, Query, SearchText, Timestamp};
use subcat_tests::filled::{id, import_films, open};

/// Room for the data and for the 48 MiB that changes ask for.
const DISK_MIB: u32 = 72;

/// A mounted tmpfs; unmounted on drop.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// `None` where mounting is not allowed.
    fn mount(path: &Path) -> Option<Self> {
        fs::create_dir(path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={DISK_MIB}m"), "tmpfs"])
            .arg(path)
            .status();
        let is_mounted = mounted.is_ok_and(|status| status.success());
        is_mounted.then(|| Self {
            path: path.to_path_buf(),
        })
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut filler = fs::File::create(self.path.join("filler")).unwrap();
        for piece in [1 << 16, 1 << 10, 1] {
            while filler.write_all(&vec![0; piece]).is_ok() {}
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.path.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a mapping of a failed test may still be open.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_700_000_000 + seconds).unwrap()
}

fn import(engine: &Engine, numbers: std::ops::Range<u64>) -> Result<(), Error> {
    import_films(engine, numbers, |_| "Película".to_owned())
}

fn found(engine: &Engine) -> u64 {
    let text = SearchText::query("pelicula").unwrap();
    let query = Query::new(Filters::default(), 10).with_query(text);
    engine.catalog().snapshot().search(&query).unwrap().total()
}

#[test]
fn a_full_disk_lets_the_engine_start_read_and_count() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(&dir.path().join("disk")) else {
        eprintln!("SKIPPED: mounting a tmpfs needs root");
        return;
    };
    let data = disk.path.join("data");
    let engine = open(&data).unwrap();
    import(&engine, 0..100).unwrap();
    engine.catalog().request_reindex();
    engine.maintain(at(0)).unwrap();
    import(&engine, 100..110).unwrap();
    // As if the process was killed: nothing is closed.
    drop(engine);
    disk.fill();

    let engine = open(&data).unwrap();
    assert_eq!(found(&engine), 110);
    assert!(engine.catalog().stored_record(id(5)).unwrap().is_some());
    let mut lane = engine.usage().counter_lane().unwrap();
    for _ in 0..3 {
        lane.count(id(5), None, at(0).day()).unwrap();
    }
    assert_eq!(engine.usage().downloads(id(5)), 3);
    let refused = import(&engine, 110..120).unwrap_err();
    assert!(refused.to_string().contains("make room"), "{refused}");
    assert!(engine.files().check_space().is_err());
    assert!(engine.usage().sync_counters().is_err(), "it says so");
    let _ = engine.maintain(at(20));
    assert_eq!(found(&engine), 110);

    // Everything works again at once, and nothing that was counted is lost.
    disk.make_room();
    import(&engine, 110..120).unwrap();
    assert_eq!(found(&engine), 120);
    engine.usage().sync_counters().unwrap();
    lane.count(id(5), None, at(0).day()).unwrap();
    engine.maintain(at(40)).unwrap();
    engine.maintain(at(60)).unwrap();
    drop(lane);
    engine.close().unwrap();
    drop(engine);
    let engine = open(&data).unwrap();
    assert_eq!(engine.usage().downloads(id(5)), 4);
    assert_eq!(found(&engine), 120);
    assert_eq!(engine.verify(false).unwrap(), []);
    engine.close().unwrap();
}
