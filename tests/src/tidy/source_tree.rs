//! The tree as the rules see it: parsed Rust files and the pages beside them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use syn::visit::Visit;

/// Everything that the rules read.
#[derive(Default)]
pub struct SourceTree {
    /// Rust files, by path.
    pub sources: Vec<Source>,
    /// Markdown pages: path from the top → text.
    pub pages: HashMap<String, String>,
    /// Names of what stands at the top level, apart from what is ignored.
    pub top_level: Vec<String>,
}

/// One Rust file.
pub struct Source {
    /// From the top of the repository, with `/`.
    pub path: String,
    /// Source text, as read.
    pub text: String,
    /// Parsed source; comments are only in `text`.
    pub ast: syn::File,
    /// Declared by its parent under `#[cfg(test)]`, or outside a `src` folder.
    pub is_test: bool,
}

/// What a rule found, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    /// File, from the top of the repository.
    pub path: String,
    /// From 1; 0 when the whole file is meant.
    pub line: usize,
    /// Fact and advice, in one line.
    pub what: String,
}

impl Violation {
    /// Violation at a line of `source`.
    pub fn new(source: &Source, line: usize, what: String) -> Self {
        Self {
            path: source.path.clone(),
            line,
            what,
        }
    }
}

impl SourceTree {
    /// Reads the repository.
    pub fn read() -> Self {
        let top = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("tests/ has a parent");
        let mut tree = Self::default();
        for entry in fs::read_dir(top).expect("the top level is readable") {
            let name = entry.expect("the top level is readable").file_name();
            tree.top_level.push(name.to_string_lossy().into_owned());
        }
        for folder in ["engine", "server", "bench", "fuzz", "tests"] {
            tree.read_folder(top, folder);
        }
        for page in ["README.md", "ARCHITECTURE.md"] {
            if let Ok(text) = fs::read_to_string(top.join(page)) {
                tree.pages.insert(page.to_owned(), text);
            }
        }
        tree.mark_tests();
        tree
    }

    fn read_folder(&mut self, top: &Path, folder: &str) {
        let mut names = Vec::new();
        for entry in fs::read_dir(top.join(folder)).expect("a folder of the tree is readable") {
            names.push(
                entry
                    .expect("readable")
                    .file_name()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
        names.sort();
        for name in names {
            let path = format!("{folder}/{name}");
            if top.join(&path).is_dir() {
                let is_made = [
                    "target",
                    "corpus",
                    "artifacts",
                    "node_modules",
                    "screenshots",
                ]
                .contains(&name.as_str());
                if !is_made && !name.starts_with('.') {
                    self.read_folder(top, &path);
                }
            } else if name.ends_with(".rs") {
                let text = fs::read_to_string(top.join(&path)).expect("Rust files are UTF-8");
                self.add(&path, &text);
            } else if name.ends_with(".md") {
                let text = fs::read_to_string(top.join(&path)).expect("pages are UTF-8");
                self.pages.insert(path, text);
            }
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
        for source in &self.sources {
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

    /// The modules of a member, bottom first, as its `lib.rs` declares them.
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
                for (leaf, _) in leaves {
                    let name = leaf.last().expect("a use names something").clone();
                    names.insert(name, leaf[0].clone());
                }
            }
        }
        names
    }

    fn lib(&self, member: &str) -> &Source {
        let path = format!("{member}/src/lib.rs");
        let found = self.sources.iter().find(|source| source.path == path);
        found.unwrap_or_else(|| panic!("{path} is missing"))
    }
}

impl Source {
    /// The workspace member: the first folder.
    pub fn member(&self) -> &str {
        self.path
            .split('/')
            .next()
            .expect("split yields at least one part")
    }

    /// The module below the crate root: `engine/src/index/term.rs` is `[index, term]`.
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

    /// The module of `lib.rs` that this file belongs to; `None` for `lib.rs` and `main.rs`.
    pub fn module(&self) -> Option<String> {
        self.module_path().into_iter().next()
    }

    /// Every path that the file names, in `use` items, expressions, types, macros, attributes.
    pub fn paths(&self) -> Vec<PathUse> {
        let mut finder = PathFinder {
            module: self.module_path(),
            test_depth: usize::from(self.is_test),
            found: Vec::new(),
        };
        finder.visit_file(&self.ast);
        finder.found
    }
}

/// One mention of a path.
#[derive(Debug)]
pub struct PathUse {
    /// Segments; `crate`, `self` and `super` are resolved to a path that begins with `crate`.
    pub segments: Vec<String>,
    /// Line in its file, from 1.
    pub line: usize,
    /// True if the mention is in code that only tests run.
    pub is_test: bool,
}

impl PathUse {
    /// Whether the path begins with these segments, written with `::`.
    pub fn begins_with(&self, prefix: &str) -> bool {
        let prefix: Vec<&str> = prefix.split("::").collect();
        prefix.len() <= self.segments.len()
            && prefix.iter().zip(&self.segments).all(|(a, b)| a == b)
    }

    /// The module of the own crate that the path leads to.
    pub fn module<'a>(&'a self, re_exports: &'a HashMap<String, String>) -> Option<&'a str> {
        self.module_below("crate", re_exports)
    }

    /// The module of the crate `root` that the path leads to.
    pub fn module_below<'a>(
        &'a self,
        root: &str,
        re_exports: &'a HashMap<String, String>,
    ) -> Option<&'a str> {
        if self.segments.first()? != root {
            return None;
        }
        let name = self.segments.get(1)?;
        Some(re_exports.get(name).unwrap_or(name))
    }
}

struct PathFinder {
    module: Vec<String>,
    test_depth: usize,
    found: Vec<PathUse>,
}

impl PathFinder {
    fn note(&mut self, segments: Vec<String>, line: usize) {
        if segments.len() < 2 {
            return;
        }
        let segments = self.resolve(segments);
        self.found.push(PathUse {
            segments,
            line,
            is_test: 0 < self.test_depth,
        });
    }

    fn resolve(&self, segments: Vec<String>) -> Vec<String> {
        let mut base = self.module.clone();
        let mut rest = segments.as_slice();
        match segments[0].as_str() {
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|segment| segment == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            _ => return segments,
        }
        let mut resolved = vec!["crate".to_owned()];
        resolved.extend(base);
        resolved.extend_from_slice(rest);
        resolved
    }

    fn inside(&mut self, is_test: bool, visit: impl FnOnce(&mut Self)) {
        self.test_depth += usize::from(is_test);
        visit(self);
        self.test_depth -= usize::from(is_test);
    }

    /// Paths in the tokens of a macro or an attribute: runs of identifiers joined by `::`.
    fn scan_tokens(&mut self, tokens: proc_macro2::TokenStream) {
        use proc_macro2::TokenTree;
        let mut run: Vec<String> = Vec::new();
        let mut run_line = 0;
        let mut colon_count = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colon_count != 2 {
                        self.note(std::mem::take(&mut run), run_line);
                    }
                    run.push(ident.to_string());
                    run_line = ident.span().start().line;
                    colon_count = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colon_count += 1,
                TokenTree::Group(group) => {
                    self.note(std::mem::take(&mut run), run_line);
                    self.scan_tokens(group.stream());
                    colon_count = 0;
                }
                _ => {
                    self.note(std::mem::take(&mut run), run_line);
                    colon_count = 0;
                }
            }
        }
        self.note(run, run_line);
    }
}

impl<'ast> Visit<'ast> for PathFinder {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let is_test = is_test_only(item_attrs(item));
        self.inside(is_test, |finder| syn::visit::visit_item(finder, item));
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.module.push(module.ident.to_string());
        syn::visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        let is_test = is_test_only(&function.attrs);
        self.inside(is_test, |finder| {
            syn::visit::visit_impl_item_fn(finder, function);
        });
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut leaves = Vec::new();
        use_leaves(&item.tree, &mut Vec::new(), &mut leaves);
        for (leaf, line) in leaves {
            self.note(leaf, line);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let line = path
            .segments
            .first()
            .map_or(0, |segment| segment.ident.span().start().line);
        self.note(segments, line);
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        syn::visit::visit_macro(self, call);
        self.scan_tokens(call.tokens.clone());
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.scan_tokens(list.tokens.clone());
    }
}

/// The full paths that a `use` tree names, with their lines; a glob names its folder.
fn use_leaves(
    tree: &syn::UseTree,
    prefix: &mut Vec<String>,
    leaves: &mut Vec<(Vec<String>, usize)>,
) {
    let mut leaf = |name: &syn::Ident| {
        let mut path = prefix.clone();
        if name != "self" || path.is_empty() {
            path.push(name.to_string());
        }
        leaves.push((path, name.span().start().line));
    };
    match tree {
        syn::UseTree::Name(name) => leaf(&name.ident),
        syn::UseTree::Rename(rename) => leaf(&rename.ident),
        syn::UseTree::Glob(glob) => {
            let line = glob.star_token.spans[0].start().line;
            let mut path = prefix.clone();
            path.push("*".to_owned());
            leaves.push((path, line));
        }
        syn::UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            use_leaves(&path.tree, prefix, leaves);
            prefix.pop();
        }
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                use_leaves(tree, prefix, leaves);
            }
        }
    }
}

/// Whether attributes keep an item out of the program: `#[test]`, `#[cfg(test)]`.
pub fn is_test_only(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("test")
            || (attr.path().is_ident("cfg")
                && attr
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|ident| ident == "test"))
    })
}

fn item_attrs(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
