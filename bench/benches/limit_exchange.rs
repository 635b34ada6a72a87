//! Cost of a round in which a node of a cluster tells the counts of its rate limit windows, and
//! hears those of two other nodes, in processor time: `cargo bench -p subcat-bench --bench
//! limit_exchange`.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use rustix::time::{ClockId, clock_gettime};
use subcat_engine::{ApiKey, ApiKeyId, NodeId, RateLimit, Scopes, Timestamp};
use subcat_server::auth::{
    DefaultLimits, KeyTable, KnownKey, api_key_digest, api_key_partial, api_key_text,
};
use subcat_server::cluster::{Exchange, MessageKind};
use subcat_server::runtime::Moment;
use subcat_server::service::SharedCounts;

/// Keys of the table, all of which are in use.
const KEYS: u64 = 10_000;
const NODES: usize = 3;
/// Time between two rounds.
const PERIOD_MS: u64 = 100;

/// The way between nodes: what one publishes is with the others at once.
struct Wire {
    own: Arc<Mutex<Vec<Vec<u8>>>>,
    others: Vec<Arc<Mutex<Vec<Vec<u8>>>>>,
}

impl Exchange for Wire {
    fn publish(&self, _: NodeId, _: MessageKind, body: Vec<u8>) {
        for other in &self.others {
            other.lock().expect("nobody panics").push(body.clone());
        }
    }

    fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.own.lock().expect("nobody panics"))
    }
}

struct Node {
    table: KeyTable,
    keys: Vec<Arc<KnownKey>>,
    counts: SharedCounts,
    wire: Wire,
}

/// Nodes of which each has the same keys.
struct Cluster {
    nodes: Vec<Node>,
    limit: RateLimit,
    now_ms: u64,
}

fn api_key(number: u64, text: &str) -> ApiKey {
    ApiKey {
        id: ApiKeyId(number + 1),
        account: None,
        name: "bench".to_owned(),
        digest: api_key_digest(text),
        partial: api_key_partial(text),
        scopes: Scopes::ALL,
        limit: None,
        created_at: Timestamp::parse("2026-01-01").expect("a date"),
        expires_at: None,
        revoked_at: None,
        replaced_by: None,
    }
}

/// Time that this thread was given: others use the machine, too.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).expect("below a second"),
    )
}

impl Cluster {
    /// Nodes that know of one request of each key on each of them.
    fn new() -> Self {
        let inboxes = [(); NODES].map(|()| Arc::<Mutex<Vec<Vec<u8>>>>::default());
        let texts: Vec<String> = (0..KEYS)
            .map(|number| {
                let digits = format!("{number:032}");
                api_key_text(digits.as_bytes().try_into().expect("32 digits"))
            })
            .collect();
        let node = |idx: usize| {
            let keys = texts.iter().zip(0..);
            let table = KeyTable::new(keys.map(|(text, number)| api_key(number, text)).collect());
            let known = texts
                .iter()
                .map(|text| table.lookup(text).expect("it is there"));
            let others = inboxes
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != idx);
            Node {
                keys: known.collect(),
                counts: SharedCounts::new(NodeId(idx as u64), 1),
                wire: Wire {
                    own: Arc::clone(&inboxes[idx]),
                    others: others.map(|(_, inbox)| Arc::clone(inbox)).collect(),
                },
                table,
            }
        };
        let mut cluster = Self {
            nodes: (0..NODES).map(node).collect(),
            limit: RateLimit::parse("268435455/86400").expect("a limit"),
            now_ms: 1_000,
        };
        for _ in 0..2 {
            cluster.use_keys(|_, _| true);
            cluster.round();
        }
        cluster
    }

    fn now(&self) -> Moment {
        Moment {
            monotonic_us: self.now_ms * 1_000,
            unix_ms: 1_700_000_000_000,
        }
    }

    /// Sends a request of each key to each node of which `is_meant` is true.
    fn use_keys(&self, is_meant: impl Fn(u64, usize) -> bool) {
        let now = self.now();
        for (node_idx, node) in self.nodes.iter().enumerate() {
            for (known, number) in node.keys.iter().zip(0..) {
                if is_meant(number, node_idx) {
                    known.window.take(self.limit, now);
                }
            }
        }
    }

    /// A round of all nodes; returns the time of the first one.
    fn round(&mut self) -> Duration {
        self.now_ms += PERIOD_MS;
        let now = self.now();
        let limits = DefaultLimits {
            api_key: self.limit,
            address_key: self.limit,
        };
        let mut times = self.nodes.iter_mut().map(|node| {
            let began = processor_time();
            node.counts.exchange(&node.table, limits, &node.wire, now);
            processor_time() - began
        });
        let first = times.next().expect("there are nodes");
        times.for_each(drop);
        first
    }

    /// Time of a round of the first node, over this number of rounds. Before each round the keys
    /// are used that are meant.
    fn rounds(&mut self, count: u64, is_meant: impl Fn(u64, usize, u64) -> bool) -> Duration {
        let mut sum = Duration::ZERO;
        for round in 0..count {
            self.use_keys(|number, node_idx| is_meant(number, node_idx, round));
            sum += self.round();
        }
        sum
    }
}

fn limit_exchange(criterion: &mut Criterion) {
    let mut cluster = Cluster::new();
    criterion.bench_function(
        "10,000 keys in use, each on every node in each round",
        |bench| {
            bench.iter_custom(|count| cluster.rounds(count, |_, _, _| true));
        },
    );
    criterion.bench_function(
        "10,000 keys in use, each on one node in each round",
        |bench| {
            let is_home = |number: u64, node_idx: usize, _| number as usize % NODES == node_idx;
            bench.iter_custom(|count| cluster.rounds(count, is_home));
        },
    );
    criterion.bench_function(
        "10,000 keys in use, a tenth of them in each round",
        |bench| {
            let is_home = |number: u64, node_idx: usize, round: u64| {
                number as usize % NODES == node_idx && number % 10 == round % 10
            };
            // What changed in the last two seconds is repeated.
            cluster.rounds(30, is_home);
            bench.iter_custom(|count| cluster.rounds(count, is_home));
        },
    );
    criterion.bench_function("10,000 keys that are not used any more", |bench| {
        cluster.rounds(30, |_, _, _| false);
        bench.iter_custom(|count| cluster.rounds(count, |_, _, _| false));
    });
}

criterion_group!(benches, limit_exchange);
criterion_main!(benches);
