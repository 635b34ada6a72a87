//! Changes of the API by version, for authors of clients.

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
    versions: Vec<VersionChanges>,
}

/// Kind of changes that clients of the API can notice.
const CLIENT_KIND: &str = "API";

/// A version, with its changes of the API. Texts are HTML.
#[derive(Debug, PartialEq, Eq)]
struct VersionChanges {
    name: String,
    changes: Vec<String>,
}

/// `GET /docs/changes`, without signing in.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let template = ChangesPage {
        page: request.frame("/docs"),
        versions: versions(CHANGELOG),
    };
    let mut page = answer::page(StatusCode::OK, &template)?;
    page.extensions_mut().insert(Compressible);
    Ok(page)
}

/// Reads the changes of the API from a changelog. Indented lines continue an item. The text before
/// the first version is about the file, and left out.
fn versions(changelog: &str) -> Vec<VersionChanges> {
    let start = changelog.find("\n## ").unwrap_or(changelog.len());
    let mut versions: Vec<VersionChanges> = Vec::new();
    let mut is_for_clients = false;
    for line in changelog[start..].lines() {
        if let Some(version) = line.strip_prefix("## ") {
            versions.push(VersionChanges {
                name: marked(version.trim_matches(['[', ']'])),
                changes: Vec::new(),
            });
            is_for_clients = false;
        } else if let Some(kind) = line.strip_prefix("### ") {
            is_for_clients = kind == CLIENT_KIND;
        } else if let Some(version) = versions.last_mut().filter(|_| is_for_clients) {
            if let Some(item) = line.strip_prefix("- ") {
                version.changes.push(marked(item));
            } else if let Some(item) = version.changes.last_mut()
                && !line.trim().is_empty()
            {
                item.push(' ');
                item.push_str(&marked(line.trim()));
            }
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_the_api_are_read_and_no_others() {
        let text = "# Changelog\n\nAbout it.\n\n## [1.2.0]\n\n### API\n\n\
                    - One `a`,\n  two.\n\n- Three.\n\n### Fixed\n\n- Four.\n\n## [1.1.0]\n";
        let version = |name: &str, changes: &[&str]| VersionChanges {
            name: name.into(),
            changes: changes.iter().map(|it| (*it).into()).collect(),
        };
        let changes = ["One <code>a</code>, two.", "Three."];
        let expected = [version("1.2.0", &changes), version("1.1.0", &[])];
        assert_eq!(versions(text), expected);
    }

    #[test]
    fn this_version_has_changes_of_the_api() {
        let versions = versions(CHANGELOG);
        assert!(!versions[0].changes.is_empty());
    }
}
