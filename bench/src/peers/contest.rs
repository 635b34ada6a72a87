//! One run: all indexes from one file, all queries over all of them, interleaved.

use crate::arguments::QueryArguments;
use crate::error::{BenchError, Result};
use crate::search::{
    BATCH, QuerySet, RecordFile, Records, Times, process_nanoseconds, query_sets,
    thread_nanoseconds,
};

use super::ours::{OurBuilder, Ours};
use super::peer::{Answer, Builder, PAGE, Peer, Prepared};
use super::sqlite_index::{Database, SqliteBuilder, SqliteIndex};
use super::tantivy_index::{Documented, Expert, TantivyBuilder, TantivyIndex};

/// Cost of building an index.
#[derive(Debug, Clone, Copy)]
pub struct Built {
    /// Name of the engine.
    pub name: &'static str,
    /// CPU time per record, µs, all threads, parsing not counted.
    pub cpu_us: f64,
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
    pub times: Vec<Option<Times>>,
    /// For each peer, queries with another total, or, where all hits fit a page, other hits.
    pub differing: Vec<usize>,
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
    /// The sets.
    pub sets: Vec<SetResult>,
}

impl Contest {
    /// Builds everything and runs all queries.
    pub fn run(options: &QueryArguments) -> Result<Self> {
        let records = RecordFile::open(&options.catalog, options.records)?;
        eprintln!("{} records; choosing queries", records.count());
        let sets = query_sets(&records, options.queries)?;
        let mut built = Vec::new();
        let ours = build(&records, OurBuilder::default(), &mut built)?;
        let tantivy = build(&records, TantivyBuilder::new()?, &mut built)?;
        let sqlite = build(&records, SqliteBuilder::new()?, &mut built)?;
        let field = Field::new(ours, &tantivy, &sqlite);
        let mut results = Vec::new();
        for set in sets.iter().filter(|set| set.name.contains(&options.set)) {
            eprintln!("{}", set.name);
            results.push(field.measure(set, options.rounds)?);
        }
        Ok(Self {
            records: (records.count(), records.answer_order().len()),
            names: field.names(),
            built,
            sets: results,
        })
    }
}

/// Builds one index; parsing records is not counted.
fn build<B: Builder>(
    records: &RecordFile,
    mut builder: B,
    built: &mut Vec<Built>,
) -> Result<B::Index> {
    eprintln!("building {}", B::NAME);
    let memory = resident_bytes()?;
    let mut nanoseconds = 0;
    for numbers in records.answer_order().chunks(BATCH) {
        let batch = records.batch(numbers)?;
        let began = process_nanoseconds();
        batch.iter().try_for_each(|record| builder.add(record))?;
        nanoseconds += process_nanoseconds() - began;
    }
    let began = process_nanoseconds();
    let (index, index_bytes) = builder.finish()?;
    nanoseconds += process_nanoseconds() - began;
    let count = records.answer_order().len() as f64;
    built.push(Built {
        name: B::NAME,
        cpu_us: nanoseconds as f64 / count / 1000.0,
        index_bytes: index_bytes as f64 / count,
        memory_bytes: resident_bytes()?.saturating_sub(memory) as f64 / count,
    });
    Ok(index)
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
    ours: Ours,
    peers: Vec<Box<dyn Peer + 'i>>,
}

impl<'i> Field<'i> {
    fn new(ours: Ours, tantivy: &'i TantivyIndex, sqlite: &'i SqliteIndex) -> Self {
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
            let answer = self.ours.answer(&self.ours.search(query)?)?;
            hits += answer.total as f64 / set.queries.len() as f64;
            answers.push(answer);
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
        let clock = clock_nanoseconds();
        for _ in 0..rounds {
            for engine in &mut engines {
                engine.run_all(clock)?;
            }
        }
        let differing = engines[1..].iter().map(|engine| engine.differing(&answers));
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
    /// The times of each query.
    taken: Vec<Vec<u64>>,
}

impl<'a> Engine<'a> {
    fn new(prepared: Vec<Prepared<'a>>) -> Self {
        Self {
            taken: vec![Vec::new(); prepared.len()],
            prepared,
        }
    }

    /// Runs every query once; `clock` is the time that reading the clock takes.
    fn run_all(&mut self, clock: u64) -> Result<()> {
        for (run, taken) in self.prepared.iter().zip(&mut self.taken) {
            let began = thread_nanoseconds();
            std::hint::black_box(run()?);
            taken.push((thread_nanoseconds() - began).saturating_sub(clock));
        }
        Ok(())
    }

    /// Number of answers that differ from ours.
    fn differing(&self, ours: &[Answer]) -> Result<usize> {
        let mut count = 0;
        for (run, ours) in self.prepared.iter().zip(ours) {
            count += usize::from(!agrees(ours, &run()?));
        }
        Ok(count)
    }

    /// The median of each query; `None` when there was none.
    fn medians(self) -> Option<Times> {
        let mut times = Times::default();
        for mut taken in self.taken {
            taken.sort_unstable();
            times.push(*taken.get(taken.len() / 2)?);
        }
        (!self.prepared.is_empty()).then_some(times)
    }
}

/// Time that reading the clock twice takes; it is subtracted from every measurement.
fn clock_nanoseconds() -> u64 {
    let mut spans: Vec<u64> = (0..1001)
        .map(|_| {
            let began = thread_nanoseconds();
            thread_nanoseconds() - began
        })
        .collect();
    spans.sort_unstable();
    spans[spans.len() / 2]
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
