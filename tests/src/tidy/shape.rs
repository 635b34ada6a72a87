//! Shape of files: size, contents of `mod.rs`, names, leftovers.

use syn::visit::Visit;

use crate::tidy::source_tree::{Source, SourceTree, Violation};

const FILE_LINES_MAX: usize = 800;
const MAIN_LINES_MAX: usize = 60;
const LINE_COLUMNS_MAX: usize = 100;

/// Files and folders of the top level of the repository.
const TOP_LEVEL: &[&str] = &[
    ".ci",
    ".editorconfig",
    ".git",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "bench",
    "clippy.toml",
    "deny.toml",
    "engine",
    "fuzz",
    "rustfmt.toml",
    "scripts",
    "server",
    "tests",
];
/// Files and folders that tools and the program leave there; `.gitignore` lists them.
const TOP_LEVEL_MADE: &[&str] = &[
    "node_modules",
    "subcat-data",
    "subcat-demo",
    "subcat-demo.json",
    "target",
];

/// Names of files that say nothing.
const NAMELESS: &[&str] = &[
    "common", "helper", "helpers", "manager", "misc", "util", "utils",
];

/// Modules that may allow `unsafe`.
const UNSAFE_MODULES: &[&str] = &["engine/src/disk", "server/src/runtime"];

/// Files have at most 800 lines of at most 100 columns; `main.rs` of the program has at most 60
/// lines. A raw string may be longer: it is data, and a line break would change it.
pub fn size(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in &tree.sources {
        let is_main = source.path == "server/src/main.rs";
        let lines_max = if is_main {
            MAIN_LINES_MAX
        } else {
            FILE_LINES_MAX
        };
        let line_count = source.text.lines().count();
        if line_count > lines_max {
            let message =
                format!("{line_count} lines, at most {lines_max}: split it by what it holds");
            violations.push(Violation::new(source, line_count, message));
        }
        for (idx, line) in source.text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > LINE_COLUMNS_MAX && !line.contains("r#\"") {
                let message =
                    format!("{columns} columns, at most {LINE_COLUMNS_MAX}: break the line");
                violations.push(Violation::new(source, idx + 1, message));
            }
        }
    }
    violations
}

/// `mod.rs` and `lib.rs` are tables of contents: a paragraph, modules, re-exports.
pub fn contents(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in &tree.sources {
        let is_contents = source.path.ends_with("/mod.rs")
            || source.path == "engine/src/lib.rs"
            || source.path == "server/src/lib.rs";
        if !is_contents || source.is_test {
            continue;
        }
        for item in &source.ast.items {
            let is_listed = match item {
                syn::Item::Use(_) => true,
                syn::Item::Mod(module) => module.content.is_none(),
                _ => false,
            };
            if !is_listed {
                use syn::spanned::Spanned;
                let line = item.span().start().line;
                let message =
                    "only docs, `mod` and `use` stand here: give the item a file".to_owned();
                violations.push(Violation::new(source, line, message));
            }
        }
        if !has_docs(&source.ast.attrs) {
            let message = "say in a paragraph (`//!`) what the folder is for".to_owned();
            violations.push(Violation::new(source, 1, message));
        }
    }
    violations
}

fn has_docs(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("doc"))
}

/// File names are nouns that say what the file holds.
pub fn names(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in &tree.sources {
        for part in source.path.trim_end_matches(".rs").split('/') {
            if NAMELESS.contains(&part) {
                let message = format!("`{part}` names nothing: name the file after what it holds");
                violations.push(Violation::new(source, 0, message));
            }
        }
    }
    violations
}

/// Nothing new at the top level.
pub fn top_level(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for name in &tree.top_level {
        if !TOP_LEVEL.contains(&name.as_str()) && !TOP_LEVEL_MADE.contains(&name.as_str()) {
            violations.push(Violation {
                path: name.clone(),
                line: 0,
                message: "does not belong at the top level: move it into a member, or list it in \
                       tests/src/tidy/shape.rs and in ARCHITECTURE.md"
                    .to_owned(),
            });
        }
    }
    violations
}

/// No promises in comments, no tests that never run, no silenced dead code, no unfinished code.
pub fn leftovers(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    // Put together here, so that this file does not report itself.
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("HA", "CK"),
    ];
    for source in &tree.sources {
        for (idx, line) in source.text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else {
                continue;
            };
            for word in words {
                let mut parts = comment.split(|c: char| !c.is_ascii_alphanumeric());
                if parts.any(|part| part == word) {
                    let message = format!("`{word}`: do it, or write down why it is not done");
                    violations.push(Violation::new(source, idx + 1, message));
                }
            }
        }
        let mut finder = LeftoverFinder {
            source,
            violations: &mut violations,
        };
        finder.visit_file(&source.ast);
    }
    violations
}

struct LeftoverFinder<'a> {
    source: &'a Source,
    violations: &'a mut Vec<Violation>,
}

impl LeftoverFinder<'_> {
    fn report(&mut self, ident: &syn::Ident, message: &str) {
        let line = ident.span().start().line;
        self.violations
            .push(Violation::new(self.source, line, message.to_owned()));
    }
}

impl<'ast> Visit<'ast> for LeftoverFinder<'_> {
    fn visit_attribute(&mut self, attr: &'ast syn::Attribute) {
        let Some(name) = attr.path().get_ident() else {
            return;
        };
        if name == "ignore" {
            self.report(
                name,
                "a test that never runs asserts nothing: make it fast, or a script",
            );
        }
        let (syn::Meta::List(list), true) = (&attr.meta, name == "allow" || name == "expect")
        else {
            return;
        };
        let lints = list.tokens.to_string();
        let is_named = |lint: &str| {
            lints
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|l| l == lint)
        };
        for lint in [
            "dead_code",
            "unused",
            "unused_variables",
            "unused_imports",
            "unused_mut",
        ] {
            if is_named(lint) {
                self.report(name, "wire it or remove it: dead code is not silenced");
            }
        }
        let is_home = UNSAFE_MODULES
            .iter()
            .any(|module| self.source.path.starts_with(module));
        if is_named("unsafe_code") && !is_home && !self.source.is_test {
            let modules = UNSAFE_MODULES.join(" and ");
            self.report(name, &format!("unsafe code lives only in {modules}"));
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let Some(name) = call.path.get_ident() else {
            return;
        };
        if name == "todo" || name == "unimplemented" || name == "dbg" {
            self.report(name, "unfinished code: write it");
        }
    }
}
