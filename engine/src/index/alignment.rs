//! Optimal string alignment distance, letter by letter.
//!
//! Insertion, deletion, substitution and the swap of two neighbours count one each, and no part is
//! edited twice (SEARCH.md 4.6). Of the matrix of a term against a word, only the last two rows are
//! kept, and of a row only the cells around the diagonal: farther off, the lengths alone differ by
//! more than the greatest distance allowed.

use crate::limits::TYPO_DISTANCE_MAX;

/// Cells of a row: the diagonal, and as many on each side as the greatest distance.
const BAND: usize = 2 * TYPO_DISTANCE_MAX + 1;
/// Any distance that is too great: it never gets smaller again.
const FAR: u8 = TYPO_DISTANCE_MAX as u8 + 1;

/// The rows of the matrix after some letters of a term. Cell `k` of the row of `n` letters stands
/// for `n + k - TYPO_DISTANCE_MAX` letters of the word.
#[derive(Clone, Copy)]
pub(super) struct AlignmentRows {
    distance_max: u8,
    /// Count of letters of the term up to now.
    letters_count: u32,
    last: [u8; BAND],
    /// The row before `last`: a swap continues from it.
    before: [u8; BAND],
    /// Last letter of the term up to now, which a swap compares.
    last_letter: char,
}

impl AlignmentRows {
    /// Rows of the empty term.
    pub(super) fn start(distance_max: u8) -> Self {
        let mut last = [FAR; BAND];
        for (cell, distance) in last[TYPO_DISTANCE_MAX..].iter_mut().zip(0..) {
            *cell = distance;
        }
        Self {
            distance_max,
            letters_count: 0,
            last,
            before: [FAR; BAND],
            last_letter: '\0',
        }
    }

    /// Appends a letter of the term. Returns false if no term with this prefix can be close.
    ///
    /// Cost: five cells, whatever the length of the word. A cell is the least of an insertion, a
    /// deletion, a substitution and a swap, as in the full matrix; cells outside the band differ by
    /// more than two in length alone, so they can be left out.
    pub(super) fn step(&mut self, word: &[char], letter: char) -> bool {
        let count = self.letters_count as usize;
        let mut row = [FAR; BAND];
        for cell in 0..BAND {
            // The letters of the word up to here, this one counted.
            let Some(at) = (count + 1 + cell).checked_sub(TYPO_DISTANCE_MAX) else {
                continue;
            };
            if word.len() < at {
                break;
            }
            let mut best = FAR;
            if let Some(&above) = self.last.get(cell + 1) {
                best = best.min(above + 1);
            }
            if 0 < cell {
                best = best.min(row[cell - 1] + 1);
            }
            if 0 < at {
                best = best.min(self.last[cell] + u8::from(word[at - 1] != letter));
            }
            let is_swap =
                1 < at && 0 < count && word[at - 1] == self.last_letter && word[at - 2] == letter;
            if is_swap {
                best = best.min(self.before[cell] + 1);
            }
            row[cell] = best;
        }
        (self.before, self.last) = (self.last, row);
        self.letters_count += 1;
        self.last_letter = letter;
        let reaches = |row: &[u8; BAND], most: u8| row.iter().any(|distance| *distance <= most);
        // A swap continues from the row before the last one: that row must be looked at as well.
        reaches(&self.last, self.distance_max) || reaches(&self.before, self.distance_max - 1)
    }

    /// True if the term is at distance 1 to `distance_max` from the word, which has `word_letters`
    /// letters.
    pub(super) fn is_close(&self, word_letters: usize) -> bool {
        let cell = (word_letters + TYPO_DISTANCE_MAX).checked_sub(self.letters_count as usize);
        let distance = cell.and_then(|cell| self.last.get(cell));
        distance.is_some_and(|distance| (1..=self.distance_max).contains(distance))
    }
}

/// The first bytes of a letter in UTF-8.
#[derive(Clone, Copy, Default)]
pub(super) struct Letter {
    bytes: [u8; 4],
    len: u8,
}

impl Letter {
    /// True if the letter has no byte yet.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a byte; returns the letter when it is complete. Bytes that are not UTF-8 never are.
    #[inline]
    pub(super) fn push(&mut self, byte: u8) -> Option<char> {
        if self.len == 0 && byte.is_ascii() {
            return Some(char::from(byte));
        }
        *self.bytes.get_mut(usize::from(self.len))? = byte;
        self.len += 1;
        let text = std::str::from_utf8(&self.bytes[..usize::from(self.len)]).ok()?;
        text.chars().next()
    }
}
