//! Rules about code and prose, each shown a tree that breaks it and one that keeps it.

use subcat_tests::tidy::{control, dependencies, file_graph, prose, surface, types, words};

use crate::self_test::{INDEX, MODEL, check, tree};

const RECORD: &str = "engine/src/model/record.rs";
const MODEL_MOD: &str = "engine/src/model/mod.rs";
const HEAD: &str = "server/src/request/head.rs";

#[test]
fn files_that_import_each_other_are_found() {
    let rule = file_graph::no_file_cycles;
    let contents = (
        MODEL_MOD,
        "//! Docs.\nmod record;\nmod year;\npub use year::Year;\n",
    );
    let year = "use super::record::Record;\npub struct Year(Record);";
    let apart = "pub struct Record;";
    check(rule, &[contents, (MODEL, year), (RECORD, apart)], &[]);
    for back in [
        "use super::year::Year;",
        "use super::Year;",
        "use crate::model::Year as Y;",
        "fn f(_: crate::model::year::Year) {}",
        "fn f() {\n    vec![super::Year];\n}",
        "use super::year;\nfn f(_: year::Year) {}",
    ] {
        let found = file_graph::no_file_cycles(&tree(&[contents, (MODEL, year), (RECORD, back)]));
        assert_eq!(found.len(), 1, "{back}: {found:#?}");
        assert!(found[0].message.contains("record.rs"), "{found:#?}");
    }
    // Tests may import what they test, and a comment is no import.
    let test =
        "#[cfg(test)]\nmod tests {\n    use super::super::Year;\n}\n/// [`super::Year`]\nfn f() {}";
    check(rule, &[contents, (MODEL, year), (RECORD, test)], &[]);
}

#[test]
fn cycles_through_three_files_are_found_once() {
    let files = [
        (MODEL, "use super::record::A;"),
        (RECORD, "use crate::index::term::B;"),
        (INDEX, "use crate::model::year::C;"),
    ];
    let found = file_graph::no_file_cycles(&tree(&files));
    assert_eq!(found.len(), 1, "{found:#?}");
    let sizes = file_graph::FileGraph::of(&tree(&files), "engine").knot_sizes();
    assert_eq!(sizes, [3]);
}

#[test]
fn types_with_two_owners_are_found() {
    let rule = types::type_names_have_one_owner;
    let twice = [(MODEL, "struct Slot;"), (HEAD, "\nenum Slot {}")];
    check(rule, &twice, &[(HEAD, 2)]);
    check(
        rule,
        &[(MODEL, "struct Slot;"), (HEAD, "trait AddressSlot {}")],
        &[],
    );
    let test = "#[cfg(test)]\nmod tests {\n    struct Slot;\n}";
    check(rule, &[(MODEL, "struct Slot;"), (HEAD, test)], &[]);
}

#[test]
fn errors_of_the_server_without_their_suffix_are_found() {
    let rule = types::server_errors_are_named;
    check(
        rule,
        &[(
            HEAD,
            "struct HeadError;\nfn f() -> Result<(), HeadError> {}",
        )],
        &[],
    );
    check(
        rule,
        &[(
            HEAD,
            "struct HeadFault;\nfn f() -> Result<(), HeadFault> {}",
        )],
        &[(HEAD, 2)],
    );
    check(
        rule,
        &[(
            HEAD,
            "enum Trouble {}\nimpl std::error::Error for Trouble {}",
        )],
        &[(HEAD, 2)],
    );
    check(
        rule,
        &[(HEAD, "fn f() -> Result<bool, String> {}")],
        &[(HEAD, 1)],
    );
    check(
        rule,
        &[(HEAD, "fn f() -> Result<bool, &'static str> {}")],
        &[(HEAD, 1)],
    );
    check(
        rule,
        &[(HEAD, "fn f() -> Result<String, ParseIntError> {}")],
        &[],
    );
}

#[test]
fn tuples_as_parameters_are_found() {
    let rule = types::parameters_are_no_tuples;
    check(rule, &[(MODEL, "fn f((a, b): (u8, u8)) {}")], &[(MODEL, 1)]);
    check(
        rule,
        &[(MODEL, "impl A {\n    fn f(&self, pair: &(u8, u8)) {}\n}")],
        &[(MODEL, 2)],
    );
    check(
        rule,
        &[(
            MODEL,
            "fn f(_: (), page: Page) -> (u8, u8) { g(|(a, b)| a) }",
        )],
        &[],
    );
}

#[test]
fn matches_on_bools_are_found() {
    let rule = control::no_match_on_bool;
    let text = "fn f() {\n    match a {\n        true => 1,\n        false => 2,\n    };\n}";
    check(rule, &[(MODEL, text)], &[(MODEL, 2)]);
    check(
        rule,
        &[(MODEL, "fn f() { match (a, b) { (true, _) => 1, _ => 2 }; }")],
        &[],
    );
}

#[test]
fn thresholds_that_differ_in_tests_are_found() {
    let rule = control::no_thresholds_for_tests;
    let inline = "const A: u8 = if cfg!(test) { 1 } else { 9 };";
    check(rule, &[(MODEL, inline)], &[(MODEL, 1)]);
    check(
        rule,
        &[(MODEL, "\n#[cfg(not(test))]\nconst A: u8 = 9;")],
        &[(MODEL, 2)],
    );
    check(
        rule,
        &[(
            MODEL,
            "#[cfg(test)]\nmod tests {}\nfn f() { cfg!(fuzzing); }",
        )],
        &[],
    );
}

#[test]
fn bounds_outside_limits_are_found() {
    let rule = control::bounds_stand_in_limits;
    check(
        rule,
        &[("engine/src/limits.rs", "pub const YEAR_MAX: u16 = 2100;")],
        &[],
    );
    check(
        rule,
        &[(MODEL, "const YEAR_MAX: u16 = 2100;")],
        &[(MODEL, 1)],
    );
    check(
        rule,
        &[(HEAD, "impl A {\n    const FIELDS_MIN: u8 = 1;\n}")],
        &[(HEAD, 2)],
    );
    check(
        rule,
        &[(
            MODEL,
            "#[cfg(test)]\nmod tests {\n    const A_MAX: u8 = 1;\n}",
        )],
        &[],
    );
}

#[test]
fn allowed_lints_are_found() {
    let rule = control::lints_are_expected_with_reason;
    check(rule, &[(MODEL, "#![allow(clippy::all)]")], &[(MODEL, 1)]);
    check(
        rule,
        &[(MODEL, "#[expect(clippy::all)]\nfn f() {}")],
        &[(MODEL, 1)],
    );
    check(
        rule,
        &[(MODEL, "#[cfg_attr(test, allow(clippy::all))]\nfn f() {}")],
        &[(MODEL, 1)],
    );
    check(
        rule,
        &[(
            MODEL,
            "#[expect(clippy::all, reason = \"shown\")]\nfn f() {}",
        )],
        &[],
    );
}

#[test]
fn public_modules_of_the_engine_are_found() {
    let rule = surface::engine_modules_are_private;
    let mut tree = tree(&[]);
    let found = rule(&tree);
    assert_eq!(found.len(), 9, "{found:#?}");
    tree.sources.clear();
    let hidden = "//! Docs.\nmod model;\n#[doc(hidden)]\npub mod testing;\npub use model::Year;";
    tree.add("engine/src/lib.rs", hidden);
    assert_eq!(rule(&tree), []);
}

#[test]
fn doc_comments_that_hide_their_subject_are_found() {
    let rule = prose::doc_comments_name_their_subject;
    check(
        rule,
        &[(MODEL, "/// What a year is.\nstruct A;")],
        &[(MODEL, 1)],
    );
    check(rule, &[(MODEL, "//! How years are read.")], &[(MODEL, 1)]);
    check(
        rule,
        &[(
            MODEL,
            "struct A {\n    /// Whether it is old.\n    a: bool,\n}",
        )],
        &[(MODEL, 2)],
    );
    check(
        rule,
        &[(MODEL, "/// A year.\n/// What it is not.\nstruct A;")],
        &[],
    );
    check(rule, &[(MODEL, "// What follows is slow.\nstruct A;")], &[]);
    check(rule, &[(MODEL, "/// However old it is.\nstruct A;")], &[]);
}

#[test]
fn old_words_are_found_in_every_spelling() {
    let rule = words::old_words_are_gone;
    for text in [
        "struct FrontDoor;",
        "// The door of the engine.",
        "fn f() { let back_door = 1; }",
        "const A: &str = \"io_uring is not to be had\";",
        "// It is no record.",
        "// The record is kept: it is no file.",
    ] {
        check(rule, &[(MODEL, text)], &[(MODEL, 1)]);
    }
    for text in [
        "// Indoors, there is no record.",
        "// It is no longer there.",
        "struct Adored;",
    ] {
        check(rule, &[(MODEL, text)], &[]);
    }
    check(
        rule,
        &[("README.md", "# A\n\n## The house\n")],
        &[("README.md", 3)],
    );
    check(
        rule,
        &[("server/src/api/desk.rs", "")],
        &[("server/src/api/desk.rs", 0)],
    );
}

#[test]
fn translated_phrases_are_found_in_comments_alone() {
    let rule = words::translated_phrases_are_gone;
    for text in [
        "/// Characters from which on it is searched.\nstruct A;",
        "//! A key that nobody uses.",
        "// Connections of a worker, at most.",
    ] {
        check(rule, &[(MODEL, text)], &[(MODEL, 1)]);
    }
    let fine = "// At most two, of a kind.\nconst A: &str = \"nobody\";";
    check(rule, &[(MODEL, fine)], &[]);
}

#[test]
fn old_names_are_found_in_code_alone() {
    let rule = words::old_names_are_gone;
    check(
        rule,
        &[(MODEL, "fn f() {\n    told(error);\n}")],
        &[(MODEL, 2)],
    );
    check(
        rule,
        &[(MODEL, "fn f() { a![Facts::new()]; }")],
        &[(MODEL, 1)],
    );
    check(
        rule,
        &[(MODEL, "// As told, those are facts.\nfn f() {}")],
        &[],
    );
}

#[test]
fn dependencies_without_use_are_found() {
    let check = |section: &str, path: &str, text: &str, expected: usize| {
        let mut tree = tree(&[(path, text)]);
        let manifest =
            format!("[package]\nname = \"a\"\n\n[{section}]\nproc-macro2.workspace = true\n");
        tree.manifests
            .insert("engine/Cargo.toml".to_owned(), manifest);
        let found = dependencies::dependencies_are_used(&tree);
        assert_eq!(found.len(), expected, "{section} {text}: {found:#?}");
    };
    let test = "engine/tests/a.rs";
    check("dependencies", MODEL, "fn f(_: proc_macro2::Span) {}", 0);
    check("dependencies", MODEL, "fn f() {}", 1);
    check("dependencies", MODEL, "fn f(_: my_proc_macro2::Span) {}", 1);
    check("dependencies", test, "use proc_macro2::Span;", 1);
    check("dev-dependencies", test, "use proc_macro2::Span;", 0);
    check("dev-dependencies", test, "", 1);
}

#[test]
fn dependencies_that_no_member_takes_are_found() {
    let mut tree = tree(&[(MODEL, "use bytes::Bytes;")]);
    let top = "[workspace.dependencies]\nbytes = \"1\"\nitoa = { version = \"1\" }\n";
    tree.manifests
        .insert("Cargo.toml".to_owned(), top.to_owned());
    let member = "[dependencies]\nbytes.workspace = true\n";
    tree.manifests
        .insert("engine/Cargo.toml".to_owned(), member.to_owned());
    let found = dependencies::dependencies_are_used(&tree);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].path.as_str(), found[0].line), ("Cargo.toml", 3));
}
