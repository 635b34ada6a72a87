//! One damaged copy of the prepared directory, opened and asked.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use subcat_engine::{Disk, Engine, Finding, Real, salvage};
use subcat_tests::campaign::{maintain, work_dir};
use subcat_tests::filled::{Answers, open};

use crate::damage::{Damage, Files};

/// Beginning of what is wrong after `salvage`, which says what it did.
const AFTER_SALVAGE: &str = "after salvage: ";

/// The directory before it is damaged, and what an engine tells about it.
pub struct Prepared {
    /// Its files.
    pub files: Files,
    /// Answers that are told.
    pub expected: Answers,
}

/// Report of a round.
pub struct Outcome {
    /// Kind of damage.
    pub kind: &'static str,
    /// Kind of file.
    pub file: &'static str,
    /// Ending of the round.
    pub end: &'static str,
}

impl Prepared {
    /// Reads a directory, then asks an engine about it.
    pub fn read(data: &Path) -> Self {
        let mut files = Files::new();
        read_files(data, "", &mut files);
        let engine = open(data).unwrap();
        let expected = Answers::of(&engine);
        assert_eq!(expected.errors, [""; 0]);
        Self { files, expected }
    }

    /// Writes the damaged directory into a place whose content is replaced.
    pub fn write(&self, data: &Path, damage: &Damage) {
        let _ = fs::remove_dir_all(data);
        for folder in ["tmp", "index", "blobs", "counters"] {
            fs::create_dir_all(data.join(folder)).unwrap();
        }
        for (name, content) in &self.files {
            let is_damaged = *name == damage.path;
            let content = if is_damaged { &damage.content } else { content };
            let path = data.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    /// Expectations that are wrong: an altered value, a lowered and a raised sum, another order, a
    /// record that is not there. Each must be noticed.
    pub fn planted(&self) -> Vec<(&'static str, Answers)> {
        let plant = |name, change: &dyn Fn(&mut Answers)| {
            let mut facts = self.expected.clone();
            change(&mut facts);
            (name, facts)
        };
        vec![
            plant("a value", &|facts| {
                facts.values.values_mut().next().unwrap().push('x');
            }),
            plant("a missing statement", &|facts| {
                facts.values.insert("record of nobody".into(), "x".into());
            }),
            plant("an invented statement", &|facts| {
                facts.values.pop_first();
            }),
            plant("a lower sum", &|facts| {
                *facts.sums.values_mut().next().unwrap() += 1;
            }),
            plant("a higher sum", &|facts| {
                let mut sums = facts.sums.values_mut();
                *sums.find(|sum| 0 < **sum).unwrap() -= 1;
            }),
            plant("another order", &|facts| {
                let mut answers = facts.searches.values_mut();
                answers
                    .find(|answer| 1 < answer.page.len())
                    .unwrap()
                    .page
                    .swap(0, 1);
            }),
            plant("another total", &|facts| {
                facts.searches.values_mut().next().unwrap().total += 1;
            }),
        ]
    }

    /// Opens the damaged directory and compares. What it came to, or what is wrong.
    pub fn check(&self, work: &Path, damage: &Damage) -> Result<&'static str, String> {
        let data = work.join("data");
        self.write(&data, damage);
        let engine = match open(&data) {
            Ok(engine) => engine,
            Err(error) if is_derived(&damage.path) => {
                return Err(format!("the start fails for what is derived: {error}"));
            }
            Err(error) => {
                let disk: Arc<dyn Disk> = Arc::new(Real);
                let found = salvage(&disk, &data);
                let found = found.map_err(|salvage| format!("{error}; salvage: {salvage}"))?;
                let Ok(engine) = open(&data) else {
                    if found.is_empty() {
                        return Err(format!("salvage found nothing in spite of: {error}"));
                    }
                    return Ok("refused");
                };
                let compared = self.compare(&engine, true);
                compared.map_err(|failure| format!("{AFTER_SALVAGE}{failure}"))?;
                return Ok("salvaged");
            }
        };
        let mut facts = Answers::of(&engine);
        let found = engine.verify(false).map_err(|error| error.to_string())?;
        let contained = engine.take_damage();
        let is_told = !contained.is_empty() || found.iter().any(|finding| !finding.is_note);
        self.compare_with(&facts, is_told || loses_silently(damage))?;
        if is_derived(&damage.path) {
            maintain(&engine);
            facts = self.compare(&engine, false)?;
            if !facts.errors.is_empty() {
                return Err(format!("it does not heal: {}", facts.errors[0]));
            }
            let again = engine.verify(false).map_err(|error| error.to_string())?;
            let is_left = |finding: &&Finding| !finding.is_note && !finding.is_repaired;
            if let Some(left) = again.iter().find(is_left) {
                return Err(format!("it does not heal: {left:?}"));
            }
        }
        Ok(match (is_told, facts == self.expected) {
            (true, true) => "healed",
            (true, false) => "contained",
            (false, _) => "not used",
        })
    }

    /// The facts that an engine tells; an error if one is wrong. Something may be missing if damage
    /// `is_told`, or the question was answered by an error.
    fn compare(&self, engine: &Engine, is_told: bool) -> Result<Answers, String> {
        let facts = Answers::of(engine);
        self.compare_with(&facts, is_told)?;
        Ok(facts)
    }

    fn compare_with(&self, facts: &Answers, is_told: bool) -> Result<(), String> {
        let may_miss = is_told || !facts.errors.is_empty();
        for (name, value) in &facts.values {
            if self.expected.values.get(name) != Some(value) {
                return Err(format!("{name} is told to be {value}"));
            }
        }
        for (name, sum) in &facts.sums {
            let expected = self.expected.sums.get(name).copied().unwrap_or(0);
            if expected < *sum || (*sum < expected && !may_miss) {
                return Err(format!("{name} is {sum} instead of {expected}"));
            }
        }
        for (name, answer) in &facts.searches {
            let expected = &self.expected.searches[name];
            let is_part = answer.total < expected.total && may_miss;
            if answer != expected && !is_part {
                return Err(format!("{name}: {answer:?} instead of {expected:?}"));
            }
        }
        if !may_miss {
            // A damaged variant is removed when it is opened, and made again when it is needed.
            let is_missing =
                |name: &&String| !facts.values.contains_key(*name) && !name.starts_with("Gzip");
            let missing = self.expected.values.keys().find(is_missing);
            if let Some(name) = missing {
                return Err(format!("{name} is missing, and nothing says so"));
            }
        }
        Ok(())
    }
}

/// Runs a round. Errors: what is wrong, and how to see it again.
pub fn run(prepared: &Prepared, seed: u64) -> Result<Outcome, String> {
    let dir = work_dir();
    let damage = Damage::choose(&prepared.files, seed);
    let ran = catch_unwind(AssertUnwindSafe(|| prepared.check(dir.path(), &damage)));
    let end = ran.unwrap_or_else(|_| Err("it panicked".to_owned()));
    let end = end.map_err(|failure| {
        format!(
            "{damage:?}: {failure}\n  again: SUBCAT_DAMAGE_SEED={seed} SUBCAT_DAMAGES=1 cargo test \
             -p subcat-tests --test damages believed"
        )
    })?;
    Ok(Outcome {
        kind: damage.kind,
        file: kind_of(&damage.path),
        end,
    })
}

/// Counts of the last seconds end where zeros begin: lost ones at the end look like none.
fn loses_silently(damage: &Damage) -> bool {
    damage.path.starts_with("counters/")
}

/// True if the file can be made from others.
fn is_derived(path: &str) -> bool {
    path.starts_with("index/")
}

fn kind_of(path: &str) -> &'static str {
    let kinds = [
        "catalog.redb",
        "state.redb",
        "index",
        "blobs",
        "counters",
        "format",
    ];
    let found = kinds.into_iter().find(|kind| path.starts_with(kind));
    found.unwrap_or("another")
}

fn read_files(data: &Path, below: &str, files: &mut Files) {
    for entry in fs::read_dir(data.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        if entry.file_type().unwrap().is_dir() {
            read_files(data, &path, files);
        } else if path != "lock" {
            let content = fs::read(entry.path()).unwrap();
            if !content.is_empty() {
                files.insert(path, content);
            }
        }
    }
}
