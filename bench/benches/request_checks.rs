//! Cost of the checks of every request of the API: authentication, its rate limit window, and what
//! is counted of it: `cargo bench -p subcat-bench --bench request_checks`.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use subcat_engine::{Change, Engine, NewApiKey, NodeId, Options, RateLimit, Real, Scopes, Usage};
use subcat_server::api::{AuthResult, ConnectionMemory};
use subcat_server::auth::{api_key_digest, api_key_partial, api_key_text};
use subcat_server::config::Config;
use subcat_server::runtime::{Clock, Control, Moment, SystemClock};
use subcat_server::service::{Route, Service, UsageSums};

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Keys of the table.
const KEYS: u32 = 1000;

/// A service with keys, and the fields of a request with the last of them.
fn service(data: &Path, control: &Control) -> (Arc<Service>, HeaderMap) {
    let config = Config {
        data: data.join("data"),
        workers: 1,
        ..Config::default()
    };
    let options = Options {
        disk: Arc::new(Real),
        store: config.store,
        counter_lanes: config.workers + 1,
        node: NodeId(1),
    };
    let clock = Arc::new(SystemClock::new());
    let now = clock.now().timestamp();
    let engine = Engine::open(&config.data, options).expect("an empty directory opens");
    let mut headers = HeaderMap::new();
    for number in 0..KEYS {
        let digits = format!("{number:032}");
        let random = digits.as_bytes().try_into().expect("32 digits");
        let text = api_key_text(random);
        let api_key = NewApiKey {
            account: None,
            name: digits.clone(),
            digest: api_key_digest(&text),
            partial: api_key_partial(&text),
            scopes: Scopes::ALL,
            limit: RateLimit::parse("4294967295/86400"),
            expires_at: None,
        };
        let made = engine.apply(vec![Change::CreateApiKey(api_key).into_event("bench", now)]);
        made.expect("the disk works");
        let value = format!("Bearer {text}").parse();
        headers.insert(AUTHORIZATION, value.expect("a key is printable"));
    }
    let service = Service::new(config, Arc::new(engine), control.handle(), clock);
    (service, headers)
}

/// The checks of one request, and what is counted when it was answered.
fn check(
    service: &Service,
    connection: &mut ConnectionMemory,
    headers: &HeaderMap,
    now: Moment,
) -> u32 {
    let AuthResult::Valid(known) = connection.authenticate(service, headers, now) else {
        panic!("the key was made before");
    };
    let limit = known.api_key.limit.expect("every key has its own");
    known.window.take(limit, now).remaining
}

fn count(service: &Service, usage: &mut UsageSums, headers: &HeaderMap, now: Moment) {
    let one = Usage {
        requests: 1,
        ..Usage::default()
    };
    service.metrics.workers[0].answered(Route::Search, 200, 7);
    let key = subcat_engine::ApiKeyId(headers.len() as u64);
    usage.add(Some(key), now.timestamp(), &one);
}

fn request_checks(criterion: &mut Criterion) {
    let data = tempfile::tempdir().expect("a directory for the benchmark");
    let control = Control::start().expect("threads can be started");
    let (service, headers) = service(data.path(), &control);
    let now = service.clock.now();
    let mut usage = UsageSums::default();
    let mut connection = ConnectionMemory::new(PEER);
    criterion.bench_function("checks: a key that the connection remembers", |bench| {
        bench.iter(|| {
            let headers = black_box(&headers);
            count(&service, &mut usage, headers, black_box(now));
            check(&service, &mut connection, headers, black_box(now))
        });
    });
    criterion.bench_function("checks: the first request of a connection", |bench| {
        bench.iter(|| {
            let headers = black_box(&headers);
            count(&service, &mut usage, headers, black_box(now));
            check(
                &service,
                &mut ConnectionMemory::new(PEER),
                headers,
                black_box(now),
            )
        });
    });
    control.stop();
}

criterion_group!(benches, request_checks);
criterion_main!(benches);
