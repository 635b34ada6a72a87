//! Searches as clients make them, made from the records of a catalog by a seed.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use crate::error::{BenchError, Result};
use crate::random::Random;

/// Records that searches are made from.
const SAMPLE_COUNT: usize = 4_000;
/// Number of the most frequent words that count as common.
const COMMON_COUNT: usize = 200;
/// A rare word is in at least two records, and in fewer than this share of all.
const RARE_SHARE: f64 = 0.01;

/// The kinds of searches.
pub const KINDS: [&str; 9] = [
    "one common word",
    "title words",
    "title + year",
    "title + SxxEyy",
    "rare description words",
    "title prefix",
    "inner substring",
    "catalog id",
    "typo",
];

/// Searches of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuerySet {
    /// One of [`KINDS`]; with `f: ` before it when the filters of a record are added.
    pub name: String,
    /// Request targets, all different.
    pub targets: Vec<String>,
}

/// Fields of a record from which searches are made.
struct Source {
    title: String,
    episode: Option<(u64, u64)>,
    year: Option<u64>,
    video_type: String,
    catalog_id: Option<String>,
    rare_words: Vec<String>,
}

/// At most `count` different searches of every kind, without filters and with them.
///
/// Cost: one reading of the catalog. Errors: the file is not a file of import records.
pub fn query_sets(catalog: &Path, seed: u64, count: usize) -> Result<Vec<QuerySet>> {
    let mut random = Random::new(seed);
    let (records, words) = read(catalog, &mut random)?;
    let rare_max = (words.records as f64 * RARE_SHARE).max(2.0) as u32;
    let sources: Vec<Source> = records
        .iter()
        .map(|r| source(r, &words, rare_max))
        .collect();
    let common = words.common();
    if sources.is_empty() || common.is_empty() {
        let what = format!("{} has no records to make searches from", catalog.display());
        return Err(BenchError::new(what));
    }
    let mut sets = Vec::new();
    for is_filtered in [false, true] {
        for kind in KINDS {
            let mut set = QuerySet {
                name: format!("{}{kind}", if is_filtered { "f: " } else { "" }),
                targets: Vec::new(),
            };
            // Some records give no search of some kinds, and some searches come twice.
            for _ in 0..count * 20 {
                if count <= set.targets.len() {
                    break;
                }
                let source = &sources[random.below(sources.len())];
                let word = &common[random.below(common.len())];
                let criterion = criterion(kind, source, word, &mut random);
                let target = criterion.map(|c| target(&c, is_filtered.then_some(source)));
                if let Some(target) = target.filter(|target| !set.targets.contains(target)) {
                    set.targets.push(target);
                }
            }
            sets.push(set);
        }
    }
    Ok(sets)
}

/// A parameter and its value.
type Criterion = (&'static str, String);

fn criterion(kind: &str, source: &Source, word: &str, random: &mut Random) -> Option<Criterion> {
    let title = &source.title;
    let chars: Vec<char> = title.chars().collect();
    let has_room = 6 < chars.len();
    match kind {
        "one common word" => Some(("query", word.to_owned())),
        "title words" => Some(("query", title.clone())),
        "title + year" => Some(("query", format!("{title} {}", source.year?))),
        "title + SxxEyy" => {
            let (season, episode) = source.episode?;
            Some(("query", format!("{title} S{season:02}E{episode:02}")))
        }
        "rare description words" => {
            let words = source.rare_words.get(..1 + random.below(2))?;
            Some(("query", words.join(" ")))
        }
        "title prefix" if has_room => {
            let end = 4 + random.below(chars.len() - 4);
            Some(("title", text(&chars[..end])))
        }
        "inner substring" if has_room => {
            let start = 1 + random.below(chars.len() - 5);
            let end = start + 4 + random.below(chars.len() - start - 3);
            Some(("title", text(&chars[start..end])))
        }
        "catalog id" => Some(("catalog_id", source.catalog_id.clone()?)),
        "typo" => Some(("query", misspelt(title, random)?)),
        _ => None,
    }
    .filter(|(_, value)| 3 <= value.len())
}

fn text(chars: &[char]) -> String {
    let text: String = chars.iter().collect();
    text.trim().to_owned()
}

/// A title with two neighbouring letters of its longest word exchanged.
fn misspelt(title: &str, random: &mut Random) -> Option<String> {
    let is_plain = |word: &&str| 6 <= word.len() && word.bytes().all(|b| b.is_ascii_alphabetic());
    let word = title
        .split(' ')
        .filter(is_plain)
        .max_by_key(|word| word.len())?;
    let mut letters = word.as_bytes().to_vec();
    let at = 1 + random.below(letters.len() - 2);
    letters.swap(at, at + 1);
    let wrong = String::from_utf8(letters).ok()?;
    (wrong != word).then(|| title.replacen(word, &wrong, 1))
}

fn target((parameter, value): &Criterion, filters: Option<&Source>) -> String {
    let mut target = format!("/api/subtitles/search?{parameter}=");
    for byte in value.bytes() {
        match byte {
            b' ' => target.push('+'),
            b'-' | b'.' | b'_' | b'~' => target.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => target.push(char::from(byte)),
            _ => write!(target, "%{byte:02X}").expect("a String takes all text"),
        }
    }
    if let Some(source) = filters {
        write!(target, "&video_type={}", source.video_type).expect("a String takes all text");
        // Search takes years from 1900 on.
        if let Some(year) = source.year.filter(|year| 1900 <= *year) {
            write!(target, "&year={year}").expect("a String takes all text");
        }
    }
    target
}

/// Approximate number of records of each word: once per line and word.
struct Words {
    records: u64,
    counts: HashMap<String, u32>,
}

impl Words {
    fn common(&self) -> Vec<String> {
        let mut words: Vec<(&String, u32)> = self.counts.iter().map(|(w, n)| (w, *n)).collect();
        words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        words.truncate(COMMON_COUNT);
        words.into_iter().map(|(word, _)| word.clone()).collect()
    }
}

/// Lower-case words of letters only, as a person would type them.
fn plain_words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let is_plain = |word: &&str| 4 <= word.len() && word.chars().all(char::is_alphabetic);
    words.filter(is_plain).map(str::to_lowercase)
}

/// A sample of the active records (reservoir, so that all have the same chance), and the counts
/// of all words.
fn read(catalog: &Path, random: &mut Random) -> Result<(Vec<Value>, Words)> {
    let on = || BenchError::on(format!("read {}", catalog.display()));
    let mut lines = BufReader::new(File::open(catalog).map_err(on())?);
    let mut sample: Vec<Value> = Vec::new();
    let mut words = Words {
        records: 0,
        counts: HashMap::new(),
    };
    let mut line = String::new();
    loop {
        line.clear();
        if lines.read_line(&mut line).map_err(on())? == 0 {
            return Ok((sample, words));
        }
        let record: Value = serde_json::from_str(&line).map_err(BenchError::on(format!(
            "read a record of {}",
            catalog.display()
        )))?;
        if record["is_active"] == false {
            continue;
        }
        words.records += 1;
        let texts = [&record["title"], &record["description"]];
        for word in texts
            .iter()
            .filter_map(|t| t.as_str())
            .flat_map(plain_words)
        {
            *words.counts.entry(word).or_default() += 1;
        }
        if sample.len() < SAMPLE_COUNT {
            sample.push(record);
        } else {
            let place = random.below(words.records as usize);
            if let Some(kept) = sample.get_mut(place) {
                *kept = record;
            }
        }
    }
}

fn source(record: &Value, words: &Words, rare_max: u32) -> Source {
    let string = |name: &str| record[name].as_str().unwrap_or_default();
    // A title that ends in its episode is searched by the words before it.
    let title: Vec<&str> = string("title")
        .split_whitespace()
        .take_while(|word| !is_episode_word(word))
        .collect();
    let description = string("description");
    let count = |word: &String| words.counts.get(word).copied().unwrap_or(0);
    let is_rare = |word: &String| (2..=rare_max).contains(&count(word));
    let mut rare_words: Vec<String> = plain_words(description).filter(is_rare).collect();
    rare_words.dedup();
    Source {
        title: title.join(" "),
        episode: record["season"].as_u64().zip(record["episode"].as_u64()),
        year: record["year"].as_u64(),
        video_type: string("video_type").to_owned(),
        catalog_id: record["catalog_id"].as_str().map(str::to_owned),
        rare_words,
    }
}

fn is_episode_word(word: &str) -> bool {
    let digits = word.strip_prefix(['S', 's']);
    digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::write_file;

    #[test]
    fn every_kind_is_made_the_same_for_the_same_seed() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = folder.path().join("catalog.jsonl");
        write_file(&catalog, 1, 3000).unwrap();
        let sets = query_sets(&catalog, 7, 10).unwrap();
        assert_eq!(sets.len(), 2 * KINDS.len());
        for set in &sets {
            assert_eq!(set.targets.len(), 10, "{}", set.name);
            for target in &set.targets {
                assert!(target.bytes().all(|b| b.is_ascii_graphic()), "{target}");
                let is_filtered = set.name.starts_with("f: ");
                assert_eq!(target.contains("&video_type="), is_filtered, "{target}");
            }
        }
        assert_eq!(sets, query_sets(&catalog, 7, 10).unwrap());
        assert_ne!(sets, query_sets(&catalog, 8, 10).unwrap());
    }

    #[test]
    fn a_typo_is_an_exchange_inside_a_word() {
        let mut random = Random::new(3);
        let wrong = misspelt("La montaña Shadow", &mut random).unwrap();
        assert_ne!(wrong, "La montaña Shadow");
        assert_eq!(wrong.len(), "La montaña Shadow".len());
        assert!(wrong.starts_with("La montaña S"), "{wrong}");
        assert_eq!(misspelt("La casa", &mut random), None);
    }

    #[test]
    fn values_are_percent_encoded() {
        let criterion = ("title", "a ñ&b".to_owned());
        let expected = "/api/subtitles/search?title=a+%C3%B1%26b";
        assert_eq!(target(&criterion, None), expected);
    }
}
