//! Source of the decisions of generators: the bytes of the fuzzer.

/// A stream of decisions: a seeded generator that never ends, or the bytes of a fuzzer.
///
/// After the last byte zeros are read, and zero is always the simplest choice. So cutting or
/// zeroing bytes makes a case smaller, which is how fuzzers and property tests shrink it.
#[derive(Debug, Clone)]
pub struct Choices<'a>(Source<'a>);

#[derive(Debug, Clone)]
enum Source<'a> {
    Seed(u64),
    Bytes(&'a [u8]),
}

impl<'a> Choices<'a> {
    /// Decisions that depend on nothing but the seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seed(seed))
    }

    /// Decisions read from bytes.
    pub fn from_bytes(bytes: &'a [u8]) -> Self {
        Self(Source::Bytes(bytes))
    }

    /// True if every later decision is the simplest one.
    pub fn is_exhausted(&self) -> bool {
        matches!(self.0, Source::Bytes([]))
    }

    /// Any byte.
    pub fn byte(&mut self) -> u8 {
        match &mut self.0 {
            // SplitMix64, of which the uppermost byte is used.
            Source::Seed(state) => {
                *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mut mixed = *state;
                mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                (mixed >> 56) as u8
            }
            Source::Bytes(bytes) => match bytes.split_first() {
                Some((first, rest)) => {
                    *bytes = rest;
                    *first
                }
                None => 0,
            },
        }
    }

    /// A number below `bound`, which is 1 to 65,536.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(0 < bound);
        assert!(bound <= 1 << 16);
        if bound <= 1 << 8 {
            usize::from(self.byte()) % bound
        } else {
            usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % bound
        }
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) + 1 == n
    }

    /// One of several, the first being the simplest.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// Any character; mostly ones that folding changes.
    pub fn character(&mut self) -> char {
        const TRICKY: &str = "a 'éÑßẞİıſ’´`½²ⅣﬁŉΣςǅ映한ह٢१\u{301}\u{308}\u{AD}\u{200D}\u{FEFF}\u{A0}\
                              \u{0}\n\"\\_-.:/😀\u{10FFFF}０Ａｅ㎨ﷺ";
        let tricky_count = TRICKY.chars().count();
        if self.one_in(4) {
            let low = u32::from(self.byte()) | u32::from(self.byte()) << 8;
            let plane = (u32::from(self.byte()) % 17) << 16;
            char::from_u32(plane | low).unwrap_or('\u{FFFD}')
        } else {
            let at = self.below(tricky_count);
            TRICKY.chars().nth(at).unwrap_or('a')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_choices() {
        let take = |seed| {
            let mut choices = Choices::seeded(seed);
            (0..100).map(|_| choices.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(take(7), take(7));
        assert_ne!(take(7), take(8));
    }

    #[test]
    fn exhausted_bytes_are_zeros() {
        let mut choices = Choices::from_bytes(&[5]);
        assert_eq!(choices.below(10), 5);
        assert!(choices.is_exhausted());
        assert_eq!(choices.below(10), 0);
        assert!(!choices.one_in(2));
    }
}
