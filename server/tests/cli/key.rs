//! `key`: API keys.

use crate::harness::{Place, field_names};
use serde_json::{Value, json};

#[test]
fn a_key_is_created_listed_shown_and_revoked() {
    Place::in_both_modes(|place| {
        let text = place
            .run(&["key", "create", "--json", "--name", "first"])
            .ok();
        let names = ["id", "name", "key", "scopes", "expires_at", "limit"];
        assert_eq!(field_names(&text), names);
        let created: Value = serde_json::from_str(&text).unwrap();
        let key = created["key"].as_str().unwrap();
        assert!(key.starts_with("sct_") && key.len() == 42, "{key}");
        assert_eq!(created["name"], "first");
        assert_eq!(created["scopes"], json!(["search", "read", "download"]));
        assert_eq!(created["expires_at"], Value::Null);
        assert_eq!(created["limit"], "60/60");

        let text = place.run(&["key", "list", "--json"]).ok();
        assert!(!text.contains(key), "{text}");
        let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
        let names = [
            "id",
            "name",
            "partial",
            "scopes",
            "created_at",
            "last_used_at",
            "expires_at",
            "state",
            "requests",
            "downloads",
        ];
        assert_eq!(field_names(inner), names);
        let listed: Value = serde_json::from_str(inner).unwrap();
        assert_eq!(listed["partial"], format!("{}…{}", &key[..8], &key[38..]));
        assert_eq!(listed["state"], "active");
        assert_eq!(listed["last_used_at"], Value::Null);
        assert_eq!(
            (&listed["requests"], &listed["downloads"]),
            (&json!(0), &json!(0))
        );

        let number = created["id"].to_string();
        let shown = place.run(&["key", "show", &number, "--json"]).json();
        assert_eq!(shown["name"], "first");
        assert_eq!(shown["limit"], "60/60");
        assert_eq!(shown["days"], json!([]));
        for (limit, expected) in [("5/10", "5/10"), ("default", "60/60")] {
            let set = place.run(&["key", "limit", &number, limit, "--json"]);
            assert_eq!(set.json()["limit"], expected);
            let shown = place.run(&["key", "show", &number, "--json"]).json();
            assert_eq!(shown["limit"], expected);
        }
        let text = place.run(&["key", "limit", &number, "7/9"]).ok();
        assert_eq!(
            text,
            format!("key {number} may make 7 requests in 9 seconds\n")
        );
        let text = place.run(&["key", "revoke", &number]).ok();
        assert!(text.contains("is revoked"), "{text}");
        place.run(&["key", "revoke", &number]).ok();
        let shown = place.run(&["key", "show", &number, "--json"]).json();
        assert_eq!(shown["state"], "revoked");
        let text = place.run(&["key", "list"]).ok();
        assert!(text.contains("revoked"), "{text}");
    });
}

#[test]
fn expiry_scopes_and_limit_are_kept() {
    Place::in_both_modes(|place| {
        let create = |more: &[&str]| {
            let mut arguments = vec!["key", "create", "--json", "--name", "k"];
            arguments.extend(more);
            place.run(&arguments)
        };
        let created = create(&["--expires", "2099-01-31", "--scope", "read,search"]).json();
        assert_eq!(created["expires_at"], "2099-01-31T23:59:59Z");
        assert_eq!(created["scopes"], json!(["search", "read"]));
        let created = create(&["--limit", "5/10", "--expires", "never"]).json();
        assert_eq!(created["limit"], "5/10");
        assert_eq!(created["expires_at"], Value::Null);
        let created = create(&["--expires", "12h"]).json();
        assert!(created["expires_at"].as_str().unwrap().ends_with('Z'));
        let sentence = create(&["--expires", "2020-01-31"]).fails(1);
        assert!(sentence.contains("in the past"), "{sentence}");
        assert_eq!(
            place
                .run(&["key", "list", "--json"])
                .json()
                .as_array()
                .unwrap()
                .len(),
            3
        );
    });
}

#[test]
fn keys_belong_to_accounts_that_are_there_and_enabled() {
    Place::in_both_modes(|place| {
        let create = [
            "key",
            "create",
            "--name",
            "k",
            "--account",
            "ana@example.org",
        ];
        let sentence = place.run(&create).fails(1);
        assert!(sentence.contains("subcat account create"), "{sentence}");
        let account = ["account", "create", "ana@example.org", "--password-stdin"];
        place.run_with(&account, "correct horse\n").ok();
        place.run(&create).ok();
        let shown = place.run(&["key", "show", "1", "--json"]).json();
        assert_eq!(shown["account"], "ana@example.org");
        place.run(&["account", "disable", "ana@example.org"]).ok();
        let sentence = place.run(&create).fails(1);
        assert!(sentence.contains("is disabled"), "{sentence}");
    });
}

#[test]
fn an_unknown_key_and_a_bad_name_are_status_1() {
    Place::in_both_modes(|place| {
        place.create_key(&[]);
        for arguments in [&["key", "show", "99"][..], &["key", "revoke", "99"]] {
            let sentence = place.run(arguments).fails(1);
            assert!(sentence.contains("no key 99"), "{sentence}");
        }
        let long = "x".repeat(101);
        for name in ["", "  ", "a\tb", &long] {
            let sentence = place.run(&["key", "create", "--name", name]).fails(1);
            assert!(sentence.contains("1 to 100 characters"), "{sentence}");
        }
    });
}

#[test]
fn a_revoked_key_is_refused_before_the_command_returns() {
    let place = Place::serving();
    let key = place.create_key(&[]);
    let status = || {
        place
            .server()
            .get("/api/subtitles/search?title=x", Some(&key))
            .status
    };
    assert_eq!(status(), 200);
    place.run(&["key", "revoke", "1"]).ok();
    assert_eq!(status(), 401);
}

#[test]
fn keys_of_a_disabled_account_are_refused_before_the_command_returns() {
    let place = Place::serving();
    let account = ["account", "create", "ana@example.org", "--password-stdin"];
    place.run_with(&account, "correct horse\n").ok();
    let key = place.create_key(&["--account", "ana@example.org"]);
    let status = || {
        place
            .server()
            .get("/api/subtitles/search?title=x", Some(&key))
            .status
    };
    assert_eq!(status(), 200);
    place.run(&["account", "disable", "ana@example.org"]).ok();
    assert_eq!(status(), 401);
}

#[test]
fn a_key_outlives_the_server_that_made_it() {
    let mut place = Place::serving();
    let key = place.create_key(&["--limit", "7/60"]);
    assert_eq!(place.stop_server(), 0);
    place.start_server(&[]);
    let answer = place
        .server()
        .get("/api/subtitles/search?title=x", Some(&key));
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .head
            .to_lowercase()
            .contains("x-ratelimit-limit: 7\r\n"),
        "{}",
        answer.head
    );
}

#[test]
fn a_rolled_key_has_a_new_text_and_the_old_one_lives_for_its_grace() {
    let mut place = Place::stopped();
    let old = place.create_key(&["--limit", "50/60", "--scope", "search"]);
    place.start_server(&[]);
    let search = "/api/subtitles/search?title=x";
    assert_eq!(place.server().get(search, Some(&old)).status, 200);
    place.stop_server();
    place.start_server(&[]);
    let rolled = place
        .run(&["key", "roll", "1", "--grace-days", "30", "--json"])
        .json();
    assert_eq!(rolled["id"], 2);
    assert_eq!(rolled["replaces"], 1);
    assert_eq!(rolled["name"], "test");
    assert_eq!(rolled["limit"], "50/60");
    assert_eq!(rolled["scopes"], json!(["search"]));
    let new = rolled["key"].as_str().unwrap();
    assert_ne!(new, old);
    let shown = place.run(&["key", "show", "2", "--json"]).json();
    assert_eq!(shown["requests"], 1, "the history goes with it: {shown}");
    assert_eq!(shown["days"].as_array().unwrap().len(), 1);
    let shown = place.run(&["key", "show", "1", "--json"]).json();
    assert_eq!(shown["state"], "active");
    assert_eq!(shown["requests"], 0);
    assert_eq!(shown["revoked_at"], rolled["old_ends_at"]);
    for text in [&old, new] {
        assert_eq!(place.server().get(search, Some(text)).status, 200);
    }
    let again = place.run(&["key", "roll", "1"]).fails(1);
    assert!(again.contains("was rolled before"), "{again}");
    // The rest of its time can be cut short.
    place.run(&["key", "revoke", "1"]).ok();
    assert_eq!(place.server().get(search, Some(&old)).status, 401);
    assert_eq!(place.server().get(search, Some(new)).status, 200);
    let rolled = place
        .run(&["key", "roll", "2", "--grace-days", "0", "--json"])
        .json();
    assert_eq!(place.server().get(search, Some(new)).status, 401);
    let newest = rolled["key"].as_str().unwrap();
    assert_eq!(place.server().get(search, Some(newest)).status, 200);
    assert_eq!(
        place
            .run(&["key", "roll", "3", "--grace-days", "31"])
            .status,
        2
    );
    let unknown = place.run(&["key", "roll", "9"]).fails(1);
    assert!(unknown.contains("no key 9"), "{unknown}");
}
