//! Comparison of one request between snapshots and oracle, and of one record with a snapshot.

use serde_json::{Value, json};
use subcat_engine::{
    CatalogId, Doc, FileName, Number, Query, Record, ReleaseId, Snapshot, Year,
    internals::{oracle::Oracle, oracle::OracleAnswer, oracle::OracleHit},
};

/// Answer of the oracle. Asserts that each snapshot finds the same records, with the same
/// relevance, fit and missing weight, in the same order, and the same total.
pub(super) fn same_answer(
    snapshots: &[Snapshot],
    oracle: &Oracle<'_>,
    query: &Query,
) -> OracleAnswer {
    let expected = oracle.search(query);
    for snapshot in snapshots {
        answers(snapshot, query, &expected);
    }
    expected
}

fn answers(snapshot: &Snapshot, query: &Query, expected: &OracleAnswer) {
    let hits = snapshot
        .search(query)
        .expect("an undamaged snapshot answers");
    let mut found = Vec::with_capacity(hits.len());
    for (hit_idx, hit) in hits.hits().iter().enumerate() {
        let doc = snapshot
            .hit_doc(&hits, hit_idx)
            .expect("a hit has its document");
        found.push(OracleHit {
            id: doc.id(),
            relevance: hit.relevance,
            fit: hit.fit,
            missing: hit.missing,
        });
    }
    assert_eq!(found, expected.hits, "hits of {query:#?}");
    assert_eq!(hits.total(), expected.total, "total of {query:#?}");
}

/// Asserts that the explanation of a search has the same hits and total.
pub(super) fn same_explanation(snapshot: &Snapshot, query: &Query) {
    let hits = snapshot
        .search(query)
        .expect("an undamaged snapshot answers");
    let explained = snapshot.explanation(query, &|| 0);
    let explained = explained.expect("an undamaged snapshot answers");
    assert_eq!(explained.total, hits.total(), "{query:#?}");
    let hits = hits.hits();
    assert_eq!(explained.hits.len(), hits.len(), "{query:#?}");
    for (hit, explained) in hits.iter().zip(&explained.hits) {
        assert_eq!(explained.relevance, hit.relevance, "{query:#?}");
        assert_eq!(explained.fit, hit.fit, "{query:#?}");
        let words = explained.release_words.iter();
        let weight: u8 = words.map(|word| word.missing).sum();
        assert_eq!(weight, hit.missing, "{query:#?}");
    }
    assert!(!explained.to_string().is_empty());
}

/// Asserts that the snapshot holds the record exactly when it is active, and as it is.
pub(super) fn same_record(snapshot: &Snapshot, record: &Record) {
    let found = snapshot
        .doc(record.id)
        .expect("an undamaged snapshot answers");
    assert_eq!(found.is_some(), record.is_active, "{record:#?}");
    let Some(doc) = found else {
        return;
    };
    assert_eq!(doc.id(), record.id);
    assert_eq!(answer(&doc), expected_answer(record));
    assert_eq!(doc.upstream_downloads(), record.downloads);
    assert_eq!(doc.catalog_id(), record.catalog_id);
    let release = record.source_release_id.as_ref().map(ReleaseId::as_str);
    assert_eq!(doc.source_release_id(), release);
    assert_eq!(
        doc.file_name(),
        record.file_name.as_ref().map(FileName::as_str)
    );
}

/// The answer that a fragment makes, as JSON.
fn answer(doc: &Doc<'_>) -> Value {
    let mut text = doc.fragment().to_vec();
    text.extend(b"7}");
    serde_json::from_slice(&text).expect("a fragment, a count and a brace are JSON")
}

fn expected_answer(record: &Record) -> Value {
    json!({
        "id": record.id.to_string(),
        "video_type": record.video_type.as_str(),
        "title": record.title,
        "season": record.season.map(Number::get),
        "episode": record.episode.map(Number::get),
        "year": record.year.map(Year::get),
        "catalog_id": record.catalog_id.map(|id: CatalogId| id.to_string()),
        "description": record.description,
        "uploader_name": record.uploader_name,
        "posted_at": record.posted_at.to_string(),
        "downloads": 7,
    })
}
