//! Snapshots of random segments answer like the oracle: same hits, same ranks, same total.

use std::sync::Arc;

use proptest::prelude::*;

use crate::index::{Segment, SegmentBuilder, Tombstones, merge};
use crate::model::{
    CatalogId, Flag, Language, Number, Record, RecordFlags, RecordId, ReleaseId, Timestamp,
    VideoType, Year,
};
use crate::plan::CostModel;
use crate::query::oracle::Oracle;
use crate::query::{CatalogTerm, Filters, FlagFilter, HitOrder, PackFilter, Query, SearchText};

use super::Snapshot;

const WORDS: &[&str] = &[
    "lost",
    "los",
    "lostt",
    "the",
    "lo",
    "l",
    "2004",
    "1999",
    "s01e02",
    "S1",
    "1x02",
    "Niño",
    "breaking",
    "braking",
    "breakings",
    "extraordinary",
    "extraordinario",
    "extroardinary",
    "o",
    "tt12345",
    "bad",
    "badlands",
    "æon",
    "日本",
    "日本語",
    "x",
    "a",
    "ab",
    "abc",
];
/// Cost models by which small segments are searched with every strategy. TINY comes twice, to be
/// drawn more often.
const COST_MODELS: &[CostModel] = &[
    CostModel::TINY,
    CostModel::TINY,
    CostModel::ALWAYS_PROBE,
    CostModel::ALWAYS_UNITE,
    CostModel::DEFAULT,
];
const LANGUAGES: &[&str] = &["es", "es-ES", "es-419", "spa-MX", "en", "en-US"];

fn text(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS);
    prop::collection::vec(word, words).prop_map(|words| words.join(" "))
}

/// Words that only names of releases have, with every weight.
const RELEASE_WORDS: &[&str] = &[
    "1080p", "720p", "web", "dl", "bluray", "x264", "nf", "grp", "lol", "srt", "mkv",
];

/// The name of a release: words of titles, perhaps a marker and a year, and a tail.
fn release_name() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec!["", "s01e02", "s01", "1999", "2004", "2004 2005", "x"]);
    let tail = prop::collection::vec(prop::sample::select(RELEASE_WORDS), 0..5);
    (text(1..3), marks, tail)
        .prop_map(|(name, marks, tail)| format!("{name} {marks} {}", tail.join(" ")))
}

fn description() -> impl Strategy<Value = Option<String>> {
    let word = prop_oneof![
        prop::sample::select(WORDS),
        prop::sample::select(RELEASE_WORDS)
    ];
    let words = prop::collection::vec(word, 0..8).prop_map(|words| words.join(" "));
    prop::option::of(words)
}

fn year() -> impl Strategy<Value = Option<Year>> {
    prop_oneof![
        Just(None),
        (2003u16..2006).prop_map(Year::new),
        Just(Year::new(1999))
    ]
}

fn number() -> impl Strategy<Value = Option<Number>> {
    (0u16..4).prop_map(Number::new)
}

fn catalog() -> impl Strategy<Value = Option<CatalogId>> {
    let digits = prop::sample::select(vec!["", "12345", "0012345", "7", "99"]);
    digits.prop_map(CatalogId::from_digits)
}

fn record() -> impl Strategy<Value = Record> {
    let values = (any::<bool>(), number(), number(), year());
    let ids = (catalog(), catalog(), any::<[u8; 2]>(), 0i64..6);
    let rest = (
        text(1..4),
        description(),
        prop::sample::select(LANGUAGES),
        prop::bool::weighted(0.9),
        any::<[Option<bool>; 3]>(),
        prop::option::of(Just("r1")),
    );
    (values, ids, rest).prop_map(|(values, ids, rest)| {
        let mut id = [0x55; 16];
        id[0] = ids.2[0];
        id[15] = ids.2[1];
        Record {
            video_type: if values.0 {
                VideoType::Episode
            } else {
                VideoType::Movie
            },
            season: values.1,
            episode: values.2,
            year: values.3,
            catalog_id: ids.0,
            parent_catalog_id: ids.1,
            description: rest.1,
            posted_at: Timestamp::from_seconds(ids.3 * 1000).unwrap(),
            downloads: 3,
            is_active: rest.3,
            language: Language::parse(rest.2).unwrap(),
            flags: Flag::ALL
                .into_iter()
                .zip(rest.4)
                .fold(RecordFlags::default(), |flags, (flag, value)| {
                    flags.with(flag, value)
                }),
            source_release_id: rest.5.and_then(ReleaseId::parse),
            ..Record::new(RecordId::from_bytes(id), &rest.0)
        }
    })
}

fn filters() -> impl Strategy<Value = Filters> {
    let video_type = prop::sample::select(vec![VideoType::Movie, VideoType::Episode]);
    (
        prop::option::weighted(0.3, year()),
        prop::option::weighted(0.3, video_type),
        prop::option::weighted(0.2, number()),
        prop::option::weighted(0.2, number()),
        prop::option::weighted(0.2, prop::sample::select(LANGUAGES)),
        prop_oneof![Just(Filters::default()), more_filters()],
    )
        .prop_map(
            |(year, video_type, season, episode, language, more)| Filters {
                year: year.flatten(),
                video_type,
                season: season.flatten(),
                episode: episode.flatten(),
                language: language.map(|tag| Language::parse(tag).unwrap()),
                ..more
            },
        )
}

fn more_filters() -> impl Strategy<Value = Filters> {
    let flag = || {
        let narrowed = vec![FlagFilter::Exclude, FlagFilter::Only];
        prop_oneof![4 => Just(FlagFilter::Include), 1 => prop::sample::select(narrowed)]
    };
    let packs = vec![PackFilter::Exclude, PackFilter::Include, PackFilter::Only];
    (
        prop::option::weighted(0.2, prop::sample::select(LANGUAGES)),
        prop::sample::select(packs),
        prop::bool::weighted(0.2),
        [flag(), flag(), flag()],
        prop::option::weighted(0.2, 0i64..6),
    )
        .prop_map(|(variety, packs, has_source, flags, since)| Filters {
            variety: variety.map(|tag| Language::parse(tag).unwrap()),
            packs,
            has_source,
            flags,
            since: since.map(|number| Timestamp::from_seconds(number * 1000).unwrap()),
            ..Filters::default()
        })
}

fn cut(text: &str, from: usize, to: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    let from = from.min(chars.len());
    let to = to.clamp(from, chars.len());
    chars[from..to].iter().collect()
}

fn query() -> impl Strategy<Value = Query> {
    let words = prop_oneof![3 => text(1..4), 1 => release_name()];
    let texts = (
        prop::option::weighted(0.7, words),
        prop::option::weighted(0.4, (text(1..4), 0usize..6, 3usize..20)),
        0usize..12,
    );
    let ids = (
        prop::option::weighted(0.2, prop::sample::select(vec!["12345", "tt7", "nope"])),
        prop::option::weighted(0.1, any::<[u8; 2]>()),
        prop::option::weighted(0.4, release_name()),
    );
    let order = prop_oneof![Just(HitOrder::Search), Just(HitOrder::Player)];
    let rest = (filters(), 1u16..12, order);
    (texts, ids, rest).prop_map(|(texts, ids, (filters, page_size, order))| {
        let (words, title, dropped) = texts;
        let words = words.map(|words| {
            let kept: Vec<char> = words.chars().collect();
            let all = kept.iter().enumerate();
            all.filter(|(idx, _)| *idx != dropped)
                .map(|(_, c)| *c)
                .collect::<String>()
        });
        let title = title.map(|(text, from, to)| cut(&text, from, to));
        let mut id = [0x55; 16];
        if let Some(bytes) = ids.1 {
            id[0] = bytes[0];
            id[15] = bytes[1];
        }
        Query::new(filters, page_size)
            .with_query(words.and_then(|words| SearchText::query(&words).unwrap()))
            .with_title(title.and_then(|title| SearchText::title(&title)))
            .with_catalog_id(ids.0.map(CatalogTerm::parse))
            .with_public_id(ids.1.map(|_| RecordId::from_bytes(id)))
            .with_release(ids.2.and_then(|text| SearchText::release(&text)))
            .with_order(order)
    })
}

fn segment(records: &[Record], name: &str) -> Arc<Segment> {
    let mut builder = SegmentBuilder::new();
    records
        .iter()
        .for_each(|record| builder.add(record).unwrap());
    let mut bytes = Vec::new();
    let summary = builder.finish(&mut bytes).unwrap();
    assert_eq!(summary.segment_bytes, bytes.len() as u64);
    let segment = Segment::open(bytes.into(), name).unwrap();
    segment.verify_all().unwrap();
    Arc::new(segment)
}

type Parts = Vec<(Arc<Segment>, Arc<Tombstones>)>;

/// Deleted documents of each segment.
#[derive(Debug, Clone, Copy)]
struct Deletions {
    /// One of this many documents is deleted.
    share: usize,
    /// One of this many tombstones was stored and read again: the others are recent.
    stored_share: usize,
}

impl Deletions {
    const FEW: Self = Self {
        share: 5,
        stored_share: usize::MAX,
    };

    /// Tombstones of documents in this order.
    fn tombstones(self, docs: &[u32], docs_count: u32) -> Tombstones {
        let is_stored = |idx: usize| (idx + 1).is_multiple_of(self.stored_share);
        let mut stored = Tombstones::new();
        for (idx, &doc) in docs.iter().enumerate() {
            assert!(!is_stored(idx) || stored.insert(doc));
        }
        let bytes = stored.to_bytes();
        let mut tombstones = Tombstones::from_bytes(&bytes, "part", docs_count).unwrap();
        for (idx, &doc) in docs.iter().enumerate() {
            assert!(is_stored(idx) || tombstones.insert(doc));
        }
        tombstones
    }
}

fn deletions() -> impl Strategy<Value = Deletions> {
    (1usize..9, prop::sample::select(vec![1, 2, usize::MAX])).prop_map(|(share, stored_share)| {
        Deletions {
            share,
            stored_share,
        }
    })
}

/// Records as segments, each with deleted documents; and the records that are not deleted.
fn parts(records: Vec<Record>, sizes: &[usize], deletions: Deletions) -> (Parts, Vec<Record>) {
    let mut distinct: Vec<Record> = Vec::new();
    for record in records {
        if distinct.iter().all(|other| other.id != record.id) {
            distinct.push(record);
        }
    }
    let (mut parts, mut left) = (Vec::new(), Vec::new());
    let mut rest = &distinct[..];
    for (idx, &size) in sizes.iter().enumerate() {
        let is_last = idx + 1 == sizes.len();
        let (taken, others) = rest.split_at(if is_last {
            rest.len()
        } else {
            size.min(rest.len())
        });
        rest = others;
        let segment = segment(taken, "part");
        let mut deleted = Vec::new();
        for (at, record) in taken.iter().enumerate() {
            let doc = segment.find(record.id).unwrap();
            assert_eq!(doc.is_some(), record.is_active);
            match doc {
                Some(doc) if (at + idx + 1).is_multiple_of(deletions.share) => deleted.push(doc),
                _ => left.push(record.clone()),
            }
        }
        let tombstones = deletions.tombstones(&deleted, segment.len());
        parts.push((segment, Arc::new(tombstones)));
    }
    (parts, left)
}

fn check(snapshot: &Snapshot, oracle: &Oracle<'_>, query: &Query) {
    let hits = snapshot.search(query).unwrap();
    let located = snapshot.locate_hits(&hits).unwrap();
    assert_eq!(located.total(), hits.total());
    assert_eq!(located.locations().len(), hits.len());
    let answer = oracle.search(query);
    let found: Vec<(RecordId, u8, u8, u8)> = hits
        .hits()
        .iter()
        .enumerate()
        .map(|(idx, hit)| {
            let doc = snapshot.hit_doc(&hits, idx).unwrap();
            assert_eq!(
                snapshot.doc(doc.id()).unwrap().unwrap().fragment(),
                doc.fragment()
            );
            let location = located.locations()[idx];
            assert_eq!(snapshot.locate(doc.id()).unwrap(), Some(location));
            assert_eq!(location.id, doc.id());
            assert_eq!(location.upstream_downloads, doc.upstream_downloads());
            assert_eq!(snapshot.fragment(&location), doc.fragment());
            assert_eq!(snapshot.catalog_id(&location).unwrap(), doc.catalog_id());
            (doc.id(), hit.relevance, hit.fit, hit.missing)
        })
        .collect();
    let expected: Vec<(RecordId, u8, u8, u8)> = answer
        .hits
        .iter()
        .map(|hit| (hit.id, hit.relevance, hit.fit, hit.missing))
        .collect();
    assert_eq!((found, hits.total()), (expected, answer.total), "{query:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn snapshots_answer_like_the_oracle(
        mut records in prop::collection::vec(record(), 0..60),
        sizes in prop::collection::vec(0usize..40, 1..6),
        are_by_time in any::<bool>(),
        queries in prop::collection::vec(query(), 30),
        costs in prop::sample::select(COST_MODELS),
        deletions in deletions(),
    ) {
        if are_by_time {
            // As imports make them: a segment is newer than the one before, but for equal times.
            records.sort_by_key(|record| record.posted_at);
        }
        let (parts, left) = parts(records, &sizes, deletions);
        let oracle = Oracle::new(&left);
        let merged = {
            let mut bytes = Vec::new();
            merge(&parts, &mut bytes).unwrap();
            let segment = Segment::open(bytes.into(), "merged").unwrap();
            segment.verify_all().unwrap();
            let parts = vec![(Arc::new(segment), Arc::new(Tombstones::new()))];
            Snapshot::new(2, parts).with_costs(costs.clone())
        };
        let snapshot = Snapshot::new(1, parts).with_costs(costs.clone());
        for query in queries.iter().filter(|query| query.has_criterion()) {
            check(&snapshot, &oracle, query);
            // The second time, numbers of deleted documents are remembered.
            check(&snapshot, &oracle, query);
            check(&merged, &oracle, query);
            snapshot.explain(query, &|| 0).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Damage is an error or does not matter; it never panics and never changes an answer.
    #[test]
    fn damage_is_found_before_it_is_used(
        records in prop::collection::vec(record(), 1..40),
        queries in prop::collection::vec(query(), 10),
        places in prop::collection::vec(any::<prop::sample::Index>(), 20),
    ) {
        let (parts, left) = parts(records, &[usize::MAX], Deletions::FEW);
        let oracle = Oracle::new(&left);
        let mut good = Vec::new();
        merge(&parts, &mut good).unwrap();
        for place in places {
            let mut bytes = good.clone();
            bytes[place.index(good.len())] ^= 1 << (place.index(good.len()) % 8);
            let Ok(segment) = Segment::open(bytes.into(), "damaged") else {
                continue;
            };
            prop_assert!(segment.verify_all().is_err());
            let part = (Arc::new(segment), Arc::new(Tombstones::new()));
            let snapshot = Snapshot::new(3, vec![part]);
            for query in queries.iter().filter(|query| query.has_criterion()) {
                if let Ok(hits) = snapshot.search(query) {
                    prop_assert_eq!(hits.total(), oracle.search(query).total);
                }
            }
        }
    }
}

#[test]
fn an_explanation_names_ways_and_reasons() {
    let year = |id: u8, year: Option<u16>| Record {
        year: year.and_then(Year::new),
        ..film(id, "lost girl")
    };
    let mut records = vec![year(1, Some(2004)), year(2, None)];
    records.extend((3..40).map(|id| film(id, &format!("girl {id}"))));
    let segment = segment(&records, "films");
    let mut tombstones = Tombstones::new();
    tombstones.insert(segment.find(records[9].id).unwrap().unwrap());
    let snapshot = Snapshot::new(1, vec![(segment, Arc::new(tombstones))]);
    let snapshot = snapshot.with_costs(CostModel::TINY);
    let explained = |words: &str| {
        let words = SearchText::query(words).unwrap();
        let query = Query::new(Filters::default(), 5).with_query(words);
        snapshot.explain(&query, &|| 0).unwrap()
    };
    let text = explained("lost girl 2004");
    assert!(
        text.contains("set: word lost: list, as it has at most 2 documents"),
        "{text}"
    );
    assert!(
        text.contains("set: year marker: unite (estimates: probe "),
        "{text}"
    );
    assert!(text.contains("drop deleted documents"), "{text}");
    assert!(text.contains("rank each match"), "{text}");
    assert!(
        text.contains("its year is not the one of the text"),
        "{text}"
    );
}

#[test]
fn a_page_of_none_has_a_total() {
    let records = [1, 2, 3, 4, 5, 6].map(|id| film(id, "lost girl"));
    let part = (segment(&records, "films"), Arc::new(Tombstones::new()));
    let snapshot = Snapshot::new(1, vec![part]).with_costs(CostModel::TINY);
    let bare = || Query::new(Filters::default(), 0);
    let word = || SearchText::query("lost").unwrap();
    for query in [
        bare().with_title(SearchText::title("lost")),
        bare().with_query(word()),
        bare()
            .with_query(word())
            .with_title(SearchText::title("girl")),
    ] {
        check(&snapshot, &Oracle::new(&records), &query);
    }
}

fn film(id: u8, title: &str) -> Record {
    Record::new(RecordId::from_bytes([id; 16]), title)
}

#[test]
fn the_second_try_is_reported_though_its_hits_are_not_on_the_page() {
    let records = [film(1, "abcdefghi"), film(2, "a b")];
    let part = (segment(&records, "films"), Arc::new(Tombstones::new()));
    let snapshot = Snapshot::new(1, vec![part]);
    let is_second = |words: &str| {
        let query = Query::new(Filters::default(), 1)
            .with_query(SearchText::query(words).unwrap())
            .with_title(SearchText::title("b"));
        snapshot.explanation(&query, &|| 0).unwrap().is_typo_search
    };
    assert!(is_second("abcdefghx"));
    assert!(!is_second("abcdefgxy zzzzz"));
    assert!(!is_second("abcdefghi"));
}

#[test]
fn the_explanation_says_what_was_read_and_looked_up() {
    let dark = Record {
        season: Number::new(2),
        episode: Number::new(4),
        video_type: VideoType::Episode,
        ..film(1, "Dark")
    };
    let part = (segment(&[dark], "films"), Arc::new(Tombstones::new()));
    let snapshot = Snapshot::new(1, vec![part]);
    let explained = |words: &str| {
        let words = SearchText::query(words).unwrap();
        let query = Query::new(Filters::default(), 5).with_query(words);
        snapshot.explain(&query, &|| 0).unwrap()
    };
    let text = explained("dark.2017.204.hdtv");
    let read = "query as a name: title [dark], year 2017, tail [204 hdtv]";
    assert!(text.contains(read), "{text}");
    assert!(text.contains("number [dark] season 2, episode 4"), "{text}");
    let text = explained("Dark Temporada 2 Capítulo 5");
    let read = "title [dark], season 2, episode 5, tail []";
    assert!(text.contains(read), "{text}");
    assert!(
        text.contains("looked up: title [dark]; words [dark]"),
        "{text}"
    );
    assert!(text.contains("total 0"), "{text}");
}

#[test]
fn the_explanation_says_which_words_of_the_release_agree() {
    let heat = Record {
        year: Year::new(1995),
        description: Some("720p BluRay".into()),
        ..film(1, "Heat")
    };
    let part = (segment(&[heat], "films"), Arc::new(Tombstones::new()));
    let snapshot = Snapshot::new(1, vec![part]);
    let explained = |query: Query| snapshot.explain(&query, &|| 0).unwrap();
    let by_query = |words: &str| {
        Query::new(Filters::default(), 1).with_query(SearchText::query(words).unwrap())
    };
    let text = explained(by_query("Heat.1995.720p.WEB-GRP.mkv"));
    assert!(
        text.contains("query as a name: title [heat], year 1995"),
        "{text}"
    );
    let reading = "name [heat], years [1995], tail [grp 8, web 4, 720p 2]";
    assert!(text.contains(reading), "{text}");
    assert!(text.contains("total 1, as a name"), "{text}");
    let words = "missing weight 12: has 720p 2; lacks grp 8, web 4";
    assert!(text.contains(words), "{text}");
    let text = explained(by_query("heat").with_release(SearchText::release("bluray.srt")));
    assert!(text.contains("release: words [bluray 8]"), "{text}");
    assert!(text.contains("missing weight 0: has bluray 8"), "{text}");
    let text = explained(by_query("heat"));
    assert!(!text.contains("missing weight"), "{text}");
}
