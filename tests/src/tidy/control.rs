//! Plain control flow, thresholds, bounds, lints.

use syn::visit::Visit;

use crate::tidy::attributes::{is_test_only, item_attrs};
use crate::tidy::source_tree::{Source, SourceTree, Violation};

/// Members whose program the rules of this file bind.
const CRATES: [&str; 2] = ["engine", "server"];

/// A `match` on a bool is an `if`.
pub fn no_match_on_bool(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in &tree.sources {
        for line in bool_matches(source) {
            let message = "`match` on a bool: write an `if`".to_owned();
            violations.push(Violation::new(source, line, message));
        }
    }
    violations
}

/// Lines of the `match` expressions of a file that have an arm `true` or `false`.
fn bool_matches(source: &Source) -> Vec<usize> {
    let mut finder = BoolMatchFinder { lines: Vec::new() };
    finder.visit_file(&source.ast);
    finder.lines
}

struct BoolMatchFinder {
    lines: Vec<usize>,
}

impl<'ast> Visit<'ast> for BoolMatchFinder {
    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        let is_bool = |arm: &syn::Arm| {
            matches!(
                &arm.pat,
                syn::Pat::Lit(syn::ExprLit {
                    lit: syn::Lit::Bool(_),
                    ..
                })
            )
        };
        if expr.arms.iter().any(is_bool) {
            self.lines.push(expr.match_token.span.start().line);
        }
        syn::visit::visit_expr_match(self, expr);
    }
}

/// Programs behave the same when tests build them: a threshold is a field that tests set.
pub fn no_thresholds_for_tests(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in CRATES.iter().flat_map(|member| tree.program(member)) {
        let mut finder = TestThresholdFinder { lines: Vec::new() };
        finder.visit_file(&source.ast);
        for line in finder.lines {
            let message = "differs when tests build it: make it a field that tests set".to_owned();
            violations.push(Violation::new(source, line, message));
        }
    }
    violations
}

struct TestThresholdFinder {
    lines: Vec<usize>,
}

impl<'ast> Visit<'ast> for TestThresholdFinder {
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if call.path.is_ident("cfg") && mentions(&call.tokens, "test") {
            let name = &call.path.segments[0].ident;
            self.lines.push(name.span().start().line);
        }
    }

    fn visit_attribute(&mut self, attr: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attr.meta
            && list.path.is_ident("cfg")
            && list.tokens.to_string().contains("not (test)")
        {
            let name = &list.path.segments[0].ident;
            self.lines.push(name.span().start().line);
        }
    }
}

/// Returns true if tokens mention the word `word` outside strings.
fn mentions(tokens: &proc_macro2::TokenStream, word: &str) -> bool {
    let tokens = tokens.to_string();
    let mut words = tokens.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|found| found == word)
}

/// Bounds of a crate stand in its `limits.rs`.
pub fn bounds_stand_in_limits(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in CRATES.iter().flat_map(|member| tree.program(member)) {
        if source.module().is_some_and(|module| module == "limits") {
            continue;
        }
        let mut finder = BoundFinder { found: Vec::new() };
        finder.visit_file(&source.ast);
        for ident in finder.found {
            let message = format!(
                "`{ident}` is a bound: move it to {}/src/limits.rs",
                source.member()
            );
            violations.push(Violation::new(source, ident.span().start().line, message));
        }
    }
    violations
}

struct BoundFinder<'ast> {
    found: Vec<&'ast syn::Ident>,
}

impl<'ast> BoundFinder<'ast> {
    fn note(&mut self, ident: &'ast syn::Ident) {
        let name = ident.to_string();
        if name.ends_with("_MAX") || name.ends_with("_MIN") {
            self.found.push(ident);
        }
    }
}

impl<'ast> Visit<'ast> for BoundFinder<'ast> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test_only(item_attrs(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.note(&item.ident);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.note(&item.ident);
    }
}

/// Lints are expected, with a reason, not allowed: an expectation that no longer holds is reported
/// by the compiler.
pub fn lints_are_expected_with_reason(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in &tree.sources {
        let mut finder = LintFinder {
            source,
            violations: &mut violations,
        };
        finder.visit_file(&source.ast);
    }
    violations
}

struct LintFinder<'a> {
    source: &'a Source,
    violations: &'a mut Vec<Violation>,
}

impl<'ast> Visit<'ast> for LintFinder<'_> {
    fn visit_attribute(&mut self, attr: &'ast syn::Attribute) {
        let syn::Meta::List(list) = &attr.meta else {
            return;
        };
        let is_conditional = list.path.is_ident("cfg_attr");
        let is_allowed =
            list.path.is_ident("allow") || (is_conditional && mentions(&list.tokens, "allow"));
        let is_expected =
            list.path.is_ident("expect") || (is_conditional && mentions(&list.tokens, "expect"));
        let message = if is_allowed {
            "a lint is allowed: write `#[expect(lint, reason = \"...\")]`"
        } else if is_expected && !mentions(&list.tokens, "reason") {
            "say why the lint is expected: `reason = \"...\"`"
        } else {
            return;
        };
        let line = list.path.segments[0].ident.span().start().line;
        self.violations
            .push(Violation::new(self.source, line, message.to_owned()));
    }
}
