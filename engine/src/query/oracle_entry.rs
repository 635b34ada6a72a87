//! A record in the form of the oracle (SEARCH.md 1.6 and 1.7).

use crate::model::Record;
use crate::text::{fold, has_number, words};

/// A record and its folded text (SEARCH.md 1.6).
#[derive(Debug, Clone)]
pub(super) struct OracleEntry<'a> {
    pub(super) record: &'a Record,
    pub(super) title: String,
    pub(super) title_words: Vec<String>,
    pub(super) words: Vec<String>,
}

impl<'a> OracleEntry<'a> {
    /// SEARCH.md 1.6.
    pub(super) fn new(record: &'a Record) -> Self {
        let title = fold(&record.title);
        let description = fold(record.description.as_deref().unwrap_or(""));
        let title_words: Vec<String> = words(&title).map(str::to_string).collect();
        let mut all_words = title_words.clone();
        all_words.extend(words(&description).map(str::to_string));
        Self {
            record,
            title,
            title_words,
            words: all_words,
        }
    }

    pub(super) fn has_title_word(&self, word: &str) -> bool {
        self.title_words.iter().any(|title_word| title_word == word)
    }

    pub(super) fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|any_word| any_word == word)
    }
}

/// SEARCH.md 1.7: the title key, clause by clause.
pub(super) fn oracle_title_key(text: &str) -> String {
    let characters: Vec<char> = text.trim().chars().collect();
    let folded = match &characters[..] {
        ['l' | 'L', second, rest @ ..] if "'`´ʻʼ‘’‛′".contains(*second) => {
            fold(&format!("l {}", rest.iter().collect::<String>()))
        }
        _ => fold(text),
    };
    let mut joined: Vec<String> = Vec::new();
    let mut is_run = false;
    for word in words(&folded) {
        let is_letter = word.chars().count() == 1 && !has_number(word);
        match joined.last_mut() {
            Some(run) if is_run && is_letter => run.push_str(word),
            _ => joined.push(word.to_string()),
        }
        is_run = is_letter;
    }
    let all = joined.concat();
    joined.retain(|word| word != "and" && word != "y");
    let first_words = "the el la los las le les l marvels";
    while joined
        .first()
        .is_some_and(|word| first_words.split(' ').any(|first| first == word))
    {
        joined.remove(0);
    }
    if joined.is_empty() {
        all
    } else {
        joined.concat()
    }
}
