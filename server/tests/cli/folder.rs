//! `import DIR`: a folder of subtitles.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::Place;

/// A subtitle whose text is this one.
fn subtitle(text: &str) -> String {
    format!("1\n00:00:01,000 --> 00:00:02,000\n{text}\n")
}

/// A folder of files with these paths, each with a text of its own.
struct Folder(PathBuf);

impl Folder {
    fn new(place: &Place, paths: &[&str]) -> Self {
        let folder = Self(place.path("media"));
        for path in paths {
            folder.write(path, path);
        }
        folder
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, subtitle(text)).unwrap();
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn import(&self, place: &Place, options: &[&str]) -> Value {
        let arguments = [&["import", self.name(), "--json"], options].concat();
        place.run(&arguments).json()
    }
}

fn counts(inserted: u64, updated: u64, unchanged: u64, refused: u64) -> Value {
    json!({
        "inserted": inserted, "updated": updated, "unchanged": unchanged,
        "refused": refused, "ignored_fields": 0,
    })
}

/// The id of the record with this title.
fn id_of(place: &Place, title: &str) -> Value {
    let records = place.export();
    let found = records.iter().find(|record| record["title"] == title);
    found.unwrap_or_else(|| panic!("{title}: {records:?}"))["id"].clone()
}

const PATHS: &[&str] = &[
    "Movies/Ronin (1998)/Ronin (1998).es.srt",
    "TV/Fargo (2014)/Season 1/S01E02.en.srt",
    "Heat.1995.720p.BluRay-ABC.srt",
    "Movies/Hola.srt",
];

#[test]
fn a_folder_is_read_once_and_then_what_changed() {
    Place::in_both_modes(|place| {
        let folder = Folder::new(place, PATHS);
        fs::write(folder.0.join("Alien (1979).srt"), "x".repeat(300)).unwrap();
        assert_eq!(folder.import(place, &[]), counts(3, 0, 0, 2));
        assert_eq!(folder.import(place, &[]), counts(0, 0, 3, 2));
        let records = place.export();
        let fargo = records
            .iter()
            .find(|record| record["title"] == "Fargo")
            .unwrap();
        for (field, value) in [
            ("season", json!(1)),
            ("episode", json!(2)),
            ("year", json!(2014)),
            ("language", json!("en")),
            ("description", json!("S01E02.en")),
            ("file_name", json!("S01E02.en.srt")),
        ] {
            assert_eq!(fargo[field], value, "{field}: {fargo}");
        }
        // A changed file and one that moved keep their records.
        let (ronin, heat) = (id_of(place, "Ronin"), id_of(place, "Heat"));
        folder.write(PATHS[0], "something else, and longer");
        let moved = "Movies/Heat.1995.720p.BluRay-ABC.srt";
        fs::rename(folder.0.join(PATHS[2]), folder.0.join(moved)).unwrap();
        let again = folder.import(place, &[]);
        assert_eq!(again["inserted"], 0, "{again}");
        assert_eq!(id_of(place, "Ronin"), ronin);
        assert_eq!(id_of(place, "Heat"), heat);
        assert_eq!(place.export().len(), 3);
        folder.write(moved, "changed after it moved");
        folder.import(place, &[]);
        assert_eq!(id_of(place, "Heat"), heat);
    });
}

#[test]
fn records_of_files_that_are_gone_stay_until_they_are_pruned() {
    Place::in_both_modes(|place| {
        let paths: Vec<String> = (1..=30)
            .map(|number| format!("Ran {number} (1985).srt"))
            .collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let folder = Folder::new(place, &paths);
        assert_eq!(folder.import(place, &[]), counts(30, 0, 0, 0));
        fs::remove_file(folder.0.join(paths[0])).unwrap();
        let text = place.run(&["import", folder.name()]).ok();
        assert!(
            text.contains("1 records whose files are gone stay"),
            "{text}"
        );
        assert_eq!(place.export().len(), 30);
        folder.import(place, &["--prune"]);
        assert_eq!(place.export().len(), 29);
        for path in &paths[1..25] {
            fs::remove_file(folder.0.join(path)).unwrap();
        }
        let text = place.run(&["import", folder.name(), "--prune"]).ok();
        assert!(text.contains("over half of its files are gone"), "{text}");
        assert_eq!(place.export().len(), 29);
        folder.import(place, &["--prune=all"]);
        assert_eq!(place.export().len(), 5);
    });
}

#[test]
fn equal_contents_are_one_record() {
    let place = Place::stopped();
    let folder = Folder::new(&place, &[]);
    folder.write("a/Ronin (1998).srt", "same");
    folder.write("b/Ronin.1998.720p-ABC.srt", "same");
    folder.write("c/Heat (1995).srt", "same");
    let done = place.run(&["import", folder.name()]);
    let text = done.ok();
    assert!(
        text.contains("c/Heat (1995).srt: same content as a/Ronin (1998).srt"),
        "{text}"
    );
    let records = place.export();
    assert_eq!(records.len(), 1);
    assert_eq!(
        records[0]["description"],
        "Ronin (1998)\nRonin.1998.720p-ABC"
    );
    assert_eq!(folder.import(&place, &[]), counts(0, 0, 1, 1));
}

#[test]
fn a_dry_run_writes_a_table_that_corrects_the_next_run() {
    let place = Place::stopped();
    let folder = Folder::new(&place, &[PATHS[0], PATHS[3]]);
    let table = place.path("table.csv");
    let table = Path::new(&table).to_str().unwrap().to_owned();
    let text = place
        .run(&["import", folder.name(), "--dry-run", "--to", &table])
        .ok();
    let shown = "Movies/Ronin (1998)/Ronin (1998).es.srt\tmovie\tRonin\t\t\t1998\tes\t\n";
    assert!(text.starts_with(shown), "{text}");
    assert!(
        text.contains("1 refused: neither year nor episode nor id"),
        "{text}"
    );
    let written = fs::read_to_string(&table).unwrap();
    assert!(
        written.starts_with("file,id,video_type,title,"),
        "{written}"
    );
    assert!(written.contains("Movies/Hola.srt,"), "{written}");
    let fix = "file,video_type,year\nMovies/Hola.srt,movie,2001\n";
    fs::write(folder.0.join("subcat.csv"), fix).unwrap();
    assert_eq!(folder.import(&place, &[]), counts(2, 0, 0, 0));
    let records = place.export();
    let hola = records
        .iter()
        .find(|record| record["title"] == "Hola")
        .unwrap();
    assert_eq!(hola["year"], 2001);
}

#[test]
fn strict_loads_nothing_when_a_file_is_refused() {
    let place = Place::stopped();
    let folder = Folder::new(&place, PATHS);
    let sentence = place.run(&["import", folder.name(), "--strict"]).fails(1);
    assert!(sentence.contains("nothing was loaded"), "{sentence}");
    assert!(place.export().is_empty());
}
