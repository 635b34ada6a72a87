//! `subcat verify`: checks that everything on disk is unchanged since it was written.

use clap::Args;
use subcat_engine::Finding;

use super::access::{Access, Missing, salvage_unreadable};
use super::context::Context;
use super::error::CommandError;
use super::output::Reply;
use super::progress::Waiting;
use super::subcommand::Subcommand;
use crate::ops::VerifyCatalog;

/// Check every file of the data directory against its checksums and against the others
///
/// Where no server runs, the data directory is opened first, which heals what a start heals: a
/// damaged index is built anew, and a file with damaged pages is copied, and kept under another
/// name.
#[derive(Debug, Args)]
pub(super) struct VerifyArguments {
    /// Repair what can be repaired; the server must be stopped
    #[arg(long)]
    repair: bool,
}

/// Damage that is still there.
#[derive(Debug, thiserror::Error)]
#[error("{}", damage(*count, *was_repairing))]
struct DamageError {
    count: usize,
    was_repairing: bool,
}

impl Subcommand for VerifyArguments {
    const NAME: &'static str = "verify";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let config = context.effective_of_existing()?;
        let waiting = Waiting::start("checking");
        let mut findings = Vec::new();
        if self.repair {
            findings = salvage_unreadable(&config)?;
            if findings.iter().any(|finding| !finding.is_repaired) {
                drop(waiting);
                return Self::report(context, &findings, self.repair);
            }
        }
        let access = Access::open(config, Missing::Refuse)?;
        let reply = access.execute(VerifyCatalog {
            is_repairing: self.repair,
        });
        drop(waiting);
        findings.extend(reply?.read()?);
        access.close()?;
        Self::report(context, &findings, self.repair)
    }
}

impl VerifyArguments {
    /// Shows the findings. Errors: some damage is not repaired.
    fn report(
        context: &Context,
        findings: &[Finding],
        was_repairing: bool,
    ) -> Result<(), CommandError> {
        let reply: Reply<Vec<Finding>> = Reply::of(&findings.to_vec());
        context.show(&reply, |findings| shown(findings))?;
        let is_wrong = |finding: &&Finding| !finding.is_repaired && !finding.is_note;
        match findings.iter().filter(is_wrong).count() {
            0 => Ok(()),
            count => Err(CommandError::from(DamageError {
                count,
                was_repairing,
            })),
        }
    }
}

fn damage(count: usize, was_repairing: bool) -> String {
    let problems = if count == 1 { "problem" } else { "problems" };
    let advice = if was_repairing {
        "a cached file is fetched again once it is forgotten (subcat file forget); restore other \
         files from a backup, or import into a new data directory"
    } else {
        "stop the server, if one runs, and run subcat verify --repair"
    };
    format!("{count} {problems} found: {advice}")
}

fn shown(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        if finding.is_note {
            out.push_str("note: ");
        }
        out.push_str(&finding.file);
        if let Some(offset) = finding.offset {
            out.push_str(&format!(" at byte {offset}"));
        }
        let outcome = if finding.is_repaired {
            " (repaired)"
        } else {
            ""
        };
        out.push_str(&format!(": {}{outcome}\n", finding.problem));
    }
    if findings
        .iter()
        .all(|finding| finding.is_repaired || finding.is_note)
    {
        out.push_str("everything is as it should be\n");
    }
    out
}
