//! One damage to one file.

use std::collections::BTreeMap;

use subcat_tests::campaign::Random;

/// Bytes of a sector, which a disk loses or misdirects as a whole.
const SECTOR_BYTES: usize = 512;
/// Bytes of a page.
pub const PAGE_BYTES: usize = 4_096;

/// Names of the kinds of damage.
pub const KINDS: [&str; 7] = [
    "a flipped bit",
    "a zero sector",
    "a garbage page",
    "a truncation",
    "swapped sectors",
    "a misdirected page",
    "a lost page",
];

/// Files below the data directory, with their content.
pub type Files = BTreeMap<String, Vec<u8>>;

/// One damaged file.
pub struct Damage {
    /// Path below the data directory; empty for no damage.
    pub path: String,
    /// One of [`KINDS`].
    pub kind: &'static str,
    /// First byte that differs.
    pub at: usize,
    /// Content now.
    pub content: Vec<u8>,
}

impl std::fmt::Debug for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} at byte {}", self.kind, self.path, self.at)
    }
}

impl Damage {
    /// No damage.
    pub fn nothing() -> Self {
        Self {
            path: String::new(),
            kind: "nothing",
            at: 0,
            content: Vec::new(),
        }
    }

    /// The damage of a seed: it changes at least one byte.
    pub fn choose(files: &Files, seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        loop {
            if let Some(damage) = Self::try_choose(files, &mut random) {
                return damage;
            }
        }
    }

    fn try_choose(files: &Files, random: &mut Random) -> Option<Self> {
        // Half of the damage goes to the two files of the truth, which hold most that can be lost.
        let truth: Vec<&String> = files
            .keys()
            .filter(|path| path.ends_with(".redb"))
            .collect();
        let path = if random.index(2) == 0 {
            truth[random.index(truth.len())]
        } else {
            files.keys().nth(random.index(files.len()))?
        };
        let before = &files[path];
        let mut content = before.clone();
        let kind = KINDS[random.index(KINDS.len())];
        // Most of a new store is empty: half of the places are near bytes that are not zero.
        let mut at = random.index(content.len());
        if random.index(2) == 0 {
            at += content[at..].iter().position(|byte| *byte != 0)?;
        }
        let (sector, page) = (at / SECTOR_BYTES, at / PAGE_BYTES);
        let range = |unit: usize, bytes: usize| {
            let start = unit * bytes;
            start..(start + bytes).min(before.len())
        };
        let other = random.index(before.len());
        match kind {
            "a flipped bit" => *content.get_mut(at)? ^= 1 << random.index(8),
            "a zero sector" => content[range(sector, SECTOR_BYTES)].fill(0),
            "a garbage page" => {
                for byte in &mut content[range(page, PAGE_BYTES)] {
                    *byte = random.index(256) as u8;
                }
            }
            "a truncation" => content.truncate(at),
            "swapped sectors" => {
                let (one, two) = (range(sector, SECTOR_BYTES), other / SECTOR_BYTES);
                let two = range(two, SECTOR_BYTES);
                if one.len() != two.len() {
                    return None;
                }
                content[one.clone()].copy_from_slice(&before[two.clone()]);
                content[two].copy_from_slice(&before[one]);
            }
            // A write that went to another place: what was there is lost.
            "a misdirected page" => {
                let (one, two) = (
                    range(page, PAGE_BYTES),
                    range(other / PAGE_BYTES, PAGE_BYTES),
                );
                if one.len() != two.len() {
                    return None;
                }
                content[two].copy_from_slice(&before[one]);
            }
            // A write that went nowhere: what was there before, or in another file, stays.
            _ => {
                let source = files.values().nth(random.index(files.len()))?;
                let into = range(page, PAGE_BYTES);
                let from = source.get(into.clone())?;
                content[into].copy_from_slice(from);
            }
        }
        let at = before
            .iter()
            .zip(&content)
            .position(|(old, new)| old != new);
        let at = at.or_else(|| (before.len() != content.len()).then_some(content.len()))?;
        Some(Self {
            path: path.clone(),
            kind,
            at,
            content,
        })
    }
}
