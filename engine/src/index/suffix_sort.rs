//! Sorting all suffixes of a text in linear time: induced sorting (SA-IS, Nong, Zhang and Chan).
//!
//! A suffix is *small* if it is less than the suffix after it, otherwise *large*. A small one after
//! a large one is a *seed*. Once the seeds are sorted, one pass from the left sorts the large
//! suffixes and one from the right the small ones, as each follows from the suffix after it. Seeds
//! are at most half of the text: they are named in the order of their first stretch, and the text
//! of their names is sorted in the same way.
//!
//! Memory besides the text: 4 bytes for each byte of it, which is the result, a bit for the kind,
//! and at most 4 bytes for each distinct name, below a third of the text in practice. Titles that
//! share hundreds of characters cost as much as any others.

/// A place of the result that is not filled yet.
const EMPTY: u32 = u32::MAX;

/// A character of a text that is sorted: a byte, or a name.
trait Symbol: Copy + Ord {
    fn idx(self) -> usize;
}

impl Symbol for u8 {
    fn idx(self) -> usize {
        self.into()
    }
}

impl Symbol for u32 {
    fn idx(self) -> usize {
        self as usize
    }
}

/// Positions of all suffixes of a text, sorted. A suffix that another one begins with is less.
///
/// Panics if the text has 2³² - 1 bytes or more: positions have 32 bits.
pub(crate) fn sort_suffixes(text: &[u8]) -> Vec<u32> {
    assert!(
        text.len() < EMPTY as usize,
        "a text of {} bytes is too long for positions of 32 bits",
        text.len()
    );
    let mut sorted = vec![EMPTY; text.len()];
    sort(text, 1 << u8::BITS, &mut sorted);
    sorted
}

/// Sorts the suffixes of a text of symbols below `symbols_count`.
fn sort<T: Symbol>(text: &[T], symbols_count: usize, sorted: &mut [u32]) {
    if text.len() < 2 {
        sorted.fill(0);
        return;
    }
    let inducer = Inducer::new(text, symbols_count);
    let seeds_count = inducer.sort_stretches(sorted);
    let (front, names) = sorted.split_at_mut(text.len() - seeds_count);
    let names_count = inducer.name_stretches(front, names);
    let seeds = &mut front[..seeds_count];
    if names_count == seeds_count {
        // Every stretch is different, so the order of the names is that of the seeds.
        for (seed_idx, &name) in names.iter().enumerate() {
            seeds[name as usize] = seed_idx as u32;
        }
    } else {
        seeds.fill(EMPTY);
        sort(names, names_count, seeds);
    }
    // The names have done their work: their place holds the positions of the seeds now.
    let mut seed_idx = seeds_count;
    for at in (0..text.len()).rev() {
        if inducer.is_seed(at) {
            seed_idx -= 1;
            names[seed_idx] = at as u32;
        }
    }
    for seed in seeds {
        *seed = names[*seed as usize];
    }
    sorted[seeds_count..].fill(EMPTY);
    inducer.induce(sorted, seeds_count);
}

/// A text and the kinds of its suffixes.
struct Inducer<'t, T> {
    text: &'t [T],
    symbols_count: usize,
    /// A bit for each suffix: 1 if it is small.
    small: Vec<u64>,
}

impl<'t, T: Symbol> Inducer<'t, T> {
    fn new(text: &'t [T], symbols_count: usize) -> Self {
        let mut small = vec![0u64; text.len().div_ceil(64)];
        // The last suffix is large: after it comes the end, which is less than anything.
        let mut is_small = false;
        for at in (0..text.len() - 1).rev() {
            is_small = text[at] < text[at + 1] || (text[at] == text[at + 1] && is_small);
            small[at / 64] |= u64::from(is_small) << (at % 64);
        }
        Self {
            text,
            symbols_count,
            small,
        }
    }

    fn is_small(&self, at: usize) -> bool {
        self.small[at / 64] >> (at % 64) & 1 != 0
    }

    fn is_seed(&self, at: usize) -> bool {
        0 < at && self.is_small(at) && !self.is_small(at - 1)
    }

    /// Start of the suffixes of each symbol in the result, or, shifted by one, their end.
    fn bounds(&self) -> Vec<u32> {
        let mut bounds = vec![0u32; self.symbols_count + 1];
        for symbol in self.text {
            bounds[symbol.idx() + 1] += 1;
        }
        for idx in 1..bounds.len() {
            bounds[idx] += bounds[idx - 1];
        }
        bounds
    }

    /// Sorts the seeds by their stretches, which reach to the next seed, and puts them first.
    /// Returns their number.
    fn sort_stretches(&self, sorted: &mut [u32]) -> usize {
        let mut bounds = self.bounds();
        for at in (0..self.text.len()).filter(|&at| self.is_seed(at)) {
            let end = &mut bounds[self.text[at].idx() + 1];
            *end -= 1;
            sorted[*end as usize] = at as u32;
        }
        self.sort_others(sorted);
        let mut seeds_count = 0;
        for idx in 0..sorted.len() {
            let at = sorted[idx];
            if self.is_seed(at as usize) {
                sorted[seeds_count] = at;
                seeds_count += 1;
            }
        }
        seeds_count
    }

    /// Names the stretches in their order: equal ones get the same name. `sorted` begins with the
    /// seeds; `names` gets the name of each seed in the order of the text. Returns the number of
    /// names.
    fn name_stretches(&self, sorted: &mut [u32], names: &mut [u32]) -> usize {
        let (seeds, rest) = sorted.split_at_mut(names.len());
        // No two seeds are neighbours: half a position is a place of its own. Names go to the rest
        // of the result, and what does not fit there to `names`, which lies behind it.
        rest.fill(EMPTY);
        names.fill(EMPTY);
        let rest_len = rest.len();
        let mut names_count = 0;
        let mut last = None;
        for &seed in seeds.iter() {
            let at = seed as usize;
            if last.is_none_or(|last| !self.has_same_stretch(last, at)) {
                names_count += 1;
            }
            last = Some(at);
            let place = at / 2;
            let name = names_count as u32 - 1;
            match place.checked_sub(rest_len) {
                None => rest[place] = name,
                Some(place) => names[place] = name,
            }
        }
        // From the back, so that no name is written over before it is read.
        let mut free = names.len();
        for idx in (0..names.len()).rev() {
            if names[idx] != EMPTY {
                free -= 1;
                names[free] = names[idx];
            }
        }
        for name in rest.iter().rev().filter(|&&name| name != EMPTY) {
            free -= 1;
            names[free] = *name;
        }
        names_count
    }

    fn has_same_stretch(&self, a: usize, b: usize) -> bool {
        let mut offset = 0;
        loop {
            let (a, b) = (a + offset, b + offset);
            // The end differs from everything.
            if self.text.len() <= a.max(b)
                || self.text[a] != self.text[b]
                || self.is_small(a) != self.is_small(b)
            {
                return false;
            }
            if 0 < offset && (self.is_seed(a) || self.is_seed(b)) {
                return self.is_seed(a) && self.is_seed(b);
            }
            offset += 1;
        }
    }

    /// Sorts all suffixes by the seeds, which come first in their order.
    fn induce(&self, sorted: &mut [u32], seeds_count: usize) {
        let mut bounds = self.bounds();
        // From the greatest: each goes to the right of where it is, or stays.
        for idx in (0..seeds_count).rev() {
            let at = std::mem::replace(&mut sorted[idx], EMPTY);
            let end = &mut bounds[self.text[at as usize].idx() + 1];
            *end -= 1;
            sorted[*end as usize] = at;
        }
        self.sort_others(sorted);
    }

    /// Sorts the large suffixes by the seeds, and the small ones by the large ones.
    fn sort_others(&self, sorted: &mut [u32]) {
        let mut starts = self.bounds();
        let mut put_large = |sorted: &mut [u32], at: usize| {
            let start = &mut starts[self.text[at].idx()];
            sorted[*start as usize] = at as u32;
            *start += 1;
        };
        // The last suffix is the one before the end, which is least.
        put_large(sorted, self.text.len() - 1);
        for idx in 0..sorted.len() {
            let at = sorted[idx] as usize;
            if sorted[idx] != EMPTY && 0 < at && !self.is_small(at - 1) {
                put_large(sorted, at - 1);
            }
        }
        let mut ends = self.bounds();
        for idx in (0..sorted.len()).rev() {
            let at = sorted[idx] as usize;
            if sorted[idx] != EMPTY && 0 < at && self.is_small(at - 1) {
                let end = &mut ends[self.text[at - 1].idx() + 1];
                *end -= 1;
                sorted[*end as usize] = at as u32 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &[u8]) -> Result<(), TestCaseError> {
        let mut expected: Vec<u32> = (0..text.len() as u32).collect();
        expected.sort_by_key(|&at| &text[at as usize..]);
        prop_assert_eq!(sort_suffixes(text), expected);
        Ok(())
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_sort(text in "[ab]{0,60}|[abc]{0,200}|(ab|ba|aab){0,50}") {
            check(text.as_bytes())?;
        }

        #[test]
        fn agrees_for_any_bytes(text in prop::collection::vec(any::<u8>(), 0..300)) {
            check(&text)?;
        }
    }

    #[test]
    fn agrees_for_texts_that_repeat_themselves() {
        let mut fibonacci = (vec![b'a'], vec![b'a', b'b']);
        while fibonacci.1.len() < 2_000 {
            let next = [&fibonacci.1[..], &fibonacci.0[..]].concat();
            fibonacci = (fibonacci.1, next);
        }
        for text in [fibonacci.1, vec![b'x'; 1_000], b"mississippi".repeat(90)] {
            check(&text).unwrap();
        }
    }

    #[test]
    fn sorts_a_text_of_one_symbol_in_linear_time() {
        let text = vec![b'x'; 1 << 20];
        let sorted = sort_suffixes(&text);
        assert!(sorted.iter().rev().copied().eq(0..1 << 20));
    }
}
