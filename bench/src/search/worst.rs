//! Requests that make an engine work most, made from what is most frequent in a catalog.

use std::collections::{HashMap, HashSet};

use subcat_engine::{
    CatalogTerm, Filters, Language, PAGE_SIZE_DEFAULT, QUERY_WORDS_MAX, Query, Record,
    SEARCH_TEXT_CHARS_MAX, SearchText, VideoType, Year, fold, words,
};

use crate::catalog::{LONG_WORD, OLD_SERIES, OLD_TEXT, OLD_WORD, SHARED_TEXT, shared_title};
use crate::error::Result;

use super::query_set::QuerySet;
use super::record_file::Records;

/// Number of the most frequent words of each kind that are searched for.
const FREQUENT: usize = 12;

/// Most frequent words, titles and ids of a catalog, most frequent first.
struct Frequent {
    words: Vec<String>,
    long_title_words: Vec<String>,
    /// Texts of one, two, three and four characters of distinct titles.
    texts: [Vec<String>; 4],
    catalog_ids: Vec<u64>,
    longest_title: String,
    longest_description: String,
}

/// The worst requests: the most frequent words alone, together and with markers; the most frequent
/// texts of one to four characters; as many words and as long texts as a request may have; typos in
/// eight long words; unions of all branches; what is found among the oldest records only, in long
/// descriptions, and in titles that share hundreds of characters, if the catalog has a past; each
/// without and with filters that let most pass.
pub fn worst_requests(records: &(impl Records + ?Sized)) -> Result<QuerySet> {
    let frequent = Frequent::of(records)?;
    let mut bare = Vec::new();
    let new = || Query::new(Filters::default(), PAGE_SIZE_DEFAULT);
    for text in frequent.queries() {
        let text = SearchText::query(&text).ok().flatten();
        bare.push(new().with_query(text));
    }
    for text in frequent.titles() {
        bare.push(new().with_title(SearchText::title(&text)));
    }
    for (word, number) in frequent.words.iter().zip(&frequent.catalog_ids) {
        let query = new()
            .with_query(SearchText::query(word).ok().flatten())
            .with_title(SearchText::title(&frequent.texts[2][0]))
            .with_catalog_id(Some(CatalogTerm::Number(*number)));
        bare.push(query);
    }
    for word in frequent.words.iter().take(FREQUENT) {
        let query = new()
            .with_query(SearchText::query(&format!("{word} s01")).ok().flatten())
            .with_title(SearchText::title(&format!("{} s01", frequent.texts[0][0])));
        bare.push(query);
    }
    let mut queries = Vec::new();
    for filters in wide_filters() {
        for query in bare.iter().filter(|query| query.has_criterion()) {
            queries.push(with_filters(query, filters.clone()));
        }
    }
    Ok(QuerySet {
        name: "worst".into(),
        has_typos: true,
        queries,
    })
}

fn wide_filters() -> [Filters; 4] {
    let of_type = Filters {
        video_type: Some(VideoType::Episode),
        ..Filters::default()
    };
    let of_language = Filters {
        language: Language::parse("es"),
        ..Filters::default()
    };
    let all = Filters {
        year: Year::new(2015),
        language: Language::parse("es"),
        ..of_type.clone()
    };
    [Filters::default(), of_type, of_language, all]
}

fn with_filters(query: &Query, filters: Filters) -> Query {
    Query::new(filters, query.page_size())
        .with_query(query.query().cloned())
        .with_title(query.title().cloned())
        .with_catalog_id(query.catalog_id())
}

impl Frequent {
    fn of(records: &(impl Records + ?Sized)) -> Result<Self> {
        let mut word_counts = HashMap::new();
        let mut id_counts = HashMap::new();
        let mut titles = HashSet::new();
        let mut longest_description = String::new();
        for idx in 0..records.count() {
            let record: Record = records.record(idx)?;
            let title = fold(&record.title);
            let description = fold(record.description.as_deref().unwrap_or(""));
            words(&title)
                .chain(words(&description))
                .for_each(|word| count(&mut word_counts, word));
            let ids = [record.catalog_id, record.parent_catalog_id];
            for id in ids.into_iter().flatten() {
                *id_counts.entry(id.number()).or_insert(0) += 1;
            }
            titles.insert(title);
            if longest_description.len() < description.len() {
                longest_description = description;
            }
        }
        let mut long_counts = HashMap::new();
        let mut text_counts: [HashMap<String, u64>; 4] = Default::default();
        for title in &titles {
            let is_long = |word: &&str| word.chars().count() >= 9 && word.is_ascii();
            words(title)
                .filter(is_long)
                .for_each(|word| count(&mut long_counts, word));
            let starts: Vec<usize> = title.char_indices().map(|(at, _)| at).collect();
            for (idx, &from) in starts.iter().enumerate() {
                for (len, counts) in (1..).zip(&mut text_counts) {
                    let to = starts.get(idx + len).copied();
                    let text = &title[from..to.unwrap_or(title.len())];
                    if to.is_some() && text.trim() == text {
                        count(counts, text);
                    }
                }
            }
        }
        let longest_title = titles.into_iter().max_by_key(String::len);
        Ok(Self {
            words: most_frequent(word_counts, QUERY_WORDS_MAX),
            long_title_words: most_frequent(long_counts, FREQUENT),
            texts: text_counts.map(|counts| most_frequent(counts, FREQUENT)),
            catalog_ids: most_frequent(id_counts, FREQUENT),
            longest_title: longest_title.unwrap_or_default(),
            longest_description,
        })
    }

    /// Values of `query`.
    fn queries(&self) -> Vec<String> {
        let mut queries = Vec::new();
        for word in self.words.iter().take(FREQUENT) {
            queries.push(word.clone());
            queries.push(format!("{word} s01"));
            queries.push(format!("{word} s01e01"));
            queries.push(format!("{word} 2015"));
            queries.push(format!("{word} {}", self.words[0]));
        }
        for texts in &self.texts[2..] {
            queries.extend(texts.iter().cloned());
        }
        for count in [2, 4, 8, 16, QUERY_WORDS_MAX] {
            queries.push(self.words[..count.min(self.words.len())].join(" "));
        }
        let spoil = |word: &String| format!("{}q{}", &word[..4], &word[5..]);
        let wrong: Vec<String> = self.long_title_words.iter().map(spoil).collect();
        queries.extend(wrong.iter().cloned());
        queries.push(wrong[..8.min(wrong.len())].join(" "));
        queries.push("a".repeat(SEARCH_TEXT_CHARS_MAX));
        queries.extend([OLD_SERIES, OLD_TEXT, OLD_WORD].map(fold));
        queries.push(format!("{} s01", fold(OLD_SERIES)));
        queries.extend(words(&fold(OLD_TEXT)).map(str::to_owned));
        queries.extend([LONG_WORD, SHARED_TEXT].map(fold));
        let long: Vec<&str> = words(&self.longest_description)
            .take(QUERY_WORDS_MAX)
            .collect();
        queries.push(long.join(" "));
        queries
    }

    /// Values of `title`.
    fn titles(&self) -> Vec<String> {
        let mut titles: Vec<String> = self.texts.iter().flatten().cloned().collect();
        for text in self.texts[2].iter().chain(&self.texts[0]) {
            titles.push(format!("{text} s01"));
            titles.push(format!("{text} s01e01"));
        }
        titles.extend([OLD_SERIES, OLD_TEXT].map(fold));
        titles.extend([OLD_SERIES, OLD_TEXT].map(|text| fold(text)[2..8].to_owned()));
        titles.push(format!("{} s01", fold(OLD_SERIES)));
        let shared = fold(&shared_title());
        titles.extend([&*shared, &shared[..shared.len() / 2], "la villa"].map(str::to_owned));
        titles.push(fold(SHARED_TEXT));
        titles.push(self.longest_title.clone());
        let long = self.longest_title.repeat(SEARCH_TEXT_CHARS_MAX);
        titles.push(long.chars().take(SEARCH_TEXT_CHARS_MAX).collect());
        titles
    }
}

fn count(counts: &mut HashMap<String, u64>, text: &str) {
    match counts.get_mut(text) {
        Some(count) => *count += 1,
        None => {
            counts.insert(text.to_owned(), 1);
        }
    }
}

fn most_frequent<T: Ord + Clone>(counts: HashMap<T, u64>, count: usize) -> Vec<T> {
    let mut counts: Vec<(T, u64)> = counts.into_iter().collect();
    counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(count);
    counts.into_iter().map(|(what, _)| what).collect()
}
