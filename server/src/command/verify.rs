//! `subcat verify`: is everything on disk as it was written?

use clap::Args;

use super::access::{Access, Missing};
use super::context::{Context, Stop};
use crate::admin::{FindingShown, Operation};

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
        let answer = access.perform(Operation::Verify {
            is_repairing: self.repair,
        })?;
        access.close()?;
        let findings: Vec<FindingShown> = serde_json::from_str(&answer).unwrap_or_default();
        context.show(&answer, |findings: &Vec<FindingShown>| shown(findings))?;
        if findings.iter().all(|finding| finding.is_repaired) {
            Ok(())
        } else {
            Err(Stop::Said(1))
        }
    }
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
    match findings
        .iter()
        .filter(|finding| !finding.is_repaired)
        .count()
    {
        0 => out.push_str("everything is as it should be\n"),
        count => out.push_str(&format!("{count} things are wrong\n")),
    }
    out
}
