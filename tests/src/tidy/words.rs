//! Words that the project does not use, because its readers know another one.

use crate::tidy::source_tree::{Source, SourceTree, Violation};

/// Words and phrases that appear nowhere: in names, comments, strings, pages and templates. Names
/// are split at `_` and capitals, so that `to_be_had` and `ToBeHad` are the phrase "to be had".
const WORDS: &[(&[&str], &str)] = &[
    (&["accused"], "engine"),
    (&["bell", "bells"], "completion eventfd"),
    (&["bury", "buries", "buried"], "delete, tombstone"),
    (&["be had"], "available, fetched"),
    (
        &["desk", "desks"],
        "a word for what it holds, such as `WorkerState`",
    ),
    (&["door", "doors"], "entry point, public API"),
    (&["envelope", "envelopes"], "common headers"),
    (&["flavour", "flavours"], "I/O backend"),
    (&["flights"], "single flight"),
    (&["goodbye"], "keep-alive drain"),
    (&["house", "houses", "household"], "database, source tree"),
    (&["judge", "judges", "judged", "judging"], "validate, check"),
    (&["keep house", "keeps house"], "maintenance"),
    (&["mend", "mends", "mended", "mending"], "repair"),
    (&["porter"], "router"),
    (&["pulse"], "heartbeat"),
    (
        &[
            "rooms",
            "own room",
            "only room",
            "the room that",
            "room itself",
        ],
        "module",
    ),
    (
        &["seen off", "see off", "sees off", "seeing off"],
        "close with linger",
    ),
    (&["shelf", "shelves"], "cache of prepared files"),
    (&["so many", "so long"], "the number and its unit"),
    (&["spares"], "buffer pool"),
    (&["stranger", "strangers"], "unauthenticated client"),
    (&["tally"], "request record"),
    (
        &["turn away", "turns away", "turned away", "turning away"],
        "reject",
    ),
    (&["upkeep"], "compaction"),
    (&["wishes"], "header hints"),
];

/// Phrases that comments of the engine and the server do without: a reader has to translate them.
const TRANSLATED: &[(&str, &str)] = &[
    ("any more", "no longer"),
    ("from which on", "minimum, above which"),
    ("goes on", "continues"),
    ("meanwhile", "while …, in the meantime"),
    ("nobody", "no caller, no client, nothing"),
    ("of which", "a noun in front: batch size, not size of which"),
    ("whoever", "the caller, the client"),
];

/// Names that code does not declare or use. As words of a sentence they are fine.
const NAMES: &[(&[&str], &str)] = &[
    (&["Asked", "Reading"], "ParsedQuery, ParsedText"),
    (&["ASK_AGAIN"], "CACHE_REVALIDATE"),
    (&["Beginnings", "begun_count"], "PrefixCounts, prefix_count"),
    (&["check_whole"], "ensure_not_truncated"),
    (&["CutMark"], "TruncationFlag"),
    (&["Facts"], "Columns"),
    (
        &["Gathering", "hand_in", "wait_in_line"],
        "GroupCommit, submit, enqueue",
    ),
    (
        &["is_unsure", "make_sure"],
        "needs_recovery, ensure_recovered",
    ),
    (&["LOOK_PERIOD"], "POLL_INTERVAL"),
    (&["OF_THE_MOMENT"], "CACHE_MAX_AGE_0"),
    (&["Offered"], "Selection"),
    (&["settle_numbers"], "reconcile"),
    (&["stand_in"], "detached"),
    (&["strange"], "reject_unauthenticated"),
    (&["tell_cut"], "mark_truncated"),
    (&["TitleWay"], "TitleMatch"),
    (&["told", "with_cause"], "error_chain"),
];

/// Words after "is no" that make it plain English.
const AFTER_IS_NO: [&str; 10] = [
    "alternative",
    "earlier",
    "later",
    "less",
    "longer",
    "more",
    "need",
    "reason",
    "shorter",
    "such",
];

/// The text speaks the field's language, in one word for one thing.
pub fn old_words_are_gone(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    let sources = tree.sources.iter().filter(|source| !is_word_list(source));
    let sources = sources.map(|source| (source.path.as_str(), source.text.as_str()));
    let pages = tree.pages.iter();
    let pages = pages.map(|(path, text)| (path.as_str(), text.as_str()));
    for (path, text) in sources.chain(pages) {
        let path_lines = [(0, path)].into_iter();
        let lines = text.lines().enumerate().map(|(idx, line)| (idx + 1, line));
        for (number, line) in path_lines.chain(lines) {
            for (found, replacement) in old_words(line) {
                let message = format!("\"{found}\" is not the field's word: {replacement}");
                violations.push(Violation::at(path, number, message));
            }
        }
    }
    violations
}

/// Comments say a thing as an English reader would: no phrase of [`TRANSLATED`], and no bound that
/// hangs behind a comma at the end of a sentence.
pub fn translated_phrases_are_gone(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    let is_product = |source: &&Source| {
        source.path.starts_with("engine/src") || source.path.starts_with("server/src")
    };
    for source in tree.sources.iter().filter(is_product) {
        for (idx, line) in source.text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                continue;
            };
            let words = format!(" {} ", split_words(comment).join(" "));
            for (phrase, instead) in TRANSLATED {
                if words.contains(&format!(" {phrase} ")) {
                    let message = format!("\"{phrase}\" reads as a translation: {instead}");
                    violations.push(Violation::new(source, idx + 1, message));
                }
            }
            let is_hanging = [", at most.", ", at least."];
            if is_hanging.iter().any(|end| comment.ends_with(end)) {
                let message = "a bound behind a comma: begin with \"Maximum\" or \"Minimum\"";
                violations.push(Violation::new(source, idx + 1, message.to_owned()));
            }
        }
    }
    violations
}

/// Names that code uses are those of the glossary.
pub fn old_names_are_gone(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in tree.sources.iter().filter(|source| !is_word_list(source)) {
        let tokens = source.text.parse().expect("a parsed file has tokens");
        let mut idents = Vec::new();
        collect_idents(tokens, &mut idents);
        for ident in idents {
            let name = ident.to_string();
            let entry = NAMES
                .iter()
                .find(|(names, _)| names.contains(&name.as_str()));
            if let Some((_, replacement)) = entry {
                let message = format!("`{name}` is an old name: {replacement}");
                violations.push(Violation::new(source, ident.span().start().line, message));
            }
        }
    }
    violations
}

/// Returns true for the lists themselves and their tests, and for the words of invented titles.
fn is_word_list(source: &Source) -> bool {
    source.path.contains("/tidy/") || source.path == "bench/src/catalog/vocabulary.rs"
}

fn collect_idents(tokens: proc_macro2::TokenStream, idents: &mut Vec<proc_macro2::Ident>) {
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(ident) => idents.push(ident),
            proc_macro2::TokenTree::Group(group) => collect_idents(group.stream(), idents),
            _ => {}
        }
    }
}

/// Old words and phrases of a line, each with its replacement.
fn old_words(line: &str) -> Vec<(String, &'static str)> {
    // A space on both sides of each word makes a phrase a substring.
    let words = format!(" {} ", split_words(line).join(" "));
    let mut found = Vec::new();
    for (phrases, replacement) in WORDS {
        for phrase in *phrases {
            if words.contains(&format!(" {phrase} ")) {
                found.push(((*phrase).to_owned(), *replacement));
            }
        }
    }
    for (at, phrase) in words.match_indices(" is no ") {
        let before = words[..at].rsplit(' ').next().unwrap_or("");
        let after = words[at + phrase.len()..].split(' ').next().unwrap_or("");
        let is_plain = before == "there"
            || before == "where"
            || after.is_empty()
            || AFTER_IS_NO.contains(&after);
        if !is_plain {
            found.push((format!("is no {after}"), "is not a, is not a valid"));
        }
    }
    found
}

/// Lower-case words of a line; names are split at `_`, digits and capitals.
fn split_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_lower_before = false;
    for c in line.chars() {
        let is_boundary = !c.is_alphabetic() || (c.is_uppercase() && is_lower_before);
        if is_boundary {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            let word = words.last_mut().expect("there is a word");
            word.extend(c.to_lowercase());
        }
        is_lower_before = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}
