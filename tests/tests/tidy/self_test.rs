//! Rules about imports, files and pages, each shown a tree that breaks it and one that keeps it.

use subcat_tests::tidy::source_tree::{SourceTree, Violation};
use subcat_tests::tidy::{changes, imports, pages, shape};

const ENGINE_LIB: &str = "//! Docs.\n\
    pub mod limits;\npub mod error;\npub mod disk;\npub mod model;\npub mod query;\n\
    pub mod blob;\npub mod store;\npub mod index;\npub mod search;\nmod engine;\n\
    pub use engine::Engine;\npub use error::Error;\npub use model::Year;\n";
const SERVER_LIB: &str = "//! Docs.\npub mod request;\npub mod respond;\npub mod web;\n";

pub fn tree(files: &[(&str, &str)]) -> SourceTree {
    let mut tree = SourceTree::default();
    tree.add("engine/src/lib.rs", ENGINE_LIB);
    tree.add("server/src/lib.rs", SERVER_LIB);
    for (path, text) in files {
        if path.ends_with(".md") {
            tree.pages.insert((*path).to_owned(), (*text).to_owned());
        } else {
            tree.add(path, text);
        }
    }
    tree.mark_tests();
    tree
}

/// Checks where the rule finds something, in a tree of these files.
#[track_caller]
pub fn check(
    rule: fn(&SourceTree) -> Vec<Violation>,
    files: &[(&str, &str)],
    expected: &[(&str, usize)],
) {
    let found = rule(&tree(files));
    let places: Vec<(&str, usize)> = found.iter().map(|v| (v.path.as_str(), v.line)).collect();
    assert_eq!(places, expected, "{found:#?}");
}

pub const MODEL: &str = "engine/src/model/year.rs";
pub const INDEX: &str = "engine/src/index/term.rs";

#[test]
fn upward_imports_are_found_in_every_disguise() {
    let rule = imports::order;
    check(
        rule,
        &[(
            INDEX,
            "use crate::model::Year;\nuse crate::{limits, error::Error};",
        )],
        &[],
    );
    check(rule, &[(MODEL, "use crate::index::Term;")], &[(MODEL, 1)]);
    check(
        rule,
        &[(MODEL, "use crate::{\n    limits,\n    store::Row,\n};")],
        &[(MODEL, 3)],
    );
    check(rule, &[(MODEL, "use crate::index as base;")], &[(MODEL, 1)]);
    check(rule, &[(MODEL, "use crate::index::*;")], &[(MODEL, 1)]);
    check(
        rule,
        &[(MODEL, "use super::super::index::Term;")],
        &[(MODEL, 1)],
    );
    check(
        rule,
        &[(
            MODEL,
            "mod inner {\n    use super::super::super::index::A;\n}",
        )],
        &[(MODEL, 2)],
    );
    check(
        rule,
        &[(MODEL, "fn f() {\n    crate::index::g();\n}")],
        &[(MODEL, 2)],
    );
    check(
        rule,
        &[(MODEL, "fn f(_: &crate::index::Term) {}")],
        &[(MODEL, 1)],
    );
    check(
        rule,
        &[(MODEL, "fn f() {\n    assert!(crate::index::is_up());\n}")],
        &[(MODEL, 2)],
    );
}

#[test]
fn names_of_the_root_count_as_their_module() {
    check(
        imports::order,
        &[(MODEL, "use crate::Error;\nuse crate::Engine;")],
        &[(MODEL, 2)],
    );
}

#[test]
fn tests_may_look_up() {
    let text = "#[cfg(test)]\nmod tests {\n    use crate::index::Term;\n}";
    check(imports::order, &[(MODEL, text)], &[]);
    let files = [
        (
            "engine/src/model/mod.rs",
            "//! Docs.\n#[cfg(test)]\nmod trials;",
        ),
        ("engine/src/model/trials.rs", "use crate::index::Term;"),
    ];
    check(imports::order, &files, &[]);
}

#[test]
fn re_exports_of_owned_crates_are_noticed() {
    let rule = imports::no_foreign_re_exports;
    let runtime = "server/src/runtime/mod.rs";
    check(
        rule,
        &[(runtime, "pub use tokio::{sync, time};")],
        &[(runtime, 1)],
    );
    check(
        rule,
        &[(runtime, "pub(crate) use hyper::body::Incoming;")],
        &[(runtime, 1)],
    );
    check(
        rule,
        &[(runtime, "use tokio::sync::mpsc;\npub use super::Body;")],
        &[],
    );
}

#[test]
fn foreign_crates_stay_with_their_owner() {
    let rule = imports::owners;
    check(
        rule,
        &[("engine/src/store/redb.rs", "use redb::Database;")],
        &[],
    );
    check(rule, &[(INDEX, "use redb::Database;")], &[(INDEX, 1)]);
    check(
        rule,
        &[(INDEX, "fn f() {\n    std::fs::remove_file(\"a\").ok();\n}")],
        &[(INDEX, 2)],
    );
    check(
        rule,
        &[(MODEL, "#[derive(Debug)]\nstruct A(roaring::RoaringBitmap);")],
        &[(MODEL, 2)],
    );
    check(
        rule,
        &[("engine/src/blob/put.rs", "use std::fs::File;")],
        &[],
    );
    check(rule, &[("server/src/web/page.rs", "use std::fs;")], &[]);
    check(
        rule,
        &[("server/src/web/page.rs", "use reqwest::Client;")],
        &[("server/src/web/page.rs", 1)],
    );
}

#[test]
fn only_the_service_makes_changes_of_accounts_and_keys() {
    let rule = changes::one_place;
    let page = "server/src/web/page.rs";
    let named = "fn f() {\n    engine.apply(StateEvent::Change(change, by));\n}";
    check(rule, &[(page, named)], &[(page, 2)]);
    let made = "fn f() {\n    let event = change.into_event(actor, now);\n}";
    check(rule, &[(page, made)], &[(page, 2)]);
    check(rule, &[("server/src/service/credentials.rs", made)], &[]);
    let asked = "fn f() {\n    // As StateEvent::Change(..) does.\n    service.change(change);\n}";
    check(rule, &[(page, asked)], &[]);
}

#[test]
fn boundaries_hold_although_the_order_would_allow() {
    let rule = imports::boundaries;
    check(rule, &[(INDEX, "use crate::store::Row;")], &[(INDEX, 1)]);
    check(rule, &[(INDEX, "use crate::blob::Blob;")], &[(INDEX, 1)]);
    check(rule, &[(INDEX, "use std::time::{Duration, Instant};")], &[]);
    check(
        rule,
        &[(INDEX, "fn f() {\n    let a = Instant::now();\n}")],
        &[(INDEX, 2)],
    );
    check(
        rule,
        &[(INDEX, "fn f() {\n    std::time::SystemTime::now();\n}")],
        &[(INDEX, 2)],
    );
    check(
        rule,
        &[(
            INDEX,
            "fn f() {\n    println!(\"{:?}\", std::env::args());\n}",
        )],
        &[(INDEX, 2)],
    );
    let request = "server/src/request/search.rs";
    check(rule, &[(request, "use subcat_engine::Year;")], &[]);
    check(
        rule,
        &[(request, "use subcat_engine::Engine;")],
        &[(request, 1)],
    );
    check(
        rule,
        &[(request, "use crate::respond::Failure;")],
        &[(request, 1)],
    );
    let respond = "server/src/respond/failure.rs";
    check(
        rule,
        &[(respond, "use crate::request::Search;")],
        &[(respond, 1)],
    );
    let page = "server/src/web/catalog/front.rs";
    check(rule, &[(page, "use crate::web::frame::Site;")], &[]);
    check(rule, &[(page, "use crate::web::catalog::Hit;")], &[]);
    check(
        rule,
        &[(page, "use crate::web::keys::KeyList;")],
        &[(page, 1)],
    );
}

#[test]
fn long_files_and_lines_are_found() {
    let (fits, long) = ("\n".repeat(800), "\n".repeat(801));
    check(shape::size, &[(MODEL, &fits)], &[]);
    check(shape::size, &[(MODEL, &long)], &[(MODEL, 801)]);
    check(
        shape::size,
        &[("server/src/main.rs", &"\n".repeat(61))],
        &[("server/src/main.rs", 61)],
    );
    let line = |columns: usize| format!("\n// {}\n", "á".repeat(columns - 3));
    check(shape::size, &[(MODEL, &line(100))], &[]);
    check(shape::size, &[(MODEL, &line(101))], &[(MODEL, 2)]);
    let data = format!("const A: &str = r#\"{}\"#;", "a".repeat(200));
    check(shape::size, &[(MODEL, &data)], &[]);
}

#[test]
fn tables_of_contents_hold_nothing_else() {
    let path = "engine/src/model/mod.rs";
    check(
        shape::contents,
        &[(path, "//! Docs.\nmod year;\npub use year::Year;")],
        &[],
    );
    check(
        shape::contents,
        &[(path, "//! Docs.\nmod year;\nstruct A;")],
        &[(path, 3)],
    );
    check(
        shape::contents,
        &[(path, "//! Docs.\nmod year {}")],
        &[(path, 2)],
    );
    check(shape::contents, &[(path, "mod year;")], &[(path, 1)]);
}

#[test]
fn nameless_files_are_found() {
    check(shape::names, &[(MODEL, "")], &[]);
    check(
        shape::names,
        &[("engine/src/utils.rs", "")],
        &[("engine/src/utils.rs", 0)],
    );
}

#[test]
fn new_files_at_the_top_level_are_found() {
    let mut tree = tree(&[]);
    tree.top_level = vec![
        "engine".to_owned(),
        "target".to_owned(),
        "notes.txt".to_owned(),
    ];
    let found = shape::top_level(&tree);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "notes.txt");
}

#[test]
fn leftovers_are_found() {
    let rule = shape::leftovers;
    let comment = concat!("fn f() {}\n// TO", "DO: later\n");
    check(rule, &[(MODEL, comment)], &[(MODEL, 2)]);
    check(
        rule,
        &[(MODEL, "/// Turns HTTP into TODOS.\nfn f() {}")],
        &[],
    );
    check(
        rule,
        &[(MODEL, "#[test]\n#[ignore]\nfn f() {}")],
        &[(MODEL, 2)],
    );
    check(
        rule,
        &[(MODEL, "#[test]\n#[ignore = \"slow\"]\nfn f() {}")],
        &[(MODEL, 2)],
    );
    check(
        rule,
        &[(MODEL, "#[allow(dead_code)]\nfn f() {}")],
        &[(MODEL, 1)],
    );
    check(
        rule,
        &[(MODEL, "#![allow(unused_imports, clippy::all)]")],
        &[(MODEL, 1)],
    );
    check(
        rule,
        &[(MODEL, "#[allow(unsafe_code)]\nfn f() {}")],
        &[(MODEL, 1)],
    );
    check(
        rule,
        &[("engine/src/disk/map.rs", "#![allow(unsafe_code)]")],
        &[],
    );
    check(rule, &[(MODEL, "fn f() {\n    todo!()\n}")], &[(MODEL, 2)]);
}

#[test]
fn citations_of_missing_rules_are_found() {
    let page = (
        "engine/SEARCH.md",
        "# Rules\n\n## 4. Branches\n\n- **4.2** A plain word.\n4.3 is no rule\n",
    );
    check(
        pages::citations,
        &[
            page,
            (MODEL, "/// SEARCH.md 4.2, and SEARCH.md 4.\nfn f() {}"),
        ],
        &[],
    );
    check(
        pages::citations,
        &[page, (MODEL, "/// SEARCH.md says so.\nfn f() {}")],
        &[],
    );
    check(
        pages::citations,
        &[page, (MODEL, "\n// (SEARCH.md, 4.3)")],
        &[(MODEL, 2)],
    );
    check(
        pages::citations,
        &[page, (MODEL, "// API.md 4.2")],
        &[(MODEL, 1)],
    );
    let names = ("engine/NAMES.md", "## N. Names\n\n- **N3** Marks.\n");
    check(
        pages::citations,
        &[names, (MODEL, "/// NAMES.md N3, and NAMES.md.\nfn f() {}")],
        &[],
    );
    check(
        pages::citations,
        &[names, (MODEL, "/// (NAMES.md N4)\nfn f() {}")],
        &[(MODEL, 1)],
    );
}

#[test]
fn formats_that_are_not_drawn_are_found() {
    let code = (INDEX, "\nconst MAGIC: [u8; 8] = *b\"subcatSG\";");
    check(
        pages::formats,
        &[code, ("engine/DESIGN.md", "magic `subcatSG`")],
        &[],
    );
    check(pages::formats, &[code], &[(INDEX, 2)]);
}

#[test]
fn tests_that_do_not_exist_are_found_on_the_page_on_security() {
    let source = (INDEX, "#[test]\nfn it_holds() {}");
    let page = |text| [source, ("SECURITY.md", text)];
    let rule = pages::security_tests;
    let named = format!("| a control | `{INDEX}::it_holds` |");
    check(rule, &page(named.as_str()), &[]);
    let gone = format!("\n| `x` | `{INDEX}::it_holds_not`, `other.rs::it_holds` |");
    let twice = [("SECURITY.md", 2), ("SECURITY.md", 2)];
    check(rule, &page(gone.as_str()), &twice);
}
