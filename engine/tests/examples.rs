//! The programs of `examples/`, run.

#[path = "../examples/explain.rs"]
mod explain;
#[path = "../examples/import.rs"]
mod import;
#[path = "../examples/open_and_search.rs"]
mod open_and_search;

type Program = fn() -> Result<(), Box<dyn std::error::Error>>;

/// Entry points of the programs, which run on a directory of the caller: tests run their bodies.
const _: [Program; 3] = [explain::main, import::main, open_and_search::main];

#[test]
fn open_and_search_finds_the_title() {
    let dir = tempfile::tempdir().unwrap();
    let answers = open_and_search::run(&dir.path().join("data")).unwrap();
    assert_eq!(answers.len(), 1);
    assert!(
        answers[0].contains("\"title\":\"Dersu Uzala\""),
        "{answers:?}"
    );
}

#[test]
fn import_reports_what_it_rejects() {
    let dir = tempfile::tempdir().unwrap();
    let (summary, rejected) = import::run(&dir.path().join("data")).unwrap();
    assert_eq!(summary.inserted, 2);
    assert_eq!(rejected.len(), 1);
    assert!(
        rejected[0].contains("an integer from 1850 to 2100"),
        "{rejected:?}"
    );
}

#[test]
fn explain_shows_the_segments() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    import::run(&data).unwrap();
    let explanation = explain::run(&data, "ran").unwrap();
    assert!(explanation.contains("ran"), "{explanation}");
}
