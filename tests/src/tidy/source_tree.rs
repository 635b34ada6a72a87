//! Files of the repository as the rules see them: parsed Rust sources, pages, manifests.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use crate::tidy::attributes::is_test_only;
use crate::tidy::paths::use_leaves;

/// Workspace members, each in a folder of its own.
const MEMBERS: [&str; 5] = ["engine", "server", "bench", "fuzz", "tests"];
/// Folders that tools fill: nothing below them is source.
const GENERATED_FOLDERS: [&str; 6] = [
    "target",
    "corpus",
    "artifacts",
    "node_modules",
    "screenshots",
    "runs",
];

/// Everything that the rules read.
#[derive(Default)]
pub struct SourceTree {
    /// Rust files, ordered by path.
    pub sources: Vec<Source>,
    /// Markdown pages and HTML templates: path from the top → text.
    pub pages: BTreeMap<String, String>,
    /// `Cargo.toml` files: path from the top → text.
    pub manifests: BTreeMap<String, String>,
    /// Names of files and folders at the top level, generated ones included.
    pub top_level: Vec<String>,
}

/// One Rust file.
pub struct Source {
    /// Path from the top of the repository, with `/`.
    pub path: String,
    /// Source text, as read.
    pub text: String,
    /// Parsed source; comments are only in `text`.
    pub ast: syn::File,
    /// True if the file is outside a `src` folder or its module is declared under `#[cfg(test)]`.
    pub is_test: bool,
}

/// A place that breaks a rule, with advice.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    /// File, from the top of the repository.
    pub path: String,
    /// Line from 1; 0 for the whole file.
    pub line: usize,
    /// Fact and advice, in one line.
    pub message: String,
}

impl Violation {
    /// Violation at a line of `source`.
    pub fn new(source: &Source, line: usize, message: String) -> Self {
        Self {
            path: source.path.clone(),
            line,
            message,
        }
    }

    /// Violation at a line of a page or manifest.
    pub fn at(path: &str, line: usize, message: String) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message,
        }
    }
}

impl SourceTree {
    /// Reads the repository whose top is the folder `top`.
    pub fn read(top: &Path) -> Self {
        let mut tree = Self::default();
        for entry in fs::read_dir(top).expect("the top level is readable") {
            let name = entry.expect("the top level is readable").file_name();
            tree.top_level.push(name.to_string_lossy().into_owned());
        }
        tree.top_level.sort();
        for name in tree.top_level.clone() {
            tree.read_file(top, &name);
        }
        for folder in MEMBERS {
            tree.read_folder(top, folder);
        }
        tree.mark_tests();
        tree
    }

    fn read_folder(&mut self, top: &Path, folder: &str) {
        let entries = fs::read_dir(top.join(folder)).expect("a member's folder is readable");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("a member's folder is readable").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        for name in names {
            let path = format!("{folder}/{name}");
            if !top.join(&path).is_dir() {
                self.read_file(top, &path);
            } else if !GENERATED_FOLDERS.contains(&name.as_str()) && !name.starts_with('.') {
                self.read_folder(top, &path);
            }
        }
    }

    fn read_file(&mut self, top: &Path, path: &str) {
        let text = || fs::read_to_string(top.join(path)).expect("sources and pages are UTF-8");
        if path.ends_with(".rs") {
            self.add(path, &text());
        } else if path.ends_with(".md") || path.ends_with(".html") {
            self.pages.insert(path.to_owned(), text());
        } else if path.ends_with("Cargo.toml") {
            self.manifests.insert(path.to_owned(), text());
        }
    }

    /// Adds one Rust file.
    pub fn add(&mut self, path: &str, text: &str) {
        let ast = syn::parse_file(text).unwrap_or_else(|e| panic!("{path} does not parse: {e}"));
        let is_test = !path.contains("/src/");
        self.sources.push(Source {
            path: path.to_owned(),
            text: text.to_owned(),
            ast,
            is_test,
        });
    }

    /// Marks the files of modules that are declared under `#[cfg(test)]`.
    pub fn mark_tests(&mut self) {
        let mut test_modules = Vec::new();
        for source in self.sources.iter().filter(|source| !source.is_test) {
            for item in &source.ast.items {
                if let syn::Item::Mod(module) = item
                    && module.content.is_none()
                    && is_test_only(&module.attrs)
                {
                    let mut path = source.module_path();
                    path.insert(0, source.member().to_owned());
                    path.push(module.ident.to_string());
                    test_modules.push(path);
                }
            }
        }
        for source in &mut self.sources {
            let mut path = source.module_path();
            path.insert(0, source.member().to_owned());
            source.is_test |= test_modules.iter().any(|module| path.starts_with(module));
        }
    }

    /// Files of a member that become part of its program or library.
    pub fn program<'a>(&'a self, member: &'a str) -> impl Iterator<Item = &'a Source> {
        self.sources
            .iter()
            .filter(move |source| source.member() == member && !source.is_test)
    }

    /// Modules of a member, bottom first, as its `lib.rs` declares them.
    pub fn modules(&self, member: &str) -> Vec<String> {
        let mut modules = Vec::new();
        for item in &self.lib(member).ast.items {
            if let syn::Item::Mod(module) = item {
                modules.push(module.ident.to_string());
            }
        }
        modules
    }

    /// Names that `lib.rs` re-exports → the module they come from.
    pub fn re_exports(&self, member: &str) -> HashMap<String, String> {
        let mut names = HashMap::new();
        for item in &self.lib(member).ast.items {
            if let syn::Item::Use(item) = item {
                let mut leaves = Vec::new();
                use_leaves(&item.tree, &mut Vec::new(), &mut leaves);
                for leaf in leaves {
                    let mut modules = leaf.path.iter().filter(|segment| *segment != "crate");
                    let module = modules.next().expect("a use names something").clone();
                    names.insert(leaf.name, module);
                }
            }
        }
        names
    }

    /// The `lib.rs` of a member.
    pub fn lib(&self, member: &str) -> &Source {
        let path = format!("{member}/src/lib.rs");
        let found = self.sources.iter().find(|source| source.path == path);
        found.unwrap_or_else(|| panic!("{path} is missing"))
    }
}

impl Source {
    /// Workspace member: the first folder of the path.
    pub fn member(&self) -> &str {
        self.path
            .split('/')
            .next()
            .expect("split yields at least one part")
    }

    /// Module below the crate root: `engine/src/index/term.rs` is `[index, term]`.
    pub fn module_path(&self) -> Vec<String> {
        let inner = self.path.split_once("/src/").map_or("", |(_, inner)| inner);
        let inner = inner.trim_end_matches(".rs");
        let mut path: Vec<String> = inner.split('/').map(str::to_owned).collect();
        if path
            .last()
            .is_some_and(|last| ["mod", "lib", "main", ""].contains(&last.as_str()))
        {
            path.pop();
        }
        path
    }

    /// Module of `lib.rs` that this file belongs to; `None` for `lib.rs` and `main.rs`.
    pub fn module(&self) -> Option<String> {
        self.module_path().into_iter().next()
    }

    /// True if the file only lists modules and re-exports: `mod.rs`, `lib.rs`.
    pub fn is_contents(&self) -> bool {
        self.path.ends_with("/mod.rs") || self.path.ends_with("/lib.rs")
    }
}
