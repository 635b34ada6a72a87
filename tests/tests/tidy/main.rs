//! Rules of the source tree (ARCHITECTURE.md), checked by reading it.
//!
//! `self_test` and `code_self_test` show for each rule that it catches what it should.

mod code_self_test;
mod self_test;

use std::path::Path;
use std::sync::{LazyLock, mpsc};

use subcat_tests::tidy::source_tree::{SourceTree, Violation};
use subcat_tests::tidy::{
    changes, control, dependencies, file_graph, imports, pages, prose, shape, surface, types, words,
};

type Rule = fn(&SourceTree) -> Vec<Violation>;

/// Thread that parses the tree once and applies rules to it: syntax trees cannot be shared
/// between the threads of the tests.
static CHECKER: LazyLock<mpsc::Sender<(Rule, mpsc::Sender<Vec<Violation>>)>> =
    LazyLock::new(|| {
        let (sender, receiver) = mpsc::channel::<(Rule, mpsc::Sender<Vec<Violation>>)>();
        std::thread::spawn(move || {
            let top = Path::new(env!("CARGO_MANIFEST_DIR"))
                .parent()
                .expect("tests/ has a parent");
            let tree = SourceTree::read(top);
            for (rule, answer) in receiver {
                answer.send(rule(&tree)).expect("the test waits");
            }
        });
        sender
    });

/// Fails with a report of what breaks the rule.
#[track_caller]
fn hold(rule: Rule) {
    let (sender, receiver) = mpsc::channel();
    CHECKER.send((rule, sender)).expect("the checker runs");
    let violations = receiver.recv().expect("the rule does not panic");
    let mut report = String::new();
    for Violation {
        path,
        line,
        message,
    } in &violations
    {
        report.push_str(&format!("\n  {path}:{line}: {message}"));
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
fn owned_crates_are_not_re_exported() {
    hold(imports::no_foreign_re_exports);
}

#[test]
fn modules_keep_their_boundaries() {
    hold(imports::boundaries);
}

#[test]
fn files_do_not_import_each_other() {
    hold(file_graph::no_file_cycles);
}

#[test]
fn type_names_have_one_owner() {
    hold(types::type_names_have_one_owner);
}

#[test]
fn server_errors_end_in_error_or_rejection() {
    hold(types::server_errors_are_named);
}

#[test]
fn parameters_are_no_anonymous_tuples() {
    hold(types::parameters_are_no_tuples);
}

#[test]
fn bools_are_not_matched() {
    hold(control::no_match_on_bool);
}

#[test]
fn thresholds_do_not_differ_in_tests() {
    hold(control::no_thresholds_for_tests);
}

#[test]
fn bounds_stand_in_limits() {
    hold(control::bounds_stand_in_limits);
}

#[test]
fn lints_are_expected_with_a_reason() {
    hold(control::lints_are_expected_with_reason);
}

#[test]
fn modules_of_the_engine_are_private() {
    hold(surface::engine_modules_are_private);
}

#[test]
fn accounts_and_keys_are_changed_in_one_place() {
    hold(changes::one_place);
}

#[test]
fn doc_comments_begin_with_their_subject() {
    hold(prose::doc_comments_name_their_subject);
}

#[test]
fn old_words_are_gone() {
    hold(words::old_words_are_gone);
}

#[test]
fn translated_phrases_are_gone() {
    hold(words::translated_phrases_are_gone);
}

#[test]
fn old_names_are_gone() {
    hold(words::old_names_are_gone);
}

#[test]
fn declared_dependencies_are_used() {
    hold(dependencies::dependencies_are_used);
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

#[test]
fn tests_that_the_page_on_security_names_exist() {
    hold(pages::security_tests);
}

/// The tests run with checks in all crates: that a release has them where foreign files are read
/// is told by the profile alone.
#[test]
fn what_reads_foreign_files_checks_for_overflow() {
    let manifest = include_str!("../../../Cargo.toml");
    let (_, packages) = manifest
        .split_once("[profile.release.package]\n")
        .expect("the profile has packages");
    let packages = packages.split("\n[").next().unwrap_or_default();
    for package in [
        "subcat-server",
        "encoding_rs",
        "flate2",
        "rars",
        "zip",
        "zlib-rs",
    ] {
        let line = format!("{package} = {{ overflow-checks = true }}");
        assert!(packages.lines().any(|it| it == line), "{line} is missing");
    }
}
