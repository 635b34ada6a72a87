//! The words of a name with their places: NAMES.md N1.
//!
//! A name is read by its words *and* by the characters between them: a number after ` - ` is an
//! episode where the same number after a blank is part of the title. Removed parts of a name are
//! overwritten with blanks, so that the place of a word never changes.

use std::ops::Range;

use crate::text::fold_character;

use super::word_class::source_len;

/// A word of a name: its bytes in the text, its bytes in the folded text, its bracket.
#[derive(Debug, Clone)]
struct Word {
    start: usize,
    end: usize,
    folded: Range<usize>,
    /// The innermost closed bracket that the word stands in, as an index into the brackets.
    bracket: Option<usize>,
    /// Length, in words, of the source word that begins here; 0 if none does.
    source_len: usize,
}

/// A name as words (SEARCH.md 1, steps 1 to 4) with the characters between them.
#[derive(Debug, Clone)]
pub(crate) struct NameTokens {
    text: String,
    folded: String,
    words: Vec<Word>,
    /// Closed brackets, from the byte of the opening character to that behind the closing one.
    brackets: Vec<Range<usize>>,
}

impl NameTokens {
    /// Splits a name into words. Cost: linear in the text; four allocations.
    pub(crate) fn new(text: &str) -> Self {
        Self::of_plain(plain(text))
    }

    /// As [`NameTokens::new`], for a text that [`plain`] returned.
    pub(crate) fn of_plain(text: String) -> Self {
        let mut tokens = Self {
            folded: String::with_capacity(text.len()),
            words: Vec::new(),
            brackets: Vec::new(),
            text: String::new(),
        };
        let (mut at, mut is_inside) = (0, false);
        while let Some(&byte) = text.as_bytes().get(at) {
            let start = at;
            if byte.is_ascii_alphanumeric() {
                // Most names are runs of ASCII letters: they are copied whole.
                at += alphanumeric_run(&text.as_bytes()[at..]);
                tokens.push(start..at, &text[start..at], is_inside);
                is_inside = true;
                continue;
            }
            let character = text[at..].chars().next().expect("a character begins here");
            at += character.len_utf8();
            fold_character(character, &mut |letter| {
                if letter != ' ' {
                    let mut bytes = [0; 4];
                    tokens.push(start..at, letter.encode_utf8(&mut bytes), is_inside);
                }
                is_inside = letter != ' ';
            });
        }
        tokens.text = text;
        tokens.find_brackets();
        tokens.find_sources();
        tokens
    }

    /// Adds letters of one word: a new one, unless the last letters were `is_inside` the same.
    fn push(&mut self, bytes: Range<usize>, letters: &str, is_inside: bool) {
        let here = self.folded.len();
        self.folded.push_str(letters);
        self.folded[here..].make_ascii_lowercase();
        if !is_inside {
            self.words.push(Word {
                start: bytes.start,
                end: bytes.end,
                folded: here..here,
                bracket: None,
                source_len: 0,
            });
        }
        if let Some(word) = self.words.last_mut() {
            word.end = bytes.end;
            word.folded.end = self.folded.len();
        }
    }

    /// Notes for each word the source word that begins there: the rules ask for it several times.
    fn find_sources(&mut self) {
        for idx in 0..self.words.len() {
            self.words[idx].source_len = source_len(self.word(idx), self.word(idx + 1));
        }
    }

    /// Pairs brackets, and notes for each word the innermost pair around it.
    fn find_brackets(&mut self) {
        self.brackets = brackets(&self.text);
        // Inner brackets close first, so the first one that contains a word is the innermost.
        for word in &mut self.words {
            let around = |pair: &Range<usize>| pair.start < word.start && word.end < pair.end;
            word.bracket = self.brackets.iter().position(around);
        }
    }

    /// The text, with what was removed overwritten by blanks.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Count of words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// The folded word at this place; empty beyond the last.
    pub(crate) fn word(&self, idx: usize) -> &str {
        self.words
            .get(idx)
            .map_or("", |word| &self.folded[word.folded.clone()])
    }

    /// Length, in words, of the source word that begins at this one: 0, 1 or 2 (NAMES.md N2).
    pub(crate) fn source_len(&self, idx: usize) -> usize {
        self.words.get(idx).map_or(0, |word| word.source_len)
    }

    /// True if a source word begins at this word.
    pub(crate) fn is_source(&self, idx: usize) -> bool {
        self.source_len(idx) > 0
    }

    /// The first word at which a source word begins.
    pub(crate) fn first_source(&self) -> Option<usize> {
        (0..self.len()).find(|idx| self.is_source(*idx))
    }

    /// Byte at which a word begins; the end of the text beyond the last.
    pub(crate) fn start(&self, idx: usize) -> usize {
        self.words
            .get(idx)
            .map_or(self.text.len(), |word| word.start)
    }

    /// Byte behind a word; the end of the text beyond the last.
    pub(crate) fn end(&self, idx: usize) -> usize {
        self.words.get(idx).map_or(self.text.len(), |word| word.end)
    }

    /// Everything between the word before this one and this one: behind the last word for
    /// `len()`, before the first for 0.
    pub(crate) fn gap(&self, idx: usize) -> &str {
        let start = match idx.checked_sub(1) {
            Some(before) => self.end(before),
            None => 0,
        };
        self.text.get(start..self.start(idx)).unwrap_or("")
    }

    /// True if ` - ` stands before this word, with nothing but blanks, dots or `_` between.
    pub(crate) fn is_behind_dash(&self, idx: usize) -> bool {
        ends_in_dash(self.gap(idx))
    }

    /// True if ` - ` stands anywhere before this word and behind the one before.
    pub(crate) fn has_dash(&self, idx: usize) -> bool {
        let gap = self.gap(idx);
        gap.char_indices()
            .any(|(at, c)| is_blank(c) && ends_in_dash(&gap[..at + c.len_utf8()]))
    }

    /// The innermost bracket around a word, in bytes.
    pub(crate) fn bracket(&self, idx: usize) -> Option<Range<usize>> {
        let pair = self.words.get(idx)?.bracket?;
        self.brackets.get(pair).cloned()
    }

    /// The bracket that contains these words and no others.
    pub(crate) fn lone_bracket(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let last = range.end.checked_sub(1)?;
        let bracket = self.bracket(range.start)?;
        let is_first = range.start == 0 || self.end(range.start - 1) <= bracket.start;
        let is_last = range.end >= self.len() || bracket.end <= self.start(range.end);
        (is_first && is_last && self.end(last) < bracket.end).then_some(bracket)
    }

    /// Byte at which a part that begins with this word ends: before the bracket around the word,
    /// unless nothing would remain.
    pub(crate) fn stop_before(&self, idx: usize) -> usize {
        match self.bracket(idx) {
            Some(bracket) if self.words.first().is_some_and(|w| w.start < bracket.start) => {
                bracket.start
            }
            _ => self.start(idx),
        }
    }

    /// Count of words that begin before this byte.
    pub(crate) fn words_before(&self, byte: usize) -> usize {
        self.words.partition_point(|word| word.start < byte)
    }

    /// Folded words of a range.
    pub(crate) fn range(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &str> {
        range.map(|idx| self.word(idx))
    }
}

/// Count of ASCII letters and digits at the start of `bytes`.
fn alphanumeric_run(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| !byte.is_ascii_alphanumeric());
    end.unwrap_or(bytes.len())
}

/// Pairs of brackets, inner ones first, from the opening character to behind the closing one.
pub(crate) fn brackets(text: &str) -> Vec<Range<usize>> {
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut pairs = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open.push((at, b')')),
            b'[' => open.push((at, b']')),
            b'{' => open.push((at, b'}')),
            b')' | b']' | b'}' => {
                if let Some(idx) = open.iter().rposition(|(_, close)| *close == byte) {
                    pairs.push(open[idx].0..at + 1);
                    open.truncate(idx);
                }
            }
            _ => {}
        }
    }
    pairs
}

/// The characters that stand for a blank in file names.
pub(crate) fn is_blank(character: char) -> bool {
    matches!(character, '.' | '_') || character.is_whitespace()
}

/// Dashes of names.
pub(crate) const fn is_dash(character: char) -> bool {
    matches!(character, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// True if a text ends in a dash between blanks.
pub(crate) fn ends_in_dash(gap: &str) -> bool {
    let before = gap.trim_end_matches(is_blank);
    let Some(rest) = before.strip_suffix(is_dash) else {
        return false;
    };
    before.len() < gap.len() && rest.ends_with(is_blank)
}

/// A name with `×` as `x` and full-width punctuation as ASCII (NAMES.md N1).
pub(crate) fn plain(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    text.chars()
        .map(|c| match c {
            '×' => 'x',
            '【' => '[',
            '】' => ']',
            '\u{3000}' => ' ',
            '\u{FF01}'..='\u{FF0F}'
            | '\u{FF1A}'..='\u{FF20}'
            | '\u{FF3B}'..='\u{FF40}'
            | '\u{FF5B}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
            _ => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let tokens = NameTokens::new(text);
        (0..tokens.len())
            .map(|idx| tokens.word(idx).to_owned())
            .collect()
    }

    #[test]
    fn n1_words_are_folded_and_keep_apostrophes_inside() {
        assert_eq!(words("Director's Cut"), ["directors", "cut"]);
        assert_eq!(words("Dark 2×04"), ["dark", "2x04"]);
        assert_eq!(words("2ª Temporada"), ["2a", "temporada"]);
        assert_eq!(words("3½"), ["31", "2"]);
        assert_eq!(words("-_-"), [""; 0]);
    }

    #[test]
    fn n1_dashes_stand_between_blanks() {
        let behind_dash = |text: &str| NameTokens::new(text).is_behind_dash(1);
        assert!(behind_dash("a - b"));
        assert!(behind_dash("a_-_b"));
        assert!(behind_dash("a.-.b"));
        assert!(behind_dash("(a) - b"));
        assert!(!behind_dash("a-b"));
        assert!(!behind_dash("a -b"));
        assert!(!behind_dash("a - (b"));
        assert!(NameTokens::new("a - (b").has_dash(1));
    }

    #[test]
    fn brackets_are_pairs() {
        let lone = |text: &str, range| NameTokens::new(text).lone_bracket(&range).is_some();
        assert!(lone("a (b) c", 1..2));
        assert!(lone("a (b c) d", 1..3));
        assert!(!lone("a (b c) d", 1..2));
        assert!(!lone("a (b c", 1..3));
        assert!(!lone("a [b) c", 1..2));
        assert_eq!(NameTokens::new("a (b").stop_before(1), 3);
        assert_eq!(NameTokens::new("a (b)").stop_before(1), 2);
        assert_eq!(NameTokens::new("(b)").stop_before(0), 1);
    }
}
