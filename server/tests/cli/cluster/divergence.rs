//! Nodes whose rows differ: an alarm, and nobody overwrites anything.

use super::fixture::{Cluster, LogServer, lines, wait};
use crate::harness::get;

/// Lets the entries of the log that have these words change places.
const SWAP: &str = "
    UPDATE subcat.log AS entry SET body = other.body FROM subcat.log AS other
    WHERE
      position('Alpha'::bytea IN entry.body) > 0 AND position('Omega'::bytea IN other.body) > 0
      OR
      position('Omega'::bytea IN entry.body) > 0 AND position('Alpha'::bytea IN other.body) > 0";

/// A node reads two frames of another node in the wrong order, so that it takes one for old.
#[test]
fn nodes_with_other_rows_are_an_alarm() {
    let Some(log) = LogServer::postgres() else {
        return;
    };
    let mut cluster = Cluster::new(log, &lines(1..3, "Heat"));
    cluster.wait_for_same_rows();
    assert_eq!(cluster.nodes[2].stop_server(), 0);
    cluster.nodes[0].import(&lines(10..11, "Alpha"));
    cluster.nodes[0].import(&lines(11..12, "Omega"));
    // A node looks again at the last entry that it has applied.
    cluster.nodes[0].import(&lines(12..13, "Ronin"));
    wait("node 1 has all", || cluster.found(1, "ronin") == 1);
    let LogServer::Postgres(postgres) = &cluster.log else {
        unreachable!("it was made above");
    };
    postgres.run(SWAP);
    cluster.start(2);

    let diverged = |number: usize| {
        let nodes = cluster.status(number)["nodes"].take();
        let nodes = nodes.as_array().unwrap().clone();
        let diverged = nodes.iter().filter(|it| it["is_diverged"] == true);
        let names = diverged.map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    for number in 0..2 {
        wait("the others see it", || diverged(number) == ["node-2"]);
        let admin = &cluster.nodes[number].server().admin;
        let metrics = get(admin, "/metrics", None).text();
        assert!(
            metrics.contains("\nsubcat_cluster_diverged_nodes 1\n"),
            "{metrics}"
        );
        wait("the log says so", || {
            let log = std::fs::read_to_string(cluster.nodes[number].path("log")).unwrap();
            log.contains("has other rows than this one") && log.contains("node-2")
        });
    }
    wait("it sees that it differs", || diverged(2).len() == 2);
    // All go on, with what they have.
    for (number, found) in [(0, 1), (1, 1), (2, 0)] {
        cluster.wait_for_keys(number);
        assert_eq!(cluster.found(number, "alpha"), found, "node {number}");
        assert_eq!(cluster.found(number, "omega"), 1, "node {number}");
    }

    assert_eq!(cluster.nodes[2].stop_server(), 0);
    cluster.run(0, "snapshot", &[]).ok();
    cluster.join_again(2);
    cluster.wait_for_keys(2);
    // Its earlier number stays in the lists.
    wait("it has what the others have", || {
        cluster.found(2, "alpha") == 1
    });
}
