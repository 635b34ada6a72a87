//! Sets of queries like those that users ask, made from records of the catalog.

use std::collections::HashMap;

use subcat_engine::{
    CatalogTerm, Filters, PAGE_SIZE_DEFAULT, Query, Record, SEARCH_YEAR_MIN, SearchText, fold,
    words,
};

use crate::error::Result;
use crate::random::Random;

use super::record_file::Records;

/// Queries of one kind.
pub struct QuerySet {
    /// Its name in tables; `f: ` when each has year and type of the record it was made from.
    pub name: String,
    /// True if its words have typos.
    pub has_typos: bool,
    /// The queries.
    pub queries: Vec<Query>,
}

/// Words among this many of the most frequent ones are common.
const COMMON_WORDS: usize = 400;
/// A word of at most this share of the records, in a million, is rare.
const RARE_PER_MILLION: u32 = 2_000;

/// A criterion, or `None` when the record gives none of this kind.
type Maker = fn(&Record, &Words, &mut Random) -> Option<Criterion>;

enum Criterion {
    Query(String),
    Title(String),
    CatalogId(String),
}

/// All sets: each kind without and with filters, `count` queries each.
pub fn query_sets(records: &(impl Records + ?Sized), count: usize) -> Result<Vec<QuerySet>> {
    let words = Words::of(records)?;
    let kinds: [(&str, Maker); 9] = [
        ("one common word", common_word),
        ("title words", title_words),
        ("title + year", title_and_year),
        ("title + SxxEyy", title_and_episode),
        ("rare description words", rare_words),
        ("title prefix", title_prefix),
        ("title substring", title_substring),
        ("catalog id", catalog_id),
        ("typo", typo),
    ];
    let mut sets = Vec::new();
    for is_filtered in [false, true] {
        for (idx, (name, maker)) in kinds.iter().enumerate() {
            let mut random = Random::new(idx as u64 + 100);
            let mut queries = Vec::with_capacity(count);
            while queries.len() < count {
                let record = records.record(random.below(records.count()))?;
                let Some(criterion) = maker(&record, &words, &mut random) else {
                    continue;
                };
                queries.extend(query(&record, criterion, is_filtered));
            }
            let prefix = if is_filtered { "f: " } else { "" };
            sets.push(QuerySet {
                name: format!("{prefix}{name}"),
                has_typos: *name == "typo",
                queries,
            });
        }
    }
    Ok(sets)
}

fn query(record: &Record, criterion: Criterion, is_filtered: bool) -> Option<Query> {
    let mut filters = Filters::default();
    if is_filtered {
        filters.year = record.year.filter(|year| year.get() >= SEARCH_YEAR_MIN);
        filters.video_type = Some(record.video_type);
        filters.year?;
    }
    let query = Query::new(filters, PAGE_SIZE_DEFAULT);
    let query = match criterion {
        Criterion::Query(text) => query.with_query(SearchText::query(&text).ok()?),
        Criterion::Title(text) => query.with_title(SearchText::title(&text)),
        Criterion::CatalogId(text) => query.with_catalog_id(Some(CatalogTerm::parse(&text))),
    };
    query.has_criterion().then_some(query)
}

/// Number of records that have each word.
struct Words {
    counts: HashMap<String, u32>,
    common: Vec<String>,
    rare_max: u32,
}

impl Words {
    fn of(records: &(impl Records + ?Sized)) -> Result<Self> {
        let mut counts: HashMap<String, u32> = HashMap::new();
        for idx in 0..records.count() {
            let record = records.record(idx)?;
            if !record.is_active {
                continue;
            }
            let folded = format!("{} {}", fold(&record.title), folded_description(&record));
            let mut distinct: Vec<&str> = words(&folded).collect();
            distinct.sort_unstable();
            distinct.dedup();
            for word in distinct {
                match counts.get_mut(word) {
                    Some(count) => *count += 1,
                    None => {
                        counts.insert(word.to_owned(), 1);
                    }
                }
            }
        }
        let mut common: Vec<(&String, &u32)> = counts.iter().collect();
        common.sort_by_key(|(word, count)| (std::cmp::Reverse(**count), (*word).clone()));
        let common = common
            .into_iter()
            .take(COMMON_WORDS)
            .map(|(word, _)| word.clone())
            .collect();
        let rare_max = (records.count() as u64 * u64::from(RARE_PER_MILLION) / 1_000_000) as u32;
        Ok(Self {
            counts,
            common,
            rare_max,
        })
    }
}

fn folded_description(record: &Record) -> String {
    fold(record.description.as_deref().unwrap_or(""))
}

/// Folded title words that are neither a year nor an episode.
fn plain_title(record: &Record) -> Vec<String> {
    let folded = fold(&record.title);
    let is_year = |word: &str| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
    let is_episode =
        |word: &str| word.starts_with('s') && word[1..].starts_with(|c: char| c.is_ascii_digit());
    words(&folded)
        .filter(|word| !is_year(word) && !is_episode(word))
        .map(str::to_owned)
        .collect()
}

fn common_word(_: &Record, words: &Words, random: &mut Random) -> Option<Criterion> {
    Some(Criterion::Query(
        words.common[random.below(words.common.len())].clone(),
    ))
}

fn title_words(record: &Record, _: &Words, _: &mut Random) -> Option<Criterion> {
    let title = plain_title(record);
    (title.len() > 1).then(|| Criterion::Query(title.join(" ")))
}

fn title_and_year(record: &Record, _: &Words, _: &mut Random) -> Option<Criterion> {
    let year = record.year?;
    let title = plain_title(record);
    (!title.is_empty()).then(|| Criterion::Query(format!("{} {}", title.join(" "), year.get())))
}

fn title_and_episode(record: &Record, _: &Words, _: &mut Random) -> Option<Criterion> {
    let (season, episode) = (record.season?.get(), record.episode?.get());
    let title = plain_title(record);
    let text = format!("{} s{season:02}e{episode:02}", title.join(" "));
    (!title.is_empty()).then_some(Criterion::Query(text))
}

fn rare_words(record: &Record, words_: &Words, random: &mut Random) -> Option<Criterion> {
    let folded = folded_description(record);
    let rare: Vec<&str> = words(&folded)
        .filter(|word| {
            words_
                .counts
                .get(*word)
                .is_some_and(|&count| count <= words_.rare_max)
        })
        .collect();
    if rare.is_empty() {
        return None;
    }
    let first = rare[random.below(rare.len())];
    let second = rare[random.below(rare.len())];
    let text = if first == second {
        first.to_owned()
    } else {
        format!("{first} {second}")
    };
    Some(Criterion::Query(text))
}

fn title_prefix(record: &Record, _: &Words, random: &mut Random) -> Option<Criterion> {
    let title = plain_title(record).join(" ");
    let chars: Vec<char> = title.chars().collect();
    let count = 4 + random.below(4);
    (chars.len() > count).then(|| Criterion::Title(chars[..count].iter().collect()))
}

fn title_substring(record: &Record, _: &Words, random: &mut Random) -> Option<Criterion> {
    let title = plain_title(record).join(" ");
    let chars: Vec<char> = title.chars().collect();
    let count = 4 + random.below(4);
    if chars.len() < count + 2 {
        return None;
    }
    let from = 1 + random.below(chars.len() - count - 1);
    let text: String = chars[from..from + count].iter().collect();
    (text.trim().len() == text.len()).then_some(Criterion::Title(text))
}

fn catalog_id(record: &Record, _: &Words, _: &mut Random) -> Option<Criterion> {
    Some(Criterion::CatalogId(record.catalog_id?.to_string()))
}

/// The words of a title, one of them with a letter dropped, doubled, replaced or two swapped.
fn typo(record: &Record, words: &Words, random: &mut Random) -> Option<Criterion> {
    let mut title = plain_title(record);
    let is_long = |word: &String| word.len() >= 5 && word.bytes().all(|b| b.is_ascii_lowercase());
    let long: Vec<usize> = (0..title.len())
        .filter(|&idx| is_long(&title[idx]))
        .collect();
    if long.is_empty() {
        return None;
    }
    let word = &mut title[long[random.below(long.len())]];
    let at = 1 + random.below(word.len() - 2);
    let mut bytes = word.clone().into_bytes();
    match random.below(4) {
        0 => drop(bytes.remove(at)),
        1 => bytes.insert(at, bytes[at]),
        2 => bytes[at] = b'a' + random.below(26) as u8,
        _ => bytes.swap(at, at + 1),
    }
    *word = String::from_utf8(bytes).ok()?;
    let is_wrong = !words.counts.contains_key(word.as_str());
    is_wrong.then(|| Criterion::Query(title.join(" ")))
}
