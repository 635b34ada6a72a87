//! Public surface of the engine.

use crate::tidy::source_tree::{Source, SourceTree, Violation};

/// Modules of the engine are private; `lib.rs` re-exports what callers need, by group.
pub fn engine_modules_are_private(tree: &SourceTree) -> Vec<Violation> {
    let lib = tree.lib("engine");
    let mut violations = Vec::new();
    for name in public_modules(lib) {
        let message = format!("`{name}` is public: make it private and re-export its names");
        violations.push(Violation::new(lib, name.span().start().line, message));
    }
    violations
}

/// Names of the modules that a `lib.rs` makes public, hidden ones left out.
pub fn public_modules(lib: &Source) -> Vec<&syn::Ident> {
    let mut names = Vec::new();
    for item in &lib.ast.items {
        if let syn::Item::Mod(module) = item
            && matches!(module.vis, syn::Visibility::Public(_))
            && !is_hidden(&module.attrs)
        {
            names.push(&module.ident);
        }
    }
    names
}

/// Returns true for `#[doc(hidden)]`.
fn is_hidden(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("doc")
            && matches!(&attr.meta, syn::Meta::List(list) if list.tokens.to_string() == "hidden")
    })
}
