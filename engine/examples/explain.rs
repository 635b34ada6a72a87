//! Explains how a search is read, planned and ranked.
//!
//! `cargo run --example explain [DIRECTORY] [TEXT]`

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use subcat_engine::{
    Engine, Filters, NodeId, Options, Query, Real, SearchText, StoreKind, VideoType,
};

/// Explanation of a free-text search among films.
pub fn run(data: &Path, text: &str) -> Result<String, Box<dyn Error>> {
    let options = Options {
        disk: Arc::new(Real),
        store: StoreKind::Redb,
        counter_lanes: 0,
        node: NodeId(1),
    };
    let engine = Engine::open(data, options)?;
    let filters = Filters {
        video_type: Some(VideoType::Movie),
        ..Filters::default()
    };
    let text = SearchText::query(text).map_err(|_| "the text has too many words")?;
    let query = Query::new(filters, 10).with_query(text);
    if !query.has_criterion() {
        return Err("the text has no words".into());
    }
    // The engine has no clock of its own: the caller lends one, in nanoseconds.
    let start = Instant::now();
    let clock = || start.elapsed().as_nanos() as u64;
    let explanation = engine.catalog().snapshot().explain(&query, &clock)?;
    engine.close()?;
    Ok(explanation)
}

/// Runs the example on the directory that the arguments name.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let data = arguments.next().unwrap_or("example-data".into());
    let text = arguments.next().unwrap_or("ran".into());
    println!("{}", run(Path::new(&data), &text)?);
    Ok(())
}
