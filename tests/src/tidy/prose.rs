//! Comments and doc comments: how they begin, how many there are.

use crate::tidy::source_tree::{SourceTree, Violation};

/// First words that make a doc comment a riddle: the reader learns the subject only at the end.
const POOR_OPENINGS: [&str; 11] = [
    "What", "Who", "Whose", "Whom", "Whether", "How", "Where", "That", "Which", "When", "Why",
];

/// Kind of a source line, as far as comments are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// `///` or `//!`.
    Doc,
    /// `//` on a line of its own.
    Comment,
    /// Everything else.
    Other,
}

impl LineKind {
    /// Kind of one line of a Rust file.
    pub fn of(line: &str) -> Self {
        let line = line.trim_start();
        if line.starts_with("///") || line.starts_with("//!") {
            Self::Doc
        } else if line.starts_with("//") {
            Self::Comment
        } else {
            Self::Other
        }
    }
}

/// Doc blocks of a Rust file: line from 1 and text of the first line of each.
pub fn doc_openings(text: &str) -> Vec<(usize, &str)> {
    let mut openings = Vec::new();
    let mut before = LineKind::Other;
    for (idx, line) in text.lines().enumerate() {
        let kind = LineKind::of(line);
        if kind == LineKind::Doc && before != LineKind::Doc {
            openings.push((idx + 1, line.trim_start()[3..].trim()));
        }
        before = kind;
    }
    openings
}

/// The first word of a doc comment, if it is one of those that hide the subject.
pub fn poor_opening(opening: &str) -> Option<&str> {
    let word = opening.split(|c: char| !c.is_alphanumeric()).next()?;
    POOR_OPENINGS.contains(&word).then_some(word)
}

/// Doc comments begin with a noun phrase or a verb in the third person.
pub fn doc_comments_name_their_subject(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in &tree.sources {
        for (line, opening) in doc_openings(&source.text) {
            if let Some(word) = poor_opening(opening) {
                let message = format!(
                    "doc comment begins with `{word}`: begin with a noun phrase or a verb in the \
                     third person (\"Returns true if ...\")"
                );
                violations.push(Violation::new(source, line, message));
            }
        }
    }
    violations
}
