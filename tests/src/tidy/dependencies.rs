//! Dependencies that `Cargo.toml` declares and the code uses.

use crate::tidy::source_tree::{Source, SourceTree, Violation};

/// Sections of a manifest that declare dependencies of the program.
const PROGRAM_SECTIONS: [&str; 2] = ["dependencies", "target.'cfg(fuzzing)'.dependencies"];
/// Section that declares dependencies of tests, examples and benchmarks.
const TEST_SECTION: &str = "dev-dependencies";
/// Section of the top manifest from which members take their dependencies.
const WORKSPACE_SECTION: &str = "workspace.dependencies";

/// A dependency as a line of a manifest declares it.
struct Declared<'a> {
    name: &'a str,
    section: &'a str,
    line: usize,
}

/// Every declared dependency is named by code of its member: by the program, or for
/// `[dev-dependencies]` by any code.
pub fn dependencies_are_used(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in &tree.manifests {
        for declared in declared(text) {
            let is_used = if declared.section == WORKSPACE_SECTION {
                is_inherited(tree, declared.name)
            } else {
                let member = path.split('/').next().expect("a path has a first part");
                let mut sources = tree.sources.iter().filter(|source| {
                    source.member() == member
                        && (declared.section == TEST_SECTION || is_program(source))
                });
                sources.any(|source| names_crate(&source.text, declared.name))
            };
            if !is_used {
                let message = format!(
                    "`{}` stands in [{}], but no code there names it: remove or move it",
                    declared.name, declared.section
                );
                violations.push(Violation::at(path, declared.line, message));
            }
        }
    }
    violations
}

/// Dependencies that a manifest declares, one a line.
fn declared(manifest: &str) -> Vec<Declared<'_>> {
    let mut section = "";
    let mut found = Vec::new();
    for (idx, line) in manifest.lines().enumerate() {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
        }
        let is_dependency = PROGRAM_SECTIONS.contains(&section)
            || section == TEST_SECTION
            || section == WORKSPACE_SECTION;
        let name_end = line.find(['.', ' ', '=']).unwrap_or(0);
        let name = &line[..name_end];
        if is_dependency && !name.is_empty() && !name.starts_with(['[', '#']) {
            found.push(Declared {
                name,
                section,
                line: idx + 1,
            });
        }
    }
    found
}

/// Returns true if a member takes the dependency from the workspace.
fn is_inherited(tree: &SourceTree, name: &str) -> bool {
    let members = tree.manifests.iter().filter(|(path, _)| path.contains('/'));
    members
        .flat_map(|(_, text)| declared(text))
        .any(|declared| declared.name == name)
}

/// Returns true for code that `[dependencies]` serves: the library, its programs, fuzz targets.
fn is_program(source: &Source) -> bool {
    source.path.contains("/src/") && !source.is_test || source.path.contains("/fuzz_targets/")
}

/// Returns true if code names the crate of a package: in a path, a `use` or an attribute.
fn names_crate(text: &str, package: &str) -> bool {
    let name = package.replace('-', "_");
    text.match_indices(&name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + name.len()..];
        let is_word = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let is_path = after.starts_with("::")
            || (text[..at].ends_with("use ") && after.starts_with([';', ' ']));
        is_word && is_path
    })
}
