//! `subcat cluster`: nodes that share a log.

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};
use subcat_engine::{
    Engine, Log, LogPosition, LogState, NodeId, ReadError, SnapshotSummary, block_on, error_chain,
    next_epoch,
};

use super::access::{ensure_unserved, open_engine, run_operation};
use super::context::Context;
use super::error::{CommandError, SubjectError, say};
use super::output::Reply;
use super::ownership::keep_owner;
use super::subcommand::Subcommand;
use super::table::{facts, table};
use crate::auth::SealingKey;
use crate::cluster::{SnapshotPlace, open_log};
use crate::config::Config;
use crate::ops::{ClusterRead, ForgetNode, ReadCluster, SnapshotWritten, WriteSnapshot};
use crate::runtime::SystemClock;
use crate::service::ClusterNode;

/// Let several servers share a catalog: begin a cluster, join it, watch it, leave it
#[derive(Debug, Args)]
pub(super) struct ClusterArguments {
    #[command(subcommand)]
    action: ClusterAction,
}

#[derive(Debug, clap::Subcommand)]
enum ClusterAction {
    /// Begin a cluster with this data directory; its server must be stopped
    Init {
        /// A folder for snapshots [default: the bucket of files.s3]
        #[arg(long, value_name = "DIR")]
        snapshots: Option<PathBuf>,
    },
    /// Make a data directory that does not exist from the newest snapshot of a cluster
    Join {
        /// The folder of snapshots [default: the bucket of files.s3]
        #[arg(long, value_name = "DIR")]
        snapshots: Option<PathBuf>,
    },
    /// Show every node: how far it is, and whether it has the same rows
    Status,
    /// Write a snapshot for nodes that join; its server may run
    Snapshot {
        /// A folder for snapshots [default: the bucket of files.s3]
        #[arg(long, value_name = "DIR")]
        snapshots: Option<PathBuf>,
        /// Drop the entries of the log that the snapshot before this one covers
        #[arg(long)]
        truncate: bool,
        /// Remove older snapshots, all but the newest N
        #[arg(long, value_name = "N")]
        keep: Option<NonZeroUsize>,
    },
    /// Take this data directory out of its cluster, whole; its server must be stopped
    ///
    /// The other nodes are notified, and no longer wait for it. Without the log it leaves all the
    /// same, and says so.
    Leave,
    /// Take a machine that does not come back out of the list of nodes
    ///
    /// It must be off: this waits until it has been silent for cluster.auth_max_stale_seconds and
    /// one second more, and so accepts no keys, and fails when it is heard.
    Forget {
        /// Name or number of the node
        node: String,
    },
    /// Make a lost or damaged log anew from this data directory; its server must be stopped
    ///
    /// Run it on the node with the highest number in `subcat cluster status`. What the log had
    /// beyond it is lost. The other nodes join again, each with an empty data directory. While a
    /// log answers, it is removed only if the entries that are given up are named.
    Reseed {
        /// Remove a log that answers, with the entries after N, the last one that this node has
        #[arg(long, value_name = "N")]
        lose_entries_after: Option<u64>,
        /// A folder for snapshots [default: the bucket of files.s3]
        #[arg(long, value_name = "DIR")]
        snapshots: Option<PathBuf>,
    },
}

/// Answer of `leave`.
#[derive(Debug, Serialize, Deserialize)]
struct LeaveDone {
    data: String,
    /// Number that the node had.
    node: String,
    /// Reason why the other nodes were not notified.
    problem: Option<String>,
}

/// A step of a cluster that cannot be made.
#[derive(Debug, thiserror::Error)]
enum ClusterError {
    #[error("set cluster.log to the address of NATS or PostgreSQL")]
    NoLog,
    #[error(
        "the log {0} exists already: join its cluster with subcat cluster join, or choose another \
         name with cluster.stream"
    )]
    LogExists(String),
    #[error(
        "there is no log {0}: if it was lost, run subcat cluster reseed on the node with the \
         highest number; to begin a cluster, run subcat cluster init where the catalog is"
    )]
    NoSuchLog(String),
    #[error(
        "the log {stream} answers (epoch {epoch}, ends at entry {last}), and would be removed with \
         {lost}: start the server, it follows the log; to remove it all the same, add \
         --lose-entries-after {kept}"
    )]
    LogAnswers {
        stream: String,
        epoch: u64,
        last: u64,
        lost: String,
        kept: u64,
    },
    #[error(
        "the log {stream} answers, ends at entry {last}, and has lost entries that this node has, \
         up to {kept}: see first if the servers of the log can be brought back with their disks; \
         to make it anew from this node, add --lose-entries-after {kept}"
    )]
    LogIsShort {
        stream: String,
        last: u64,
        kept: u64,
    },
    #[error(
        "the log {stream} has epoch {epoch}, {} follows epoch {own}: the log is of another \
         cluster, or was made anew on another node, and stays as it is; to follow it, join with \
         an empty data directory (subcat cluster join), or name another log with cluster.stream \
         or cluster.log",
        data.display()
    )]
    LogOfOthers {
        stream: String,
        epoch: u64,
        data: PathBuf,
        own: u64,
    },
    #[error(
        "entry {0} of the log is not the one that the newest snapshot ends with: it is of another \
         log, put it elsewhere, and make one on another node with subcat cluster snapshot"
    )]
    SnapshotOfAnotherLog(u64),
    #[error("{} is in a cluster already: subcat cluster leave takes it out", .0.display())]
    InCluster(PathBuf),
    #[error("{} is in no cluster: begin one with subcat cluster init", .0.display())]
    InNone(PathBuf),
    #[error(
        "{} exists already: name a data directory that does not exist with --data",
        .0.display()
    )]
    Exists(PathBuf),
    #[error(
        "the newest snapshot ends at entry {snapshot}, and the log begins at {oldest}: make a \
         snapshot on another node with subcat cluster snapshot"
    )]
    SnapshotTooOld { snapshot: u64, oldest: u64 },
}

impl Subcommand for ClusterArguments {
    const NAME: &'static str = "cluster";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        match self.action {
            ClusterAction::Init { snapshots } => {
                let config = context.effective_of_existing()?;
                let place = SnapshotPlace::of(&config, snapshots)?;
                ensure_unserved(&config.data)?;
                let log = log_of(&config)?;
                let done = init(&config, log.as_ref(), &place)?;
                context.show(&Reply::of(&done), |done| {
                    snapshot_shown("the cluster begins here", done)
                })
            }
            ClusterAction::Join { snapshots } => {
                let config = context.effective(&[])?.config;
                let place = SnapshotPlace::of(&config, snapshots)?;
                context.show(&Reply::of(&join(&config, &place)?), |done| {
                    snapshot_shown("joined: start the server", done)
                })
            }
            ClusterAction::Status => run_operation(context, ReadCluster {}, status_shown),
            ClusterAction::Snapshot {
                snapshots,
                truncate,
                keep,
            } => {
                let folder = snapshots.map(std::path::absolute).transpose()?;
                let folder = folder.map(|folder| folder.display().to_string());
                let write = WriteSnapshot {
                    folder,
                    truncate,
                    keep,
                };
                run_operation(context, write, |done| {
                    snapshot_shown("the snapshot is written", done)
                })
            }
            ClusterAction::Leave => {
                let config = context.effective_of_existing()?;
                context.show(&Reply::of(&leave(&config)?), leave_shown)
            }
            ClusterAction::Forget { node } => run_operation(context, ForgetNode { node }, |done| {
                let (name, node) = (&done.name, &done.node);
                format!("node {name} ({node}) is in the list no more\n")
            }),
            ClusterAction::Reseed {
                lose_entries_after,
                snapshots,
            } => {
                let config = context.effective_of_existing()?;
                let place = SnapshotPlace::of(&config, snapshots)?;
                ensure_unserved(&config.data)?;
                let log = log_of(&config)?;
                let done = reseed(&config, log.as_ref(), &place, lose_entries_after)?;
                context.show(&Reply::of(&done), |done| {
                    snapshot_shown("the log is made anew: let the other nodes join again", done)
                })
            }
        }
    }
}

fn init(
    config: &Config,
    log: &dyn Log,
    place: &SnapshotPlace,
) -> Result<SnapshotWritten, CommandError> {
    let state = log_state(log)?;
    let engine = open_engine(config)?;
    let begun = engine.log_position();
    // One of an `init` that was interrupted may begin again, with the log that it was to make.
    let is_own = begun
        .as_ref()
        .is_some_and(|begun| begun.epoch == state.epoch);
    let has_entries = begun.as_ref().is_some_and(|begun| begun.seq != 0);
    let refused = if state.epoch != 0 && (!is_own || has_entries) {
        Some(ClusterError::LogExists(config.cluster.stream.clone()))
    } else if has_entries {
        Some(ClusterError::InCluster(config.data.clone()))
    } else {
        None
    };
    if let Some(refused) = refused {
        engine.close()?;
        return Err(refused.into());
    }
    let epoch = match begun {
        Some(begun) => begun.epoch,
        None => next_epoch(0, random()?),
    };
    let engine = enter(config, engine, epoch)?;
    let written = write_first_snapshot(config, place, &engine)?;
    // The log comes last, so that a node that finds it finds a snapshot, too.
    if !is_own {
        log.create(epoch).map_err(log_error)?;
    }
    warn_of_one_copy(log);
    Ok(written)
}

fn reseed(
    config: &Config,
    log: &dyn Log,
    place: &SnapshotPlace,
    lose_entries_after: Option<u64>,
) -> Result<SnapshotWritten, CommandError> {
    let engine = open_engine(config)?;
    let Some(position) = engine.log_position() else {
        engine.close()?;
        return Err(ClusterError::InNone(config.data.clone()).into());
    };
    let state = log_state(log)?;
    // By a `reseed` that was interrupted before the data directory had entered it.
    let is_made = state.epoch != 0 && engine.intended_epoch()? == Some(state.epoch);
    let epoch = if is_made {
        state.epoch
    } else {
        if let Err(refused) = ensure_given_up(config, &position, &state, lose_entries_after) {
            engine.close()?;
            return Err(refused.into());
        }
        let epoch = next_epoch(position.epoch.max(state.epoch), random()?);
        // The data directory keeps its position until the new log is there.
        engine.intend_epoch(epoch)?;
        log.reset(epoch).map_err(log_error)?;
        epoch
    };
    warn_of_one_copy(log);
    let engine = enter(config, engine, epoch)?;
    write_first_snapshot(config, place, &engine)
}

/// Errors: a log answers, and the entries that are lost with it are not named.
fn ensure_given_up(
    config: &Config,
    position: &LogPosition,
    state: &LogState,
    lose_entries_after: Option<u64>,
) -> Result<(), ClusterError> {
    let is_own = state.epoch == position.epoch;
    // None of the entries of another log is here.
    let kept = if is_own { position.seq } else { 0 };
    if state.epoch == 0 || lose_entries_after == Some(kept) {
        return Ok(());
    }
    let (stream, last) = (config.cluster.stream.clone(), state.last);
    // Without the number that would remove it: its nodes may well be alive.
    if !is_own {
        return Err(ClusterError::LogOfOthers {
            stream,
            epoch: state.epoch,
            data: config.data.clone(),
            own: position.epoch,
        });
    }
    if last < kept {
        return Err(ClusterError::LogIsShort { stream, last, kept });
    }
    let lost = if kept == last {
        "no entry that this node lacks".to_owned()
    } else {
        format!("entries {} to {last}", kept + 1)
    };
    Err(ClusterError::LogAnswers {
        stream,
        epoch: state.epoch,
        last,
        lost,
        kept,
    })
}

/// Moves a data directory to the beginning of a log, and opens it again.
fn enter(config: &Config, engine: Engine, epoch: u64) -> Result<Engine, CommandError> {
    // The nodes that join are given this one.
    SealingKey::of_or_new(&engine)?;
    engine.enter_cluster(epoch)?;
    engine.close()?;
    drop(engine);
    open_engine(config)
}

/// Writes the snapshot that other nodes join a new log with.
fn write_first_snapshot(
    config: &Config,
    place: &SnapshotPlace,
    engine: &Engine,
) -> Result<SnapshotWritten, CommandError> {
    let summary = block_on(place.write(engine, &config.data.join("tmp")))?;
    engine.close()?;
    Ok(SnapshotWritten::new(engine.node(), &summary))
}

fn join(config: &Config, place: &SnapshotPlace) -> Result<SnapshotWritten, CommandError> {
    let log = log_of(config)?;
    let state = log_state(log.as_ref())?;
    if state.epoch == 0 {
        return Err(ClusterError::NoSuchLog(config.cluster.stream.clone()).into());
    }
    let data = &config.data;
    let is_empty = std::fs::read_dir(data).map_or(true, |mut entries| entries.next().is_none());
    if !is_empty {
        return Err(ClusterError::Exists(data.clone()).into());
    }
    let absolute = std::path::absolute(data)?;
    let staging = beside(&absolute, ".joining");
    let download = beside(&absolute, ".snapshot");
    // Left by a join that was interrupted.
    let _ = std::fs::remove_dir_all(&staging);
    if let Some(parent) = absolute.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let newest = block_on(place.newest(state.epoch, &download));
    let loaded = newest.map_err(CommandError::from).and_then(|path| {
        say("loading the newest snapshot");
        load(config, &staging, &path)
    });
    let _ = std::fs::remove_file(&download);
    let placed = loaded.and_then(|(node, summary)| {
        if summary.seq + 1 < state.oldest {
            return Err(ClusterError::SnapshotTooOld {
                snapshot: summary.seq,
                oldest: state.oldest,
            }
            .into());
        }
        ensure_of_log(log.as_ref(), &summary, &state)?;
        let old = std::fs::metadata(&absolute).ok();
        // An empty one may be there, such as that of a mount.
        let _ = std::fs::remove_dir(&absolute);
        std::fs::rename(&staging, &absolute)
            .map_err(|error| SubjectError::new(absolute.display().to_string(), error))?;
        keep_owner(&absolute, old.as_ref())?;
        Ok(SnapshotWritten::new(node, &summary))
    });
    if placed.is_err() {
        let _ = std::fs::remove_dir_all(&staging);
    }
    placed
}

/// Errors: the snapshot ends with another entry than the log has at that place.
fn ensure_of_log(
    log: &dyn Log,
    summary: &SnapshotSummary,
    state: &LogState,
) -> Result<(), CommandError> {
    if summary.seq < state.oldest {
        // The log has dropped it: the epoch alone decides.
        return Ok(());
    }
    let read = log.read(summary.seq - 1, 1).map_err(log_error)?;
    match read.first() {
        Some(entry) if entry.digest() == summary.digest => Ok(()),
        _ => Err(ClusterError::SnapshotOfAnotherLog(summary.seq).into()),
    }
}

fn load(
    config: &Config,
    staging: &Path,
    snapshot: &Path,
) -> Result<(NodeId, SnapshotSummary), CommandError> {
    let config = Config {
        data: staging.to_owned(),
        ..config.clone()
    };
    let engine = open_engine(&config)?;
    let file = std::fs::File::open(snapshot)
        .map_err(|error| SubjectError::new(snapshot.display().to_string(), error))?;
    let summary = engine.load_snapshot(&mut std::io::BufReader::new(file))?;
    engine.close()?;
    Ok((engine.node(), summary))
}

fn leave(config: &Config) -> Result<LeaveDone, CommandError> {
    ensure_unserved(&config.data)?;
    let engine = open_engine(config)?;
    let Some(position) = engine.log_position() else {
        engine.close()?;
        return Err(ClusterError::InNone(config.data.clone()).into());
    };
    let announced = tell(&engine, config);
    let left = engine.leave_cluster();
    engine.close()?;
    left?;
    Ok(LeaveDone {
        data: config.data.display().to_string(),
        node: position.node.to_string(),
        problem: announced.err().map(|error| error_chain(&*error)),
    })
}

/// Tells the other nodes that this one leaves.
fn tell(engine: &Engine, config: &Config) -> Result<(), Box<dyn Error + Send + Sync>> {
    let Some(address) = &config.cluster.log else {
        return Err(ClusterError::NoLog.into());
    };
    let log = open_log(address, &config.cluster.stream)?;
    let clock = Arc::new(SystemClock::new());
    Ok(ClusterNode::attach(engine, log, &config.cluster, clock)?.depart()?)
}

fn leave_shown(done: &LeaveDone) -> String {
    let LeaveDone { data, node, .. } = done;
    let mut text = format!("{data} is in no cluster any more: unset cluster.log and start it\n");
    if let Some(problem) = &done.problem {
        text.push_str(&format!(
            "the other nodes were not told: {problem}\n\
             run subcat cluster forget {node} on one of them\n"
        ));
    }
    text
}

/// Says so if the log is lost with one disk.
fn warn_of_one_copy(log: &dyn Log) {
    if log.copies() == Some(1) {
        tracing::warn!(
            "the log has one copy, and is lost with the disk of its server: three servers keep \
             three"
        );
    }
}

fn log_of(config: &Config) -> Result<Arc<dyn Log>, CommandError> {
    let Some(address) = &config.cluster.log else {
        return Err(ClusterError::NoLog.into());
    };
    let log = open_log(address, &config.cluster.stream);
    Ok(log.map_err(|error| SubjectError::new("cluster.log", std::io::Error::other(error)))?)
}

fn log_state(log: &dyn Log) -> Result<LogState, CommandError> {
    Ok(log.state().map_err(log_error)?)
}

fn log_error(error: ReadError) -> SubjectError {
    SubjectError::new("cluster.log", std::io::Error::other(error))
}

fn random() -> Result<u64, CommandError> {
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(std::io::Error::from)?;
    Ok(u64::from_le_bytes(number))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

fn snapshot_shown(title: &str, done: &SnapshotWritten) -> String {
    let about = facts(&[
        ("node", done.node.clone()),
        ("epoch", done.epoch.to_string()),
        ("entry", done.entry.to_string()),
        ("rows", done.rows.to_string()),
        ("state hash", done.state_hash.clone()),
    ]);
    let removed = match done.removed {
        0 => String::new(),
        1 => "an older snapshot is removed\n".into(),
        count => format!("{count} older snapshots are removed\n"),
    };
    format!("{title}\n{about}{removed}")
}

fn status_shown(read: &ClusterRead) -> String {
    let Some(node) = &read.node else {
        return "this data directory is in no cluster\n".to_owned();
    };
    let mut text = facts(&[
        ("node", node.clone()),
        ("state", read.state.clone()),
        ("epoch", read.epoch.to_string()),
        ("applied", read.applied.to_string()),
        ("lag", read.lag.map_or("-".into(), |lag| lag.to_string())),
        (
            "copies",
            read.log_copies
                .map_or("-".into(), |copies| copies.to_string()),
        ),
    ]);
    if let Some(problem) = &read.problem {
        text.push_str(&format!("problem: {problem}\n"));
    }
    if read.nodes.is_empty() {
        return text;
    }
    text.push('\n');
    text.push_str(&table(
        &read.nodes,
        &[
            ("name", |node| node.name.clone()),
            ("node", |node| node.node.clone()),
            ("version", |node| node.version.clone()),
            ("applied", |node| {
                node.applied.map_or("-".to_owned(), |it| it.to_string())
            }),
            ("heard", |node| {
                format!("{:.1} s", node.heard_ms as f64 / 1000.0)
            }),
            ("hash", |node| match node.hashed_at {
                0 => "-".to_owned(),
                _ => node.state_hash.clone(),
            }),
            ("rows", |node| {
                let rows = match (node.is_diverged, node.hashed_at) {
                    (true, _) => "DIFFERENT",
                    // Of a start that has given no sum yet.
                    (false, 0) => "-",
                    (false, _) => "same",
                };
                rows.to_owned()
            }),
        ],
    ));
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use parking_lot::Mutex;
    use subcat_engine::{AppendError, LogEntry};

    use super::*;
    use crate::ops::NodeRead;

    /// A log without entries. The answer to its making is lost: as if the process had been killed.
    struct LostAnswer(Mutex<LogState>);

    impl LostAnswer {
        fn make(&self, epoch: u64) -> Result<(), ReadError> {
            self.0.lock().epoch = epoch;
            Err(ReadError::Unavailable("cut off".into()))
        }
    }

    impl Log for LostAnswer {
        fn create(&self, epoch: u64) -> Result<(), ReadError> {
            assert_eq!(self.0.lock().epoch, 0, "it is made once");
            self.make(epoch)
        }

        fn reset(&self, epoch: u64) -> Result<(), ReadError> {
            self.make(epoch)
        }

        fn state(&self) -> Result<LogState, ReadError> {
            Ok(*self.0.lock())
        }

        fn append(&self, _: u64, _: &[u8]) -> Result<u64, AppendError> {
            Err(AppendError::NoLog)
        }

        fn read(&self, _: u64, _: usize) -> Result<Vec<LogEntry>, ReadError> {
            Ok(Vec::new())
        }

        fn wait(&self, _: u64, _: Duration) {}

        fn truncate(&self, _: u64) -> Result<(), ReadError> {
            Ok(())
        }
    }

    /// `init` and `reseed` that are ended when their log is made complete at the next try, and
    /// leave a log that is made by another node in the meantime.
    #[test]
    fn a_log_that_was_made_is_entered_by_the_next_try() {
        let dir = tempfile::tempdir().unwrap();
        let config = Config {
            data: dir.path().join("data"),
            ..Config::default()
        };
        let folder = dir.path().join("snapshots");
        let place = SnapshotPlace::of(&config, Some(folder)).unwrap();
        let nothing = LogState {
            epoch: 0,
            oldest: 1,
            last: 0,
        };
        let log = LostAnswer(Mutex::new(nothing));
        let epoch = || log.0.lock().epoch;
        let entered = || {
            let engine = open_engine(&config).unwrap();
            let position = engine.log_position().unwrap();
            engine.close().unwrap();
            (position.epoch, position.seq)
        };
        init(&config, &log, &place).unwrap_err();
        let made = epoch();
        init(&config, &log, &place).unwrap();
        assert_eq!((epoch(), entered()), (made, (made, 0)));
        let again = |lose| reseed(&config, &log, &place, lose);
        again(Some(0)).unwrap_err();
        let anew = epoch();
        assert!(made < anew, "{made} {anew}");
        assert_eq!(entered(), (made, 0));
        // Another node does the same, and is first: its log stays.
        log.0.lock().epoch = anew + 1;
        let refused = match again(None).unwrap_err() {
            CommandError::Failed(error) => error.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(refused.contains("is of another cluster"), "{refused}");
        assert_eq!((epoch(), entered()), (anew + 1, (made, 0)));
        log.0.lock().epoch = anew;
        let written = again(None).unwrap();
        assert_eq!((epoch(), entered()), (anew, (anew, 0)));
        assert_eq!(written.epoch, anew);
    }

    #[test]
    fn rows_that_were_not_compared_are_not_called_the_same() {
        let node = |hashed_at, is_diverged| NodeRead {
            state_hash: "00ff".into(),
            hashed_at,
            is_diverged,
            ..NodeRead::default()
        };
        let read = ClusterRead {
            node: Some("1".into()),
            nodes: vec![node(0, false), node(7, false), node(7, true)],
            ..ClusterRead::default()
        };
        let shown = status_shown(&read);
        let ends: Vec<Vec<&str>> = shown
            .lines()
            .skip_while(|line| !line.contains("hash"))
            .skip(1)
            .map(|line| line.split_whitespace().rev().take(2).collect())
            .collect();
        assert_eq!(ends, [["-", "-"], ["same", "00ff"], ["DIFFERENT", "00ff"]]);
    }

    #[test]
    fn a_refused_reseed_says_what_is_lost() {
        let (config, node) = (Config::default(), NodeId(1));
        let position = LogPosition {
            node,
            epoch: 7,
            seq: 5,
            digest: 0,
        };
        let refused = |epoch, last, given| {
            let state = LogState {
                epoch,
                oldest: 1,
                last,
            };
            let given_up = ensure_given_up(&config, &position, &state, given);
            given_up.err().map(|refused| refused.to_string())
        };
        for (last, expected) in [
            (4, "has lost entries that this node has, up to 5"),
            (5, "would be removed with no entry that this node lacks"),
            (9, "would be removed with entries 6 to 9"),
        ] {
            let sentence = refused(7, last, None).unwrap();
            assert!(sentence.contains(expected), "{sentence}");
            assert!(sentence.ends_with("--lose-entries-after 5"), "{sentence}");
            assert_eq!(refused(7, last, Some(4)), Some(sentence));
            assert_eq!(refused(7, last, Some(5)), None);
        }
        for given in [None, Some(5), Some(9)] {
            let sentence = refused(8, 9, given).unwrap();
            assert!(sentence.contains("is of another cluster"), "{sentence}");
            assert!(!sentence.contains("--lose"), "{sentence}");
        }
        assert_eq!(refused(0, 0, None), None);
    }
}
