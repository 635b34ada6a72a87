//! Rate limits: windows of keys and of addresses.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use subcat_engine::Scopes;
use subcat_server::config::RateLimits;
use subcat_tests::raw::RawAnswer;
use subcat_tests::server::TestServer;

const SEARCH: &str = "/api/subtitles/search?title=x";

fn number(answer: &RawAnswer, name: &str) -> u64 {
    let value = answer
        .field(name)
        .unwrap_or_else(|| panic!("{name} is missing"));
    value.parse().unwrap()
}

#[test]
fn rule_8_1_a_key_has_one_window_over_all_endpoints() {
    let server = TestServer::start();
    let (api_key, _) = server.api_key_with(Scopes::ALL, Some("3/60"), None);
    let mut client = server.connect();
    let answers: Vec<RawAnswer> = [SEARCH, "/api/x", "/api/subtitles/search"]
        .into_iter()
        .map(|path| client.get(path, Some(&api_key)))
        .collect();
    let remaining: Vec<u64> = answers
        .iter()
        .map(|answer| number(answer, "x-ratelimit-remaining"))
        .collect();
    assert_eq!(remaining, [2, 1, 0]);
    let reset = number(&answers[0], "x-ratelimit-reset");
    let now = u64::try_from(server.service.now().seconds()).unwrap();
    assert!((now + 50..now + 62).contains(&reset), "{reset} and {now}");
    for answer in &answers {
        assert_eq!(number(answer, "x-ratelimit-limit"), 3);
        assert_eq!(number(answer, "x-ratelimit-window"), 60);
        assert_eq!(number(answer, "x-ratelimit-reset"), reset);
        assert_eq!(answer.field("retry-after"), None);
    }
    for _ in 0..2 {
        let refused = server.get(SEARCH, Some(&api_key));
        assert_eq!(refused.status, 429);
        assert_eq!(refused.text(), r#"{"detail":"Rate limit exceeded"}"#);
        assert_eq!(number(&refused, "x-ratelimit-remaining"), 0);
        assert_eq!(number(&refused, "x-ratelimit-reset"), reset);
        assert!((1..=60).contains(&number(&refused, "retry-after")));
    }
}

#[test]
fn rule_8_1_a_window_ends_and_another_opens() {
    let server = TestServer::start();
    let (api_key, _) = server.api_key_with(Scopes::ALL, Some("1/1"), None);
    let first = server.get(SEARCH, Some(&api_key));
    assert_eq!(first.status, 200);
    let reset = number(&first, "x-ratelimit-reset");
    while u64::try_from(server.service.clock.now().unix_ms).unwrap() < reset * 1000 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(server.get(SEARCH, Some(&api_key)).status, 200);
}

#[test]
fn rule_8_2_every_answer_has_the_fields() {
    let server = TestServer::start();
    let api_key = server.api_key();
    let mut client = server.connect();
    for (path, api_key) in [
        (SEARCH, Some(api_key.as_str())),
        ("/api/subtitles/search", Some(&api_key)),
        ("/api/subtitles/search?limit=0", Some(&api_key)),
        ("/api/subtitles/x", Some(&api_key)),
        ("/api/subtitles/x/download", Some(&api_key)),
        ("/api/x", Some(&api_key)),
        ("/api/x", None),
        ("/api/health", None),
    ] {
        let answer = client.get(path, api_key);
        for name in ["limit", "remaining", "reset", "window"] {
            number(&answer, &format!("x-ratelimit-{name}"));
        }
        assert_eq!(answer.field("vary"), Some("Authorization, Accept-Encoding"));
        assert_eq!(answer.field("cache-control"), Some("private, max-age=0"));
        assert_eq!(answer.field("content-type"), Some("application/json"));
        assert!(answer.field("date").is_some());
    }
}

#[test]
fn rule_8_4_without_a_key_the_address_has_a_window() {
    let server = TestServer::with(|config| {
        config.rate_limit.anonymous_requests = 2.try_into().unwrap();
    });
    let api_key = server.api_key();
    let mut client = server.connect();
    assert_eq!(client.get(SEARCH, Some(&api_key)).status, 200);
    let first = client.get(SEARCH, None);
    assert_eq!(
        (first.status, number(&first, "x-ratelimit-remaining")),
        (401, 1)
    );
    assert_eq!(client.get("/api/x", Some("sct_wrong")).status, 401);
    let refused = client.get("/api/x", None);
    assert_eq!(refused.status, 429);
    assert_eq!(refused.text(), r#"{"detail":"Rate limit exceeded"}"#);
    assert!((1..=60).contains(&number(&refused, "retry-after")));
    assert_eq!(client.get(SEARCH, Some(&api_key)).status, 200);
}

#[test]
fn rule_8_4_by_default_an_address_has_600_requests_in_60_seconds() {
    let server = TestServer::with(|config| config.rate_limit = RateLimits::default());
    let mut client = server.connect();
    let first = client.get(SEARCH, None);
    assert_eq!(first.status, 401);
    assert_eq!(number(&first, "x-ratelimit-limit"), 600);
    assert_eq!(number(&first, "x-ratelimit-window"), 60);
    assert_eq!(number(&first, "x-ratelimit-remaining"), 599);
    for expected in (0..599).rev() {
        let answer = client.get("/api/x", None);
        assert_eq!(answer.status, 401);
        assert_eq!(number(&answer, "x-ratelimit-remaining"), expected);
    }
    assert_eq!(client.get(SEARCH, None).status, 429);
}

/// Pages have limits of their own.
#[test]
fn rule_8_4_pages_consume_no_window() {
    let server = TestServer::with(|config| {
        config.rate_limit.anonymous_requests = 5.try_into().unwrap();
    });
    let (api_key, _) = server.api_key_with(Scopes::ALL, Some("5/60"), None);
    let mut client = server.connect();
    for path in ["/", "/signin", "/docs", "/none"] {
        for api_key in [None, Some(api_key.as_str())] {
            client.get(path, api_key);
        }
    }
    for api_key in [None, Some(api_key.as_str())] {
        let answer = client.get("/api/health", api_key);
        assert_eq!(number(&answer, "x-ratelimit-remaining"), 5);
    }
}

#[test]
fn rule_8_4_behind_a_proxy_the_client_has_the_window() {
    let server = TestServer::with(|config| {
        config.rate_limit.anonymous_requests = 1.try_into().unwrap();
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    });
    let mut client = server.connect();
    let mut ask = |forwarded: &str| {
        let fields = [("X-Forwarded-For", forwarded)];
        client.request("GET", SEARCH, None, &fields).status
    };
    assert_eq!(ask("192.0.2.1"), 401);
    assert_eq!(ask("192.0.2.1"), 429);
    assert_eq!(ask("192.0.2.2"), 401);
    assert_eq!(ask("192.0.2.3, 192.0.2.2, 127.0.0.9"), 429);
    assert_eq!(ask("2001:db8::1"), 401);
    assert_eq!(ask("2001:db8::2"), 429);
}

#[test]
fn rule_8_6_no_window_admits_more_than_its_limit() {
    let server = TestServer::start();
    let (api_key, _) = server.api_key_with(Scopes::ALL, Some("100/3600"), None);
    let admitted: usize = std::thread::scope(|scope| {
        let one_client = || {
            let mut client = server.connect();
            let statuses = (0..50).map(|_| client.get("/api/x", Some(&api_key)).status);
            statuses.filter(|status| *status == 404).count()
        };
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(one_client)).collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum()
    });
    assert_eq!(admitted, 100);
}

#[test]
fn rule_8_7_keys_of_an_account_share_a_window() {
    let server = TestServer::with(|config| config.rate_limit.account_factor = 2);
    let account = server.account("ana@example.org");
    let keys: Vec<String> = (0..3)
        .map(|_| server.api_key_of(account, Some("2/60")))
        .collect();
    let other = server.api_key_of(server.account("eva@example.org"), Some("2/60"));
    let (lone, _) = server.api_key_with(Scopes::ALL, Some("2/60"), None);
    let mut client = server.connect();
    let mut remaining = |api_key: &str| {
        let answer = client.get("/api/x", Some(api_key));
        assert_eq!(answer.status, 404);
        assert_eq!(number(&answer, "x-ratelimit-limit"), 2);
        number(&answer, "x-ratelimit-remaining")
    };
    assert_eq!((remaining(&keys[0]), remaining(&keys[0])), (1, 0));
    assert_eq!((remaining(&keys[1]), remaining(&keys[1])), (1, 0));
    assert_eq!((remaining(&other), remaining(&lone)), (1, 1));
    let rejected = server.get("/api/x", Some(&keys[2]));
    assert_eq!(rejected.status, 429);
    assert_eq!(rejected.text(), r#"{"detail":"Rate limit exceeded"}"#);
    assert_eq!(number(&rejected, "x-ratelimit-limit"), 4);
    assert_eq!(number(&rejected, "x-ratelimit-remaining"), 0);
    assert_eq!(number(&rejected, "x-ratelimit-window"), 60);
    assert!((1..=60).contains(&number(&rejected, "retry-after")));
    // The rejected request has taken nothing from its key.
    let health = server.get("/api/health", Some(&keys[2]));
    assert_eq!(number(&health, "x-ratelimit-remaining"), 2);
    let full = server.get("/api/x", Some(&keys[0]));
    assert_eq!((full.status, number(&full, "x-ratelimit-limit")), (429, 2));
}

#[test]
fn rule_8_7_a_factor_of_0_sets_no_limit() {
    let server = TestServer::with(|config| config.rate_limit.account_factor = 0);
    let account = server.account("ana@example.org");
    for _ in 0..4 {
        let api_key = server.api_key_of(account, Some("1/60"));
        assert_eq!(server.get("/api/x", Some(&api_key)).status, 404);
    }
}
