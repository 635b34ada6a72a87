//! Imports drafts, one of which is not valid, and shows what became of them.
//!
//! `cargo run --example import [DIRECTORY]`

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use subcat_engine::{
    DraftValue, Engine, ImportSummary, NodeId, Options, Real, RecordDraft, StoreKind,
};

/// Imports three drafts; returns the summary and the reasons of the rejected ones.
pub fn run(data: &Path) -> Result<(ImportSummary, Vec<String>), Box<dyn Error>> {
    let options = Options {
        disk: Arc::new(Real),
        store: StoreKind::Redb,
        counter_lanes: 0,
        node: NodeId(1),
    };
    let engine = Engine::open(data, options)?;
    let mut importer = engine.catalog().importer();
    let mut rejected = Vec::new();
    for (release, title, year) in [
        ("1", "Ran", 1985),
        ("2", "Kagemusha", 1980),
        ("3", "Ikiru", 0),
    ] {
        // A record without an id gets one that is made from its release.
        let pushed = importer.push(RecordDraft {
            source_release_id: DraftValue::Text(release.into()),
            title: DraftValue::Text(title.into()),
            year: DraftValue::Integer(year),
            video_type: DraftValue::Text("movie".into()),
            posted_at: DraftValue::Text("2020-01-02T03:04:05Z".into()),
            ..RecordDraft::default()
        })?;
        if let Err(error) = pushed {
            rejected.push(format!("{title}: {error}"));
        }
    }
    // Records are durable group by group; progress tells how many are.
    let summary = importer.finish(&mut |durable_count| println!("{durable_count} durable"))?;
    engine.close()?;
    Ok((summary, rejected))
}

/// Runs the example on the directory that the arguments name.
pub fn main() -> Result<(), Box<dyn Error>> {
    let data = std::env::args_os().nth(1).unwrap_or("example-data".into());
    let (summary, rejected) = run(Path::new(&data))?;
    println!("{} new, {} changed", summary.inserted, summary.updated);
    for reason in rejected {
        println!("{reason}");
    }
    Ok(())
}
