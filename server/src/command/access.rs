//! The way to the catalog: through the server that runs on it, or by opening it.

use std::sync::Arc;

use subcat_engine::disk::Real;
use subcat_engine::{Engine, Error, Options, StoreKind};

use super::context::{Stop, now};
use crate::admin::Client;
use crate::config::Config;
use crate::ops::{Failure, Operation, Operations};
use crate::service::Credentials;

/// Whether a data directory may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// The subcommand has something to put into it.
    Create,
    /// Without one there is nothing to do.
    Refuse,
    /// It is as if an empty one were there: nothing is to be kept.
    Pretend,
}

/// An open way to the catalog.
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
    pub config: Config,
}

impl Access {
    /// Finds the server or opens the directory.
    pub(super) fn open(mut config: Config, missing: Missing) -> Result<Self, Stop> {
        if let Some(client) = Client::find(&config.data)? {
            return Ok(Self::Running(client));
        }
        if config.store == StoreKind::Memory {
            let sentence = "with store = memory nothing is kept: start the server first";
            return Err(Failure::new(sentence).into());
        }
        if !config.data.join("format").exists() {
            match missing {
                Missing::Create => {}
                Missing::Refuse => return Err(no_catalog(&config).into()),
                Missing::Pretend => config.store = StoreKind::Memory,
            }
        }
        let engine = Arc::new(open_engine(&config, 0)?);
        Ok(Self::Opened(Box::new(Opened {
            credentials: Credentials::new(Arc::clone(&engine)),
            engine,
            config,
        })))
    }

    /// Performs an operation; its answer is JSON.
    pub(super) fn perform(&self, operation: Operation) -> Result<String, Stop> {
        match self {
            Self::Running(client) => Ok(client.perform(&operation)?),
            Self::Opened(opened) => {
                let operations = Operations {
                    engine: &opened.engine,
                    config: &opened.config,
                    now: now(),
                    judged_at: now().max(
                        opened
                            .engine
                            .usage()
                            .latest_moment()
                            .map_err(Failure::from)?,
                    ),
                    credentials: &opened.credentials,
                    is_running: false,
                };
                Ok(operations.perform(operation)?)
            }
        }
    }

    /// Closes what was opened, so that the next one opens it fast.
    pub(super) fn close(self) -> Result<(), Stop> {
        match self {
            Self::Running(_) => Ok(()),
            Self::Opened(opened) => Ok(opened.engine.close()?),
        }
    }
}

fn no_catalog(config: &Config) -> Failure {
    let path = config.data.display();
    let advice = "name another with --data, or make it with subcat import";
    Failure::new(format!("there is no catalog in {path}: {advice}"))
}

/// Opens the data directory of these settings.
pub(super) fn open_engine(config: &Config, counter_lanes: usize) -> Result<Engine, Failure> {
    let options = Options {
        disk: Arc::new(Real),
        store: config.store,
        counter_lanes,
    };
    Engine::open(&config.data, options).map_err(|error| match error {
        Error::Locked { path, pid } => Failure::new(format!(
            "{} is in use by process {pid}, which answers no administration: \
             wait for it, stop it, or name another data directory",
            path.display()
        )),
        other => Failure::from(other),
    })
}

/// Opens, performs one operation, closes.
pub(super) fn perform_once(
    config: Config,
    missing: Missing,
    operation: Operation,
) -> Result<String, Stop> {
    let access = Access::open(config, missing)?;
    let answer = access.perform(operation)?;
    access.close()?;
    Ok(answer)
}
