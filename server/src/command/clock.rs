//! `subcat clock`: the latest second, behind which time never falls.

use clap::Args;

use super::access::run_operation;
use super::context::Context;
use super::error::CommandError;
use super::subcommand::Subcommand;
use super::table::{facts, table};
use crate::ops::{ClockRead, ReadClock, ResetClock, RevivedKey};

/// Show and reset the latest second, by which keys and sessions have expired
#[derive(Debug, Args)]
pub(super) struct ClockArguments {
    #[command(subcommand)]
    action: ClockAction,
}

#[derive(Debug, clap::Subcommand)]
enum ClockAction {
    /// Show the clock, the latest second, and the keys that a reset would make valid again
    Show,
    /// Make the clock of this machine the latest second, once it is right
    ///
    /// After a clock was far ahead, expired keys are valid again by it: they are listed. What was
    /// revoked stays revoked. After a machine was away for more than a day, the clock is believed
    /// at once and not after six hours.
    Reset,
}

impl Subcommand for ClockArguments {
    const NAME: &'static str = "clock";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        match self.action {
            ClockAction::Show => run_operation(context, ReadClock {}, shown),
            ClockAction::Reset => run_operation(context, ResetClock {}, reset_shown),
        }
    }
}

fn shown(read: &ClockRead) -> String {
    let about = facts(&[
        ("clock", read.clock.clone()),
        ("latest second", read.latest.clone()),
        ("ahead", format!("{} s", read.ahead_seconds)),
    ]);
    let revived = revived_keys("a reset makes these keys valid again:", &read.revived);
    format!("{about}{revived}")
}

fn reset_shown(read: &ClockRead) -> String {
    let ClockRead { clock, latest, .. } = read;
    let revived = revived_keys("these keys are valid again:", &read.revived);
    format!("the latest second is {clock}, it was {latest}\n{revived}")
}

fn revived_keys(title: &str, keys: &[RevivedKey]) -> String {
    if keys.is_empty() {
        return String::new();
    }
    let listed = table(
        keys,
        &[
            ("id", |key| key.id.to_string()),
            ("name", |key| key.name.clone()),
            ("expires", |key| key.expires_at.clone()),
        ],
    );
    format!("\n{title}\n{listed}")
}
