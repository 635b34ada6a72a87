//! The sealing key at the start of a server. A missing key is created, and secrets that older
//! programs have stored unsealed are sealed.

use subcat_engine::{AccountId, Engine, SecondStep, StateEvent, StepSecret, error_chain};

use crate::auth::SealingKey;

/// The sealing key of a data directory; a new one if it has none. A node of a cluster creates none:
/// otherwise each node would seal with a key of its own.
pub(super) fn key_of(engine: &Engine) -> Option<SealingKey> {
    let is_node = engine.log_position().is_some();
    let key = if is_node {
        SealingKey::of(engine)
    } else {
        SealingKey::of_or_new(engine).map(Some)
    };
    let key = key.unwrap_or_else(|error| {
        let error = error_chain(&error);
        tracing::error!(
            error,
            "sealing.key could not be read or made: codes of apps are refused"
        );
        None
    });
    if key.is_none() && is_node {
        tracing::warn!(
            "this node has no sealing.key: codes of apps are refused here. Stop it, copy the file \
             from the data directory of the first node, and start it again"
        );
    }
    if let Some(key) = &key {
        if !is_node {
            seal_plain(engine, key);
        }
        let second_steps = engine.accounts().second_steps();
        let is_closed =
            |(id, second): &&(AccountId, SecondStep)| key.open(*id, &second.secret).is_none();
        let accounts = second_steps.iter().filter(is_closed).count();
        if 0 < accounts {
            tracing::warn!(
                accounts,
                "second steps are sealed with another key than that of sealing.key: their owners \
                 sign in by a recovery code and enrol again (subcat account second-steps)"
            );
        }
    }
    key
}

/// Seals the secrets that an older program has stored unsealed.
fn seal_plain(engine: &Engine, key: &SealingKey) {
    let sealed = |(id, second): (AccountId, SecondStep)| match second.secret {
        StepSecret::Plain(secret) => Some(StateEvent::SealSecret(id, key.seal(id, &secret))),
        StepSecret::Sealed(_) => None,
    };
    let second_steps = engine.accounts().second_steps();
    let events: Vec<StateEvent> = second_steps.into_iter().filter_map(sealed).collect();
    if events.is_empty() {
        return;
    }
    if let Err(error) = engine.apply(events) {
        let error = error_chain(&error);
        tracing::error!(error, "secrets of second steps could not be sealed");
    }
}
