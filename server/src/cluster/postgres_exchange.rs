//! Messages between nodes in a table of PostgreSQL, a row for each node and kind: a newer message
//! replaces the one before. The table is not logged: it is empty after a crash of the server, and
//! standbys do not have it.
//!
//! `round` is the server's clock in microseconds. So a row that a dead node left is known to be
//! old, and one that a node has written after its restart to be new.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::blocking::CONNECT_LIMIT;
use super::exchange::MessageKind;
use super::mailbox::{Mailbox, OutgoingMessage, TaskExchange};
use super::open_log_error::OpenLogError;
use super::postgres_log::{PostgresServer, text_of};
use crate::limits::COUNTING_NODES_MAX;
use crate::runtime::{ControlHandle, interval};

/// Time between two looks for messages.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time for one statement.
const STATEMENT_LIMIT: Duration = Duration::from_secs(2);
/// Pause before a new session.
const AWAY_PAUSE: Duration = Duration::from_secs(1);
/// Nothing here needs to be durable.
const SETTINGS: &str = "SET synchronous_commit = off; SET statement_timeout = '2s'";
/// Time as `round` has it.
const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::int8";

/// State of the task that has the session.
struct PostgresPolling {
    server: PostgresServer,
    handle: ControlHandle,
    mailbox: Arc<Mailbox>,
    create: String,
    publish: String,
    poll: String,
    /// Own id, once a message was sent.
    node: Option<i64>,
    /// The newest round that was seen of each node and kind.
    seen: HashMap<(i64, i16), i64>,
}

/// Opens the exchange in the schema `stream`, beside the log.
pub(super) fn open(url: &str, stream: &str) -> Result<TaskExchange, OpenLogError> {
    let table = format!("\"{stream}\".limits");
    let exchange = TaskExchange::start()?;
    let polling = PostgresPolling {
        server: PostgresServer::parse(url)?,
        handle: exchange.runtime.handle(),
        mailbox: Arc::clone(&exchange.mailbox),
        create: format!(
            "CREATE UNLOGGED TABLE IF NOT EXISTS {table} (
               node int8, kind int2, round int8 NOT NULL, body bytea NOT NULL,
               PRIMARY KEY (node, kind)
             )"
        ),
        publish: format!(
            "INSERT INTO {table} VALUES ($1, $2, {NOW}, $3) ON CONFLICT (node, kind) DO UPDATE
             SET round = excluded.round, body = excluded.body"
        ),
        // Bodies that were seen before are not sent again.
        poll: format!(
            "SELECT node, kind, limits.round, body FROM {table}
             LEFT JOIN unnest($1::int8[], $2::int2[], $3::int8[]) AS seen(node, kind, round)
             USING (node, kind)
             WHERE {NOW} - 2000000 < limits.round
               AND limits.round IS DISTINCT FROM seen.round
               AND node IS DISTINCT FROM $4"
        ),
        node: None,
        seen: HashMap::new(),
    };
    exchange.runtime.handle().spawn(polling.run());
    Ok(exchange)
}

impl PostgresPolling {
    /// Passes messages on until the runtime ends.
    async fn run(mut self) {
        loop {
            let error = self.pass().await;
            self.mailbox.note_failure(&error);
            // Queued messages are out of date by then.
            time::sleep(AWAY_PAUSE).await;
            drop(self.mailbox.outgoing());
        }
    }

    /// Passes messages on until the session fails; returns why.
    async fn pass(&mut self) -> String {
        let connected = time::timeout(CONNECT_LIMIT, self.server.connect(&self.handle)).await;
        let session = match connected {
            Ok(Ok(session)) => session,
            Ok(Err(error)) => return error.to_string(),
            Err(_) => return SILENCE.to_owned(),
        };
        let client = &session.client;
        let mut ticks = interval(POLL_INTERVAL);
        for statement in [SETTINGS, &self.create] {
            if let Err(error) = client.batch_execute(statement).await {
                return text_of(&error);
            }
        }
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.mailbox.wait() => {}
            }
            match time::timeout(STATEMENT_LIMIT, self.round(client)).await {
                Ok(Ok(())) => self.mailbox.note_success(),
                Ok(Err(error)) => return text_of(&error),
                Err(_) => return SILENCE.to_owned(),
            }
        }
    }

    /// Writes the outgoing messages, and reads those of the other nodes.
    async fn round(&mut self, client: &Client) -> Result<(), tokio_postgres::Error> {
        for OutgoingMessage { node, kind, body } in self.mailbox.outgoing() {
            let (node, kind) = (node.0.cast_signed(), kind as i16);
            self.node = Some(node);
            client
                .query_typed(
                    &self.publish,
                    &[
                        (&node, Type::INT8),
                        (&kind, Type::INT2),
                        (&body, Type::BYTEA),
                    ],
                )
                .await?;
        }
        let (mut nodes, mut kinds, mut rounds) = (Vec::new(), Vec::new(), Vec::new());
        for ((node, kind), round) in &self.seen {
            nodes.push(*node);
            kinds.push(*kind);
            rounds.push(*round);
        }
        let rows = client
            .query_typed(
                &self.poll,
                &[
                    (&nodes, Type::INT8_ARRAY),
                    (&kinds, Type::INT2_ARRAY),
                    (&rounds, Type::INT8_ARRAY),
                    (&self.node, Type::INT8),
                ],
            )
            .await?;
        if COUNTING_NODES_MAX * MessageKind::ALL.len() < self.seen.len() {
            self.seen.clear();
        }
        for row in rows {
            self.seen.insert((row.get(0), row.get(1)), row.get(2));
            self.mailbox.deliver(row.get(3));
        }
        Ok(())
    }
}

const SILENCE: &str = "PostgreSQL does not answer";
