//! Paths that a source file names, with `crate`, `self` and `super` resolved.

use std::collections::HashMap;

use syn::visit::Visit;

use crate::tidy::attributes::{is_test_only, item_attrs};
use crate::tidy::source_tree::Source;

impl Source {
    /// Every path that the file names: in `use` items, expressions, types, macros, attributes.
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
    /// Returns true if the path begins with these segments, written with `::`.
    pub fn begins_with(&self, prefix: &str) -> bool {
        let prefix: Vec<&str> = prefix.split("::").collect();
        prefix.len() <= self.segments.len()
            && prefix.iter().zip(&self.segments).all(|(a, b)| a == b)
    }

    /// Module of the own crate that the path leads to.
    pub fn module<'a>(&'a self, re_exports: &'a HashMap<String, String>) -> Option<&'a str> {
        self.module_below("crate", re_exports)
    }

    /// Module of the crate `root` that the path leads to.
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
        for leaf in leaves {
            self.note(leaf.path, leaf.line);
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

/// A name that a `use` item brings in.
#[derive(Debug)]
pub struct UseLeaf {
    /// Full path, as written; a glob ends in `*`.
    pub path: Vec<String>,
    /// Name in the importing module, which `as` may change.
    pub name: String,
    /// Line in its file, from 1.
    pub line: usize,
}

/// Collects the names that a `use` tree brings in, each with its full path.
pub fn use_leaves(tree: &syn::UseTree, prefix: &mut Vec<String>, leaves: &mut Vec<UseLeaf>) {
    match tree {
        syn::UseTree::Name(item) => leaves.push(use_leaf(prefix, &item.ident, &item.ident)),
        syn::UseTree::Rename(item) => leaves.push(use_leaf(prefix, &item.ident, &item.rename)),
        syn::UseTree::Glob(glob) => {
            let mut path = prefix.clone();
            path.push("*".to_owned());
            leaves.push(UseLeaf {
                path,
                name: "*".to_owned(),
                line: glob.star_token.spans[0].start().line,
            });
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

fn use_leaf(prefix: &[String], name: &syn::Ident, new_name: &syn::Ident) -> UseLeaf {
    let mut path = prefix.to_vec();
    if name != "self" || path.is_empty() {
        path.push(name.to_string());
    }
    let new_name = if new_name == "self" {
        path.last().expect("the path has a segment").clone()
    } else {
        new_name.to_string()
    };
    UseLeaf {
        path,
        name: new_name,
        line: name.span().start().line,
    }
}
