//! The words of a part of a path, and the text between them.

use crate::text::fold_character;

/// A part of a path, or a name, as words (SEARCH.md 1, steps 1 to 4).
#[derive(Debug, Clone, Default)]
pub(super) struct PathWords {
    /// The part as written, with an `x` in place of `×` between digits.
    text: String,
    folded: String,
    words: Vec<PathWord>,
}

/// Bytes of a word in the text, and its end in the folded text.
#[derive(Debug, Clone, Copy)]
struct PathWord {
    start: usize,
    end: usize,
    folded_end: usize,
}

impl PathWords {
    /// Splits a text into words. Cost: linear.
    pub(super) fn of(text: &str) -> Self {
        let text = with_plain_times(text);
        let mut folded = String::with_capacity(text.len());
        let mut words: Vec<PathWord> = Vec::new();
        let mut is_inside = false;
        for (at, character) in text.char_indices() {
            let end = at + character.len_utf8();
            fold_character(character, &mut |letter| {
                if letter == ' ' {
                    is_inside = false;
                    return;
                }
                folded.push(letter);
                let folded_end = folded.len();
                match words.last_mut().filter(|_| is_inside) {
                    Some(word) => (word.end, word.folded_end) = (end, folded_end),
                    None => words.push(PathWord {
                        start: at,
                        end,
                        folded_end,
                    }),
                }
                is_inside = true;
            });
        }
        Self {
            text,
            folded,
            words,
        }
    }

    /// Count of words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The folded word at this index; empty beyond the last.
    pub(super) fn word(&self, idx: usize) -> &str {
        let start = match idx.checked_sub(1) {
            Some(before) => self.words.get(before).map_or(0, |word| word.folded_end),
            None => 0,
        };
        let word = self.words.get(idx);
        word.map_or("", |word| &self.folded[start..word.folded_end])
    }

    /// The word before an index; empty before the first.
    pub(super) fn word_before(&self, idx: usize) -> &str {
        idx.checked_sub(1).map_or("", |before| self.word(before))
    }

    /// All words.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        (0..self.len()).map(|idx| self.word(idx))
    }

    /// Text between a word and the one before it.
    pub(super) fn gap(&self, idx: usize) -> &str {
        let start = match idx.checked_sub(1) {
            Some(before) => self.words.get(before).map_or(0, |word| word.end),
            None => 0,
        };
        let end = self
            .words
            .get(idx)
            .map_or(self.text.len(), |word| word.start);
        self.text.get(start..end).unwrap_or("")
    }
}

/// The text with `x` in place of `×` between two digits.
fn with_plain_times(text: &str) -> String {
    if !text.contains('×') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('×') {
        out.push_str(before);
        let is_between = before.ends_with(|c: char| c.is_ascii_digit())
            && after.starts_with(|c: char| c.is_ascii_digit());
        out.push(if is_between { 'x' } else { '×' });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, words: &[&str], gaps: &[&str]) {
        let read = PathWords::of(text);
        assert_eq!(read.iter().collect::<Vec<_>>(), words, "{text}");
        let read_gaps: Vec<&str> = (0..=read.len()).map(|idx| read.gap(idx)).collect();
        assert_eq!(read_gaps, gaps, "{text}");
    }

    #[test]
    fn words_are_folded_and_keep_what_is_between_them() {
        check(
            "Cap. 1.02 (x)",
            &["cap", "1", "02", "x"],
            &["", ". ", ".", " (", ")"],
        );
        check("O'Brien’s", &["obriens"], &["", ""]);
        check("1×02 a×b", &["1x02", "a", "b"], &["", " ", "×", ""]);
        check("1.ª Año", &["1", "a", "ano"], &["", ".", " ", ""]);
        check("½", &["1", "2"], &["", "", ""]);
        check("", &[], &[""]);
    }
}
