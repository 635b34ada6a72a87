//! Opens a data directory, imports two records, and searches them.
//!
//! `cargo run --example open_and_search [DIRECTORY]`

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use subcat_engine::{
    DraftValue, Engine, Filters, NodeId, Options, Query, Real, RecordDraft, SearchText, StoreKind,
};

/// Titles that are imported, with their ids.
const TITLES: [(&str, &str); 2] = [
    ("6f2f6d3e-0b1f-4f0e-9d0a-0d1b7a6c0001", "Ran"),
    ("6f2f6d3e-0b1f-4f0e-9d0a-0d1b7a6c0002", "Dersu Uzala"),
];

/// Answers of the search, each a JSON object without its last field.
pub fn run(data: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let options = Options {
        disk: Arc::new(Real),
        store: StoreKind::Redb,
        counter_lanes: 0,
        node: NodeId(1),
    };
    let engine = Engine::open(data, options)?;
    let mut importer = engine.catalog().importer();
    for (id, title) in TITLES {
        importer.push(RecordDraft {
            id: DraftValue::Text(id.into()),
            title: DraftValue::Text(title.into()),
            video_type: DraftValue::Text("movie".into()),
            posted_at: DraftValue::Text("2020-01-02T03:04:05Z".into()),
            ..RecordDraft::default()
        })??;
    }
    importer.finish(&mut |_| {})?;

    let query = Query::new(Filters::default(), 10).with_title(SearchText::title("dersu"));
    // The snapshot stays as it is while others import.
    let snapshot = engine.catalog().snapshot().clone();
    let hits = snapshot.search(&query)?;
    let mut answers = Vec::new();
    for hit_idx in 0..hits.len() {
        let doc = snapshot.hit_doc(&hits, hit_idx)?;
        answers.push(String::from_utf8(doc.fragment().to_vec())?);
    }
    engine.close()?;
    Ok(answers)
}

/// Runs the example on the directory that the arguments name.
pub fn main() -> Result<(), Box<dyn Error>> {
    let data = std::env::args_os().nth(1).unwrap_or("example-data".into());
    for answer in run(Path::new(&data))? {
        println!("{answer}");
    }
    Ok(())
}
