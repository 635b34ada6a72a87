//! `structure`: figures of the structure of a source tree, as tables in Markdown.

use std::env;
use std::path::PathBuf;

use subcat_tests::tidy::figures;
use subcat_tests::tidy::source_tree::SourceTree;

fn main() {
    let top = env::args_os().nth(1).unwrap_or_else(|| ".".into());
    print!(
        "{}",
        figures::report(&SourceTree::read(&PathBuf::from(top)))
    );
}
