//! Generated catalogs and requests reach every rank of the search rules.

use std::collections::BTreeMap;

use subcat_engine::{Record, internals::oracle::Oracle};
use subcat_fuzz::choices::Choices;
use subcat_fuzz::records::record;
use subcat_fuzz::requests::request;

/// Catalogs, and requests to each.
const CATALOGS_COUNT: u64 = 160;
const REQUESTS_COUNT: usize = 100;

#[test]
fn every_relevance_and_fit_occurs_often() {
    let mut ranks: BTreeMap<(u8, u8), usize> = BTreeMap::new();
    let mut weighed_count = 0;
    let mut found_count = 0;
    let mut cut_count = 0;
    for seed in 0..CATALOGS_COUNT {
        let mut choices = Choices::seeded(seed);
        let records = distinct_records(&mut choices);
        let oracle = Oracle::new(&records);
        for _ in 0..REQUESTS_COUNT {
            let answer = oracle.search(&request(&mut choices, &records));
            found_count += usize::from(0 < answer.total);
            cut_count += usize::from((answer.hits.len() as u64) < answer.total);
            let mut weights: Vec<u8> = answer.hits.iter().map(|hit| hit.missing).collect();
            weights.dedup();
            weighed_count += usize::from(1 < weights.len());
            for hit in answer.hits {
                *ranks.entry((hit.relevance, hit.fit)).or_default() += 1;
            }
        }
    }
    for relevance in 0..=9 {
        for fit in 0..=7 {
            // A match by the series' id although another episode was named has one fit only; only
            // texts name episodes, and only names compare titles.
            let is_possible = match relevance {
                9 => fit == 1,
                0 | 1 => fit < 2,
                8 => true,
                _ => fit < 3,
            };
            if is_possible {
                let count = ranks.get(&(relevance, fit)).copied().unwrap_or(0);
                assert!(3 <= count, "relevance {relevance}, fit {fit}: {ranks:?}");
            }
        }
    }
    assert!(
        100 <= weighed_count,
        "only {weighed_count} answers are ordered by weight"
    );
    let requests_count = CATALOGS_COUNT as usize * REQUESTS_COUNT;
    assert!(
        requests_count / 4 < found_count,
        "only {found_count} requests found something"
    );
    assert!(
        requests_count / 10 < requests_count - found_count,
        "{found_count} requests found something, too many"
    );
    assert!(
        requests_count / 50 < cut_count,
        "{cut_count} answers had more matches than a page"
    );
}

fn distinct_records(choices: &mut Choices<'_>) -> Vec<Record> {
    let mut records = BTreeMap::new();
    for _ in 0..150 {
        let record = record(choices);
        records.insert(record.id, record);
    }
    records.into_values().collect()
}
