//! Figures of the structure of a source tree, as a table in Markdown.

use std::fmt::Write;

use syn::visit::Visit;

use crate::tidy::attributes::{is_test_only, item_attrs};
use crate::tidy::file_graph::FileGraph;
use crate::tidy::prose::{LineKind, doc_openings, poor_opening};
use crate::tidy::source_tree::{Source, SourceTree, Violation};
use crate::tidy::{control, surface, types};

/// Crates that are measured.
const CRATES: [&str; 2] = ["engine", "server"];

/// Figures of some files, code that only tests run left out.
#[derive(Default)]
struct Figures {
    lines: usize,
    functions: usize,
    /// Name, lines and file of the longest function.
    longest_function: (usize, String),
    /// Lines of comments that are not documentation.
    comment_lines: usize,
    doc_lines: usize,
    doc_blocks: usize,
    what_openings: usize,
    poor_openings: usize,
    doctests: usize,
    public_items: usize,
    bool_combinators: usize,
    largest_file: (usize, String),
}

impl Figures {
    fn add(&mut self, source: &Source) {
        let mut finder = ProgramFinder::default();
        finder.visit_file(&source.ast);
        let is_test_line = |line: usize| {
            let mut ranges = finder.test_lines.iter();
            ranges.any(|(first, last)| (*first..=*last).contains(&line))
        };
        let mut is_code_block = false;
        for (idx, line) in source.text.lines().enumerate() {
            if is_test_line(idx + 1) {
                continue;
            }
            self.lines += 1;
            match LineKind::of(line) {
                LineKind::Comment => self.comment_lines += 1,
                LineKind::Doc => {
                    self.doc_lines += 1;
                    if let Some(info) = line.trim_start()[3..].trim().strip_prefix("```") {
                        let is_start = !is_code_block;
                        is_code_block = is_start;
                        let is_text =
                            info == "text" || info == "json" || info.starts_with("ignore");
                        self.doctests += usize::from(is_start && !is_text);
                    }
                }
                LineKind::Other => {
                    for call in [".then_some(", ".then("] {
                        self.bool_combinators += line.matches(call).count();
                    }
                }
            }
        }
        for (line, opening) in doc_openings(&source.text) {
            if !is_test_line(line) {
                let poor = poor_opening(opening);
                self.doc_blocks += 1;
                self.poor_openings += usize::from(poor.is_some());
                self.what_openings += usize::from(poor == Some("What"));
            }
        }
        self.functions += finder.functions.len();
        self.public_items += finder.public_items;
        let lines = source.text.lines().count();
        if self.largest_file.0 < lines {
            self.largest_file = (lines, source.path.clone());
        }
        for (name, lines) in finder.functions {
            if self.longest_function.0 < lines {
                self.longest_function = (lines, format!("{name}, {}", source.path));
            }
        }
    }

    fn per_100_functions(&self, lines: usize) -> String {
        if self.functions < 5 {
            return "–".to_owned();
        }
        format!("{:.0}", 100.0 * lines as f64 / self.functions as f64)
    }
}

/// Functions and public items of a program, and the lines of its tests.
#[derive(Default)]
struct ProgramFinder {
    /// Name and line count.
    functions: Vec<(String, usize)>,
    public_items: usize,
    test_lines: Vec<(usize, usize)>,
}

impl ProgramFinder {
    fn add_function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = block.brace_token.span.close().end().line;
        self.functions
            .push((signature.ident.to_string(), last - first + 1));
    }

    fn add_visibility(&mut self, visibility: &syn::Visibility) {
        self.public_items += usize::from(matches!(visibility, syn::Visibility::Public(_)));
    }
}

impl<'ast> Visit<'ast> for ProgramFinder {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_test_only(item_attrs(item)) {
            use syn::spanned::Spanned;
            let span = item.span();
            self.test_lines.push((span.start().line, span.end().line));
            return;
        }
        match item {
            syn::Item::Const(item) => self.add_visibility(&item.vis),
            syn::Item::Enum(item) => self.add_visibility(&item.vis),
            syn::Item::Fn(item) => self.add_visibility(&item.vis),
            syn::Item::Struct(item) => self.add_visibility(&item.vis),
            syn::Item::Trait(item) => self.add_visibility(&item.vis),
            syn::Item::Type(item) => self.add_visibility(&item.vis),
            _ => {}
        }
        syn::visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add_function(&function.sig, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add_visibility(&function.vis);
        self.add_function(&function.sig, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add_function(&function.sig, block);
        }
    }
}

/// Figures of both crates, then of their modules.
pub fn report(tree: &SourceTree) -> String {
    let mut report = String::new();
    let crates: Vec<Figures> = CRATES
        .iter()
        .map(|member| {
            let mut figures = Figures::default();
            tree.program(member).for_each(|source| figures.add(source));
            figures
        })
        .collect();
    row(&mut report, "figure", &CRATES.map(str::to_owned));
    report.push_str("|---|---|---|\n");
    let mut add = |name: &str, value: &dyn Fn(usize) -> String| {
        row(&mut report, name, &[value(0), value(1)]);
    };
    add("lines without tests", &|idx| crates[idx].lines.to_string());
    add("functions", &|idx| crates[idx].functions.to_string());
    add("comment lines per 100 functions", &|idx| {
        crates[idx].per_100_functions(crates[idx].comment_lines)
    });
    add("doc lines per 100 functions", &|idx| {
        crates[idx].per_100_functions(crates[idx].doc_lines)
    });
    add("doc blocks that begin with \"What\"", &|idx| {
        share(crates[idx].what_openings, crates[idx].doc_blocks)
    });
    add(
        "doc blocks that begin with What/Who/Whose/How/Where/Whether/That",
        &|idx| share(crates[idx].poor_openings, crates[idx].doc_blocks),
    );
    add("doctests / `pub` items", &|idx| {
        format!("{}/{}", crates[idx].doctests, crates[idx].public_items)
    });
    add("import cycles between files (files in each)", &|idx| {
        let sizes = FileGraph::of(tree, CRATES[idx]).knot_sizes();
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        format!("{} ({})", sizes.len(), sizes.join(", "))
    });
    add("type names with more than one owner in the crate", &|idx| {
        shared_type_names(tree, Some(CRATES[idx])).to_string()
    });
    add("`match` on a bool", &|idx| {
        count(control::no_match_on_bool(tree), CRATES[idx])
    });
    add("`.then_some(` and `.then(`", &|idx| {
        crates[idx].bool_combinators.to_string()
    });
    add("thresholds that differ under `cfg!(test)`", &|idx| {
        count(control::no_thresholds_for_tests(tree), CRATES[idx])
    });
    add("parameters that are anonymous tuples", &|idx| {
        count(types::parameters_are_no_tuples(tree), CRATES[idx])
    });
    add("bounds outside `limits.rs`", &|idx| {
        count(control::bounds_stand_in_limits(tree), CRATES[idx])
    });
    add("`pub mod` in `lib.rs`", &|idx| {
        let modules = surface::public_modules(tree.lib(CRATES[idx]));
        modules.len().to_string()
    });
    add("largest file", &|idx| place(&crates[idx].largest_file));
    add("longest function", &|idx| {
        place(&crates[idx].longest_function)
    });
    let _ = writeln!(
        report,
        "\nType names with an owner in each of both crates: {}.\n",
        shared_type_names(tree, None)
    );
    modules(tree, &mut report);
    report
}

fn modules(tree: &SourceTree, report: &mut String) {
    report.push_str(
        "| module | lines | functions | comment lines per 100 functions | doc lines per 100 |\n",
    );
    report.push_str("|---|---|---|---|---|\n");
    for member in CRATES {
        for module in tree.modules(member) {
            let mut figures = Figures::default();
            let sources = tree.program(member);
            sources
                .filter(|source| source.module().as_ref() == Some(&module))
                .for_each(|source| figures.add(source));
            let values = [
                figures.lines.to_string(),
                figures.functions.to_string(),
                figures.per_100_functions(figures.comment_lines),
                figures.per_100_functions(figures.doc_lines),
            ];
            row(report, &format!("{member} `{module}`"), &values);
        }
    }
}

fn row(report: &mut String, name: &str, values: &[String]) {
    let _ = writeln!(report, "| {name} | {} |", values.join(" | "));
}

fn share(part: usize, whole: usize) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    format!("{part} of {whole} ({percent:.1} %)")
}

fn place((lines, place): &(usize, String)) -> String {
    format!("{lines} ({place})")
}

fn count(violations: Vec<Violation>, member: &str) -> String {
    let is_own = |violation: &Violation| {
        let folder = violation.path.split('/').take(2).collect::<Vec<_>>();
        folder == [member, "src"]
    };
    let own = violations.into_iter().filter(is_own);
    own.count().to_string()
}

/// Type names with two owners or more: inside a crate, or for `None` with one in each crate.
fn shared_type_names(tree: &SourceTree, member: Option<&str>) -> usize {
    let names = types::type_names(tree);
    let is_shared = |places: &&Vec<types::TypeName<'_>>| {
        let count = |member: &str| {
            let own = places
                .iter()
                .filter(|place| place.source.member() == member);
            own.count()
        };
        if let Some(member) = member {
            1 < count(member)
        } else {
            CRATES.iter().all(|member| 0 < count(member))
        }
    };
    names.values().filter(is_shared).count()
}
