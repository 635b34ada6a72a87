//! Seeded numbers: the same seed gives the same run.

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast and good enough to choose requests.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Numbers that follow from `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A position below `count`, which is at least 1.
    pub fn below(&mut self, count: usize) -> usize {
        assert!(0 < count);
        let wide = u128::from(self.bits()) * count as u128;
        (wide >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_published_sequence() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn stays_below_and_reaches_everything() {
        let mut random = Random::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[random.below(5)] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
