//! Access to the catalog: through the server that runs on it, or by opening it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use subcat_engine::{
    Disk, Engine, Error, Finding, NodeId, Options, Real, StoreKind, block_on, salvage,
};

use super::context::{Context, now};
use super::error::{CommandError, say};
use super::output::Reply;
use super::ownership::{ensure_not_of_others, ensure_ours};
use crate::admin::Client;
use crate::config::Config;
use crate::ops::{Operation, Operations, to_json};
use crate::service::{Actor, Credentials};

/// Pause before a data directory that is in use is tried again.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// Treatment of a data directory that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// The data directory is created: the subcommand has something to put into it.
    Create,
    /// The subcommand fails: there is nothing to do.
    Refuse,
    /// An empty catalog in memory takes its place: nothing is to be kept.
    Pretend,
}

/// A catalog that cannot be accessed.
#[derive(Debug, thiserror::Error)]
pub(super) enum AccessError {
    #[error("with store = memory nothing is kept: start the server first")]
    MemoryOnly,
    #[error(
        "there is no catalog in {}: name another with --data, or create one with subcat import",
        .0.display()
    )]
    NoCatalog(PathBuf),
    #[error(
        "{} is in use by process {pid}, which does not answer on its admin socket: \
         wait for it, stop it, or name another data directory",
        path.display()
    )]
    Locked { path: PathBuf, pid: u32 },
    #[error(
        "process {pid} already serves {}: stop it, or name another data directory with --data",
        path.display()
    )]
    Served { path: PathBuf, pid: u64 },
    #[error(
        "there is no catalog in {}, and cluster.log is set: to join a cluster, run subcat cluster \
         join; to begin one with this data directory, run subcat cluster init",
        .0.display()
    )]
    NotInCluster(PathBuf),
}

/// A data directory that is damaged below its rows.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} cannot be opened: run subcat verify --repair, or restore a backup (subcat restore)",
    path.display()
)]
struct UnreadableError {
    path: PathBuf,
    source: Error,
}

/// Access to the catalog.
pub(super) enum Access {
    /// A server runs on the data directory.
    Running(Client),
    /// None does: it is open here.
    Opened(Box<Opened>),
}

/// A data directory that this process holds.
pub(super) struct Opened {
    pub engine: Arc<Engine>,
    pub credentials: Credentials,
    pub config: Arc<Config>,
}

impl Access {
    /// Finds the server or opens the directory.
    pub(super) fn open(config: Config, missing: Missing) -> Result<Self, CommandError> {
        Self::open_with_caches(config, missing, usize::MAX)
    }

    /// Finds the server or opens the directory, with page caches of up to this size.
    pub(super) fn open_with_caches(
        mut config: Config,
        missing: Missing,
        cache_bytes_max: usize,
    ) -> Result<Self, CommandError> {
        ensure_ours(&config.data)?;
        if let Some(client) = Client::find(&config.data)? {
            return Ok(Self::Running(client));
        }
        if config.store == StoreKind::Memory {
            return Err(AccessError::MemoryOnly.into());
        }
        if !has_catalog(&config.data) {
            match missing {
                Missing::Create => {}
                Missing::Refuse => return Err(AccessError::NoCatalog(config.data).into()),
                Missing::Pretend => config.store = StoreKind::Memory,
            }
        }
        let engine = Arc::new(open(&config, 0, cache_bytes_max, Duration::ZERO)?);
        for entry in engine.take_damage() {
            say(&format!(
                "{}: {}: {}",
                entry.place, entry.problem, entry.outcome
            ));
        }
        Ok(Self::Opened(Box::new(Opened {
            credentials: Credentials::new(Arc::clone(&engine)),
            engine,
            config: Arc::new(config),
        })))
    }

    /// Executes an operation, here or in the server.
    pub(super) fn execute<O: Operation>(
        &self,
        operation: O,
    ) -> Result<Reply<O::Answer>, CommandError> {
        let json = match self {
            Self::Running(client) => client.execute(&operation)?,
            Self::Opened(opened) => to_json(&opened.execute(operation)?),
        };
        Ok(Reply::from_json(json))
    }

    /// Executes an operation with an answer that is not shown: without JSON, if it is done here.
    pub(super) fn answer<O: Operation>(&self, operation: O) -> Result<O::Answer, CommandError> {
        match self {
            Self::Running(client) => {
                let reply: Reply<O::Answer> = Reply::from_json(client.execute(&operation)?);
                Ok(reply.read()?)
            }
            Self::Opened(opened) => opened.execute(operation),
        }
    }

    /// Closes the catalog if it is open here, so that the next process opens it fast.
    pub(super) fn close(self) -> Result<(), CommandError> {
        match self {
            Self::Running(_) => Ok(()),
            Self::Opened(opened) => Ok(opened.engine.close()?),
        }
    }
}

impl Opened {
    fn execute<O: Operation>(&self, operation: O) -> Result<O::Answer, CommandError> {
        let operations = self.operations()?;
        Ok(block_on(operation.execute(&operations))?)
    }

    fn operations(&self) -> Result<Operations<'_>, CommandError> {
        let now = now();
        Ok(Operations {
            engine: &self.engine,
            credentials: &self.credentials,
            config: Arc::clone(&self.config),
            service: None,
            actor: Actor::CommandLine,
            now,
            effective_now: now.max(self.engine.usage().latest_moment()?),
        })
    }
}

/// Opens the data directory of these settings.
pub(super) fn open_engine(config: &Config) -> Result<Engine, CommandError> {
    open(config, 0, usize::MAX, Duration::ZERO)
}

/// Opens the data directory of these settings for a server. While another process has it open,
/// waits for up to `patience`.
pub(super) fn open_engine_within(
    config: &Config,
    counter_lanes: usize,
    patience: Duration,
) -> Result<Engine, CommandError> {
    open(config, counter_lanes, usize::MAX, patience)
}

/// The only place that opens a data directory for a subcommand.
fn open(
    config: &Config,
    counter_lanes: usize,
    cache_bytes_max: usize,
    patience: Duration,
) -> Result<Engine, CommandError> {
    if config.store != StoreKind::Memory {
        ensure_not_of_others(&config.data)?;
    }
    let until = Instant::now() + patience;
    let mut is_told = false;
    let opened = loop {
        let options = Options {
            disk: Arc::new(Real),
            store: config.store,
            counter_lanes,
            node: new_node(),
        };
        let opened = Engine::open_with_caches(&config.data, options, cache_bytes_max);
        let Err(Error::Locked { pid, .. }) = &opened else {
            break opened;
        };
        if until <= Instant::now() {
            break opened;
        }
        if !std::mem::replace(&mut is_told, true) {
            let (data, seconds) = (config.data.display(), patience.as_secs());
            tracing::warn!(pid, %data, "the data directory is in use: waiting up to {seconds} s");
        }
        std::thread::sleep(LOCK_POLL);
    };
    let engine = opened.map_err(|error| opening_error(config, error))?;
    engine.keep_free(config.disk_reserve_bytes as u64);
    Ok(engine)
}

/// Identity of a data directory that has none yet.
pub(super) fn new_node() -> NodeId {
    NodeId(getrandom::u64().expect("the kernel gives randomness once it is up"))
}

fn opening_error(config: &Config, error: Error) -> CommandError {
    match error {
        Error::Locked { path, pid } => AccessError::Locked { path, pid }.into(),
        source @ (Error::Corrupt { .. } | Error::Store { .. }) => UnreadableError {
            path: config.data.clone(),
            source,
        }
        .into(),
        other => other.into(),
    }
}

/// Errors: the data directory belongs to another user, or a server runs on it.
pub(super) fn ensure_unserved(data: &Path) -> Result<(), CommandError> {
    ensure_ours(data)?;
    let Some(server) = Client::find(data)? else {
        return Ok(());
    };
    let (path, pid) = (data.to_owned(), server.pid());
    Err(AccessError::Served { path, pid }.into())
}

/// Errors: `cluster.log` is set, and there is no catalog: a start would make one that is in no
/// cluster, and that `subcat cluster join` would not replace.
pub(super) fn ensure_of_cluster(config: &Config) -> Result<(), AccessError> {
    if config.cluster.log.is_some() && !has_catalog(&config.data) {
        return Err(AccessError::NotInCluster(config.data.clone()));
    }
    Ok(())
}

fn has_catalog(data: &Path) -> bool {
    data.join("format").exists()
}

/// Makes a data directory readable that cannot be opened and that no server runs on. Returns its
/// findings; none if the directory can be opened.
pub(super) fn salvage_unreadable(config: &Config) -> Result<Vec<Finding>, CommandError> {
    let is_ours = config.store == StoreKind::Redb && config.data.join("lock").exists();
    if !is_ours || Client::find(&config.data)?.is_some() {
        return Ok(Vec::new());
    }
    ensure_not_of_others(&config.data)?;
    let disk: Arc<dyn Disk> = Arc::new(Real);
    Ok(salvage(&disk, &config.data)?)
}

/// Executes one operation on a data directory that exists, and prints its answer: in JSON, or the
/// text that `show` makes.
pub(super) fn run_operation<O: Operation>(
    context: &Context,
    operation: O,
    show: impl FnOnce(&O::Answer) -> String,
) -> Result<(), CommandError> {
    let config = context.effective_of_existing()?;
    context.show(&execute_once(config, Missing::Refuse, operation)?, show)
}

/// Opens, executes one operation, closes.
pub(super) fn execute_once<O: Operation>(
    config: Config,
    missing: Missing,
    operation: O,
) -> Result<Reply<O::Answer>, CommandError> {
    let access = Access::open(config, missing)?;
    let reply = access.execute(operation)?;
    access.close()?;
    Ok(reply)
}
