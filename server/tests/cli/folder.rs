//! `import DIR`: a folder of subtitles.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

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

/// The same file below two folders is one record: it stays while one of them has it.
#[test]
fn a_record_of_two_folders_outlives_one_of_them() {
    Place::in_both_modes(|place| {
        let paths = ["a/Ronin (1998).srt", "b/Ronin (1998).srt"];
        let folder = Folder::new(place, &[]);
        for path in paths {
            folder.write(path, "same");
        }
        let import = |name: &str| {
            let below = folder.0.join(name).display().to_string();
            place.run(&["import", &below, "--prune=all"]).ok()
        };
        import("a");
        import("b");
        fs::remove_file(folder.0.join(paths[0])).unwrap();
        let text = import("a");
        assert!(
            text.contains("1 records whose files are gone stay, as another imported folder"),
            "{text}"
        );
        assert_eq!(place.export().len(), 1);
        fs::remove_file(folder.0.join(paths[1])).unwrap();
        let text = import("b");
        assert!(text.contains("1 records deleted"), "{text}");
        assert!(place.export().is_empty());
    });
}

/// A content that goes round three files leaves each with a record of its own.
#[test]
fn contents_that_change_places_keep_as_many_records() {
    let place = Place::stopped();
    let names = ["Alien (1979).srt", "Heat (1995).srt", "Ronin (1998).srt"];
    let folder = Folder::new(&place, &[]);
    folder.write(names[0], "a");
    folder.write(names[1], "b");
    assert_eq!(folder.import(&place, &[]), counts(2, 0, 0, 0));
    for (name, text) in names.into_iter().zip(["b, longer", "c, longer still", "a"]) {
        folder.write(name, text);
    }
    folder.import(&place, &[]);
    folder.write(names[0], "b");
    folder.import(&place, &[]);
    let mut titles: Vec<String> = place
        .export()
        .iter()
        .map(|it| it["title"].as_str().unwrap().to_owned())
        .collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Alien", "Heat", "Ronin"]);
    assert_eq!(folder.import(&place, &[]), counts(0, 0, 3, 0));
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

/// Waits until something is so, for a minute.
fn wait_until(is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "it takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &std::process::Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Number of files below a folder.
fn files_count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files_count(&entry.path()),
        _ => 1,
    });
    below.sum()
}

/// The lines of an export in order, without the times of the files.
fn sorted_export(place: &Place) -> Vec<String> {
    let mut records = place.export();
    for record in &mut records {
        record.as_object_mut().unwrap().remove("posted_at");
    }
    let mut lines: Vec<String> = records.iter().map(Value::to_string).collect();
    lines.sort_unstable();
    lines
}

/// Killed anywhere and run again, an import comes to the same end as without that.
#[test]
fn an_import_that_is_killed_and_repeated_is_as_one() {
    let paths: Vec<String> = (0..400)
        .map(|number| {
            format!(
                "TV/Dark/Season {}/{:02}.es.srt",
                number / 20 + 1,
                number % 20 + 1
            )
        })
        .collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let whole = Place::stopped();
    let folder = Folder::new(&whole, &paths);
    assert_eq!(folder.import(&whole, &[]), counts(400, 0, 0, 0));
    let expected = sorted_export(&whole);
    for files_min in [1, 120, 400] {
        let place = Place::stopped();
        let folder = Folder::new(&place, &paths);
        let mut command = place.command(&["import", folder.name()]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (blobs, tmp) = (place.path("data/blobs"), place.path("data/tmp"));
        let stored = || files_count(&blobs) + files_count(&tmp);
        wait_until(|| files_min < stored());
        signal(&child, rustix::process::Signal::KILL);
        child.wait().unwrap();
        let again = folder.import(&place, &[]);
        assert_eq!(again["refused"], 0, "{again}");
        assert!(
            sorted_export(&place) == expected,
            "killed after {files_min}"
        );
        assert_eq!(files_count(&tmp), 0);
        let sound = place.run(&["verify"]).ok();
        assert_eq!(sound, "everything is as it should be\n");
        assert_eq!(folder.import(&place, &[]), counts(0, 0, 400, 0));
    }
}

/// The SHA-256 of the file of a title's record, by its release.
fn stored_sha256(place: &Place, data: &str, title: &str) -> String {
    let records = place.run(&["export", "--data", data]).ok();
    let mut records = records
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let record = records.find(|record| record["title"] == title).unwrap();
    let release = record["source_release_id"].as_str().unwrap();
    let shown = place.run(&["file", "show", release, "--json", "--data", data]);
    shown.json()["sha256"].as_str().unwrap().to_owned()
}

#[test]
fn brought_files_stay_under_pressure_and_are_in_backups() {
    let mut place = Place::stopped();
    let folder = Folder::new(&place, PATHS);
    place.start_server(&["--set", "files.cache_bytes=1"]);
    folder.import(&place, &[]);
    let data = place.path("data").display().to_string();
    let before = stored_sha256(&place, &data, "Ronin");
    let key = place.create_key(&[]);
    let ronin = id_of(&place, "Ronin");
    let download = format!("/api/subtitles/{}/download", ronin.as_str().unwrap());
    let text = |place: &Place| place.server().get(&download, Some(&key)).text();
    assert_eq!(text(&place), subtitle(PATHS[0]));
    place.run(&["compact"]).ok();
    let copy = place.path("copy").display().to_string();
    place.run(&["backup", &copy]).ok();
    assert_eq!(stored_sha256(&place, &copy, "Ronin"), before);
    assert_eq!(place.stop_server(), 0);
    fs::remove_dir_all(place.path("data")).unwrap();
    place.run(&["restore", &copy]).ok();
    place.start_server(&["--set", "files.cache_bytes=1"]);
    assert_eq!(text(&place), subtitle(PATHS[0]));
    // What was read before is known of the copy as well.
    assert_eq!(folder.import(&place, &[]), counts(0, 0, 3, 1));
}

#[test]
fn a_folder_is_followed_until_somebody_says_stop() {
    Place::in_both_modes(|place| {
        let folder = Folder::new(place, &PATHS[..1]);
        let arguments = [
            "import",
            folder.name(),
            "--follow",
            "--prune",
            "--every",
            "1",
        ];
        let mut command = place.command(&arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let memory = || files_count(&place.path("data/blobs"));
        wait_until(|| memory() == 2);
        folder.write(PATHS[1], PATHS[1]);
        wait_until(|| memory() == 3);
        // Without a server nobody else may open the catalog meanwhile, and tell.
        if place.is_serving() {
            wait_until(|| place.export().len() == 2);
            fs::remove_file(folder.0.join(PATHS[0])).unwrap();
            wait_until(|| place.export().len() == 1);
        }
        signal(&child, rustix::process::Signal::TERM);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        id_of(place, "Fargo");
    });
}

#[test]
fn a_table_corrects_languages_titles_and_folders() {
    Place::in_both_modes(|place| {
        let paths = [
            "Dark.S01E04.Pilot.it.srt",
            "Hola.en.srt",
            "downloads/x/The.Flash.2014.208.hdtv.srt",
        ];
        let folder = Folder::new(place, &paths);
        let refused = place.run(&["import", folder.name()]);
        assert_eq!(refused.status, 1, "{refused:?}");
        let table = "file,video_type,title,season,episode,language\n\
             Dark.S01E04.Pilot.it.srt,,,,,it\n\
             Hola.en.srt,movie,,,,\n\
             downloads,episode,The Flash,2,8.0,\n";
        let table = place.write("fix.csv", table);
        assert_eq!(folder.import(place, &["--fix", &table]), counts(3, 0, 0, 0));
        let mut read: Vec<Value> = place
            .export()
            .iter()
            .map(|it| json!([it["title"], it["season"], it["episode"], it["language"]]))
            .collect();
        read.sort_by_key(Value::to_string);
        assert_eq!(
            json!(read),
            json!([
                ["Dark", 1, 4, "it"],
                ["Hola", null, null, "en"],
                ["The Flash", 2, 8, "es"]
            ])
        );
    });
}

#[test]
fn ids_lie_beside_films_and_above_their_subtitles() {
    let place = Place::stopped();
    let paths = [
        "Movies/Heat (1995)/Subs/2_Spanish.srt",
        "Movies/Ronin (1998).es.srt",
        "TV/Dark/Season 1/Dark.S01E02.es.srt",
    ];
    let folder = Folder::new(&place, &paths);
    for (path, id) in [
        ("Movies/Heat (1995)/movie.nfo", "tt0113277"),
        ("Movies/other.nfo", "tt0000001"),
        ("TV/Dark/tvshow.nfo", "tt5753856"),
        ("TV/Dark/Season 1/Dark.S01E02.nfo", "tt6305578"),
    ] {
        fs::write(folder.0.join(path), id).unwrap();
    }
    assert_eq!(folder.import(&place, &[]), counts(3, 0, 0, 0));
    let ids = |title: &str| {
        let records = place.export();
        let found = records.iter().find(|record| record["title"] == title);
        let found = found.unwrap();
        json!([found["catalog_id"], found["parent_catalog_id"]])
    };
    assert_eq!(ids("Heat"), json!(["tt0113277", null]));
    assert_eq!(ids("Ronin"), json!([null, null]));
    assert_eq!(ids("Dark"), json!(["tt6305578", "tt5753856"]));
}
