//! nginx and HAProxy in front of the nodes, with what the runbook has for them.

use std::path::Path;
use std::time::{Duration, Instant};

use super::fixture::{Cluster, LogServer, lines, wait};
use super::proxy::{Cut, Proxy};
use crate::harness::{Answer, get};
use crate::snippets::{ProxyProcess, block_of, free_port, is_installed, nginx_config, run};

const RUNBOOK: &str = include_str!("../../../docs/cluster.md");
const SEARCH: &str = "/api/subtitles/search?title=heat";
/// Keys that are made at least, and at most until every node has one.
const KEYS: std::ops::Range<usize> = 8..100;
/// Requests of each key.
const REQUESTS: u64 = 10;
/// Headers by which the spread over nodes is looked at.
const HEADERS: u64 = 600;
/// Requests that a node gets of them at least.
const SPREAD_MIN: u64 = HEADERS / 6;
/// Time in which a request is answered whose node does not answer.
const MOVED_WITHIN: Duration = Duration::from_secs(5);

/// Time without news after which a node accepts no keys: on a busy machine none does so by chance.
/// Of two that are away a balancer does not always find the third.
const STALE_SECONDS: &str = "15";

/// A balancer in front of three nodes.
struct Balancer {
    address: String,
    _process: ProxyProcess,
}

impl Balancer {
    /// Starts the program with its snippet, in which only addresses are replaced.
    fn start(program: &str, cluster: &Cluster) -> Self {
        let port = free_port();
        let listen = format!("127.0.0.1:{port}");
        let dir = cluster.nodes[0].path(program);
        std::fs::create_dir(&dir).unwrap();
        let process = match program {
            "nginx" => {
                let snippet = block_of(RUNBOOK, &["upstream subcat", "proxy_next_upstream"]);
                let snippet = replaced(&snippet, cluster);
                let snippet = snippet.replace("listen 80;", &format!("listen {listen};"));
                let path = write(&dir, &nginx_config(&dir, &snippet));
                let prefix = dir.display().to_string();
                check("nginx", &["-t", "-q", "-p", &prefix, "-c", &path], &dir);
                ProxyProcess::start("nginx", &["-p", &prefix, "-c", &path])
            }
            _ => {
                let snippet = block_of(RUNBOOK, &["balance hdr(Authorization)"]);
                let snippet = replaced(&snippet, cluster);
                let path = write(
                    &dir,
                    &snippet.replace("bind :80", &format!("bind {listen}")),
                );
                check("haproxy", &["-c", "-q", "-f", &path], &dir);
                ProxyProcess::start("haproxy", &["-db", "-q", "-f", &path])
            }
        };
        wait(&format!("{program} listens"), || {
            std::net::TcpStream::connect(&listen).is_ok()
        });
        Self {
            address: listen,
            _process: process,
        }
    }

    fn search(&self, key: &str) -> Answer {
        get(&self.address, SEARCH, Some(key))
    }

    /// Searches, of which each node gets as many as are returned.
    fn served(&self, cluster: &Cluster, key: &str, status: u16) -> [u64; 3] {
        let before = searches(cluster);
        for _ in 0..REQUESTS {
            let answer = self.search(key);
            assert_eq!(answer.status, status, "{answer:?}");
        }
        let after = searches(cluster);
        [0, 1, 2].map(|number| after[number] - before[number])
    }

    /// The node that all requests of a key go to.
    fn home(&self, cluster: &Cluster, key: &str) -> usize {
        let served = self.served(cluster, key, 200);
        let home = served.iter().position(|count| *count == REQUESTS);
        home.unwrap_or_else(|| panic!("requests of one key are spread: {served:?}"))
    }
}

fn replaced(snippet: &str, cluster: &Cluster) -> String {
    let mut snippet = snippet.to_owned();
    for (number, node) in cluster.nodes.iter().enumerate() {
        let of_page = format!("10.0.0.{}:8080", number + 1);
        assert!(snippet.contains(&of_page), "{snippet}");
        snippet = snippet.replace(&of_page, &node.server().address);
    }
    snippet
}

fn write(dir: &Path, config: &str) -> String {
    let path = dir.join("config");
    std::fs::write(&path, config).unwrap();
    path.display().to_string()
}

/// Asserts that a program takes its configuration without a word.
fn check(program: &str, arguments: &[&str], dir: &Path) {
    let tested = run(program, arguments, dir);
    assert!(tested.status.success(), "{tested:?}");
    let said = String::from_utf8_lossy(&tested.stderr).to_ascii_lowercase();
    assert!(!said.contains("warn"), "{said}");
}

/// Searches that each node has answered; 0 for one without a server.
fn searches(cluster: &Cluster) -> [u64; 3] {
    [0, 1, 2].map(|number| {
        let node = &cluster.nodes[number];
        if !node.is_serving() {
            return 0;
        }
        let metrics = cluster.metrics(number);
        let of_route = "subcat_requests_total{route=\"search\"";
        let counts = metrics.lines().filter(|line| line.starts_with(of_route));
        let counts = counts.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
        counts.sum()
    })
}

/// Three nodes, of which the last one reaches the log through a connection that can be cut.
fn cluster() -> Option<(Cluster, Proxy)> {
    let log = LogServer::nats()?;
    let direct = log.address();
    let (user, host) = direct.rsplit_once('@').unwrap();
    let proxy = Proxy::to(host.to_owned());
    let through = format!("{user}@{}", proxy.address());
    let addresses = [direct.clone(), direct, through];
    let mut cluster = Cluster::at(log, &addresses, &lines(1..4, "Heat"));
    cluster.fence_after(STALE_SECONDS);
    for number in 0..3 {
        cluster.wait_for_keys(number);
    }
    Some((cluster, proxy))
}

/// Makes a key that all nodes know.
fn new_key(cluster: &Cluster, more: &[&str]) -> String {
    let key = cluster.nodes[0].create_key(more);
    for number in 1..3 {
        wait("the key is known", || {
            let health = cluster.search(number, "nothing", &key).status;
            health == 200
        });
    }
    key
}

fn headers_spread_over_the_nodes(balancer: &Balancer, cluster: &Cluster) {
    let before = searches(cluster);
    for number in 0..HEADERS {
        assert_eq!(balancer.search(&format!("false-{number}")).status, 401);
    }
    let after = searches(cluster);
    let counts = [0, 1, 2].map(|number| after[number] - before[number]);
    println!("{HEADERS} headers are spread as {counts:?}");
    assert!(
        counts.iter().all(|count| SPREAD_MIN <= *count),
        "{counts:?}"
    );
}

/// A key for each node that its requests go to.
fn keys_stay_with_a_node(balancer: &Balancer, cluster: &Cluster) -> [String; 3] {
    let mut homes: [Option<String>; 3] = Default::default();
    for number in 0..KEYS.end {
        if KEYS.start <= number && homes.iter().all(Option::is_some) {
            break;
        }
        let key = new_key(cluster, &["--limit", "1000000/60"]);
        let home = balancer.home(cluster, &key);
        assert_eq!(balancer.home(cluster, &key), home);
        homes[home] = Some(key);
    }
    homes.map(|key| key.expect("every node has keys"))
}

fn a_limit_is_exact(balancer: &Balancer, cluster: &Cluster) {
    let key = cluster.nodes[0].create_key(&["--limit", "60/60"]);
    wait("the key is known", || balancer.search(&key).status == 200);
    let admitted = std::thread::scope(|scope| {
        let one = || {
            let statuses = (0..25).map(|_| balancer.search(&key).status);
            statuses
                .inspect(|status| assert!([200, 429].contains(status), "{status}"))
                .filter(|status| *status == 200)
                .count()
        };
        let threads = [(); 4].map(|()| scope.spawn(one));
        threads
            .map(|thread| thread.join().unwrap())
            .iter()
            .sum::<usize>()
    });
    assert_eq!(admitted, 59, "one more was admitted before");
}

/// Asserts that requests of each key are answered, of one without delay where its node is there.
fn all_are_answered(balancer: &Balancer, cluster: &Cluster, keys: &[String; 3], lost: usize) {
    for (home, key) in keys.iter().enumerate() {
        let began = Instant::now();
        let answer = balancer.search(key);
        assert_eq!(answer.status, 200, "{answer:?}");
        let took = began.elapsed();
        assert!(took < MOVED_WITHIN, "{took:?}");
        if home == lost {
            println!("the first request of a key whose node is lost takes {took:?}");
            let served = balancer.served(cluster, key, 200);
            assert_eq!(served.iter().sum::<u64>(), REQUESTS + served[lost]);
        } else {
            assert_eq!(balancer.home(cluster, key), home, "it stays where it was");
        }
    }
}

fn requests_of_a_key_go_to_one_node(program: &str) {
    if !is_installed(program) {
        return;
    }
    let Some((mut cluster, proxy)) = cluster() else {
        return;
    };
    let balancer = Balancer::start(program, &cluster);
    headers_spread_over_the_nodes(&balancer, &cluster);
    let keys = keys_stay_with_a_node(&balancer, &cluster);
    a_limit_is_exact(&balancer, &cluster);
    let address = new_address(&cluster);

    proxy.cut(Cut::Silent);
    wait("the node accepts no keys", || {
        cluster.try_key(2, &keys[2]).status == 503
    });
    all_are_answered(&balancer, &cluster, &keys, 2);
    let dir = cluster.nodes[0].path(program);
    for _ in 0..6 {
        let answer = get(&balancer.address, &address, None);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    address_is_not_logged(&address, &dir);
    proxy.repair();
    cluster.wait_for_keys(2);
    wait("its keys go there again", || {
        balancer.served(&cluster, &keys[2], 200)[2] == REQUESTS
    });

    cluster.nodes[1].kill_server();
    all_are_answered(&balancer, &cluster, &keys, 1);
    no_node_is_left(&balancer, &mut cluster, &keys);
    let answer = get(&balancer.address, &address, None);
    assert_eq!(answer.status, 503, "{answer:?}");
    let head = answer.head.to_ascii_lowercase();
    assert!(head.contains("content-type: application/json"), "{head}");
    address_is_not_logged(&address, &dir);
}

/// Makes a key that stands in paths, and that all nodes know.
fn new_address(cluster: &Cluster) -> String {
    let key = cluster.nodes[0].create_key(&["--scope", "address"]);
    let path = format!("/a/{key}/manifest.json");
    for node in &cluster.nodes {
        wait("the address is known", || {
            get(&node.server().address, &path, None).status == 200
        });
    }
    path
}

/// Asserts that no file of the balancer holds a path with a key.
fn address_is_not_logged(address: &str, dir: &Path) {
    for file in std::fs::read_dir(dir).unwrap() {
        let file = file.unwrap().path();
        let text = std::fs::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains(address), "{}", file.display());
    }
}

/// All that are left accept no keys, and then there are none.
fn no_node_is_left(balancer: &Balancer, cluster: &mut Cluster, keys: &[String; 3]) {
    const UNAVAILABLE: &str = r#"{"detail":"Service Unavailable"}"#;
    cluster.log.kill();
    for number in [0, 2] {
        wait("the node accepts no keys", || {
            cluster.try_key(number, &keys[number]).status == 503
        });
    }
    for key in keys.iter().chain(keys) {
        // Until a balancer has noticed that a node is gone, its answer may be its own.
        wait("the answer is that of a node", || {
            let answer = balancer.search(key);
            assert_eq!((answer.status, &*answer.text()), (503, UNAVAILABLE));
            answer.head.to_ascii_lowercase().contains("retry-after: 5")
        });
    }
    for path in ["/", "/api/health"] {
        let answer = get(&balancer.address, path, None);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    for number in [0, 2] {
        cluster.nodes[number].kill_server();
    }
    wait("the balancer says so", || {
        let answer = balancer.search(&keys[0]);
        assert_eq!((answer.status, &*answer.text()), (503, UNAVAILABLE));
        let head = answer.head.to_ascii_lowercase();
        assert!(head.contains("content-type: application/json"), "{head}");
        head.contains("retry-after: 1")
    });
}

#[test]
fn nginx_sends_the_requests_of_a_key_to_one_node() {
    requests_of_a_key_go_to_one_node("nginx");
}

#[test]
fn haproxy_sends_the_requests_of_a_key_to_one_node() {
    requests_of_a_key_go_to_one_node("haproxy");
}
