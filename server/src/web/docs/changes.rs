//! The changelog of this version, for authors of clients.

use askama::Template;
use http::StatusCode;

use super::reference::marked;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::packed::Compressible;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

/// The changelog that this program was built with.
const CHANGELOG: &str = include_str!("../../../../CHANGELOG.md");

#[derive(Template)]
#[template(path = "docs/changes.html")]
struct ChangesPage {
    page: Frame,
    parts: Vec<ChangelogPart>,
}

/// A paragraph of the changelog. Texts are HTML.
#[derive(Debug, PartialEq, Eq)]
enum ChangelogPart {
    /// A version.
    Version(String),
    /// A kind of changes.
    Kind(String),
    /// Changes, one each.
    Changes(Vec<String>),
}

/// `GET /docs/changes`, without signing in.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let template = ChangesPage {
        page: request.frame("/docs"),
        parts: parts(CHANGELOG),
    };
    let mut page = answer::page(StatusCode::OK, &template)?;
    page.extensions_mut().insert(Compressible);
    Ok(page)
}

/// Reads a changelog: versions, kinds, and lists. Indented lines continue an item. The text before
/// the first version is about the file, and left out.
fn parts(changelog: &str) -> Vec<ChangelogPart> {
    let start = changelog.find("\n## ").unwrap_or(changelog.len());
    let mut parts = Vec::new();
    for line in changelog[start..].lines() {
        if let Some(version) = line.strip_prefix("## ") {
            let name = version.trim_matches(['[', ']']);
            parts.push(ChangelogPart::Version(marked(name)));
        } else if let Some(kind) = line.strip_prefix("### ") {
            parts.push(ChangelogPart::Kind(marked(kind)));
        } else if let Some(item) = line.strip_prefix("- ") {
            match parts.last_mut() {
                Some(ChangelogPart::Changes(items)) => items.push(marked(item)),
                _ => parts.push(ChangelogPart::Changes(vec![marked(item)])),
            }
        } else if let Some(ChangelogPart::Changes(items)) = parts.last_mut()
            && let Some(item) = items.last_mut()
            && !line.trim().is_empty()
        {
            item.push(' ');
            item.push_str(&marked(line.trim()));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_go_on_in_the_next_lines() {
        let text = "# Changelog\n\nAbout it.\n\n## [1.2.0]\n\n### Added\n\n\
                    - One `a`,\n  two.\n\n- Three.\n";
        let expected = [
            ChangelogPart::Version("1.2.0".into()),
            ChangelogPart::Kind("Added".into()),
            ChangelogPart::Changes(vec!["One <code>a</code>, two.".into(), "Three.".into()]),
        ];
        assert_eq!(parts(text), expected);
    }

    #[test]
    fn the_changelog_of_this_version_is_read_whole() {
        let parts = parts(CHANGELOG);
        assert!(matches!(parts[0], ChangelogPart::Version(_)));
        let lines = CHANGELOG.lines().filter(|line| line.starts_with("- "));
        let items = parts.iter().map(|part| match part {
            ChangelogPart::Changes(items) => items.len(),
            _ => 0,
        });
        assert_eq!(items.sum::<usize>(), lines.count());
    }
}
