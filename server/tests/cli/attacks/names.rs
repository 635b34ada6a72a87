//! Hostile names: of files, entries, releases, uploaders, in every answer that shows them.

use super::hostile::zip_of;
use super::scene::{Scene, USER, held, srt};
use crate::harness::{id, line};

const SCRIPT: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";

/// Asserts that no markup of a name is in a page.
#[track_caller]
fn assert_escaped(text: &str) {
    for mark in ["<script>alert", "<img src=x", "\"'><"] {
        assert!(!text.contains(mark), "{text}");
    }
}

#[test]
fn names_are_text_on_every_page() {
    let scene = Scene::start(&[]);
    let json = serde_json::to_string(SCRIPT).unwrap();
    let more = format!(
        ",\"source_release_id\":\"s1\",\"file_name\":{json},\"uploader_name\":{json},\
         \"description\":{json},\"catalog_id\":\"tt0113277\",\"year\":1995"
    );
    let title = SCRIPT.replace('"', "\\\"");
    scene.place.import(&[line(99, &title, &more)]);
    let entries = [(SCRIPT, srt(SCRIPT)), ("b.srt", srt(SCRIPT))];
    let entries: Vec<(&str, &[u8])> = entries.iter().map(|(n, c)| (*n, c.as_bytes())).collect();
    scene.files.give("s1", zip_of(&entries));
    let mut ana = scene.signed_in(USER);
    for page in [
        format!("/catalog/{}", id(99)),
        format!("/catalog/{}/look", id(99)),
        "/catalog?query=script".to_owned(),
        "/catalog?query=%3Cscript%3Ealert%281%29%3C/script%3E".to_owned(),
        "/catalog?language=%22%27%3E%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E".to_owned(),
        "/title/tt0113277".to_owned(),
        "/uploader?name=%3Cscript%3Ealert%281%29%3C%2Fscript%3E%22%27%3E%3Cimg%20src%3Dx%20\
         onerror%3Dalert(1)%3E"
            .to_owned(),
        "/feed.atom?query=script".to_owned(),
        "/signin?next=%22%27%3E%3Cscript%3Ealert%281%29".to_owned(),
        "/%3Cscript%3Ealert(1)".to_owned(),
    ] {
        let shown = ana.get(&page);
        assert!(shown.status < 500, "{page}");
        assert_escaped(&shown.text());
    }
    held(
        "new",
        "XSS through names",
        "title, description, uploader, file and entry names, cues, queries on ten pages and the \
         feed",
    );
}

#[test]
fn names_break_no_header() {
    let scene = Scene::start(&[]);
    let hostile = "a\\r\\nSet-Cookie: x=1\\r\\n\\r\\n\\\"; filename=evil.exe; /../../etc/passwd";
    let more = format!(",\"source_release_id\":\"s1\",\"file_name\":\"{hostile}.srt\"");
    scene.place.import(&[line(98, "Ronin", &more)]);
    scene.files.give("s1", srt("x"));
    let upstream =
        "Content-Disposition: attachment; filename=\"..\\\\..\\\\x%0d%0aSet-Cookie: y=1\"\r\n";
    scene.files.give_with("r1", upstream, srt("x"));
    let entry = "../../..\\windows\r\nSet-Cookie: z=1/\"evil\".srt";
    scene
        .files
        .give("r2", zip_of(&[(entry, srt("x").as_bytes())]));
    let mut ana = scene.signed_in(USER);
    let mut sent = 0;
    for (number, query) in [
        (98, ""),
        (1, ""),
        (2, ""),
        (2, "?encoding=utf-8"),
        (2, "?format=vtt"),
    ] {
        let shown = ana.get(&format!("/catalog/{}/download{query}", id(number)));
        assert_eq!(shown.fields("set-cookie"), Vec::<&str>::new());
        if shown.status != 200 {
            // A name that is refused, in the record or in the archive.
            assert_eq!(shown.status, 404, "{number}{query}: {}", shown.head);
            continue;
        }
        sent += 1;
        let disposition = shown.fields("content-disposition");
        assert_eq!(disposition.len(), 1);
        let name = disposition[0]
            .strip_prefix("attachment; filename=\"")
            .unwrap();
        let name = name.split('"').next().unwrap();
        assert!(
            !name.contains(['/', '\\']) && !name.contains(".."),
            "{disposition:?}"
        );
    }
    assert!(2 <= sent, "{sent}");
    held(
        "new",
        "header injection and zip-slip names",
        "line ends, quotes, `..` and backslashes in record, upstream and entry names, five \
         downloads",
    );
}

#[test]
fn texts_of_archives_stay_in_them() {
    let scene = Scene::start(&[]);
    scene.files.give(
        "r1",
        zip_of(&[
            ("a.srt", srt("x").as_bytes()),
            ("b.srt", srt("y").as_bytes()),
        ]),
    );
    let long = "x".repeat(6_000);
    let mut ana = scene.signed_in(USER);
    let outside = [
        "..%2F..%2Fetc%2Fpasswd",
        "%2Fetc%2Fpasswd",
        "a.srt%00",
        "%00",
        "A.SRT%0d%0a",
        &long,
    ];
    for file in outside {
        let shown = ana.get(&format!("/catalog/{}/download?file={file}", id(1)));
        assert!([404, 422].contains(&shown.status), "{file}: {}", shown.head);
    }
    for query in [
        "season=99999999999999999999".to_owned(),
        "episode=-1".to_owned(),
        "format=../x".to_owned(),
        "encoding=%00".to_owned(),
        format!("release={}", "a.".repeat(2_000)),
        format!("file=a.srt{}", "&file=b.srt".repeat(400)),
    ] {
        let shown = ana.get(&format!("/catalog/{}/download?{query}", id(1)));
        assert!(shown.status < 500, "{query}: {}", shown.head);
    }
    scene.assert_well();
    held(
        "new",
        "text downloads out of the archive",
        "paths upwards, zeros, line ends, 6,000 characters, numbers beyond bounds, 400 parameters",
    );
}
