//! Every row of the table of routes that takes a key, in a field or in its path, tested over a
//! socket: without a key, with a wrong one, too often, from another site, with a body.

use subcat_engine::Scopes;
use subcat_server::command::demo::CATALOG;
use subcat_server::config::RateLimits;
use subcat_server::request::{ADDRESS_RULES, API_RULES, RouteAccess, RouteRule};
use subcat_tests::portal::Portal;
use subcat_tests::raw::{Client, RawAnswer};

const ALLOWED: &str = "GET, HEAD, OPTIONS";

/// A row, and where its key stands.
struct Row {
    rule: &'static RouteRule,
    /// The scope that it needs; `None` for a key in the path.
    scope: Option<Scopes>,
}

impl Row {
    /// The status that an answer means: a download of Bazarr has it in a field (API.md 20.11).
    fn status(answer: &RawAnswer) -> u16 {
        let named = answer.field("x-subcat-error");
        let named = named.and_then(|text| text.split(' ').next()?.parse().ok());
        named.unwrap_or(answer.status)
    }

    /// The status of a request without a key that opens the row.
    fn refusal(&self) -> u16 {
        if self.scope.is_some() { 401 } else { 404 }
    }

    /// The scope of a key that opens the row, and one of a key that does not.
    fn scopes(&self) -> (Scopes, Scopes) {
        match self.scope {
            None => (Scopes::ADDRESS, Scopes::ALL),
            Some(Scopes::SEARCH) => (Scopes::SEARCH, Scopes::READ),
            Some(scope) => (scope, Scopes::SEARCH),
        }
    }

    /// The status of a request with a key of another scope.
    fn wrong_scope(&self) -> u16 {
        if self.scope.is_some() { 403 } else { 404 }
    }

    /// The target that has an answer.
    fn target(&self, api_key: &str) -> String {
        let (id, catalog_id) = (demo_field("id"), demo_field("catalog_id"));
        let path = self.rule.path.replace("{subtitle_id}", &id);
        let path = path.replace("{key}", api_key).replace("{type}", "movie");
        let path = path.replace("{video}", &catalog_id);
        let query = match self.rule.path {
            path if path.ends_with("/search") => "?title=x&languages=es",
            _ => "",
        };
        format!("{path}{query}")
    }

    fn ask(&self, client: &mut Client, request: &Request<'_>) -> RawAnswer {
        let target = self.target(request.api_key.unwrap_or("none"));
        let mut head = format!("{} {target} HTTP/1.1\r\nHost: x\r\n", request.method);
        if let (Some(_), Some(api_key)) = (self.scope, request.api_key) {
            head.push_str(&format!("Authorization: Bearer {api_key}\r\n"));
        }
        for (name, value) in request.fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let body = request.body;
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        client.ask(format!("{head}\r\n{body}"))
    }
}

#[derive(Clone, Copy)]
struct Request<'a> {
    method: &'a str,
    api_key: Option<&'a str>,
    fields: &'a [(&'a str, &'a str)],
    body: &'a str,
}

/// A `GET` with this key.
fn get(api_key: Option<&str>) -> Request<'_> {
    Request {
        method: "GET",
        api_key,
        fields: &[],
        body: "",
    }
}

/// A field of the first record of the demo.
fn demo_field(name: &str) -> String {
    let record = CATALOG.lines().next().expect("the demo has records");
    let record: serde_json::Value = serde_json::from_str(record).expect("JSON");
    record[name].as_str().expect(name).to_owned()
}

/// Every row that takes a key.
fn rows() -> Vec<Row> {
    let rules = API_RULES.iter().chain(ADDRESS_RULES);
    let rows = rules.filter_map(|rule| {
        let scope = match rule.access {
            RouteAccess::ApiKey(scope) => Some(scope),
            RouteAccess::Address => None,
            _ => return None,
        };
        Some(Row { rule, scope })
    });
    let rows: Vec<Row> = rows.collect();
    assert_eq!(rows.len() + 1, API_RULES.len() + ADDRESS_RULES.len());
    rows
}

/// Each row with a client of a portal whose limits no test reaches.
fn each_row(mut check: impl FnMut(&Row, &mut Client, &Portal)) {
    let portal = Portal::open(|config| {
        let wide = 1_000_000.try_into().expect("it is not zero");
        config.rate_limit.api_key.requests = wide;
        config.rate_limit.address_requests = wide;
        config.rate_limit.anonymous_requests = wide;
    });
    for row in rows() {
        let mut client = Client::connect(portal.address());
        check(&row, &mut client, &portal);
    }
}

#[test]
fn a_row_asks_for_its_key() {
    each_row(|row, client, portal| {
        let path = row.rule.path;
        let (own, other) = row.scopes();
        let (own, other) = (portal.api_key(own), portal.api_key(other));
        assert_eq!(row.ask(client, &get(Some(&own))).status, 200, "{path}");
        let refused = row.ask(client, &get(None));
        assert_eq!(Row::status(&refused), row.refusal(), "{path}");
        let unknown = "sct_00000000000000000000000000000000000000";
        let refused = row.ask(client, &get(Some(unknown)));
        assert_eq!(Row::status(&refused), row.refusal(), "{path}");
        let refused = row.ask(client, &get(Some(&other)));
        assert_eq!(Row::status(&refused), row.wrong_scope(), "{path}");
        // A session opens no row: cookies do not count.
        let cookie = [("Cookie", "subcat-session=x; __Host-subcat-session=x")];
        let request = Request {
            fields: &cookie,
            ..get(None)
        };
        let refused = row.ask(client, &request);
        assert_eq!(Row::status(&refused), row.refusal(), "{path}");
        assert_eq!(refused.field("set-cookie"), None);
    });
}

#[test]
fn a_row_is_limited_with_and_without_a_key() {
    for row in rows() {
        let limits = RateLimits::default();
        let portal = Portal::open(|config| config.rate_limit = limits);
        let mut client = Client::connect(portal.address());
        let own = portal.api_key(row.scopes().0);
        let of_key = match row.scope {
            Some(_) => limits.api_key.requests,
            None => limits.address_requests,
        };
        let path = row.rule.path;
        for (api_key, limit) in [
            (Some(own.as_str()), of_key),
            (None, limits.anonymous_requests),
        ] {
            let mut is_limited = || row.ask(&mut client, &get(api_key)).status == 429;
            let first = (1..=limit.get() + 1).find(|_| is_limited());
            assert_eq!(first, Some(limit.get() + 1), "{path} {api_key:?}");
        }
    }
}

/// Scripts of other sites may ask, and get what anybody with the key gets; nothing of a session.
#[test]
fn a_row_answers_other_sites_alike() {
    each_row(|row, client, portal| {
        let path = row.rule.path;
        let own = portal.api_key(row.scopes().0);
        let plain = row.ask(client, &get(Some(&own)));
        let fields = [
            ("Origin", "https://other.example"),
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Mode", "cors"),
        ];
        let request = Request {
            fields: &fields,
            ..get(Some(&own))
        };
        let foreign = row.ask(client, &request);
        assert_eq!(foreign.status, 200, "{path}");
        assert_eq!(foreign.body, plain.body, "{path}");
        assert_eq!(foreign.field("access-control-allow-origin"), Some("*"));
        assert_eq!(foreign.field("access-control-allow-credentials"), None);
        let preflight = Request {
            method: "OPTIONS",
            api_key: None,
            ..request
        };
        let preflight = row.ask(client, &preflight);
        assert_eq!(preflight.status, 204, "{path}");
    });
}

#[test]
fn a_row_answers_its_methods_only() {
    each_row(|row, client, portal| {
        let path = row.rule.path;
        let own = portal.api_key(row.scopes().0);
        for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"] {
            let request = Request {
                method,
                ..get(Some(&own))
            };
            let answer = row.ask(client, &request);
            assert_eq!(answer.status, 405, "{method} {path}");
            assert_eq!(answer.field("allow"), Some(ALLOWED), "{method} {path}");
        }
        let head = Request {
            method: "HEAD",
            ..get(Some(&own))
        };
        let (head, got) = (row.ask(client, &head), row.ask(client, &get(Some(&own))));
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for name in ["content-type", "content-length", "etag"] {
            assert_eq!(head.field(name), got.field(name), "{name} {path}");
        }
    });
}

/// A body changes nothing, is read to its end, and is bounded.
#[test]
fn a_row_ignores_bodies() {
    each_row(|row, client, portal| {
        let path = row.rule.path;
        let own = portal.api_key(row.scopes().0);
        let plain = row.ask(client, &get(Some(&own)));
        let nested = "[".repeat(60_000);
        for body in ["x", "{\"title\":\"y\"}", &nested] {
            let fields = [("Content-Type", "application/json")];
            let request = Request {
                fields: &fields,
                body,
                ..get(Some(&own))
            };
            let answer = row.ask(client, &request);
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.body, plain.body, "{path}");
        }
        let long = "x".repeat(70_000);
        let request = Request {
            body: &long,
            ..get(Some(&own))
        };
        let refused = row.ask(client, &request);
        assert_eq!(refused.status, 413, "{path}");
        assert_eq!(refused.field("connection"), Some("close"), "{path}");
    });
}

#[test]
fn health_is_for_everybody_and_has_no_limit() {
    let portal = Portal::open(|_| ());
    let mut client = Client::connect(portal.address());
    let mut open = API_RULES
        .iter()
        .filter(|rule| rule.access == RouteAccess::Anybody);
    let address = open.next().expect("there is one").path;
    assert_eq!(open.count(), 0);
    for _ in 0..100 {
        assert_eq!(client.get(address, None).status, 200);
    }
}
