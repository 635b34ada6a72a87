//! Accounts and API keys are changed in one place.

use crate::tidy::source_tree::{SourceTree, Violation};

/// Expressions that make the event of a change of accounts or keys. The text is searched, because
/// one of them is a method, whose receiver a path does not show.
const EXPRESSIONS: [&str; 2] = ["StateEvent::Change(", "into_event("];

/// Only `service` makes events that change accounts or keys, because it also makes the change
/// visible: a forgotten reload would serve a revoked key.
pub fn one_place(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in tree.program("server") {
        if source.module().as_deref() == Some("service") {
            continue;
        }
        for (idx, line) in source.text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or(line);
            let Some(found) = EXPRESSIONS.into_iter().find(|text| code.contains(text)) else {
                continue;
            };
            let message = format!(
                "`{found}..)` is for `service` alone: call `Service::change`, which also makes \
                 the change visible"
            );
            violations.push(Violation::new(source, idx + 1, message));
        }
    }
    violations
}
