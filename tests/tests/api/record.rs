//! `GET /api/subtitles/{subtitle_id}`.

use subcat_engine::{DraftValue, RecordDraft, RecordId};
use subcat_tests::server::{TestServer, film, text};

const ID: &str = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab";

#[test]
fn rule_6_1_a_record_is_returned_as_it_is() {
    let server = TestServer::start();
    let api_key = server.api_key();
    server.import(vec![RecordDraft {
        video_type: text("episode"),
        season: DraftValue::Integer(3),
        catalog_id: text("tt0012"),
        ..film(ID, "Año ½", 2004, "1")
    }]);
    let expected = concat!(
        r#"{"id":"0b0e7c4a-9b1f-4c63-8d4e-0123456789ab","video_type":"episode","title":"Año ½","#,
        r#""season":3,"episode":null,"year":2004,"catalog_id":"tt0012","description":null,"#,
        r#""uploader_name":null,"posted_at":"2024-05-01T10:00:00Z","downloads":0}"#
    );
    let plain: String = ID.chars().filter(|c| *c != '-').collect();
    for id in [ID, &ID.to_uppercase(), &plain] {
        let answer = server.get(&format!("/api/subtitles/{id}"), Some(&api_key));
        assert_eq!((answer.status, answer.text()), (200, expected));
        assert_eq!(answer.field("content-type"), Some("application/json"));
    }
}

#[test]
fn rule_6_2_what_is_not_there_is_404() {
    let server = TestServer::start();
    let api_key = server.api_key();
    server.import(vec![film(ID, "x", 2004, "1")]);
    let mut client = server.connect();
    let other = "00000000-0000-4000-8000-000000000001";
    for id in [
        other,
        "x",
        "search1",
        "%20",
        "{0b0e7c4a-9b1f-4c63-8d4e-0123456789ab}",
    ] {
        let answer = client.get(&format!("/api/subtitles/{id}"), Some(&api_key));
        assert_eq!(answer.status, 404, "{id}");
        assert_eq!(answer.text(), r#"{"detail":"Subtitle not found"}"#, "{id}");
    }
    let path = format!("/api/subtitles/{ID}");
    assert_eq!(client.get(&path, Some(&api_key)).status, 200);
    let id = RecordId::parse(ID).unwrap();
    server
        .service
        .engine
        .catalog()
        .set_active(id, false)
        .unwrap();
    let answer = client.get(&path, Some(&api_key));
    assert_eq!(answer.status, 404);
    assert_eq!(answer.text(), r#"{"detail":"Subtitle not found"}"#);
    server
        .service
        .engine
        .catalog()
        .set_active(id, true)
        .unwrap();
    assert_eq!(client.get(&path, Some(&api_key)).status, 200);
}

#[test]
fn rule_2_4_head_has_the_length_of_get() {
    let server = TestServer::start();
    let api_key = server.api_key();
    server.import(vec![film(ID, "x", 2004, "1")]);
    let path = format!("/api/subtitles/{ID}");
    let mut client = server.connect();
    let length = client.get(&path, Some(&api_key)).body.len().to_string();
    let head = client.request("HEAD", &path, Some(&api_key), &[]);
    assert_eq!(head.status, 200);
    assert_eq!(head.field("content-length"), Some(length.as_str()));
    assert_eq!(client.get(&path, Some(&api_key)).status, 200);
}
