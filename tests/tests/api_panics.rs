//! A defect in one request: that request gets a 500, and its worker goes on.

use std::sync::Arc;

use subcat_engine::Role;
use subcat_tests::clocks::PanickingClock;
use subcat_tests::portal::Portal;
use subcat_tests::raw::{Client, RawAnswer};

const HEALTH: &str = "/api/health";

struct Scene {
    portal: Portal,
    clock: Arc<PanickingClock>,
}

impl Scene {
    /// A service with one worker, whose clock panics as planned.
    fn new() -> Self {
        let clock = Arc::new(PanickingClock::default());
        let portal = Portal::with_clock(clock.clone(), |config| config.workers = 1);
        Self { portal, clock }
    }

    fn panics_count(&self) -> u64 {
        let metrics = &self.portal.service().metrics;
        metrics.workers.iter().map(|w| w.panics.get()).sum()
    }

    /// Sends a request during which the clock panics, on a connection that others use, too.
    fn check(&self, request: &str, readings_count: usize, thread: &'static str) -> RawAnswer {
        let before = self.panics_count();
        let mut client = Client::connect(self.portal.address());
        let mut bystander = Client::connect(self.portal.address());
        assert_eq!(bystander.get(HEALTH, None).status, 200);
        self.clock.panic_after(readings_count, thread);
        let answer = client.ask(request);
        assert!(self.clock.has_panicked(), "nothing panicked: {request}");
        assert_eq!(answer.status, 500, "{request}");
        assert_eq!(self.panics_count(), before + 1, "{request}");
        // There is one worker: the same one serves both connections on.
        assert_eq!(client.get(HEALTH, None).status, 200, "{request}");
        assert_eq!(bystander.get(HEALTH, None).status, 200, "{request}");
        answer
    }
}

fn check_api_body(answer: &RawAnswer) {
    assert_eq!(answer.text(), r#"{"detail":"Internal Server Error"}"#);
    assert_eq!(answer.field("content-type"), Some("application/json"));
    assert!(answer.field("x-ratelimit-limit").is_some());
}

#[test]
fn a_panic_in_an_answer_of_the_api_is_one_500() {
    let scene = Scene::new();
    // The second reading of a request measures how long its answer took.
    let answer = scene.check("GET /api/health HTTP/1.1\r\nHost: a\r\n\r\n", 1, "worker");
    check_api_body(&answer);
}

#[test]
fn a_panic_in_a_late_answer_of_the_api_is_one_500() {
    let scene = Scene::new();
    // The second reading comes after the body, in a future that the connection polls.
    let request = "GET /api/health HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
    check_api_body(&scene.check(request, 1, "worker"));
}

#[test]
fn a_panic_in_a_page_is_one_500() {
    let scene = Scene::new();
    scene
        .portal
        .make_account("ana@example.com", "correct horse", Role::User);
    // Pages run on the control runtime, where the first reading is that of the page.
    let answer = scene.check("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0, "control");
    assert!(!answer.body.is_empty());
    assert_eq!(answer.field("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.field("cache-control"), Some("no-store"));
    assert_eq!(
        Client::connect(scene.portal.address())
            .get("/", None)
            .status,
        200
    );
}
