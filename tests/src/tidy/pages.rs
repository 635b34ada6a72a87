//! Code and pages agree: cited rules exist, file formats are drawn.

use syn::visit::Visit;

use crate::tidy::source_tree::{Source, SourceTree, Violation};

/// Pages whose rules code and tests cite by number.
const CITED: &[(&str, &str)] = &[
    ("SEARCH.md", "engine/SEARCH.md"),
    ("API.md", "server/API.md"),
    ("NAMES.md", "engine/NAMES.md"),
];
/// The page that names a test for each control.
const SECURITY: &str = "SECURITY.md";
/// The page that draws every file format.
const DESIGN: &str = "engine/DESIGN.md";

/// A citation such as `SEARCH.md 4.2` names a rule that exists on that page.
pub fn citations(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (name, path) in CITED {
        let page = tree.pages.get(*path).map(String::as_str);
        let numbers: Vec<&str> = page
            .unwrap_or("")
            .lines()
            .filter_map(leading_number)
            .collect();
        for source in tree.sources.iter().filter(|source| !is_tidy(source)) {
            for (line, number) in cited_numbers(source, name) {
                if !numbers.contains(&number.as_str()) {
                    let message = format!("{path} has no rule {number}: cite one that exists");
                    violations.push(Violation::new(source, line, message));
                }
            }
        }
    }
    violations
}

/// The number of a heading or rule that a line begins with: `## 4. Title`, `- **4.2** Text`,
/// `- **N3** Text`.
fn leading_number(line: &str) -> Option<&str> {
    let line = line.trim_start_matches([' ', '-']);
    let number = line.strip_prefix("**").or_else(|| line.strip_prefix('#'))?;
    number_prefix(number.trim_start_matches(['#', ' ']))
}

/// `4.2` of `4.2. Text`, `N3` of `N3 Text`; `None` when the text does not begin with a digit, or
/// with a capital letter and a digit.
fn number_prefix(text: &str) -> Option<&str> {
    let letter_bytes = usize::from(text.starts_with(|c: char| c.is_ascii_uppercase()));
    let digits_bytes = text[letter_bytes..]
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len() - letter_bytes);
    let number = text[..letter_bytes + digits_bytes].trim_end_matches('.');
    (letter_bytes < number.len()).then_some(number)
}

fn cited_numbers(source: &Source, page: &str) -> Vec<(usize, String)> {
    let mut cited = Vec::new();
    for (idx, line) in source.text.lines().enumerate() {
        for (at, _) in line.match_indices(page) {
            let after = line[at + page.len()..].trim_start_matches(['`', ',', ' ', '§', ':']);
            if let Some(number) = number_prefix(after) {
                cited.push((idx + 1, number.to_owned()));
            }
        }
    }
    cited
}

/// A test that the page on security names (`` `path.rs::name` ``) exists.
pub fn security_tests(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    let page = tree.pages.get(SECURITY).map_or("", String::as_str);
    for (idx, line) in page.lines().enumerate() {
        // Between backticks are the odd pieces.
        let quoted = line.split('`').skip(1).step_by(2);
        for (path, name) in quoted.filter_map(|text| text.split_once(".rs::")) {
            let path = format!("{path}.rs");
            let declared = format!("fn {name}(");
            let mut sources = tree.sources.iter();
            if !sources.any(|source| source.path == path && source.text.contains(&declared)) {
                let message = format!("{path} has no test {name}: name one that exists");
                violations.push(Violation::at(SECURITY, idx + 1, message));
            }
        }
    }
    violations
}

/// The magic number of every file format stands in DESIGN.md, beside its byte table.
pub fn formats(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    let design = tree.pages.get(DESIGN).map_or("", String::as_str);
    for source in tree
        .sources
        .iter()
        .filter(|source| !source.is_test && !is_tidy(source))
    {
        let mut finder = MagicFinder { found: Vec::new() };
        finder.visit_file(&source.ast);
        for (line, magic) in finder.found {
            if !design.contains(&magic) {
                let message = format!("{DESIGN} does not draw the format with the magic `{magic}`");
                violations.push(Violation::new(source, line, message));
            }
        }
    }
    violations
}

/// Constants whose name has MAGIC in it and whose value is a byte string.
struct MagicFinder {
    found: Vec<(usize, String)>,
}

impl<'ast> Visit<'ast> for MagicFinder {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if !item.ident.to_string().contains("MAGIC") {
            return;
        }
        let mut value = item.expr.as_ref();
        while let syn::Expr::Unary(syn::ExprUnary { expr, .. })
        | syn::Expr::Reference(syn::ExprReference { expr, .. }) = value
        {
            value = expr;
        }
        if let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::ByteStr(bytes),
            ..
        }) = value
        {
            let text: String = bytes
                .value()
                .iter()
                .filter(|byte| byte.is_ascii_graphic())
                .map(|byte| char::from(*byte))
                .collect();
            self.found.push((item.ident.span().start().line, text));
        }
    }
}

/// Returns true for the rules themselves: they contain citations as examples.
fn is_tidy(source: &Source) -> bool {
    source.path.contains("/tidy/")
}
