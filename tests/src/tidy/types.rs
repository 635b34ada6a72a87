//! Types: one owner a name, names of errors, parameters.

use std::collections::{BTreeMap, HashSet};

use syn::visit::Visit;

use crate::tidy::attributes::{is_test_only, item_attrs};
use crate::tidy::source_tree::{Source, SourceTree, Violation};

/// Crates across which a type name has one owner.
const CRATES: [&str; 2] = ["engine", "server"];

/// A type that a file declares outside test code.
pub struct TypeName<'a> {
    /// Its name.
    pub name: String,
    /// File that declares it.
    pub source: &'a Source,
    /// Line of the name, from 1.
    pub line: usize,
}

/// Type names with the places that declare them, private types too.
pub fn type_names(tree: &SourceTree) -> BTreeMap<String, Vec<TypeName<'_>>> {
    let mut names: BTreeMap<String, Vec<TypeName<'_>>> = BTreeMap::new();
    for source in CRATES.iter().flat_map(|member| tree.program(member)) {
        let mut finder = TypeFinder { idents: Vec::new() };
        finder.visit_file(&source.ast);
        for ident in finder.idents {
            let name = ident.to_string();
            names.entry(name.clone()).or_default().push(TypeName {
                name,
                source,
                line: ident.span().start().line,
            });
        }
    }
    names
}

struct TypeFinder<'ast> {
    idents: Vec<&'ast syn::Ident>,
}

impl<'ast> Visit<'ast> for TypeFinder<'ast> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_test_only(item_attrs(item)) {
            return;
        }
        match item {
            syn::Item::Struct(item) => self.idents.push(&item.ident),
            syn::Item::Enum(item) => self.idents.push(&item.ident),
            syn::Item::Union(item) => self.idents.push(&item.ident),
            syn::Item::Trait(item) => self.idents.push(&item.ident),
            syn::Item::Type(item) => self.idents.push(&item.ident),
            _ => {}
        }
        syn::visit::visit_item(self, item);
    }
}

/// A type name means one thing in `engine` and `server`.
pub fn type_names_have_one_owner(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for places in type_names(tree).values() {
        let (first, others) = places.split_first().expect("a name has a place");
        for other in others {
            let message = format!(
                "`{}` is also a type of {}:{}: give one of them a qualified name",
                other.name, first.source.path, first.line
            );
            violations.push(Violation::new(other.source, other.line, message));
        }
    }
    violations
}

/// Errors of the server end in `Error` or `Rejection` and are types of their own.
pub fn server_errors_are_named(tree: &SourceTree) -> Vec<Violation> {
    let own_types: HashSet<String> = type_names(tree)
        .into_values()
        .flatten()
        .filter(|found| found.source.member() == "server")
        .map(|found| found.name)
        .collect();
    let mut violations = Vec::new();
    for source in tree.program("server") {
        let mut finder = ErrorFinder {
            source,
            own_types: &own_types,
            violations: &mut violations,
        };
        finder.visit_file(&source.ast);
    }
    violations
}

struct ErrorFinder<'a> {
    source: &'a Source,
    own_types: &'a HashSet<String>,
    violations: &'a mut Vec<Violation>,
}

impl ErrorFinder<'_> {
    /// Checks the type of an error, named in an `impl` or as the `E` of a `Result`.
    fn check(&mut self, error: &syn::Type) {
        let (ident, is_string) = match error {
            syn::Type::Path(path) => {
                let last = path.path.segments.last().expect("a path has a segment");
                (&last.ident, last.ident == "String")
            }
            syn::Type::Reference(reference) => match reference.elem.as_ref() {
                syn::Type::Path(path) if path.path.is_ident("str") => {
                    (&path.path.segments[0].ident, true)
                }
                _ => return,
            },
            _ => return,
        };
        let name = ident.to_string();
        let is_named = name.ends_with("Error") || name.ends_with("Rejection");
        let message = if is_string {
            "an error is a string here: give it a type whose fields are facts".to_owned()
        } else if self.own_types.contains(&name) && !is_named {
            format!("`{name}` is an error: end its name in `Error` or `Rejection`")
        } else {
            return;
        };
        let line = ident.span().start().line;
        self.violations
            .push(Violation::new(self.source, line, message));
    }
}

impl<'ast> Visit<'ast> for ErrorFinder<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test_only(item_attrs(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let Some((_, path, _)) = &item.trait_
            && path
                .segments
                .last()
                .is_some_and(|last| last.ident == "Error")
        {
            self.check(&item.self_ty);
        }
        syn::visit::visit_item_impl(self, item);
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if segment.ident == "Result"
            && let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments
            && let Some(syn::GenericArgument::Type(error)) = arguments.args.iter().nth(1)
        {
            self.check(error);
        }
        syn::visit::visit_path_segment(self, segment);
    }
}

/// Parameters that belong together are a struct with a name, not a tuple.
pub fn parameters_are_no_tuples(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in CRATES.iter().flat_map(|member| tree.program(member)) {
        let mut finder = TupleFinder { lines: Vec::new() };
        finder.visit_file(&source.ast);
        for line in finder.lines {
            let message = "a parameter is an anonymous tuple: name it, as a struct".to_owned();
            violations.push(Violation::new(source, line, message));
        }
    }
    violations
}

struct TupleFinder {
    lines: Vec<usize>,
}

impl<'ast> Visit<'ast> for TupleFinder {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test_only(item_attrs(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        for input in &signature.inputs {
            if let syn::FnArg::Typed(parameter) = input
                && let syn::Type::Tuple(tuple) = strip_references(&parameter.ty)
                && !tuple.elems.is_empty()
            {
                self.lines.push(tuple.paren_token.span.open().start().line);
            }
        }
    }
}

fn strip_references(mut ty: &syn::Type) -> &syn::Type {
    while let syn::Type::Reference(reference) = ty {
        ty = &reference.elem;
    }
    ty
}
