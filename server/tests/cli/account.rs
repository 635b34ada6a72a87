//! `account`: accounts of the web interface.

use crate::harness::Place;
use serde_json::{Value, json};

#[test]
fn an_account_is_created_listed_changed_and_disabled() {
    Place::in_both_modes(|place| {
        let create = ["account", "create", "Ana@Example.org", "--role", "admin"];
        let mut arguments = create.to_vec();
        arguments.extend(["--password-stdin", "--json"]);
        let created = place.run_with(&arguments, "correct horse\n").json();
        assert_eq!(created["email"], "ana@example.org");
        assert_eq!(created["role"], "admin");
        assert_eq!(created["disabled_at"], Value::Null);
        assert_eq!(created["keys"], 0);
        let sentence = place.run_with(&arguments, "another horse\n").fails(1);
        assert!(sentence.contains("already"), "{sentence}");
        place.create_key(&["--account", "ana@example.org"]);

        let listed = place.run(&["account", "list", "--json"]).json();
        assert_eq!(listed.as_array().unwrap().len(), 1);
        assert_eq!(listed[0]["keys"], 1);
        let text = place.run(&["account", "list"]).ok();
        assert!(text.contains("ana@example.org  admin"), "{text}");

        let password = ["account", "password", "ana@example.org", "--password-stdin"];
        place.run_with(&password, "a new horse\n").ok();
        let disabled = place
            .run(&["account", "disable", "ana@example.org", "--json"])
            .json();
        assert_ne!(disabled["disabled_at"], Value::Null);
        place.run(&["account", "disable", "ana@example.org"]).ok();
        let keys = place.run(&["key", "list", "--json"]).json();
        assert_eq!(keys[0]["state"], "account disabled");
        let listed = place.run(&["account", "second-steps", "--json"]).json();
        assert_eq!(listed, json!([]));
        let links = place.run(&["account", "links", "--json"]).json();
        assert_eq!(links, json!([]));
        let unknown = place.run(&["account", "links", "withdraw", "0000000000000000"]);
        let sentence = unknown.fails(1);
        assert!(sentence.contains("no link"), "{sentence}");
        let text = place.run(&["account", "totp-off", "ana@example.org"]).ok();
        assert!(text.contains("password alone"), "{text}");
        let text = place.run(&["account", "delete", "ana@example.org"]).ok();
        assert!(text.contains("deleted"), "{text}");
        let listed = place.run(&["account", "list", "--json"]).json();
        assert_eq!(listed, json!([]));
        let keys = place.run(&["key", "list", "--json"]).json();
        assert_eq!(keys[0]["state"], "revoked");
        let again = place.run(&["account", "delete", "ana@example.org"]);
        let sentence = again.fails(1);
        assert!(
            sentence.contains("no account ana@example.org"),
            "{sentence}"
        );
    });
}

#[test]
fn bad_passwords_and_addresses_are_refused() {
    Place::in_both_modes(|place| {
        let create = |email: &str, password: &str| {
            place.run_with(&["account", "create", email, "--password-stdin"], password)
        };
        let sentence = create("ana@example.org", "short\n").fails(1);
        assert!(sentence.contains("at least 8 characters"), "{sentence}");
        create("ana@example.org", "").fails(1);
        assert_eq!(create("ana", "correct horse\n").status, 2);
        create("bob@example.org", "correct horse\r\n").ok();
        assert_eq!(
            place.run(&["account", "list", "--json"]).json()[0]["id"],
            json!(1)
        );
        let password = ["account", "password", "eve@example.org", "--password-stdin"];
        let sentence = place.run_with(&password, "correct horse\n").fails(1);
        assert!(
            sentence.contains("no account eve@example.org"),
            "{sentence}"
        );
        let sentence = place
            .run(&["account", "disable", "eve@example.org"])
            .fails(1);
        assert!(
            sentence.contains("no account eve@example.org"),
            "{sentence}"
        );
    });
}

#[test]
fn a_password_never_shows() {
    let place = Place::stopped();
    let create = [
        "account",
        "create",
        "ana@example.org",
        "--password-stdin",
        "--json",
    ];
    let done = place.run_with(&create, "correct horse\n");
    assert!(!format!("{done:?}").contains("horse"));
    assert!(!format!("{done:?}").contains("argon2"));
}
