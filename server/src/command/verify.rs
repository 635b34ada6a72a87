//! `subcat verify`: is everything on disk as it was written?

use clap::Args;

use super::access::{Access, Missing};
use super::context::{Context, Stop};
use super::progress::Waiting;
use crate::ops::{Failure, FindingShown, Operation};

/// Check every file of the data directory against its checksums and against the others
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// Mend what can be mended; wants the server stopped
    #[arg(long)]
    repair: bool,
}

impl Verify {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let config = context.effective(&[])?.config;
        let access = Access::open(config, Missing::Refuse)?;
        let waiting = Waiting::start("checking");
        let answer = access.perform(Operation::Verify {
            is_repairing: self.repair,
        });
        drop(waiting);
        let answer = answer?;
        access.close()?;
        let findings: Vec<FindingShown> = serde_json::from_str(&answer).unwrap_or_default();
        context.show(&answer, |findings: &Vec<FindingShown>| shown(findings))?;
        let is_wrong = |finding: &&FindingShown| !finding.is_repaired;
        match findings.iter().filter(is_wrong).count() {
            0 => Ok(()),
            count => Err(Failure::new(wrong(count, self.repair)).into()),
        }
    }
}

fn wrong(count: usize, was_repairing: bool) -> String {
    let things = if count == 1 { "thing is" } else { "things are" };
    let advice = if was_repairing {
        "bring those files back from a copy, or import into a new data directory"
    } else {
        "stop the server, if one runs, and mend what can be mended with subcat verify --repair"
    };
    format!("{count} {things} wrong: {advice}")
}

fn shown(findings: &[FindingShown]) -> String {
    let mut out = String::new();
    for finding in findings {
        out.push_str(&finding.file);
        if let Some(offset) = finding.offset {
            out.push_str(&format!(" at byte {offset}"));
        }
        let outcome = if finding.is_repaired { " (mended)" } else { "" };
        out.push_str(&format!(": {}{outcome}\n", finding.problem));
    }
    if findings.iter().all(|finding| finding.is_repaired) {
        out.push_str("everything is as it should be\n");
    }
    out
}
