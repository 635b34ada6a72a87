//! Files with a second home: they leave, come back, and none is taken for uploaded that is not.

use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::test_support::{after, now, open, open_with, work_dir};
use crate::block_on::block_on;
use crate::disk::{Disk, PowerCut, Real};
use crate::error::Error;
use crate::limits::{EVICTION_SECONDS, SERVED_SECONDS_MIN};
use crate::model::{CachedFile, ContentHash, FileKind, NodeId, ReleaseId, Variant};
use crate::{BlobAnswer, BlobSource, Engine, MaintenanceTask, StoreKind, restore};

/// Object storage in memory.
#[derive(Default)]
struct Bucket {
    name: String,
    contents: Mutex<BTreeMap<[u8; 32], Vec<u8>>>,
    is_away: AtomicBool,
    /// A blob that it refuses.
    refused: Mutex<Option<[u8; 32]>>,
    gets_count: AtomicU64,
    has_mark: AtomicBool,
}

impl Bucket {
    fn ensure_there(&self) -> io::Result<()> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        Ok(())
    }

    fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    fn has(&self, file: &CachedFile) -> bool {
        self.contents.lock().contains_key(&file.content.0)
    }
}

impl BlobSource for Bucket {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn get(&self, content: &ContentHash, _size_bytes: u64) -> BlobAnswer<Option<Vec<u8>>> {
        answer(self.ensure_there().map(|()| {
            self.gets_count.fetch_add(1, Ordering::Relaxed);
            self.contents.lock().get(&content.0).cloned()
        }))
    }

    fn put(&self, content: &ContentHash, bytes: Vec<u8>) -> BlobAnswer<()> {
        answer(self.ensure_there().and_then(|()| {
            if *self.refused.lock() == Some(content.0) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            self.contents.lock().insert(content.0, bytes);
            Ok(())
        }))
    }

    fn has_mark(&self) -> BlobAnswer<bool> {
        let has_mark = || self.has_mark.load(Ordering::Relaxed);
        answer(self.ensure_there().map(|()| has_mark()))
    }

    fn put_mark(&self) -> BlobAnswer<()> {
        let put = || self.has_mark.store(true, Ordering::Relaxed);
        answer(self.ensure_there().map(|()| put()))
    }
}

fn answer<T: Send + 'static>(given: io::Result<T>) -> BlobAnswer<T> {
    Box::pin(ready(given))
}

fn attached(dir: &Path, bucket: &Arc<Bucket>) -> Engine {
    let engine = open(dir);
    attach(&engine, bucket).unwrap();
    engine
}

/// Stops an engine as a server does, and opens its directory again.
fn reattached(engine: Engine, dir: &Path, bucket: &Arc<Bucket>) -> Engine {
    engine.close().unwrap();
    drop(engine);
    attached(dir, bucket)
}

fn attach(engine: &Engine, bucket: &Arc<Bucket>) -> crate::Result<()> {
    engine.files().attach(Arc::clone(bucket) as _)
}

fn release(number: u64) -> ReleaseId {
    ReleaseId::parse(&number.to_string()).unwrap()
}

fn content(number: u64) -> Vec<u8> {
    format!("1\n00:00:01,000 --> 00:00:02,000\n{number}").into_bytes()
}

fn store(engine: &Engine, number: u64) -> crate::Result<CachedFile> {
    let files = engine.files();
    files.store_file(&release(number), &content(number), FileKind::Srt, None)
}

fn upload(engine: &Engine) -> crate::Result<bool> {
    engine.run_task(MaintenanceTask::UploadFiles, now())
}

/// Lets all files leave that may.
fn evict(engine: &Engine, files: &[CachedFile]) {
    let contents = files.iter().map(|file| file.content);
    engine.files().note_served(contents, now()).unwrap();
    engine.files().limit(1);
    let at = after(SERVED_SECONDS_MIN + EVICTION_SECONDS);
    engine.run_task(MaintenanceTask::EvictFiles, at).unwrap();
    engine.files().limit(0);
}

fn path_of(data: &Path, file: &CachedFile) -> PathBuf {
    let hash = file.content.to_string();
    data.join("blobs").join(&hash[..2]).join(hash)
}

fn read(engine: &Engine, file: &CachedFile) -> crate::Result<Vec<u8>> {
    let blob = block_on(engine.files().fetch_blob(file, Variant::Identity))?;
    let blob = blob.expect("a content is its own variant");
    Ok(blob.bytes()[..file.size_bytes as usize].to_vec())
}

/// Another bucket of the same name, or one that was made anew, has lost nothing.
#[test]
fn a_source_without_its_mark_lets_nothing_be_forgotten() {
    let dir = work_dir();
    let bucket = Arc::<Bucket>::default();
    let engine = attached(dir.path(), &bucket);
    let files = [1, 2].map(|number| store(&engine, number).unwrap());
    upload(&engine).unwrap();
    assert!(bucket.has_mark.load(Ordering::Relaxed));
    evict(&engine, &files);
    let contents = std::mem::take(&mut *bucket.contents.lock());
    bucket.has_mark.store(false, Ordering::Relaxed);
    let missing = read(&engine, &files[0]);
    assert!(matches!(missing, Err(Error::Source { .. })), "{missing:?}");
    // An upload does not make it the place that had them.
    store(&engine, 3).unwrap();
    upload(&engine).unwrap();
    let engine = reattached(engine, dir.path(), &bucket);
    let missing = read(&engine, &files[0]);
    assert!(matches!(missing, Err(Error::Source { .. })), "{missing:?}");
    assert_eq!(
        engine.files().cached_file(&release(1)),
        Some(files[0].clone())
    );
    *bucket.contents.lock() = contents;
    assert_eq!(read(&engine, &files[0]).unwrap(), content(1));
    bucket.has_mark.store(true, Ordering::Relaxed);
    bucket.contents.lock().clear();
    let lost = read(&engine, &files[1]);
    assert!(matches!(lost, Err(Error::Corrupt { .. })), "{lost:?}");
}

#[test]
fn files_leave_and_come_back() {
    let dir = work_dir();
    let bucket = Arc::<Bucket>::default();
    let engine = attached(dir.path(), &bucket);
    let files = [1, 2, 3].map(|number| store(&engine, number).unwrap());
    assert_eq!(engine.stats().unwrap().uploaded_files, 0);
    assert!(!upload(&engine).unwrap(), "all fit one step");
    assert!(files.iter().all(|file| bucket.has(file)));
    evict(&engine, &files);
    for (number, file) in (1..).zip(&files) {
        assert!(!path_of(dir.path(), file).exists());
        let known = engine.files().cached_file(&release(number));
        assert_eq!(known.as_ref(), Some(file), "it is known all the same");
    }
    assert_eq!(engine.verify(false).unwrap(), []);
    for _ in 0..2 {
        assert_eq!(read(&engine, &files[1]).unwrap(), content(2));
    }
    assert_eq!(bucket.gets_count.load(Ordering::Relaxed), 1);
    assert!(path_of(dir.path(), &files[1]).exists());
    // What came back need not be uploaded again.
    upload(&engine).unwrap();
    let stats = engine.stats().unwrap();
    let figures = (
        stats.uploaded_files,
        stats.returned_files,
        stats.waiting_uploads,
    );
    assert_eq!(figures, (3, 1, 0));
    let engine = reattached(engine, dir.path(), &bucket);
    assert_eq!(read(&engine, &files[2]).unwrap(), content(3));
}

#[test]
fn what_waits_for_its_upload_stays() {
    let dir = work_dir();
    let bucket = Arc::<Bucket>::default();
    let engine = attached(dir.path(), &bucket);
    bucket.set_away(true);
    let file = store(&engine, 1).unwrap();
    assert!(matches!(upload(&engine), Err(Error::Source { .. })));
    evict(&engine, std::slice::from_ref(&file));
    assert!(path_of(dir.path(), &file).exists());
    assert_eq!(engine.stats().unwrap().waiting_uploads, 1);
    // A restart changes nothing about it.
    let engine = reattached(engine, dir.path(), &bucket);
    bucket.set_away(false);
    upload(&engine).unwrap();
    assert!(bucket.has(&file));
    evict(&engine, std::slice::from_ref(&file));
    assert!(!path_of(dir.path(), &file).exists());
}

#[test]
fn a_second_home_that_is_away_loses_nothing() {
    let dir = work_dir();
    let bucket = Arc::<Bucket>::default();
    let engine = attached(dir.path(), &bucket);
    let file = store(&engine, 1).unwrap();
    upload(&engine).unwrap();
    evict(&engine, std::slice::from_ref(&file));
    bucket.set_away(true);
    let refused = read(&engine, &file);
    assert!(matches!(refused, Err(Error::Source { .. })), "{refused:?}");
    bucket.set_away(false);
    assert_eq!(read(&engine, &file).unwrap(), content(1));
}

/// The caller forgets such a file and fetches it anew.
#[test]
fn what_the_second_home_does_not_have_is_lost_and_so_is_another_content() {
    let dir = work_dir();
    let bucket = Arc::<Bucket>::default();
    let engine = attached(dir.path(), &bucket);
    let files = [1, 2].map(|number| store(&engine, number).unwrap());
    upload(&engine).unwrap();
    evict(&engine, &files);
    bucket.contents.lock().remove(&files[0].content.0);
    let other = content(9);
    bucket.contents.lock().insert(files[1].content.0, other);
    for file in &files {
        let lost = read(&engine, file);
        assert!(matches!(lost, Err(Error::Corrupt { .. })), "{lost:?}");
    }
    block_on(engine.files().forget_content(files[0].content)).unwrap();
    store(&engine, 1).unwrap();
    upload(&engine).unwrap();
    assert!(bucket.has(&files[0]), "stored anew, it is uploaded anew");
}

#[test]
fn a_damaged_file_comes_back_whole() {
    let dir = work_dir();
    let bucket = Arc::<Bucket>::default();
    let engine = attached(dir.path(), &bucket);
    let files = [1, 2].map(|number| store(&engine, number).unwrap());
    upload(&engine).unwrap();
    for file in &files {
        std::fs::write(path_of(dir.path(), file), "damaged").unwrap();
    }
    assert_eq!(read(&engine, &files[0]).unwrap(), content(1));
    while engine.run_task(MaintenanceTask::Scrub, now()).unwrap() {}
    assert!(!path_of(dir.path(), &files[1]).exists());
    assert_eq!(
        engine.files().cached_file(&release(2)),
        Some(files[1].clone())
    );
    assert_eq!(read(&engine, &files[1]).unwrap(), content(2));
    let found = engine.verify(false).unwrap();
    assert!(found.iter().all(|found| found.is_repaired), "{found:?}");
}

#[test]
fn a_directory_with_files_gets_a_second_home_and_another() {
    let dir = work_dir();
    let engine = open(dir.path());
    let files = [1, 2].map(|number| store(&engine, number).unwrap());
    let bucket = Arc::<Bucket>::default();
    attach(&engine, &bucket).unwrap();
    while upload(&engine).unwrap() {}
    let has_all = files.iter().all(|file| bucket.has(file));
    assert!(has_all, "what was there before goes there, too");
    // It was stored by the clock of the machine: only a service by that of the test keeps it.
    let served = [files[1].content];
    let at = after(SERVED_SECONDS_MIN + EVICTION_SECONDS);
    engine.files().note_served(served, at).unwrap();
    evict(&engine, &files[..1]);
    engine.close().unwrap();
    drop(engine);
    let other = Arc::new(Bucket {
        name: "other".into(),
        ..Bucket::default()
    });
    let engine = attached(dir.path(), &other);
    evict(&engine, &files);
    assert!(
        path_of(dir.path(), &files[1]).exists(),
        "it is not there yet"
    );
    while upload(&engine).unwrap() {}
    assert!(other.has(&files[1]));
}

/// A start without the settings must not cost what is only there.
#[test]
fn without_its_source_nothing_is_forgotten() {
    let dir = work_dir();
    let bucket = Arc::<Bucket>::default();
    let engine = attached(dir.path(), &bucket);
    let file = store(&engine, 1).unwrap();
    upload(&engine).unwrap();
    evict(&engine, std::slice::from_ref(&file));
    engine.close().unwrap();
    drop(engine);
    let engine = open(dir.path());
    assert!(engine.files().has_second_home());
    let refused = read(&engine, &file);
    assert!(matches!(refused, Err(Error::Source { .. })), "{refused:?}");
    let later = store(&engine, 2).unwrap();
    while engine.run_task(MaintenanceTask::Scrub, now()).unwrap() {}
    assert_eq!(engine.verify(false).unwrap(), []);
    let engine = reattached(engine, dir.path(), &bucket);
    assert_eq!(read(&engine, &file).unwrap(), content(1));
    upload(&engine).unwrap();
    assert!(bucket.has(&later));
}

/// As while its file system is not mounted.
#[test]
fn a_folder_in_the_place_of_the_contents_loses_none() {
    let dir = work_dir();
    let data = dir.path().join("data");
    let bucket = Arc::<Bucket>::default();
    let engine = attached(&data, &bucket);
    let files = [1, 2].map(|number| store(&engine, number).unwrap());
    upload(&engine).unwrap();
    evict(&engine, &files[..1]);
    let waiting = store(&engine, 3).unwrap();
    let (blobs, away) = (data.join("blobs"), dir.path().join("away"));
    std::fs::rename(&blobs, &away).unwrap();
    std::fs::create_dir(&blobs).unwrap();
    assert!(upload(&engine).is_err());
    assert!(read(&engine, &files[0]).is_err());
    let left = std::fs::read_dir(&blobs).unwrap().count();
    assert_eq!(left, 0, "nothing is put there");
    // A start continues, unless the second home is new.
    engine.close().unwrap();
    drop(engine);
    let other = Arc::new(Bucket {
        name: "other".into(),
        ..Bucket::default()
    });
    let engine = open(&data);
    assert!(attach(&engine, &other).is_err());
    assert!(attach(&engine, &bucket).is_ok());
    std::fs::remove_dir(&blobs).unwrap();
    std::fs::rename(&away, &blobs).unwrap();
    upload(&engine).unwrap();
    assert!(bucket.has(&waiting));
    assert_eq!(read(&engine, &files[0]).unwrap(), content(1));
}

#[test]
fn one_content_that_is_refused_holds_up_no_other() {
    let dir = work_dir();
    let bucket = Arc::<Bucket>::default();
    let engine = attached(dir.path(), &bucket);
    let files = [1, 2, 3].map(|number| store(&engine, number).unwrap());
    *bucket.refused.lock() = Some(files[1].content.0);
    assert!(matches!(upload(&engine), Err(Error::Source { .. })));
    let uploaded = files.each_ref().map(|file| bucket.has(file));
    assert_eq!(uploaded, [true, false, true]);
    *bucket.refused.lock() = None;
    upload(&engine).unwrap();
    assert!(bucket.has(&files[1]));
}

/// A damaged content that waits is not elsewhere.
#[test]
fn a_damaged_content_that_waits_is_found_and_forgotten() {
    let dir = work_dir();
    let bucket = Arc::<Bucket>::default();
    let engine = attached(dir.path(), &bucket);
    let file = store(&engine, 1).unwrap();
    std::fs::write(path_of(dir.path(), &file), "damaged").unwrap();
    assert!(!upload(&engine).unwrap());
    assert!(!bucket.has(&file));
    assert_eq!(engine.verify(false).unwrap().len(), 1);
    let lost = read(&engine, &file);
    assert!(matches!(lost, Err(Error::Corrupt { .. })), "{lost:?}");
    block_on(engine.files().forget_content(file.content)).unwrap();
    assert!(!upload(&engine).unwrap());
    assert_eq!(engine.stats().unwrap().waiting_uploads, 0);
    store(&engine, 1).unwrap();
    upload(&engine).unwrap();
    assert!(bucket.has(&file));
}

#[test]
fn a_backup_knows_what_is_elsewhere_and_what_waits() {
    let dir = work_dir();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let bucket = Arc::<Bucket>::default();
    let engine = attached(&data, &bucket);
    let files = [1, 2].map(|number| store(&engine, number).unwrap());
    upload(&engine).unwrap();
    evict(&engine, &files);
    let waiting = store(&engine, 3).unwrap();
    let summary = engine.backup(&copy).unwrap();
    assert_eq!((summary.files, summary.elsewhere_files), (1, 2));
    assert_eq!(summary.left_out, []);
    engine.close().unwrap();
    drop(engine);
    let real: Arc<dyn Disk> = Arc::new(Real);
    assert_eq!(restore(&real, &copy, &data, NodeId(1)).unwrap().files, 3);
    let engine = attached(&data, &bucket);
    assert_eq!(read(&engine, &files[0]).unwrap(), content(1));
    upload(&engine).unwrap();
    assert!(bucket.has(&waiting));
}

/// A blob that a file refers to is queued, or has been uploaded, whatever a power cut leaves.
#[test]
fn none_is_taken_for_uploaded_that_is_not() {
    for cut_at in 0.. {
        let dir = work_dir();
        let bucket = Arc::<Bucket>::default();
        let prepared = open(&dir.path().join("data"));
        store(&prepared, 1).unwrap();
        prepared.close().unwrap();
        drop(prepared);
        let cut = Arc::new(PowerCut::new(dir.path(), cut_at, None).unwrap());
        let done = (|| -> crate::Result<()> {
            let disk = Arc::clone(&cut) as Arc<dyn Disk>;
            let engine = open_with(&dir.path().join("data"), disk, StoreKind::Redb)?;
            attach(&engine, &bucket)?;
            store(&engine, 2)?;
            upload(&engine)?;
            store(&engine, 3)?;
            engine.close()
        })();
        let is_over = cut.ops_count() <= cut_at;
        assert!(!is_over || done.is_ok(), "{done:?}");
        for seed in 0..2 {
            let left = work_dir();
            cut.write_survivors(left.path(), seed).unwrap();
            let data = left.path().join("data");
            let engine = attached(&data, &bucket);
            while upload(&engine).unwrap() {}
            for number in 1..=3 {
                let file = engine.files().cached_file(&release(number));
                let is_there = file.is_none_or(|file| bucket.has(&file));
                assert!(is_there, "cut {cut_at}, seed {seed}: {number}");
            }
        }
        if is_over {
            assert!(30 < cut_at, "only {cut_at} operations");
            return;
        }
    }
}
