//! Exchanges rate-limit counts between the nodes of a cluster.
//!
//! For each window a node publishes the number of requests that it admitted itself, and adds the
//! counts of the other nodes to its own window. The share of the others is remembered here and not
//! in the window, so that a request takes no longer than on a single node. Counts are cumulative
//! and are repeated for a while: the next message makes up for a lost one.
//!
//! An example with nodes A and B, and a key with 100 requests a minute. Requests are checked
//! against `window`; `added` is the share of the other node; a node sends `window - added`.
//!
//! | step | A: window, added, sends | B: window, added, sends |
//! |---|---|---|
//! | A admits 10, B admits 5 | 10, 0, 10 | 5, 0, 5 |
//! | each hears the other | 15, 5, 10 | 15, 10, 5 |
//! | A admits 3, its message is lost | 18, 5, 13 | 15, 10, 5 |
//! | A admits 2, B hears 15 instead of 10 and adds 5 | 20, 5, 15 | 20, 15, 5 |
//!
//! A round covers all windows. Between two rounds the nodes do not know what the others admit, and
//! together they exceed the limit if a window fills up before the next round. A window that may do
//! so is *hot*: short rounds in between exchange the counts of hot windows alone.

use std::collections::HashMap;
use std::sync::Arc;

use subcat_engine::{NodeId, RateLimit};

use super::count_message::{CountMessage, NodeCount};
use crate::auth::{DefaultLimits, KeyTable, WindowOwner};
use crate::cluster::{Exchange, MessageKind};
use crate::limiter::{OpenWindow, TICKS_PER_SECOND, Window, tick};
use crate::limits::{COUNTING_NODES_MAX, COUNTS_SENT_MAX, HOT_WINDOWS_MAX};
use crate::runtime::Moment;

/// Ticks during which an unchanged count is repeated.
const REPEAT_TICKS: u64 = 2 * TICKS_PER_SECOND;
/// Maximum age difference, in ticks, of the window of another node and the same window here. A
/// window opens on other nodes when they hear of it, and ends there later by as much.
const SAME_TICKS: u64 = TICKS_PER_SECOND / 2;
/// Ticks during which the added counts are remembered after a window has ended.
const KEEP_TICKS: u64 = 10 * TICKS_PER_SECOND;
/// Ticks between two sweeps of what is no longer needed.
const SWEEP_TICKS: u64 = 10 * TICKS_PER_SECOND;

/// Rounds of growth, each as large as the last one, that must fit into a window that is not hot: a
/// burst grows, and the counts of other nodes are a round old.
const HOT_ROUNDS: u32 = 4;

/// Bookkeeping of one node.
pub struct SharedCounts {
    node: NodeId,
    incarnation: u64,
    tracks: HashMap<WindowOwner, WindowTrack, foldhash::fast::RandomState>,
    /// Counts of windows without a track, because their keys were not used here yet, or are not
    /// known here.
    untracked: HeardCounts,
    /// Windows that may be full before the next round.
    hot: Vec<WindowOwner>,
    /// Counts to send, kept for its memory.
    counts: Vec<NodeCount>,
    rounds: usize,
    swept_tick: u64,
}

/// State of one window on this node.
struct WindowTrack {
    window: Arc<Window>,
    /// Limit of the window as of the last round.
    limit: RateLimit,
    /// The window as of the last round, with the requests of all nodes.
    seen: Option<OpenWindow>,
    /// The window that requests of others were added to, and their number.
    added_to_tick: u64,
    added: u32,
    /// The state that was sent last, and when it changed.
    sent: Option<OpenWindow>,
    sent_tick: u64,
    others: Vec<OtherCount>,
    /// Tick after which all of this may be forgotten, unless the window is used again.
    forget_tick: u64,
}

/// Count of another node.
struct OtherCount {
    node: NodeId,
    incarnation: u64,
    /// Tick at which the other node's window opened.
    opened_tick: u64,
    count: u32,
    /// The window here that the count was added to last.
    added_to_tick: Option<u64>,
    forget_tick: u64,
}

/// Count that another node has sent.
#[derive(Clone, Copy)]
struct HeardCount {
    node: NodeId,
    incarnation: u64,
    opened_tick: u64,
    /// Age of its window when it sent.
    age_ticks: u64,
    count: u32,
}

type HeardCounts = HashMap<WindowOwner, Vec<HeardCount>, foldhash::fast::RandomState>;

/// A window at one moment.
#[derive(Clone, Copy)]
struct WindowNow<'a> {
    window: &'a Window,
    limit: RateLimit,
    now: Moment,
}

impl SharedCounts {
    /// Empty state. `incarnation` differs for each start of the node.
    pub fn new(node: NodeId, incarnation: u64) -> Self {
        Self {
            node,
            incarnation,
            tracks: HashMap::default(),
            untracked: HeardCounts::default(),
            hot: Vec::new(),
            counts: Vec::new(),
            rounds: 0,
            swept_tick: 0,
        }
    }

    /// Returns true if a window may fill up before the next round: short rounds keep it exact.
    pub fn is_hot(&self) -> bool {
        !self.hot.is_empty()
    }

    /// A round: adds the counts of the other nodes since the last one, and publishes those of this
    /// node. Cost: a walk over all windows, and for each open one a look-up of its track.
    pub fn exchange(
        &mut self,
        key_table: &KeyTable,
        defaults: DefaultLimits,
        exchange: &dyn Exchange,
        now: Moment,
    ) {
        self.hear(exchange, now);
        let untracked = std::mem::take(&mut self.untracked);
        self.hot.clear();
        self.counts.clear();
        key_table.visit_windows(defaults, |owner, window, limit| {
            let is_open = window.open(limit, now).is_some();
            let heard = if untracked.is_empty() {
                None
            } else {
                untracked.get(&owner)
            };
            if !is_open && heard.is_none() {
                return;
            }
            let track = self.tracks.entry(owner);
            let track = track.or_insert_with(|| WindowTrack::new(window, limit));
            track.limit = limit;
            if !Arc::ptr_eq(&track.window, window) {
                track.window = Arc::clone(window);
            }
            for heard in heard.into_iter().flatten() {
                track.hear(heard, now);
            }
            if let Some(open) = track.own_count(now) {
                self.counts.push(NodeCount::new(owner, open));
            }
            // The number of requests of an account's limit is not known here.
            let is_of_key = matches!(owner, WindowOwner::ApiKey(_));
            if track.is_hot(now) && is_of_key && self.hot.len() < HOT_WINDOWS_MAX {
                self.hot.push(owner);
            }
        });
        self.tell(exchange, MessageKind::Round, tick(now));
        self.sweep(tick(now));
    }

    /// A short round, of hot windows alone.
    pub fn exchange_hot(&mut self, exchange: &dyn Exchange, now: Moment) {
        self.hear(exchange, now);
        self.counts.clear();
        for owner in &self.hot {
            let Some(track) = self.tracks.get_mut(owner) else {
                continue;
            };
            if let Some(open) = track.changed_count(now) {
                self.counts.push(NodeCount::new(*owner, open));
            }
        }
        self.tell(exchange, MessageKind::ShortRound, tick(now));
    }

    /// Adds the counts that the other nodes have sent.
    fn hear(&mut self, exchange: &dyn Exchange, now: Moment) {
        for body in exchange.take() {
            let Some(message) = CountMessage::decode(&body) else {
                tracing::debug!("a message about rate limits is not valid");
                continue;
            };
            if message.node == self.node {
                continue;
            }
            for count in message.counts {
                let heard = HeardCount {
                    node: message.node,
                    incarnation: message.incarnation,
                    opened_tick: count.opened_tick,
                    age_ticks: message.tick - count.opened_tick,
                    count: count.count,
                };
                match self.tracks.get_mut(&count.owner) {
                    Some(track) => track.hear(&heard, now),
                    None => self.untracked.entry(count.owner).or_default().push(heard),
                }
            }
        }
    }

    fn tell(&mut self, exchange: &dyn Exchange, kind: MessageKind, tick: u64) {
        if kind == MessageKind::Round {
            self.rounds = self.rounds.wrapping_add(1);
        }
        if self.counts.is_empty() {
            return;
        }
        let mut counts = std::mem::take(&mut self.counts);
        if COUNTS_SENT_MAX < counts.len() {
            // Others in each round: all get their turn while they are repeated.
            let first_idx = self.rounds.wrapping_mul(COUNTS_SENT_MAX) % counts.len();
            counts.rotate_left(first_idx);
            counts.truncate(COUNTS_SENT_MAX);
        }
        let message = CountMessage {
            node: self.node,
            incarnation: self.incarnation,
            tick,
            counts,
        };
        exchange.publish(self.node, kind, message.encode());
        self.counts = message.counts;
    }

    /// Forgets windows that ended, and nodes that sent no count of them for as long.
    fn sweep(&mut self, tick: u64) {
        if tick < self.swept_tick + SWEEP_TICKS {
            return;
        }
        self.swept_tick = tick;
        self.tracks.retain(|_, track| tick < track.forget_tick);
        for track in self.tracks.values_mut() {
            track.others.retain(|other| tick < other.forget_tick);
        }
    }
}

impl WindowNow<'_> {
    fn open(self) -> Option<OpenWindow> {
        self.window.open(self.limit, self.now)
    }

    /// Tick after which no node has a window that is open now.
    fn forget_tick(self) -> u64 {
        let window_ticks = u64::from(self.limit.window_seconds.get()) * TICKS_PER_SECOND;
        tick(self.now) + window_ticks + KEEP_TICKS
    }
}

impl WindowTrack {
    fn new(window: &Arc<Window>, limit: RateLimit) -> Self {
        Self {
            window: Arc::clone(window),
            limit,
            seen: None,
            added_to_tick: 0,
            added: 0,
            sent: None,
            sent_tick: 0,
            others: Vec::new(),
            forget_tick: 0,
        }
    }

    /// Adds what another node has admitted since its last message.
    fn hear(&mut self, heard: &HeardCount, now: Moment) {
        let here = WindowNow {
            window: &self.window,
            limit: self.limit,
            now,
        };
        self.forget_tick = here.forget_tick();
        let Some(other) = other_of(&mut self.others, heard) else {
            return;
        };
        other.forget_tick = here.forget_tick();
        let is_same = other.incarnation == heard.incarnation;
        if is_same && heard.opened_tick < other.opened_tick {
            // The message was overtaken by a newer one.
            return;
        }
        if !is_same || other.opened_tick != heard.opened_tick {
            other.incarnation = heard.incarnation;
            other.opened_tick = heard.opened_tick;
            other.count = 0;
            other.added_to_tick = None;
        }
        let now_tick = tick(here.now);
        let opened_tick = here.open().map(|open| open.opened_tick);
        let age_ticks = opened_tick.map_or(0, |opened| now_tick.saturating_sub(opened));
        let is_moved = other.added_to_tick.is_some() && other.added_to_tick != opened_tick;
        // The window here ended a little later than that of the other node: the requests added to
        // it belong to the next one.
        let counted = if is_moved && heard.age_ticks <= age_ticks + SAME_TICKS {
            0
        } else {
            other.count
        };
        other.count = other.count.max(heard.count);
        if heard.count <= counted {
            return;
        }
        let count = heard.count - counted;
        let added = here.window.add(here.limit, count, here.now);
        other.added_to_tick = Some(added.opened_tick);
        if self.added_to_tick != added.opened_tick {
            self.added_to_tick = added.opened_tick;
            self.added = 0;
        }
        self.added += added.count;
    }

    fn here(&self, now: Moment) -> WindowNow<'_> {
        WindowNow {
            window: &self.window,
            limit: self.limit,
            now,
        }
    }

    /// The window with the requests that were admitted here, if it is to be sent: it has changed,
    /// or has lately.
    fn own_count(&mut self, now: Moment) -> Option<OpenWindow> {
        self.forget_tick = self.here(now).forget_tick();
        if let Some(changed) = self.changed_count(now) {
            return Some(changed);
        }
        let sent = self.sent?;
        let is_open = self.here(now).open()?.opened_tick == sent.opened_tick;
        let is_told = sent.count != 0 && tick(now) <= self.sent_tick + REPEAT_TICKS;
        (is_open && is_told).then_some(sent)
    }

    /// The same, if it has changed since it was sent.
    fn changed_count(&mut self, now: Moment) -> Option<OpenWindow> {
        let mut open = self.here(now).open()?;
        if self.added_to_tick == open.opened_tick {
            open.count = open.count.saturating_sub(self.added);
        }
        if self.sent == Some(open) {
            return None;
        }
        self.sent = Some(open);
        self.sent_tick = tick(now);
        (open.count != 0).then_some(open)
    }

    /// Returns true if several nodes admit requests to the window, and it may be full before the
    /// next round. Called once in each.
    fn is_hot(&mut self, now: Moment) -> bool {
        let Some(open) = self.here(now).open() else {
            return false;
        };
        let seen = self.seen.replace(open);
        let is_same = |seen: &OpenWindow| seen.opened_tick == open.opened_tick;
        let before = seen.filter(is_same).map_or(0, |seen| seen.count);
        let grown = open.count.saturating_sub(before);
        let left = self.limit.requests.get().saturating_sub(open.count);
        let is_shared = self.added != 0 && self.added_to_tick == open.opened_tick;
        is_shared && left != 0 && left <= grown.saturating_mul(HOT_ROUNDS)
    }
}

/// The last count of a node; `None` if there are too many nodes.
fn other_of<'a>(others: &'a mut Vec<OtherCount>, heard: &HeardCount) -> Option<&'a mut OtherCount> {
    if let Some(known_idx) = others.iter().position(|it| it.node == heard.node) {
        return Some(&mut others[known_idx]);
    }
    if COUNTING_NODES_MAX <= others.len() {
        return None;
    }
    others.push(OtherCount {
        node: heard.node,
        incarnation: heard.incarnation,
        opened_tick: heard.opened_tick,
        count: 0,
        added_to_tick: None,
        forget_tick: 0,
    });
    others.last_mut()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use subcat_engine::{AccountId, ApiKey, ApiKeyId, Scopes, Timestamp};

    use super::*;
    use crate::auth::{KnownKey, api_key_digest, api_key_partial, api_key_text};
    use crate::limiter::{SharedLimit, TakenQuota};

    /// Messages of one node.
    #[derive(Default)]
    struct Inbox(Mutex<Vec<Vec<u8>>>);

    /// The way from one node to the others.
    struct Wire {
        others: Vec<Arc<Inbox>>,
        own: Arc<Inbox>,
        is_cut: Mutex<bool>,
    }

    impl Exchange for Wire {
        fn publish(&self, _: NodeId, _: MessageKind, body: Vec<u8>) {
            if !*self.is_cut.lock() {
                // A node hears itself, too.
                for inbox in &self.others {
                    inbox.0.lock().push(body.clone());
                }
            }
        }

        fn take(&self) -> Vec<Vec<u8>> {
            std::mem::take(&mut self.own.0.lock())
        }
    }

    struct Node {
        table: KeyTable,
        counts: SharedCounts,
        wire: Wire,
        /// Time at which its process started, and at which it exchanges within 100 ms.
        started_ms: u64,
        phase_ms: u64,
    }

    struct Cluster {
        nodes: Vec<Node>,
        limit: RateLimit,
        text: String,
        now_ms: u64,
    }

    fn text(id: u64) -> String {
        api_key_text(format!("{id:032}").as_bytes().try_into().unwrap())
    }

    fn api_key(id: u64, account: Option<AccountId>) -> ApiKey {
        let text = text(id);
        ApiKey {
            id: ApiKeyId(id),
            account,
            name: "test".to_owned(),
            digest: api_key_digest(&text),
            partial: api_key_partial(&text),
            scopes: Scopes::ALL,
            limit: None,
            created_at: Timestamp::parse("2026-01-01").unwrap(),
            expires_at: None,
            revoked_at: None,
            replaced_by: None,
        }
    }

    fn table() -> KeyTable {
        KeyTable::new((1..=3).map(|id| api_key(id, Some(AccountId(1)))).collect())
    }

    fn at(ms: u64) -> Moment {
        Moment {
            monotonic_us: ms * 1000,
            unix_ms: 1_700_000_000_000,
        }
    }

    impl Cluster {
        fn new(node_count: usize, is_in_step: bool) -> Self {
            let inboxes: Vec<_> = (0..node_count).map(|_| Arc::<Inbox>::default()).collect();
            let node = |idx: usize| Node {
                table: table(),
                counts: SharedCounts::new(NodeId(idx as u64), 1),
                wire: Wire {
                    others: inboxes.clone(),
                    own: Arc::clone(&inboxes[idx]),
                    is_cut: Mutex::new(false),
                },
                started_ms: idx as u64 * 777,
                phase_ms: if is_in_step {
                    0
                } else {
                    (idx * 100 / node_count) as u64
                },
            };
            Self {
                nodes: (0..node_count).map(node).collect(),
                limit: RateLimit::parse("60/60").unwrap(),
                text: text(1),
                now_ms: 100_000,
            }
        }

        fn defaults(&self) -> DefaultLimits {
            DefaultLimits {
                api_key: self.limit,
                address_key: self.limit,
            }
        }

        fn now(&self, node_idx: usize) -> Moment {
            at(self.now_ms - self.nodes[node_idx].started_ms)
        }

        fn known(&self, node_idx: usize) -> Arc<KnownKey> {
            self.nodes[node_idx].table.lookup(&self.text).unwrap()
        }

        /// Sends a request; returns true if it is admitted.
        fn request(&self, node_idx: usize) -> bool {
            let quota = self
                .known(node_idx)
                .window
                .take(self.limit, self.now(node_idx));
            quota.retry_after.is_none()
        }

        /// Lets time pass, with the exchanges that fall into it.
        fn pass(&mut self, ms: u64) {
            let defaults = self.defaults();
            for _ in 0..ms {
                self.now_ms += 1;
                for idx in 0..self.nodes.len() {
                    let now = self.now(idx);
                    let node = &mut self.nodes[idx];
                    if self.now_ms % 100 == node.phase_ms {
                        node.counts.exchange(&node.table, defaults, &node.wire, now);
                    } else if node.counts.is_hot() && self.now_ms % 20 == node.phase_ms % 20 {
                        node.counts.exchange_hot(&node.wire, now);
                    }
                }
            }
        }

        /// Sends 100 requests a second for a while, in turn to all; returns how many were admitted.
        fn flood(&mut self, ms: u64) -> usize {
            let mut admitted = 0;
            for number in 0..ms / 10 {
                admitted += usize::from(self.request(number as usize % self.nodes.len()));
                self.pass(10);
            }
            admitted
        }

        fn count(&self, node_idx: usize) -> u32 {
            let window = &self.known(node_idx).window;
            let open = window.open(self.limit, self.now(node_idx));
            open.map_or(0, |open| open.count)
        }
    }

    #[test]
    fn requests_spread_over_nodes_keep_the_limit_nearly() {
        for node_count in [2, 3, 5, 10] {
            for is_in_step in [true, false] {
                let mut cluster = Cluster::new(node_count, is_in_step);
                cluster.pass(37);
                let windows = [(); 3].map(|()| cluster.flood(60_000));
                eprintln!("{node_count} nodes, in step {is_in_step}: admitted {windows:?}");
                for admitted in windows {
                    assert!((60..=64).contains(&admitted), "{node_count} {windows:?}");
                }
            }
        }
    }

    #[test]
    fn requests_to_one_node_are_counted_exactly() {
        let mut cluster = Cluster::new(3, false);
        for _ in 0..3 {
            let mut admitted = 0;
            for _ in 0..6_100 {
                admitted += usize::from(cluster.request(1));
                cluster.pass(10);
                assert!(cluster.count(1) <= 60);
            }
            // One second of the next window is in it.
            assert_eq!(admitted % 60, 0, "{admitted}");
            cluster.pass(60_000);
        }
    }

    #[test]
    fn a_lost_message_is_made_up_for() {
        let mut cluster = Cluster::new(3, false);
        assert!(cluster.request(0));
        *cluster.nodes[0].wire.is_cut.lock() = true;
        assert!(cluster.request(0));
        cluster.pass(500);
        assert_eq!([0, 1, 2].map(|idx| cluster.count(idx)), [2, 0, 0]);
        *cluster.nodes[0].wire.is_cut.lock() = false;
        cluster.pass(200);
        assert_eq!([0, 1, 2].map(|idx| cluster.count(idx)), [2, 2, 2]);
        assert!(cluster.request(1));
        cluster.pass(10_000);
        assert_eq!([0, 1, 2].map(|idx| cluster.count(idx)), [3, 3, 3]);
    }

    #[test]
    fn a_window_that_ended_begins_anew_everywhere() {
        let mut cluster = Cluster::new(3, false);
        for idx in [0, 0, 1, 2] {
            assert!(cluster.request(idx));
        }
        cluster.pass(1_000);
        assert_eq!([0, 1, 2].map(|idx| cluster.count(idx)), [4, 4, 4]);
        cluster.pass(59_200);
        assert_eq!([0, 1, 2].map(|idx| cluster.count(idx)), [0, 0, 0]);
        assert!(cluster.request(2));
        cluster.pass(1_000);
        assert_eq!([0, 1, 2].map(|idx| cluster.count(idx)), [1, 1, 1]);
        // The track of a window is forgotten with it.
        cluster.pass(200_000);
        assert!(
            cluster
                .nodes
                .iter()
                .all(|node| node.counts.tracks.is_empty())
        );
    }

    /// The window of node 1 opens when it hears of that of node 0, so it ends later: what node 0
    /// has admitted in the next window by then counts in the next window of node 1, too.
    #[test]
    fn what_comes_before_a_window_ends_counts_in_the_next() {
        let mut cluster = Cluster::new(2, false);
        assert!(cluster.request(0));
        cluster.pass(59_990);
        cluster.pass(20);
        assert!(cluster.request(0));
        cluster.pass(1_000);
        assert_eq!([0, 1].map(|idx| cluster.count(idx)), [1, 1]);
    }

    #[test]
    fn a_node_that_starts_again_does_not_double() {
        let mut cluster = Cluster::new(3, false);
        for idx in [0, 1, 1, 2] {
            assert!(cluster.request(idx));
        }
        cluster.pass(300);
        let started_ms = cluster.now_ms - cluster.nodes[1].started_ms;
        let node = &mut cluster.nodes[1];
        (node.table, node.counts) = (table(), SharedCounts::new(NodeId(1), 2));
        node.started_ms += started_ms;
        cluster.pass(1_000);
        assert_eq!([0, 2].map(|idx| cluster.count(idx)), [4, 4]);
        assert_eq!(cluster.count(1), 2, "its own requests are forgotten");
        assert!(cluster.request(1));
        cluster.pass(5_000);
        assert_eq!([0, 1, 2].map(|idx| cluster.count(idx)), [5, 3, 5]);
    }

    #[test]
    fn keys_of_an_account_share_its_window_on_all_nodes() {
        let mut cluster = Cluster::new(2, false);
        let take = |cluster: &Cluster, node_idx: usize, id: u64| {
            let known = cluster.nodes[node_idx].table.lookup(&text(id)).unwrap();
            let account = SharedLimit {
                window: known.account_window.as_deref().unwrap(),
                limit: RateLimit::parse("3/60").unwrap(),
            };
            let now = cluster.now(node_idx);
            match known.window.take_with(cluster.limit, account, now) {
                TakenQuota::OfKey(quota) => quota.retry_after.is_none(),
                TakenQuota::OfAccount(_) => false,
            }
        };
        assert!(take(&cluster, 0, 1));
        assert!(take(&cluster, 0, 2));
        cluster.pass(300);
        assert!(take(&cluster, 1, 3));
        assert!(!take(&cluster, 1, 3));
        cluster.pass(300);
        assert!(!take(&cluster, 0, 2));
        cluster.pass(5_000);
        assert_eq!([0, 1].map(|idx| cluster.count(idx)), [1, 1]);
    }

    #[test]
    fn what_is_not_a_message_is_passed_over() {
        let mut cluster = Cluster::new(2, true);
        cluster.nodes[0]
            .wire
            .publish(NodeId(0), MessageKind::Round, b"nothing".to_vec());
        assert!(cluster.request(0));
        cluster.pass(300);
        assert_eq!(cluster.count(1), 1);
    }
}
