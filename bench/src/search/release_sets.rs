//! Searches by the name of a release, made from the names that records describe.

use subcat_engine::{
    CatalogTerm, Filters, PAGE_SIZE_DEFAULT, Query, Record, SearchText, VideoType, fold, words,
};

use crate::error::Result;
use crate::random::Random;

use super::query_set::QuerySet;
use super::record_file::Records;

/// Full stops that the name of a release has, at least: `Ran.1985.DVDRip-GRP` has two.
const STOPS_MIN: usize = 2;

/// A search for a record by the name of its release.
pub struct HeldOut {
    /// The record.
    pub record: Record,
    /// Its catalog id, season and episode, and its own name as `release`.
    pub query: Query,
}

/// Searches for episodes by catalog id, season and episode, with the record's own release.
pub fn held_out(records: &(impl Records + ?Sized), count: usize) -> Result<Vec<HeldOut>> {
    let mut random = Random::new(200);
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        let record = records.record(random.below(records.count()))?;
        let query = release_name(&record).and_then(|name| episode_query(&record, &name));
        if let Some(query) = query.filter(|_| record.is_active) {
            found.push(HeldOut { record, query });
        }
    }
    Ok(found)
}

/// A query of one kind; `None` when the record gives none.
type Maker = fn(&Record, &str) -> Option<Query>;

/// The sets of searches by the name of a release, `count` queries each.
pub fn release_sets(records: &(impl Records + ?Sized), count: usize) -> Result<Vec<QuerySet>> {
    let kinds: [(&str, Maker); 5] = [
        ("file name", file_name),
        ("id + episode + release", episode_query),
        ("film id + release", film_query),
        ("title words + release", title_query),
        ("first title word + release", common_query),
    ];
    let mut sets = Vec::new();
    for (idx, (name, maker)) in kinds.into_iter().enumerate() {
        let mut random = Random::new(idx as u64 + 300);
        let mut queries = Vec::with_capacity(count);
        while queries.len() < count {
            let record = records.record(random.below(records.count()))?;
            queries.extend(release_name(&record).and_then(|name| maker(&record, &name)));
        }
        sets.push(QuerySet {
            name: name.into(),
            has_typos: false,
            queries,
        });
    }
    Ok(sets)
}

/// The same queries, each with a release of the given words.
pub fn with_release(set: &QuerySet, release: &str) -> QuerySet {
    let release = SearchText::release(release);
    let queries = set.queries.iter();
    QuerySet {
        name: format!("{} + release", set.name),
        has_typos: set.has_typos,
        queries: queries
            .map(|query| query.clone().with_release(release.clone()))
            .collect(),
    }
}

/// The name of a release in a description: a word with full stops and a group.
fn release_name(record: &Record) -> Option<String> {
    let description = record.description.as_deref()?;
    let is_name = |word: &&str| {
        STOPS_MIN <= word.matches('.').count() && word.contains('-') && !word.contains("://")
    };
    let name = description.split_whitespace().find(is_name)?;
    let name = name.trim_matches(|c: char| !c.is_alphanumeric());
    Some(name.to_owned())
}

fn file_name(_: &Record, name: &str) -> Option<Query> {
    let text = SearchText::query(&format!("{name}.mkv")).ok()?;
    Some(Query::new(Filters::default(), PAGE_SIZE_DEFAULT).with_query(text))
}

fn episode_query(record: &Record, name: &str) -> Option<Query> {
    let filters = Filters {
        video_type: Some(VideoType::Episode),
        season: Some(record.season?),
        episode: Some(record.episode?),
        ..Filters::default()
    };
    let is_episode = record.video_type == VideoType::Episode;
    by_id(record, filters, name).filter(|_| is_episode)
}

fn film_query(record: &Record, name: &str) -> Option<Query> {
    let is_film = record.video_type == VideoType::Movie;
    by_id(record, Filters::default(), name).filter(|_| is_film)
}

fn by_id(record: &Record, filters: Filters, name: &str) -> Option<Query> {
    let number = record.catalog_id?.number();
    let query = Query::new(filters, PAGE_SIZE_DEFAULT);
    Some(
        query
            .with_catalog_id(Some(CatalogTerm::Number(number)))
            .with_release(SearchText::release(&format!("{name}.mkv"))),
    )
}

fn title_query(record: &Record, name: &str) -> Option<Query> {
    by_words(&fold(&record.title), name)
}

fn common_query(record: &Record, name: &str) -> Option<Query> {
    by_words(words(&fold(&record.title)).next()?, name)
}

fn by_words(text: &str, name: &str) -> Option<Query> {
    let query = Query::new(Filters::default(), PAGE_SIZE_DEFAULT);
    let query = query.with_query(SearchText::query(text).ok()?);
    Some(query.with_release(SearchText::release(&format!("{name}.mkv"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use subcat_engine::RecordId;

    #[test]
    fn names_are_found_in_descriptions() {
        let check = |description: &str, expected: Option<&str>| {
            let record = Record {
                description: Some(description.to_owned()),
                ..Record::new(RecordId::from_bytes([0; 16]), "x")
            };
            assert_eq!(release_name(&record).as_deref(), expected, "{description}");
        };
        check("Ran.1985.DVDRip.XviD-GRP", Some("Ran.1985.DVDRip.XviD-GRP"));
        check(
            "Para Lost.S01E02.WEB-DL.H.264-LOL. Que los disfruten.",
            Some("Lost.S01E02.WEB-DL.H.264-LOL"),
        );
        check("Subtitulos de pag-web.com", None);
        check("http://a.b.c/d-e", None);
        check("", None);
    }
}
