//! Messages between nodes over NATS, without JetStream: they are not stored.

use std::sync::Arc;

use async_nats::connection::State;
use async_nats::{Client, Subscriber};
use futures_util::StreamExt;

use super::mailbox::{Mailbox, TaskExchange};
use super::nats_log::{addresses_of, base_options, signed_in};
use super::open_log_error::OpenLogError;

/// Opens the exchange on one subject of NATS, beside the log that these servers hold as `stream`.
pub(super) fn open(servers: &[String], stream: &str) -> Result<TaskExchange, OpenLogError> {
    let addresses = addresses_of(servers)?;
    let exchange = TaskExchange::start()?;
    let options = signed_in(base_options().no_echo(), &addresses);
    let subject = format!("{stream}.limits");
    let opened = exchange.runtime.block_on(async {
        let client = options.connect(addresses).await?;
        let messages = client.subscribe(subject.clone()).await?;
        Ok::<_, async_nats::Error>((client, messages))
    });
    let (client, messages) = opened.map_err(|error| OpenLogError::Invalid(error.to_string()))?;
    let passing = pass(client, messages, subject, Arc::clone(&exchange.mailbox));
    exchange.runtime.handle().spawn(passing);
    Ok(exchange)
}

/// Passes messages on until the client is gone.
async fn pass(client: Client, mut messages: Subscriber, subject: String, mailbox: Arc<Mailbox>) {
    loop {
        tokio::select! {
            message = messages.next() => match message {
                Some(message) => mailbox.deliver(message.payload.into()),
                None => return,
            },
            () = mailbox.wait() => {
                for outgoing in mailbox.outgoing() {
                    // The client would keep the message and send it when it is out of date.
                    if client.connection_state() != State::Connected {
                        mailbox.note_failure("there is no connection to NATS");
                        continue;
                    }
                    match client.publish(subject.clone(), outgoing.body.into()).await {
                        Ok(()) => mailbox.note_success(),
                        Err(error) => mailbox.note_failure(&error.to_string()),
                    }
                }
            }
        }
    }
}
