//! The rules of the tree (ARCHITECTURE.md, boundaries), held by reading its source.
//!
//! Every rule is a function from the parsed tree to what breaks it; each violation says file,
//! line and what to do. `self_test` shows for every rule that it catches what it should.

mod self_test;

use subcat_tests::tidy::source_tree::{SourceTree, Violation};
use subcat_tests::tidy::{changes, imports, pages, shape};

fn hold(rule: fn(&SourceTree) -> Vec<Violation>) {
    let violations = rule(&SourceTree::read());
    let mut report = String::new();
    for Violation { path, line, what } in &violations {
        report.push_str(&format!("\n  {path}:{line}: {what}"));
    }
    assert!(
        violations.is_empty(),
        "{} violations:{report}",
        violations.len()
    );
}

#[test]
fn modules_import_only_from_modules_above_them() {
    hold(imports::order);
}

#[test]
fn foreign_crates_have_one_owner() {
    hold(imports::owners);
}

#[test]
fn rooms_keep_the_laws_of_the_house() {
    hold(imports::boundaries);
}

#[test]
fn accounts_and_keys_are_changed_in_one_place() {
    hold(changes::one_place);
}

#[test]
fn files_and_lines_are_short() {
    hold(shape::size);
}

#[test]
fn mod_and_lib_files_are_tables_of_contents() {
    hold(shape::contents);
}

#[test]
fn files_are_nouns() {
    hold(shape::names);
}

#[test]
fn the_top_level_is_fixed() {
    hold(shape::top_level);
}

#[test]
fn nothing_is_left_over() {
    hold(shape::leftovers);
}

#[test]
fn cited_rules_exist() {
    hold(pages::citations);
}

#[test]
fn file_formats_are_drawn_in_the_design() {
    hold(pages::formats);
}
