//! Accounts and API keys are changed in one place.

use super::source_tree::{SourceTree, Source, Violation};

/// The ways to make the event of a change of accounts or keys. The text is searched, because one
/// of them is a method, whose receiver a path does not show.
const WAYS: [&str; 2] = ["StateEvent::Change(", "into_event("];

/// Only `service` makes events that change accounts or keys: it also makes the change visible to
/// the requests that follow.
pub fn one_place(tree: &SourceTree) -> Vec<Violation> {
    let is_elsewhere = |source: &&Source| {
        source.member() == "server"
            && !source.is_test
            && source.room().as_deref() != Some("service")
    };
    let mut violations = Vec::new();
    for source in tree.sources.iter().filter(is_elsewhere) {
        for (idx, line) in source.text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or(line);
            let Some(way) = WAYS.into_iter().find(|way| code.contains(way)) else {
                continue;
            };
            let what = format!(
                "`{way}..)` is for `service` alone: call `Service::change`, which also makes the \
                 change visible"
            );
            violations.push(Violation::new(source, idx + 1, what));
        }
    }
    violations
}
