//! Access to the catalog: through the server that runs on it, or by opening it.

use std::path::PathBuf;
use std::sync::Arc;

use subcat_engine::{Disk, Engine, Error, Finding, Options, Real, StoreKind, salvage};

use super::context::now;
use super::error::{CommandError, say};
use super::output::Reply;
use crate::admin::Client;
use crate::config::Config;
use crate::ops::{Operation, Operations, to_json};
use crate::service::{Actor, Credentials};

/// Treatment of a data directory that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// It is created: the subcommand has something to put into it.
    Create,
    /// The subcommand fails: there is nothing to do.
    Refuse,
    /// An empty catalog in memory takes its place: nothing is to be kept.
    Pretend,
}

/// A catalog that cannot be accessed.
#[derive(Debug, thiserror::Error)]
enum AccessError {
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
    pub(super) fn open(mut config: Config, missing: Missing) -> Result<Self, CommandError> {
        if let Some(client) = Client::find(&config.data)? {
            return Ok(Self::Running(client));
        }
        if config.store == StoreKind::Memory {
            return Err(AccessError::MemoryOnly.into());
        }
        if !config.data.join("format").exists() {
            match missing {
                Missing::Create => {}
                Missing::Refuse => return Err(AccessError::NoCatalog(config.data).into()),
                Missing::Pretend => config.store = StoreKind::Memory,
            }
        }
        let engine = Arc::new(open_engine(&config, 0)?);
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
            Self::Opened(opened) => {
                let now = now();
                let operations = Operations {
                    engine: &opened.engine,
                    credentials: &opened.credentials,
                    config: Arc::clone(&opened.config),
                    service: None,
                    actor: Actor::CommandLine,
                    now,
                    effective_now: now.max(opened.engine.usage().latest_moment()?),
                };
                to_json(&operation.execute(&operations)?)
            }
        };
        Ok(Reply::from_json(json))
    }

    /// Closes the catalog if it is open here, so that the next process opens it fast.
    pub(super) fn close(self) -> Result<(), CommandError> {
        match self {
            Self::Running(_) => Ok(()),
            Self::Opened(opened) => Ok(opened.engine.close()?),
        }
    }
}

/// Opens the data directory of these settings.
pub(super) fn open_engine(config: &Config, counter_lanes: usize) -> Result<Engine, CommandError> {
    let options = Options {
        disk: Arc::new(Real),
        store: config.store,
        counter_lanes,
    };
    let opened = Engine::open(&config.data, options).map_err(|error| match error {
        Error::Locked { path, pid } => AccessError::Locked { path, pid }.into(),
        source @ (Error::Corrupt { .. } | Error::Store { .. }) => UnreadableError {
            path: config.data.clone(),
            source,
        }
        .into(),
        other => other.into(),
    });
    let engine: Engine = opened.map_err(|error: CommandError| error)?;
    engine.keep_free(config.disk_reserve_bytes as u64);
    Ok(engine)
}

/// Makes a data directory readable on which no server runs and which cannot be opened. Returns
/// what was found; nothing if it can be opened as it is.
pub(super) fn salvage_unreadable(config: &Config) -> Result<Vec<Finding>, CommandError> {
    let is_ours = config.store == StoreKind::Redb && config.data.join("lock").exists();
    if !is_ours || Client::find(&config.data)?.is_some() {
        return Ok(Vec::new());
    }
    let disk: Arc<dyn Disk> = Arc::new(Real);
    Ok(salvage(&disk, &config.data)?)
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
