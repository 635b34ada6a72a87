//! One history on a disk that lies, and what an engine tells afterwards.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use subcat_engine::{AccountId, ApiKeyId, Change, Disk, Engine, Error, Real, StateEvent, salvage};
use subcat_tests::campaign::{Random, maintain, work_dir};
use subcat_tests::filled::{Answers, SESSION, fill_engine, flush, id, import, now, open_on};
use subcat_tests::lying_disk::{Deed, Lie, LyingDisk};

/// Keys that the second session revokes, one after the other.
const REVOKED: [u64; 2] = [1, 5];
/// Account that the second session disables.
const DISABLED: u64 = 2;

/// A history, the writes that it makes, and the answers that it leads to.
pub struct Prepared {
    writes: Vec<(String, u64)>,
    expected: Answers,
    size_claimed: Option<u64>,
}

/// Report of a round.
pub struct Outcome {
    /// Kind of file.
    pub file: &'static str,
    /// Ending of the round.
    pub end: &'static str,
}

/// Changes that were acknowledged and must never be undone.
#[derive(Default)]
struct Acknowledged {
    revoked: Vec<u64>,
    disabled: Vec<u64>,
}

impl Prepared {
    /// Runs the history on a disk that tells the truth, but for the size of the files of the truth.
    pub fn new(size_claimed: Option<u64>) -> Self {
        let dir = work_dir();
        let data = dir.path().join("data");
        let disk = Arc::new(LyingDisk::new(dir.path(), None, size_claimed));
        for session in SESSIONS {
            let engine = open_on(Arc::clone(&disk) as _, &data).unwrap();
            session(&engine, &mut Acknowledged::default()).unwrap();
            engine.close().unwrap();
            assert_eq!(engine.take_damage(), []);
        }
        let writes = disk.writes().into_iter().collect();
        let engine = open_on(disk, &data).unwrap();
        let expected = Answers::of(&engine);
        assert_eq!(expected.errors, [""; 0]);
        Self {
            writes,
            expected,
            size_claimed,
        }
    }

    /// Runs the round of a seed. Errors: what is wrong, and how to see it again.
    pub fn run(&self, seed: u64) -> Result<Outcome, String> {
        let lie = self.choose(seed);
        let file = kind_of(&lie.path);
        let shown = format!("{lie:?}");
        let ran = catch_unwind(AssertUnwindSafe(|| self.run_lie(lie)));
        let end = ran.unwrap_or_else(|_| Err("it panicked".to_owned()));
        let end = end.map_err(|failure| {
            format!(
                "{shown}: {failure}\n  again: SUBCAT_LIE_SEED={seed} SUBCAT_LIES=1 cargo test -p \
                 subcat-tests --test lying_writes believed"
            )
        })?;
        Ok(Outcome { file, end })
    }

    fn choose(&self, seed: u64) -> Lie {
        let mut random = Random(seed);
        let truth: Vec<&(String, u64)> = self
            .writes
            .iter()
            .filter(|(path, _)| path.starts_with("data/") && path.ends_with(".redb"))
            .collect();
        // Two of three lies are about the files of the truth: nothing else can make them anew.
        let (path, count) = if random.below(3) < 2 {
            truth[random.below(truth.len() as u64) as usize]
        } else {
            &self.writes[random.below(self.writes.len() as u64) as usize]
        };
        let deed = match random.below(3) {
            0 => Deed::Lost,
            1 => Deed::Elsewhere(random.below(64) * 4_096),
            _ => Deed::FirstSector,
        };
        Lie {
            path: path.clone(),
            write_idx: random.below(*count),
            deed,
        }
    }

    fn run_lie(&self, lie: Lie) -> Result<&'static str, String> {
        let dir = work_dir();
        let data = dir.path().join("data");
        let is_of_counters = lie.path.contains("counters/");
        let disk = Arc::new(LyingDisk::new(dir.path(), Some(lie), self.size_claimed));
        let mut acknowledged = Acknowledged::default();
        let mut is_told = false;
        for session in SESSIONS {
            let Ok(engine) = open_on(Arc::clone(&disk) as _, &data) else {
                return repair(&data, &acknowledged);
            };
            is_told |= session(&engine, &mut acknowledged).is_err();
            // After a kill nothing tells the loss of the last header (DURABILITY.md).
            is_told |= engine.close().is_err();
            is_told |= !engine.take_damage().is_empty();
        }
        if !disk.has_lied() && !is_told {
            return Ok("not reached");
        }
        let Ok(engine) = open_on(disk, &data) else {
            return repair(&data, &acknowledged);
        };
        acknowledged.check(&engine)?;
        maintain(&engine);
        is_told |= !engine.take_damage().is_empty();
        acknowledged.check(&engine)?;
        let mut facts = Answers::of(&engine);
        if is_of_counters {
            self.raise_lowered_sums(&mut facts);
        }
        match (is_told, facts == self.expected) {
            (true, true) => Ok("healed"),
            (true, false) => Ok("told"),
            (false, true) => Ok("no difference"),
            (false, false) if facts.errors.is_empty() => {
                Err(first_difference(&facts.lines(), &self.expected.lines()))
            }
            (false, false) => Ok("told"),
        }
    }
}

impl Prepared {
    /// The end of a counter file is where its zeros begin: the loss of its last entries is not
    /// told. They are downloads of one session, which may be missing, and are never too many.
    fn raise_lowered_sums(&self, facts: &mut Answers) {
        for (name, sum) in &mut facts.sums {
            *sum = (*sum).max(self.expected.sums.get(name).copied().unwrap_or(0));
        }
    }
}

type SessionOf = fn(&Engine, &mut Acknowledged) -> Result<(), Error>;

/// The history: two openings of the data directory.
const SESSIONS: [SessionOf; 2] = [first_session, second_session];

fn first_session(engine: &Engine, acknowledged: &mut Acknowledged) -> Result<(), Error> {
    fill_engine(engine)?;
    acknowledged.revoked.push(4);
    acknowledged.disabled.push(3);
    Ok(())
}

fn second_session(engine: &Engine, acknowledged: &mut Acknowledged) -> Result<(), Error> {
    let apply = |change: Change| engine.apply(vec![change.into_event("command line", now())]);
    for key in REVOKED {
        apply(Change::RevokeApiKey(ApiKeyId(key)))?;
        acknowledged.revoked.push(key);
        // Between the two, so that they lie in different commits and pages of the catalog, too.
        import(engine, 200..205, "cuarta")?;
        apply(Change::SetDisplayName(AccountId(1), format!("Ana {key}")))?;
    }
    apply(Change::SetDisabled(AccountId(DISABLED), true))?;
    acknowledged.disabled.push(DISABLED);
    engine.apply(vec![StateEvent::CloseSession(SESSION)])?;
    engine.catalog().delete_records(&[id(10), id(200)])?;
    flush(engine)?;
    import(engine, 30..36, "quinta")?;
    engine.catalog().set_active(id(60), false)?;
    Ok(())
}

impl Acknowledged {
    /// Errors: something is in use again.
    fn check(&self, engine: &Engine) -> Result<(), String> {
        let keys = engine.accounts().api_keys();
        for key in keys.iter().filter(|key| self.revoked.contains(&key.id.0)) {
            if key.revoked_at.is_none() {
                return Err(format!("key {} is valid again", key.id.0));
            }
        }
        let accounts = engine.accounts().all();
        for account in accounts {
            if self.disabled.contains(&account.id.0) && account.disabled_at.is_none() {
                return Err(format!("account {} is enabled again", account.id.0));
            }
        }
        Ok(())
    }
}

/// Repairs a directory that does not open, and asks for what must never be undone.
fn repair(data: &Path, acknowledged: &Acknowledged) -> Result<&'static str, String> {
    let disk: Arc<dyn Disk> = Arc::new(Real);
    let found = salvage(&disk, data).map_err(|error| format!("salvage: {error}"))?;
    let Ok(engine) = open_on(disk, data) else {
        if found.is_empty() {
            return Err("it does not open, and salvage finds nothing".to_owned());
        }
        return Ok("refused");
    };
    acknowledged.check(&engine)?;
    Ok("salvaged")
}

fn first_difference(found: &str, expected: &str) -> String {
    let mut lines: BTreeMap<&str, i64> = BTreeMap::new();
    for line in found.lines() {
        *lines.entry(line).or_default() += 1;
    }
    for line in expected.lines() {
        *lines.entry(line).or_default() -= 1;
    }
    let believed = lines.iter().find(|(_, count)| 0 < **count);
    let missing = lines.iter().find(|(_, count)| **count < 0);
    format!("believed: {believed:?}; missing: {missing:?}")
}

fn kind_of(path: &str) -> &'static str {
    let kinds = [
        ("catalog.redb", "catalog.redb"),
        ("state.redb", "state.redb"),
        (".seg", "index"),
        ("index", "index"),
        ("blob", "blobs"),
        ("counters", "counters"),
        ("format", "format"),
    ];
    let mut kinds = kinds.into_iter();
    let found = kinds.find(|(part, _)| path.contains(part));
    found.map_or("another", |(_, kind)| kind)
}
