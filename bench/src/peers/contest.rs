//! One run: all indexes from one file, all queries over all of them, interleaved.

use subcat_engine::Query;

use crate::arguments::QueryArguments;
use crate::error::{BenchError, Result};
use crate::search::{
    BATCH, QuerySet, RecordFile, Records, State, Times, deleted_ranks, piece_starts,
    process_nanoseconds, query_sets, thread_nanoseconds, wall_nanoseconds,
};

use super::ours::{OurBuilder, Ours};
use super::peer::{Answer, Builder, Deletions, PAGE, Peer, Prepared};
use super::sqlite_index::{Database, SqliteBuilder, SqliteIndex};
use super::tantivy_index::{Documented, Expert, TantivyBuilder, TantivyIndex};

/// Cost of building an index.
#[derive(Debug, Clone, Copy)]
pub struct Built {
    /// Name of the engine.
    pub name: &'static str,
    /// CPU time per record, µs, all threads, parsing not counted.
    pub cpu_us: f64,
    /// Time per record, µs, parsing not counted.
    pub wall_us: f64,
    /// Bytes of index per record.
    pub index_bytes: f64,
    /// Growth of the memory that the process holds, bytes per record: documents included where
    /// the engine keeps them.
    pub memory_bytes: f64,
}

/// One set of queries.
#[derive(Debug)]
pub struct SetResult {
    /// Its name.
    pub name: String,
    /// Matches, mean.
    pub hits: f64,
    /// Times of each engine, in the order of [`Contest::names`]; `None` where it has no means.
    pub times: Vec<Option<EngineTimes>>,
    /// For each peer, queries with another total, or, where all hits fit a page, other hits.
    pub differing: Vec<Vec<Difference>>,
}

/// A query to which a peer answers otherwise than we do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its words, folded.
    pub text: String,
    /// Number of records that match by our rules.
    pub ours: u64,
    /// Number of those that the peer finds.
    pub theirs: u64,
}

/// Times of one engine: for each query the median of the rounds.
#[derive(Debug, Default)]
pub struct EngineTimes {
    /// CPU time of the thread.
    pub cpu: Times,
    /// Time that passed.
    pub wall: Times,
}

/// All that was measured in one state of the catalog.
#[derive(Debug)]
pub struct StateResult {
    /// The state.
    pub state: State,
    /// The sets.
    pub sets: Vec<SetResult>,
}

/// All that was measured.
#[derive(Debug)]
pub struct Contest {
    /// Records of the file, and active ones.
    pub records: (usize, usize),
    /// The engines: ours first.
    pub names: Vec<&'static str>,
    /// Building.
    pub built: Vec<Built>,
    /// The states, the fresh one first.
    pub states: Vec<StateResult>,
}

impl Contest {
    /// Builds everything and runs all queries; if `lived_in`, in all states of a catalog.
    pub fn run(options: &QueryArguments, lived_in: bool) -> Result<Self> {
        let records = RecordFile::open(&options.catalog, options.records)?;
        eprintln!("{} records; choosing queries", records.count());
        let sets = query_sets(&records, options.queries)?;
        let mut built = Vec::new();
        let mut ours = build(&records, OurBuilder::new(vec![0]), &mut built)?;
        let mut tantivy = build(&records, TantivyBuilder::new(lived_in)?, &mut built)?;
        let mut sqlite = build(&records, SqliteBuilder::new()?, &mut built)?;
        let count = records.answer_order().len() as u32;
        let mut contest = Self {
            records: (records.count(), count as usize),
            names: Vec::new(),
            built,
            states: Vec::new(),
        };
        let mut deleted = Vec::new();
        for state in State::all(count, lived_in) {
            eprintln!("{}", state.name);
            let all = deleted_ranks(count, state.deleted);
            let more = &all[deleted.len()..];
            delete(&records, &mut ours, more)?;
            delete(&records, &mut tantivy, more)?;
            delete(&records, &mut sqlite, more)?;
            deleted = all;
            let pieces = if state.in_pieces {
                Some(build_pieces(&records, &deleted)?)
            } else {
                None
            };
            let field = Field::new(pieces.as_ref().unwrap_or(&ours), &tantivy, &sqlite);
            let mut results = Vec::new();
            for set in sets.iter().filter(|set| set.name.contains(&options.set)) {
                eprintln!("  {}", set.name);
                results.push(field.measure(set, options.rounds)?);
            }
            contest.names = field.names();
            contest.states.push(StateResult {
                state,
                sets: results,
            });
        }
        Ok(contest)
    }
}

/// Deletes the records of these ranks.
fn delete(records: &RecordFile, index: &mut impl Deletions, ranks: &[u32]) -> Result<()> {
    for ranks in ranks.chunks(BATCH) {
        let numbers: Vec<u32> = ranks
            .iter()
            .map(|&rank| records.answer_order()[rank as usize])
            .collect();
        for (&rank, record) in ranks.iter().zip(&records.batch(&numbers)?) {
            index.delete(rank, record)?;
        }
    }
    index.commit()
}

/// Our index in several segments, with these ranks deleted.
fn build_pieces(records: &RecordFile, deleted: &[u32]) -> Result<Ours> {
    let starts = piece_starts(records.answer_order().len() as u32);
    let mut ours = build(records, OurBuilder::new(starts), &mut Vec::new())?;
    delete(records, &mut ours, deleted)?;
    Ok(ours)
}

/// Builds one index; parsing records is not counted.
fn build<B: Builder>(
    records: &RecordFile,
    mut builder: B,
    built: &mut Vec<Built>,
) -> Result<B::Index> {
    eprintln!("building {}", B::NAME);
    let memory = resident_bytes()?;
    let mut spent = Spent::default();
    for numbers in records.answer_order().chunks(BATCH) {
        let batch = records.batch(numbers)?;
        let began = Spent::so_far();
        batch.iter().try_for_each(|record| builder.add(record))?;
        spent.add_since(&began);
    }
    let began = Spent::so_far();
    let (index, index_bytes) = builder.finish()?;
    spent.add_since(&began);
    let count = records.answer_order().len() as f64;
    built.push(Built {
        name: B::NAME,
        cpu_us: spent.cpu as f64 / count / 1000.0,
        wall_us: spent.wall as f64 / count / 1000.0,
        index_bytes: index_bytes as f64 / count,
        memory_bytes: resident_bytes()?.saturating_sub(memory) as f64 / count,
    });
    Ok(index)
}

/// Nanoseconds of all threads of this process, and those that passed.
#[derive(Default)]
struct Spent {
    cpu: u64,
    wall: u64,
}

impl Spent {
    fn so_far() -> Self {
        Self {
            cpu: process_nanoseconds(),
            wall: wall_nanoseconds(),
        }
    }

    fn add_since(&mut self, began: &Self) {
        let now = Self::so_far();
        self.cpu += now.cpu - began.cpu;
        self.wall += now.wall - began.wall;
    }
}

/// Memory of this process that is resident.
fn resident_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status");
    let status = status.map_err(BenchError::on("read /proc/self/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kib.unwrap_or(0) * 1024)
}

struct Field<'i> {
    ours: &'i Ours,
    peers: Vec<Box<dyn Peer + 'i>>,
}

impl<'i> Field<'i> {
    fn new(ours: &'i Ours, tantivy: &'i TantivyIndex, sqlite: &'i SqliteIndex) -> Self {
        let peers: Vec<Box<dyn Peer + 'i>> = vec![
            Box::new(Documented(tantivy)),
            Box::new(Expert(tantivy)),
            Box::new(Database(sqlite)),
        ];
        Self { ours, peers }
    }

    fn names(&self) -> Vec<&'static str> {
        let peers = self.peers.iter().map(|peer| peer.name());
        std::iter::once("subcat").chain(peers).collect()
    }

    /// In each round every engine runs the whole set in its turn: disturbances of the machine
    /// hit all of them, and each finds its own data in the caches as far as it fits.
    fn measure(&self, set: &QuerySet, rounds: usize) -> Result<SetResult> {
        let mut hits = 0.0;
        let mut answers = Vec::with_capacity(set.queries.len());
        for query in &set.queries {
            let found = self.ours.search(query)?;
            hits += found.total() as f64 / set.queries.len() as f64;
            // When the last record with a word is deleted, ours tries typos; peers find nothing.
            answers.push(if !set.has_typos && self.ours.is_second_try(query)? {
                Answer::default()
            } else {
                self.ours.answer(&found)?
            });
        }
        let mut engines = vec![Engine::new(self.prepare_ours(set))];
        for peer in &self.peers {
            engines.push(if set.has_typos && !peer.finds_typos() {
                Engine::new(Vec::new())
            } else {
                let queries = set.queries.iter();
                Engine::new(
                    queries
                        .map(|query| peer.prepare(query))
                        .collect::<Result<_>>()?,
                )
            });
        }
        let clocks = ClockCosts::measure();
        for _ in 0..rounds {
            for engine in &mut engines {
                engine.run_all(&clocks)?;
            }
        }
        let engines_of_peers = engines[1..].iter();
        let differing = engines_of_peers.map(|engine| engine.differing(&set.queries, &answers));
        Ok(SetResult {
            name: set.name.clone(),
            hits,
            differing: differing.collect::<Result<_>>()?,
            times: engines.into_iter().map(Engine::medians).collect(),
        })
    }

    fn prepare_ours<'a>(&'a self, set: &'a QuerySet) -> Vec<Prepared<'a>> {
        let prepare = |query| -> Prepared<'a> {
            Box::new(move || {
                std::hint::black_box(self.ours.search(query)?);
                Ok(Answer::default())
            })
        };
        set.queries.iter().map(prepare).collect()
    }
}

/// One engine on one set.
struct Engine<'a> {
    prepared: Vec<Prepared<'a>>,
    /// The CPU times of each query.
    cpu: Vec<Vec<u64>>,
    /// The times that passed for each.
    wall: Vec<Vec<u64>>,
}

impl<'a> Engine<'a> {
    fn new(prepared: Vec<Prepared<'a>>) -> Self {
        Self {
            cpu: vec![Vec::new(); prepared.len()],
            wall: vec![Vec::new(); prepared.len()],
            prepared,
        }
    }

    /// Runs every query once. The clock of CPU time is read inside, as it is a system call and the
    /// other is not.
    fn run_all(&mut self, clocks: &ClockCosts) -> Result<()> {
        for (idx, run) in self.prepared.iter().enumerate() {
            let wall_began = wall_nanoseconds();
            let cpu_began = thread_nanoseconds();
            std::hint::black_box(run()?);
            let cpu = thread_nanoseconds() - cpu_began;
            let wall = wall_nanoseconds() - wall_began;
            self.cpu[idx].push(cpu.saturating_sub(clocks.cpu));
            self.wall[idx].push(wall.saturating_sub(clocks.wall));
        }
        Ok(())
    }

    /// The queries whose answers differ from ours.
    fn differing(&self, queries: &[Query], ours: &[Answer]) -> Result<Vec<Difference>> {
        let mut differing = Vec::new();
        for ((run, query), ours) in self.prepared.iter().zip(queries).zip(ours) {
            let theirs = run()?;
            if !agrees(ours, &theirs) {
                let text = query.query().or(query.title());
                differing.push(Difference {
                    text: text.map_or_else(String::new, |text| text.folded().to_owned()),
                    ours: ours.total,
                    theirs: theirs.total,
                });
            }
        }
        Ok(differing)
    }

    /// The median of each query; `None` when there was none.
    fn medians(self) -> Option<EngineTimes> {
        if self.prepared.is_empty() {
            return None;
        }
        Some(EngineTimes {
            cpu: medians(self.cpu),
            wall: medians(self.wall),
        })
    }
}

fn medians(queries: Vec<Vec<u64>>) -> Times {
    let mut times = Times::default();
    for mut taken in queries {
        taken.sort_unstable();
        times.push(taken[taken.len() / 2]);
    }
    times
}

/// Nanoseconds that reading the clocks adds to a measurement; they are subtracted.
struct ClockCosts {
    cpu: u64,
    wall: u64,
}

impl ClockCosts {
    fn measure() -> Self {
        let mut nothing = Engine::new(vec![Box::new(|| Ok(Answer::default())) as Prepared<'_>]);
        let none = Self { cpu: 0, wall: 0 };
        for _ in 0..1001 {
            nothing.run_all(&none).expect("nothing cannot fail");
        }
        let median = |taken: &mut Vec<u64>| {
            taken.sort_unstable();
            taken[taken.len() / 2]
        };
        Self {
            cpu: median(&mut nothing.cpu[0]),
            wall: median(&mut nothing.wall[0]),
        }
    }
}

/// Returns true if totals agree and, where all hits fit a page, the hits. Peers have no relevance,
/// so on longer answers their pages differ.
fn agrees(ours: &Answer, other: &Answer) -> bool {
    let sorted = |answer: &Answer| {
        let mut page = answer.page.clone();
        page.sort_unstable();
        page
    };
    ours.total == other.total && (ours.total > PAGE as u64 || sorted(ours) == sorted(other))
}
