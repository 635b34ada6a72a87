//! Texts on pages: first lines, the texts of an archive, an episode out of a pack, lists of many.

use std::fs::{read_dir, read_link};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use subcat_engine::{DraftValue, FileKind, RecordDraft, ReleaseId, Role, StoreKind, Variant};
use subcat_server::runtime::{ControlHandle, WorkKind};
use subcat_tests::portal::{Portal, Visitor};
use subcat_tests::raw::Client;
use subcat_tests::server::{film, text};
use subcat_tests::upstream::Upstream;
use subcat_tests::zip::zip_of;

use crate::catalog::id_of;

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";
const ID: &str = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab";
const PACK: &str = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ac";
/// Time in which something must have happened on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);
const SRT: &[u8] = b"1\r\n00:00:01,000 --> 00:00:02,000\r\n\xBFQu\xE9?\r\n\r\n";

/// A portal with more records, their source, and a reader.
struct Scene {
    portal: Portal,
    ana: Visitor,
    upstream: Upstream,
}

impl Scene {
    fn of(records: Vec<RecordDraft<'_>>) -> Self {
        let upstream = Upstream::start();
        let portal = Portal::open(|config| config.upstream.url = Some(upstream.url()));
        portal.import(records);
        portal.make_account(EMAIL, PASSWORD, Role::User);
        let ana = portal.signed_in(EMAIL, PASSWORD);
        Self {
            portal,
            ana,
            upstream,
        }
    }

    fn page(&mut self, path: &str) -> String {
        let answer = self.ana.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text().to_owned()
    }
}

#[test]
fn the_page_of_a_record_shows_the_first_lines_of_a_stored_text() {
    let mut scene = Scene::of(vec![film(ID, "Faro", 2004, "r1")]);
    scene.upstream.give("r1", SRT);
    let path = format!("/catalog/{ID}");
    let before = scene.page(&path);
    assert!(!before.contains("¿Qué?"));
    assert_eq!(scene.upstream.asked_count(), 0, "a page fetches nothing");
    for form in ["download?format=srt", "download?encoding=utf-8"] {
        assert!(before.contains(&format!("{path}/{form}")), "{form}");
    }
    let look = scene.page(&format!("{path}/look"));
    assert!(look.contains("¿Qué?"));
    let after = scene.page(&path);
    assert!(after.contains("¿Qué?"), "{after}");
    assert!(after.contains("00:00:01,000"));
}

#[test]
fn the_page_of_a_record_shows_the_first_lines_of_the_only_text_of_an_archive() {
    let mut scene = Scene::of(vec![
        film(ID, "Faro", 2004, "r1"),
        film(PACK, "Faros", 2004, "r2"),
    ]);
    let one = zip_of(&[("leeme.nfo", b"Hola"), ("uno.srt", SRT)]);
    let two = zip_of(&[("uno.srt", SRT), ("dos.srt", SRT)]);
    scene.upstream.give("r1", one);
    scene.upstream.give("r2", two);
    for (id, has_lines) in [(ID, true), (PACK, false)] {
        let path = format!("/catalog/{id}");
        assert!(!scene.page(&path).contains("¿Qué?"), "nothing is fetched");
        scene.page(&format!("{path}/look"));
        assert_eq!(scene.page(&path).contains("¿Qué?"), has_lines, "{id}");
    }
}

/// Descriptors of stored files that are open in this process.
fn open_blobs() -> usize {
    let open = read_dir("/proc/self/fd").expect("the system tells");
    let links = open.flatten().map(|entry| read_link(entry.path()));
    let is_blob = |link: &PathBuf| link.to_string_lossy().contains("/blobs/");
    links.flatten().filter(is_blob).count()
}

/// Occupies all decoders until the returned sender is dropped.
fn hold_decoders(control: &ControlHandle) -> Sender<()> {
    let (end, ended) = channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    for _ in 0..WorkKind::Decoding.jobs_max() {
        let ended = Arc::clone(&ended);
        control.detach(WorkKind::Decoding, move || {
            let ended = ended.lock().expect("no other job panics");
            let _ = ended.recv();
        });
    }
    end
}

/// Pages of records and looks that wait for a decoder keep no file open: there may be more of them
/// than descriptors.
#[test]
fn pages_that_wait_for_a_decoder_hold_no_descriptor() {
    const FILES_COUNT: u32 = 40;
    let portal = Portal::open(|config| config.is_catalog_public = true);
    let ids: Vec<String> = (0..FILES_COUNT).map(id_of).collect();
    let releases: Vec<String> = (0..FILES_COUNT).map(|it| format!("w{it}")).collect();
    let records = ids.iter().zip(&releases);
    portal.import(records.map(|(id, it)| film(id, "Faro", 2004, it)).collect());
    let files = portal.service().engine.files();
    files.keep_open(1);
    for release in &releases {
        // Too large to be kept in memory.
        let text = format!("{release}\n{}", "x".repeat(20_000));
        let zip = zip_of(&[("uno.srt", text.as_bytes())]);
        let release = ReleaseId::parse(release).expect("a release");
        let stored = files.store_file(&release, &zip, FileKind::Zip, None);
        stored.expect("it is stored");
    }
    let control = &portal.service().control;
    let held = hold_decoders(control);
    let paths = ids
        .iter()
        .flat_map(|id| ["", "/look"].map(|end| format!("/catalog/{id}{end}")));
    let ask = |path: String| {
        let mut client = Client::connect(portal.address());
        client.send(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n"));
        client
    };
    let waiting: Vec<Client> = paths.map(ask).collect();
    run_behind(control, &[WorkKind::Pages, WorkKind::Opening]);
    // Those that are just about to wait close theirs.
    let until = Instant::now() + PATIENCE;
    while FILES_COUNT as usize / 2 <= open_blobs() {
        assert!(Instant::now() < until, "{} are open", open_blobs());
        std::thread::yield_now();
    }
    drop(held);
    for mut client in waiting {
        assert_eq!(client.read_answer(false).status, 200);
    }
}

/// Runs no-ops of these kinds: behind them, most of what was asked for has begun.
fn run_behind(control: &ControlHandle, kinds: &[WorkKind]) {
    for _ in 0..200 {
        for kind in kinds {
            subcat_engine::block_on(control.run(*kind, || ())).expect("it runs");
        }
    }
}

/// A file that leaves this machine while its look waits for a decoder is fetched again.
#[test]
fn a_look_at_a_file_that_leaves_meanwhile_is_one_at_the_file_fetched_again() {
    let upstream = Upstream::start();
    let portal = Portal::open(|config| {
        config.store = StoreKind::Redb;
        config.is_catalog_public = true;
        config.upstream.url = Some(upstream.url());
    });
    portal.import(vec![film(ID, "Faro", 2004, "r1")]);
    upstream.give("r1", zip_of(&[("uno.srt", SRT)]));
    let files = portal.service().engine.files();
    files.keep_open(1);
    let release = |name| ReleaseId::parse(name).expect("a release");
    let stored = files.store_file(&release("other"), SRT, FileKind::Srt, None);
    stored.expect("it is stored");
    let cached = |name| files.cached_file(&release(name));
    let control = &portal.service().control;
    let held = hold_decoders(control);
    let mut client = Client::connect(portal.address());
    client.send(format!(
        "GET /catalog/{ID}/look HTTP/1.1\r\nHost: test\r\n\r\n"
    ));
    while cached("r1").is_none() {
        std::thread::yield_now();
    }
    // It has been opened once then, as a rule.
    run_behind(control, &[WorkKind::Storing, WorkKind::Opening]);
    let other = cached("other").expect("it was stored");
    // It takes the only place of an open file.
    let opened = files.blob(&other, Variant::Identity).expect("it is here");
    let content = cached("r1").expect("it was fetched").content.to_string();
    let folder = portal.service().config().data.join("blobs");
    std::fs::remove_file(folder.join(&content[..2]).join(&content)).expect("it is there");
    drop((opened, held));
    let answer = client.read_answer(false);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("¿Qué?"), "{}", answer.text());
    assert_eq!(upstream.asked_count(), 2);
}

#[test]
fn each_text_of_an_archive_is_shown_and_downloaded_alone() {
    let mut scene = Scene::of(vec![film(ID, "Faro", 2004, "r1")]);
    let zip = zip_of(&[
        ("leeme.txt", b"Hola"),
        ("Faro & x/uno.srt", SRT),
        ("dos.sub", b"{1}{1}25\n{25}{50}Dos\n"),
    ]);
    scene.upstream.give("r1", zip);
    let path = format!("/catalog/{ID}");
    let look = scene.page(&format!("{path}/look"));
    assert!(!look.contains("¿Qué?"), "no text is chosen");
    assert!(look.contains(&format!("{path}/look?text=1")));
    assert!(!look.contains("text=0"), "another file has no link");
    assert!(look.contains("download?file=Faro%20%26%20x%2Funo.srt&amp;format=srt"));
    let answer = scene.ana.get(&format!(
        "{path}/download?file=Faro%20%26%20x%2Funo.srt&format=srt"
    ));
    assert_eq!(answer.text(), "1\n00:00:01,000 --> 00:00:02,000\n¿Qué?\n\n");
    let first = scene.page(&format!("{path}/look?text=1"));
    assert!(first.contains("¿Qué?"));
    let second = scene.page(&format!("{path}/look?text=2"));
    assert!(second.contains("Dos") && second.contains("00:00:01,000"));
    assert!(
        !second.contains("<dd><bdi>25</bdi>"),
        "the line of the frame rate is left out"
    );
    for number in ["0", "3", "-1", "x"] {
        let answer = scene.ana.get(&format!("{path}/look?text={number}"));
        assert_eq!(answer.status, 404, "{number}");
    }
    let id = subcat_engine::RecordId::parse(ID).unwrap();
    let downloads = scene.portal.service().engine.usage().downloads(id);
    assert_eq!(downloads, 1, "looks count as none");
}

#[test]
fn a_look_into_an_archive_with_one_text_shows_it() {
    let mut scene = Scene::of(vec![film(ID, "Faro", 2004, "r1")]);
    let zip = zip_of(&[("uno.srt", SRT), ("leeme.txt", b"Hola")]);
    scene.upstream.give("r1", zip);
    let look = scene.page(&format!("/catalog/{ID}/look"));
    assert!(look.contains("¿Qué?"));
}

#[test]
fn a_look_into_an_archive_with_long_names_stays_small() {
    let mut scene = Scene::of(vec![film(ID, "Faro", 2004, "r1")]);
    let names: Vec<String> = (0..200)
        .map(|it| format!("{}{it}.srt", "字".repeat(480)))
        .collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|it| (it.as_str(), SRT)).collect();
    scene.upstream.give("r1", zip_of(&files));
    let look = scene.page(&format!("/catalog/{ID}/look"));
    assert!(look.len() < 256 << 10, "{}", look.len());
    assert!(look.contains("look?text=199"));
}

fn episode<'a>(id: &'a str, number: Option<i64>, release: &'a str) -> RecordDraft<'a> {
    RecordDraft {
        video_type: text("episode"),
        year: DraftValue::Absent,
        season: DraftValue::Integer(3),
        episode: number.map_or(DraftValue::Absent, DraftValue::Integer),
        parent_catalog_id: text("tt7654321"),
        ..film(id, "Faro", 2004, release)
    }
}

#[test]
fn the_texts_of_a_pack_show_the_episodes_that_their_paths_tell() {
    let mut scene = Scene::of(vec![episode(PACK, None, "r1")]);
    let zip = zip_of(&[
        ("leeme.txt", b"Hola"),
        ("Faro.S01E01.srt", SRT),
        ("Faro - 1x02.srt", SRT),
    ]);
    scene.upstream.give("r1", zip);
    let look = scene.page(&format!("/catalog/{PACK}/look"));
    for (name, number) in [("Faro.S01E01.srt", "S01E01"), ("Faro - 1x02.srt", "S01E02")] {
        let row = format!("<bdi>{name}</bdi></a> <span class=\"tag\">{number}</span></th>");
        assert!(look.contains(&row), "{look}");
    }
    assert!(look.contains("<bdi>leeme.txt</bdi></th>"), "{look}");
}

#[test]
fn an_episode_is_offered_out_of_the_packs_of_its_season() {
    let records = vec![episode(ID, Some(5), "r1"), episode(PACK, None, "r2")];
    let mut scene = Scene::of(records);
    let link = format!("/catalog/{PACK}/download?season=3&#38;episode=5");
    let is_offered =
        |page: &str| page.contains(&link) || page.contains(&link.replace("&#38;", "&amp;"));
    let title = scene.page("/title/tt7654321?season=3&episode=5");
    assert!(is_offered(&title), "{title}");
    // An episode of which there are only packs.
    let other = scene.page("/title/tt7654321?season=3&episode=6");
    assert!(
        other.contains(&format!("/catalog/{PACK}/download?season=3")),
        "{other}"
    );
    assert!(is_offered(&scene.page(&format!("/catalog/{ID}"))));
    let pack = scene.page(&format!("/catalog/{PACK}"));
    assert!(
        !pack.contains("format=srt"),
        "no text of a pack is the one that is meant"
    );
    assert!(!is_offered(&scene.page("/title/tt7654321?season=3")));
}

#[test]
fn orders_and_pages_of_a_search_reach_more_hits_than_the_api() {
    let ids: Vec<String> = (0..300)
        .map(|it| format!("0b0e7c4a-9b1f-4c63-8d4e-{it:012}"))
        .collect();
    let counts = (0_i64..).map(|it| it * 37 % 300);
    let records = ids.iter().zip(counts).map(|(id, downloads)| RecordDraft {
        downloads: DraftValue::Integer(downloads),
        ..film(id, "Zumaque", 2004, "r1")
    });
    let mut scene = Scene::of(records.collect());
    let page = scene.page("/catalog?query=zumaque&sort=downloads");
    for downloads in [299, 298, 275] {
        assert!(
            page.contains(&format!("{downloads} downloads")),
            "{downloads}"
        );
    }
    assert!(!page.contains("274 downloads"));
    let last = scene.page("/catalog?query=zumaque&sort=downloads&page=12");
    assert!(
        last.contains("276–300") && last.contains("12 / 12"),
        "{last}"
    );
    let last = scene.page("/catalog?query=zumaque&page=12");
    assert!(last.contains("276–300"), "{last}");
    let few = scene.page("/catalog?query=zumaque&limit=30&page=2");
    assert!(few.contains("26–30"), "{few}");
}

#[test]
fn a_list_offers_filters_and_its_feed() {
    let mut scene = Scene::of(vec![film(ID, "Faro", 2004, "r1")]);
    let list = scene.page("/catalog?query=faro");
    assert!(
        list.contains("/catalog?query=faro&#38;video_type=movie"),
        "{list}"
    );
    assert!(list.contains("query=faro</code>"));
    let films = scene.page("/catalog?query=faro&video_type=movie");
    assert!(!films.contains("video_type=episode\""), "one is chosen");
}

#[test]
fn every_language_of_the_catalog_can_be_chosen_by_its_name() {
    let tags = ["es-MX", "ar", "en", "en", "en"];
    let ids: Vec<String> = (1..=tags.len())
        .map(|it| format!("{}{it}", &ID[..35]))
        .collect();
    let films = ids.iter().zip(tags).map(|(id, tag)| RecordDraft {
        language: text(tag),
        catalog_id: text("tt7777777"),
        ..film(id, "Zumaque", 2004, "r1")
    });
    let mut scene = Scene::of(films.collect());
    let list = scene.page("/catalog?query=zumaque");
    for (tag, name) in [
        ("ar", "Arabic"),
        ("en", "English"),
        ("es-419", "Spanish (Latin America)"),
    ] {
        let option = format!("<option value=\"{tag}\">{name}</option>");
        assert!(list.contains(&option), "{option}: {list}");
    }
    // Those of most records narrow the list.
    assert!(list.contains("language=en\">English</a>"), "{list}");
    let chosen = scene.page("/catalog?query=zumaque&language=ENG");
    assert!(chosen.contains("3 results"), "{chosen}");
    assert!(chosen.contains("<strong>English</strong>"), "{chosen}");
    let selected = "<option value=\"en\" selected>English</option>";
    assert_eq!(chosen.matches(">English</option>").count(), 1);
    assert!(chosen.contains(selected), "{chosen}");
    let title = scene.page("/title/tt7777777");
    for heading in ["Arabic", "English", "Latin America"] {
        assert!(title.contains(&format!("<h2>{heading}</h2>")), "{title}");
    }
    assert!(!title.contains("no region stated"), "{title}");
}
