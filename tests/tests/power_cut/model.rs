//! The state that was acknowledged, and a comparison of it with an opened engine.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use subcat_engine::{
    AGGREGATE_SECONDS_MAX, ApiKeyId, Change, CounterLane, Day, Disk, Engine, Error, FileKind,
    NewApiKey, Real, RecordId, ReleaseId, Scopes, Timestamp, Variant,
};
use subcat_tests::filled::{id, import_films, open, open_on};

use crate::history::{Step, backup_dir};

/// Title of a record, and whether it is active.
type Records = BTreeMap<u64, (String, bool)>;

/// The state that acknowledged steps lead to.
#[derive(Debug, Clone, Default)]
pub struct Model {
    records: Records,
    /// Id of each key, and whether it is revoked.
    keys: BTreeMap<u64, bool>,
    files: Vec<u64>,
    counted: BTreeMap<u64, u64>,
    synced: BTreeMap<u64, u64>,
    backups: BTreeMap<u64, Records>,
}

/// An open engine and the lane that counts its downloads.
pub struct Subject {
    engine: Engine,
    lane: CounterLane,
}

impl Subject {
    /// Opens the data directory below `root`.
    pub fn open(root: &Path, disk: Arc<dyn Disk>) -> Result<Self, Error> {
        let engine = open_on(disk, &root.join("data"))?;
        let lane = engine.usage().counter_lane()?;
        Ok(Self { engine, lane })
    }

    /// Does a step; true when it was acknowledged.
    pub fn apply(&mut self, root: &Path, step: &Step, number: u64) -> bool {
        self.try_apply(root, step, number).is_ok()
    }

    fn try_apply(&mut self, root: &Path, step: &Step, number: u64) -> Result<(), Error> {
        let engine = &self.engine;
        match step {
            Step::Import {
                records,
                generation,
            } => import_films(engine, records.clone(), |_| title(*generation))?,
            Step::Delete(records) => {
                let ids: Vec<RecordId> = records.iter().map(|record| id(*record)).collect();
                engine.catalog().delete_records(&ids)?;
            }
            Step::SetActive(record, is_active) => {
                engine.catalog().set_active(id(*record), *is_active)?;
            }
            Step::CreateKey(generation) => {
                let create = Change::CreateApiKey(new_key(*generation));
                engine.apply(vec![create.into_event("test", moment(number))])?;
            }
            Step::RevokeKey => {
                if let Some(newest) = engine.accounts().api_keys().last() {
                    let revoke = Change::RevokeApiKey(newest.id);
                    engine.apply(vec![revoke.into_event("test", moment(number))])?;
                }
            }
            Step::StoreFile(generation) => {
                let content = content(*generation);
                let release = release(*generation);
                engine
                    .files()
                    .store_file(&release, content.as_bytes(), FileKind::Srt, None)?;
            }
            Step::Count(record, times) => {
                for _ in 0..*times {
                    self.lane
                        .count(id(*record), Some(ApiKeyId(1)), Day(20_000))?;
                }
            }
            Step::SyncCounters => engine.usage().sync_counters()?,
            Step::Aggregate => engine.usage().aggregate_downloads(moment(number)),
            Step::Maintain => {
                engine.catalog().request_reindex();
                while engine.maintain(moment(number))? {}
            }
            Step::Backup(number) => {
                engine.backup(&backup_dir(root, *number))?;
            }
        }
        Ok(())
    }
}

impl Model {
    /// The state after a step.
    pub fn after(&self, step: &Step) -> Self {
        let mut next = self.clone();
        match step {
            Step::Import {
                records,
                generation,
            } => {
                for record in records.clone() {
                    next.records.insert(record, (title(*generation), true));
                }
            }
            Step::Delete(records) => {
                for record in records {
                    next.records.remove(record);
                }
            }
            Step::SetActive(record, is_active) => {
                if let Some(entry) = next.records.get_mut(record) {
                    entry.1 = *is_active;
                }
            }
            Step::CreateKey(_) => {
                let newest = next.keys.keys().last().copied().unwrap_or(0);
                next.keys.insert(newest + 1, false);
            }
            Step::RevokeKey => {
                if let Some(mut newest) = next.keys.last_entry() {
                    newest.insert(true);
                }
            }
            Step::StoreFile(generation) => next.files.push(*generation),
            Step::Count(record, times) => {
                *next.counted.entry(*record).or_default() += times;
            }
            Step::SyncCounters => next.synced = next.counted.clone(),
            Step::Aggregate | Step::Maintain => {}
            Step::Backup(number) => {
                next.backups.insert(*number, next.records.clone());
            }
        }
        next
    }

    /// Compares what is below `root` with this state; `in_doubt` is the state after a step that
    /// was not acknowledged and may have happened.
    pub fn check(&self, root: &Path, in_doubt: &Self) -> Result<(), String> {
        let subject = Subject::open(root, Arc::new(Real));
        let mut subject = subject.map_err(|error| format!("it does not open: {error}"))?;
        self.check_catalog(&subject.engine, in_doubt)?;
        self.check_state(&subject.engine, in_doubt)?;
        self.check_files(&subject.engine, in_doubt)?;
        let findings = subject
            .engine
            .verify(false)
            .map_err(|error| error.to_string())?;
        for finding in findings {
            // Content that was stored and not yet referred to, and counts of the last second that
            // a cut has torn, are waste, not damage.
            if !finding.file.starts_with("blobs/") && !finding.file.starts_with("counters/") {
                return Err(format!("damage: {finding:?}"));
            }
        }
        let step = Step::Import {
            records: 0..3,
            generation: 999_999,
        };
        if !subject.apply(root, &step, 1_000_000) {
            return Err("it does not take an import any more".to_owned());
        }
        drop(subject);
        for number in in_doubt.backups.keys() {
            self.check_backup(root, *number, in_doubt)?;
        }
        Ok(())
    }

    fn check_catalog(&self, engine: &Engine, in_doubt: &Self) -> Result<(), String> {
        let found = records_of(engine)?;
        if found != self.records && found != in_doubt.records {
            return Err(format!("records: {found:?} instead of {:?}", self.records));
        }
        let snapshot = engine.catalog().snapshot();
        for (record, (title, is_active)) in &found {
            let doc = snapshot
                .doc(id(*record))
                .map_err(|error| error.to_string())?;
            let Some(doc) = doc else {
                if *is_active {
                    return Err(format!("record {record} is not searchable"));
                }
                continue;
            };
            let is_current = String::from_utf8_lossy(doc.fragment()).contains(title);
            if !is_active || !is_current {
                return Err(format!("record {record} is shown as it was before {title}"));
            }
        }
        let docs = snapshot.parts().iter();
        let docs: u64 = docs
            .map(|(segment, gone)| u64::from(segment.len()) - gone.len())
            .sum();
        let active = found.values().filter(|(_, is_active)| *is_active).count() as u64;
        if docs != active {
            return Err(format!("{docs} documents for {active} active records"));
        }
        Ok(())
    }

    fn check_state(&self, engine: &Engine, in_doubt: &Self) -> Result<(), String> {
        let keys = engine.accounts().api_keys();
        let found: BTreeMap<u64, bool> = keys
            .iter()
            .map(|key| (key.id.0, key.revoked_at.is_some()))
            .collect();
        if found != self.keys && found != in_doubt.keys {
            return Err(format!("keys: {found:?} instead of {:?}", self.keys));
        }
        for (record, most) in &in_doubt.counted {
            let least = self.synced.get(record).copied().unwrap_or(0);
            let found = engine.usage().downloads(id(*record));
            if !(least..=*most).contains(&found) {
                return Err(format!(
                    "{found} downloads of {record}, {least} to {most} expected"
                ));
            }
        }
        Ok(())
    }

    fn check_files(&self, engine: &Engine, in_doubt: &Self) -> Result<(), String> {
        for generation in &in_doubt.files {
            let Some(file) = engine.files().cached_file(&release(*generation)) else {
                if self.files.contains(generation) {
                    return Err(format!("file {generation} is forgotten"));
                }
                continue;
            };
            let blob = engine
                .files()
                .blob(&file, Variant::Identity)
                .map_err(|error| error.to_string())?;
            let bytes = blob.ok_or("a variant is missing")?.bytes().to_vec();
            if bytes != content(*generation).as_bytes() {
                return Err(format!("file {generation} has other content"));
            }
        }
        Ok(())
    }

    /// A backup that has its name is whole.
    fn check_backup(&self, root: &Path, number: u64, in_doubt: &Self) -> Result<(), String> {
        let path = backup_dir(root, number);
        if !path.exists() {
            if self.backups.contains_key(&number) {
                return Err(format!("backup {number} is gone"));
            }
            return Ok(());
        }
        let engine =
            open(&path).map_err(|error| format!("backup {number} does not open: {error}"))?;
        let findings = engine.verify(false).map_err(|error| error.to_string())?;
        if !findings.is_empty() {
            return Err(format!("backup {number}: {findings:?}"));
        }
        if records_of(&engine)? != in_doubt.backups[&number] {
            return Err(format!("backup {number} has other records"));
        }
        Ok(())
    }
}

fn records_of(engine: &Engine) -> Result<Records, String> {
    let mut found = Records::new();
    let exported = engine.catalog().export(&mut |record| {
        let number = u128::from_be_bytes(*record.id.as_bytes()) as u64;
        found.insert(number, (record.title.to_string(), record.is_active));
        Ok(())
    });
    exported.map_err(|error| format!("the export fails: {error}"))?;
    Ok(found)
}

fn new_key(generation: u64) -> NewApiKey {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&generation.to_be_bytes());
    NewApiKey {
        account: None,
        name: "key".into(),
        digest,
        partial: "sct_AbCd…wXyZ".into(),
        scopes: Scopes::ALL,
        limit: None,
        expires_at: None,
    }
}

fn title(generation: u64) -> String {
    format!("Generación {generation}")
}

fn release(generation: u64) -> ReleaseId {
    ReleaseId::parse(&format!("r{generation}")).expect("the release is valid")
}

fn content(generation: u64) -> String {
    format!("1\n00:00:01,000 --> 00:00:02,000\nlínea {generation}\n").repeat(40)
}

/// Counts wait for some seconds before they move into the state: here each step takes as long.
fn moment(number: u64) -> Timestamp {
    let seconds = 1_700_000_000 + number as i64 * AGGREGATE_SECONDS_MAX;
    Timestamp::from_seconds(seconds).expect("the time is in range")
}
