//! Hostile files of imports: lines, tables, folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Instant;

use super::scene::{PATIENCE, held, srt};
use crate::harness::{Done, Place, line};

/// Runs an import that must end by itself, soon.
#[track_caller]
fn import(place: &Place, arguments: &[&str]) -> Done {
    let started = Instant::now();
    let done = place.run(&[&["import"], arguments].concat());
    assert!((0..=2).contains(&done.status), "{done:?}");
    assert!(!done.stderr.contains("panicked"), "{done:?}");
    assert!(started.elapsed() < 6 * PATIENCE, "{:?}", started.elapsed());
    done
}

#[test]
fn tables_end_with_a_message() {
    let place = Place::stopped();
    let deep = format!(
        "{{\"title\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let objects = "{\"a\":".repeat(100_000);
    let wide = (0..200_000)
        .map(|it| it.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let quoted = format!("id,title\n1,\"{}", "x".repeat(3_000_000));
    let long = format!("{{\"id\":\"{}\"}}", "x".repeat(20_000_000));
    let files: [(&str, Vec<u8>); 10] = [
        ("deep.jsonl", deep.clone().into_bytes()),
        ("objects.json", objects.clone().into_bytes()),
        ("array.json", format!("[{deep},{objects}").into_bytes()),
        ("wide.csv", format!("{wide}\n{wide}\n").into_bytes()),
        ("quoted.csv", quoted.into_bytes()),
        ("long.jsonl", long.into_bytes()),
        ("zeros.csv", vec![0; 200_000]),
        (
            "utf16.tsv",
            [&b"\xFF\xFE"[..], &[0, 0xD8].repeat(50_000)].concat(),
        ),
        (
            "dump.sql",
            format!("INSERT INTO x VALUES ({}", "(".repeat(100_000)).into_bytes(),
        ),
        (
            "entity.csv",
            format!("id,title\n1,{}\n", "&amp;".repeat(100_000)).into_bytes(),
        ),
    ];
    for (name, content) in files {
        let path = place.write(name, content);
        for more in [&[][..], &["--strict"], &["--json"]] {
            import(&place, &[&[path.as_str()], more].concat());
        }
    }
    assert_eq!(place.export().len(), 0);
    place.import(&[line(1, "Heat", "")]);
    held(
        "new",
        "table imports",
        "100,000 nested values, 200,000 columns, an open quote, 20 MB lines, zeros, lone \
         surrogates, open SQL: each ends with a message",
    );
}

#[test]
fn a_gzip_bomb_is_refused() {
    use std::io::Write;
    let place = Place::stopped();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..200 {
        encoder.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    let path = place.write("bomb.jsonl.gz", encoder.finish().unwrap());
    import(&place, &[&path]);
    held("new", "compressed import", "200 MB of one line in 200 KB");
}

#[test]
fn folders_are_read_within_themselves() {
    let place = Place::stopped();
    let folder = place.path("media");
    let secret = place.path("outside");
    fs::create_dir_all(&secret).unwrap();
    fs::create_dir_all(folder.join("deep")).unwrap();
    fs::write(secret.join("Alien (1979).srt"), srt("outside")).unwrap();
    symlink(&secret, folder.join("link")).unwrap();
    symlink(
        secret.join("Alien (1979).srt"),
        folder.join("Aliens (1986).srt"),
    )
    .unwrap();
    symlink(&folder, folder.join("loop")).unwrap();
    symlink("/etc/passwd", folder.join("Passwd (2000).srt")).unwrap();
    let fifo = folder.join("Pipe (1999).srt");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    fs::write(folder.join("Heat (1995).es.srt"), srt("inside")).unwrap();
    fs::write(folder.join("Heat (1995).nfo"), "<movie>".repeat(2_000_000)).unwrap();
    let entities = "<!ENTITY a \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">".repeat(1_000);
    fs::write(
        folder.join("Ronin (1998).nfo"),
        format!("<!DOCTYPE x [{entities}]><x>&a;</x>"),
    )
    .unwrap();
    fs::write(folder.join("Ronin (1998).srt"), srt("ronin")).unwrap();
    fs::write(folder.join(format!("{}.srt", "x".repeat(250))), srt("long")).unwrap();
    fs::write(folder.join("a\nb\x1b[2J (2001).srt"), srt("control")).unwrap();
    fs::write(folder.join("..\\..\\x (2002).srt"), srt("slip")).unwrap();
    let mut deep = folder.join("deep");
    while deep.as_os_str().len() < 3_500 && fs::create_dir(deep.join("d".repeat(200))).is_ok() {
        deep = deep.join("d".repeat(200));
    }
    let _ = fs::write(deep.join("Deep (2003).srt"), srt("deep"));
    let done = import(&place, &[folder.to_str().unwrap(), "--dry-run"]);
    assert!(
        !done.stdout.contains('\x1b') && !done.stderr.contains('\x1b'),
        "{done:?}"
    );
    let done = import(&place, &[folder.to_str().unwrap()]);
    assert!(
        !done.stdout.contains('\x1b') && !done.stderr.contains('\x1b'),
        "{done:?}"
    );
    let records = place.export();
    let titles: Vec<&str> = records
        .iter()
        .filter_map(|it| it["title"].as_str())
        .collect();
    assert!(
        titles.contains(&"Heat") && titles.contains(&"Ronin"),
        "{titles:?}"
    );
    for outside in ["Alien", "Passwd", "Pipe"] {
        assert!(!titles.contains(&outside), "{titles:?}");
    }
    held(
        "new",
        "folder imports",
        "links out of the folder and in a circle, a FIFO, a 14 MB .nfo, entities, control \
         characters, backslashes, 3,500 characters deep",
    );
}
