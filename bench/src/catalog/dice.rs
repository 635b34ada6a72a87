//! Random numbers that are the same on every machine and for every version of every library.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    /// The sequence number `index` of the stream `stream` of a seed.
    pub(super) fn new(seed: u64, stream: u64, index: u64) -> Self {
        let mut dice = Self(seed);
        dice.0 ^= dice
            .next()
            .wrapping_add(stream.wrapping_mul(0xd6e8_feb8_6659_fd93));
        dice.0 ^= dice
            .next()
            .wrapping_add(index.wrapping_mul(0xa076_1d64_78bd_642f));
        dice.next();
        dice
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of [0, 1).
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub(super) fn falls(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// A number of `low..=high`.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        let span = u64::from(high - low) + 1;
        low + ((u128::from(self.next()) * u128::from(span)) >> 64) as u32
    }

    pub(super) fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[((u128::from(self.next()) * items.len() as u128) >> 64) as usize]
    }

    /// A log-normal number: `mu` and `sigma` are those of its logarithm.
    pub(super) fn log_normal(&mut self, mu: f64, sigma: f64) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.share();
        (mu + sigma * radius * angle.cos()).exp()
    }
}

/// Ranks with weights `1 / (rank + shift)^slope`.
pub(super) struct Zipf(Vec<f64>);

impl Zipf {
    pub(super) fn new(count: usize, shift: f64, slope: f64) -> Self {
        let mut sums = Vec::with_capacity(count);
        let mut sum = 0.0;
        for rank in 0..count {
            sum += (rank as f64 + shift).powf(-slope);
            sums.push(sum);
        }
        Self(sums)
    }

    pub(super) fn rank(&self, dice: &mut Dice) -> usize {
        let total = self.0[self.0.len() - 1];
        let point = dice.share() * total;
        self.0
            .partition_point(|sum| *sum <= point)
            .min(self.0.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_indexes_differ() {
        let first = |seed, stream, index| Dice::new(seed, stream, index).next();
        let all = [
            first(1, 1, 1),
            first(2, 1, 1),
            first(1, 2, 1),
            first(1, 1, 2),
        ];
        for (idx, value) in all.iter().enumerate() {
            assert!(!all[idx + 1..].contains(value));
        }
        assert_eq!(first(7, 8, 9), first(7, 8, 9));
    }

    #[test]
    fn a_zipf_law_favours_the_first_rank() {
        let zipf = Zipf::new(1000, 1.0, 1.0);
        let mut dice = Dice::new(1, 0, 0);
        let mut counts = vec![0; 1000];
        for _ in 0..100_000 {
            counts[zipf.rank(&mut dice)] += 1;
        }
        // Rank 0 has twice the weight of rank 1 and ten times that of rank 9.
        let ratio = f64::from(counts[0]) / f64::from(counts[9]);
        assert!((8.0..12.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn between_includes_both_ends() {
        let mut dice = Dice::new(1, 0, 0);
        let mut seen = [false; 3];
        for _ in 0..100 {
            seen[dice.between(4, 6) as usize - 4] = true;
        }
        assert_eq!(seen, [true; 3]);
    }
}
