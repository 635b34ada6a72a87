//! Columns that filters and markers read: type, year, flags, source, season and episode of a
//! document, packed into one number.
//!
//! ```text
//! offset  bytes  field
//! 0       1      bits of a season
//! 1       1      bits of an episode
//! 2       6      zero
//! 8       …      packed: from the lowest bit 1 for an episode, 8 for the year less 1,849, 3 for
//!                the flags that are true, 1 for a release id, the season, the episode; 0 is none
//! ```

use std::hint::black_box;

use bytes::{Buf, Bytes};

use crate::limits::{YEAR_MAX, YEAR_MIN};
use crate::model::{Flag, FlagSet, Number, Record, VideoType, Year};

use super::packed::{Packed, PackedBuilder, SharedPacked};

const YEAR_SHIFT: u32 = 1;
const YEAR_BITS: u32 = 8;
const FLAG_SHIFT: u32 = YEAR_SHIFT + YEAR_BITS;
const SOURCE_SHIFT: u32 = FLAG_SHIFT + 3;
const SEASON_SHIFT: u32 = SOURCE_SHIFT + 1;
const YEAR_BASE: u16 = YEAR_MIN - 1;
const HEAD_BYTES: usize = 8;
const _: () = assert!(FlagSet::ALL.bits() < 1 << (SOURCE_SHIFT - FLAG_SHIFT));
const _: () = assert!(YEAR_MAX - YEAR_BASE < 1 << YEAR_BITS);

/// Column values of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ColumnRow {
    /// True for an episode, false for a film.
    pub(crate) is_episode: bool,
    /// The year; 0 when it is unknown.
    pub(crate) year: u16,
    /// The season; 0 when there is none.
    pub(crate) season: u16,
    /// The episode; 0 when there is none.
    pub(crate) episode: u16,
    /// The flags that are true.
    pub(crate) flags: FlagSet,
    /// True if the record has a release id, so that its file can be fetched.
    pub(crate) has_source: bool,
}

impl ColumnRow {
    /// Column values of a record.
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            is_episode: record.video_type == VideoType::Episode,
            year: record.year.map_or(0, Year::get),
            season: record.season.map_or(0, Number::get),
            episode: record.episode.map_or(0, Number::get),
            flags: record.flags.set(),
            has_source: record.source_release_id.is_some(),
        }
    }
}

/// A column value that has a posting list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnValue {
    /// The year; none when unknown.
    Year(Option<Year>),
    /// The type.
    VideoType(VideoType),
    /// Season and episode, 0 for none; never both 0.
    SeasonEpisode(u16, u16),
    /// The number of a language.
    Language(u32),
    /// A title that begins with an `l` and an apostrophe; its folded text does not show it.
    ElidedTitle,
}

impl ColumnValue {
    /// The code by which the value is looked up. The bits of a season are above those of the
    /// episode, so that all episodes of a season are one range of codes.
    pub(crate) fn code(self) -> u64 {
        match self {
            Self::Year(year) => 1 << 40 | u64::from(year.map_or(0, Year::get)),
            Self::VideoType(VideoType::Movie) => 2 << 40,
            Self::VideoType(VideoType::Episode) => 2 << 40 | 1,
            Self::SeasonEpisode(season, episode) => {
                3 << 40 | u64::from(season) << 16 | u64::from(episode)
            }
            Self::Language(number) => 4 << 40 | u64::from(number),
            Self::ElidedTitle => 5 << 40,
        }
    }
}

/// View of the packed columns of a segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'a> {
    rows: Packed<'a>,
    episode_shift: u32,
    season_mask: u64,
}

/// Columns with a handle of their bytes and a decoded head.
#[derive(Debug)]
pub(crate) struct SharedColumns {
    rows: SharedPacked,
    episode_shift: u32,
    season_mask: u64,
}

impl SharedColumns {
    /// The columns in these bytes, or `None` when the head is damaged.
    pub(crate) fn read(mut bytes: Bytes) -> Option<Self> {
        let columns = Columns::read(&bytes)?;
        let (episode_shift, season_mask) = (columns.episode_shift, columns.season_mask);
        bytes.advance(HEAD_BYTES);
        Some(Self {
            rows: SharedPacked::read(bytes)?,
            episode_shift,
            season_mask,
        })
    }

    /// A view of them. Cost: their bytes are not touched.
    #[inline(always)]
    pub(crate) fn columns(&self) -> Columns<'_> {
        Columns {
            rows: self.rows.packed(),
            episode_shift: self.episode_shift,
            season_mask: self.season_mask,
        }
    }
}

impl<'a> Columns<'a> {
    /// View of the columns, or `None` when the head is damaged.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let head = bytes.get(..HEAD_BYTES)?;
        let (season_bits, episode_bits) = (u32::from(head[0]), u32::from(head[1]));
        if season_bits > 16 || episode_bits > 16 {
            return None;
        }
        Some(Self {
            rows: Packed::read(&bytes[HEAD_BYTES..])?,
            episode_shift: SEASON_SHIFT + season_bits,
            season_mask: (1 << season_bits) - 1,
        })
    }

    /// Count of documents.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Packed columns of a document, for [`RowTest`].
    #[inline(always)]
    pub(crate) fn row(&self, doc: u32) -> u64 {
        self.rows.get(doc as usize)
    }

    /// Reads the rows of documents that will be checked soon: here no read waits for another, there
    /// each does.
    #[inline]
    pub(crate) fn prefetch(&self, docs: &[u32]) {
        let rows = docs.iter().map(|&doc| self.row(doc));
        black_box(rows.fold(0, |all, row| all ^ row));
    }

    /// Column values of a document.
    #[inline(always)]
    pub(crate) fn get(&self, doc: u32) -> ColumnRow {
        let row = self.row(doc);
        let year = (row >> YEAR_SHIFT) as u16 & ((1 << YEAR_BITS) - 1);
        ColumnRow {
            is_episode: row & 1 != 0,
            year: if year == 0 { 0 } else { year + YEAR_BASE },
            season: (row >> SEASON_SHIFT & self.season_mask) as u16,
            episode: (row >> self.episode_shift) as u16,
            flags: flags_of(row),
            has_source: row >> SOURCE_SHIFT & 1 != 0,
        }
    }

    /// Narrows a test to rows with `value` in `column`. `None` when no row can match: the value
    /// needs more bits than the column has.
    pub(crate) fn with_equal(&self, test: RowTest, column: Column, value: u16) -> Option<RowTest> {
        let (mask, value) = self.field(column, value)?;
        Some(RowTest {
            mask: test.mask | mask,
            value: test.value | value,
            value_or: test.value_or | value,
        })
    }

    /// Narrows a test to rows with `value` in `column`, or with an empty one. At most one column of
    /// a test may be of this kind: a row is compared with two values, and each further column would
    /// double their number.
    pub(crate) fn with_equal_or_none(
        &self,
        test: RowTest,
        column: Column,
        value: u16,
    ) -> Option<RowTest> {
        debug_assert!(
            test.value == test.value_or,
            "one column of a test may be empty"
        );
        let (mask, value) = self.field(column, value)?;
        Some(RowTest {
            mask: test.mask | mask,
            value: test.value | value,
            value_or: test.value_or,
        })
    }

    /// Mask of a column in a packed row, and `value` shifted to its place.
    fn field(&self, column: Column, value: u16) -> Option<(u64, u64)> {
        let (shift, mask, stored) = match column {
            Column::VideoType => (0, 1, value),
            Column::Year => (YEAR_SHIFT, (1 << YEAR_BITS) - 1, value - YEAR_BASE),
            Column::Flag(flag) => (FLAG_SHIFT + flag.idx() as u32, 1, value),
            Column::Source => (SOURCE_SHIFT, 1, value),
            Column::Season => (SEASON_SHIFT, self.season_mask, value),
            // The highest column: no bit above it is set.
            Column::Episode => (self.episode_shift, 0xffff, value),
        };
        let stored = u64::from(stored);
        if mask < stored {
            return None;
        }
        Some((mask << shift, stored << shift))
    }
}

/// A column of a packed row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// 1 for an episode, 0 for a film.
    VideoType,
    /// Year; empty when unknown.
    Year,
    /// 1 for a flag that is true.
    Flag(Flag),
    /// 1 for a record with a release id.
    Source,
    /// Season number; empty when there is none.
    Season,
    /// Episode number; empty when there is none.
    Episode,
}

/// A mask and two values; a masked row must equal one of them. They differ only in the one column
/// that may be empty.
///
/// Example: "season 3, year 1999 or none" has the mask of both columns, the value with 3 and 1999,
/// and the value with 3 and no year; a row matches with one load, one mask, two comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RowTest {
    mask: u64,
    value: u64,
    value_or: u64,
}

impl RowTest {
    /// True if the row matches.
    #[inline(always)]
    pub(crate) fn matches(&self, row: u64) -> bool {
        let row = row & self.mask;
        row == self.value || row == self.value_or
    }

    /// True if every row matches.
    pub(crate) fn is_trivial(&self) -> bool {
        self.mask == 0
    }
}

/// The flags in a packed row.
fn flags_of(row: u64) -> FlagSet {
    let bits = (row >> FLAG_SHIFT) as u8 & FlagSet::ALL.bits();
    FlagSet::from_bits(bits).expect("bits of flags and no others")
}

/// Packs rows of column values.
pub(crate) fn pack_columns(rows: impl Iterator<Item = ColumnRow> + Clone) -> Vec<u8> {
    let bits = |number: u16| u16::BITS - number.leading_zeros();
    // As many bits as the largest number of this segment needs: one season of 1,000 widens the
    // column of its own segment only.
    let season_bits = rows.clone().map(|f| bits(f.season)).max().unwrap_or(0);
    let episode_bits = rows.clone().map(|f| bits(f.episode)).max().unwrap_or(0);
    let episode_shift = SEASON_SHIFT + season_bits;
    let mut bytes = vec![season_bits as u8, episode_bits as u8, 0, 0, 0, 0, 0, 0];
    let max = (1u64 << (episode_shift + episode_bits)) - 1;
    let mut packed = PackedBuilder::new(max, rows.size_hint().0);
    for row in rows {
        let year = if row.year == 0 {
            0
        } else {
            row.year - YEAR_BASE
        };
        packed.push(
            u64::from(row.is_episode)
                | u64::from(year) << YEAR_SHIFT
                | u64::from(row.flags.bits()) << FLAG_SHIFT
                | u64::from(row.has_source) << SOURCE_SHIFT
                | u64::from(row.season) << SEASON_SHIFT
                | u64::from(row.episode) << episode_shift,
        );
    }
    bytes.extend_from_slice(&packed.finish());
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows() -> impl Strategy<Value = ColumnRow> {
        let year = prop_oneof![Just(0), YEAR_MIN..=YEAR_MAX];
        (
            any::<bool>(),
            year,
            0..40u16,
            prop_oneof![0..9u16, any::<u16>()],
            0..=FlagSet::ALL.bits(),
            any::<bool>(),
        )
            .prop_map(
                |(is_episode, year, season, episode, flags, has_source)| ColumnRow {
                    is_episode,
                    year,
                    season,
                    episode,
                    flags: FlagSet::from_bits(flags).unwrap(),
                    has_source,
                },
            )
    }

    proptest! {
        #[test]
        fn tests_like_a_plain_comparison(
            rows in prop::collection::vec(rows(), 1..50),
            wanted in rows(),
            asked in any::<[bool; 6]>(),
        ) {
            let bytes = pack_columns(rows.iter().copied());
            let view = Columns::read(&bytes).unwrap();
            let year = Year::new(wanted.year).filter(|_| asked[1]);
            let season = Number::new(wanted.season).filter(|_| asked[2]);
            let episode = Number::new(wanted.episode).filter(|_| asked[3]);
            let mut test = Some(RowTest::default());
            let mut equal = |column, value: Option<u16>| {
                if let Some(value) = value {
                    test = test.and_then(|test| view.with_equal(test, column, value));
                }
            };
            equal(Column::VideoType, asked[0].then_some(u16::from(wanted.is_episode)));
            let forced = Flag::Forced;
            let wants_forced = u16::from(wanted.flags.contains(forced));
            equal(Column::Flag(forced), asked[4].then_some(wants_forced));
            equal(Column::Source, asked[5].then_some(u16::from(wanted.has_source)));
            equal(Column::Season, season.map(Number::get));
            equal(Column::Episode, episode.map(Number::get));
            if let Some(year) = year {
                let with_year = |test| view.with_equal_or_none(test, Column::Year, year.get());
                test = test.and_then(with_year);
            }
            for (doc, row) in rows.iter().enumerate() {
                prop_assert_eq!(view.get(doc as u32), *row);
                let expected = (!asked[0] || row.is_episode == wanted.is_episode)
                    && year.is_none_or(|year| row.year == 0 || row.year == year.get())
                    && (!asked[4]
                        || row.flags.contains(forced) == wanted.flags.contains(forced))
                    && (!asked[5] || row.has_source == wanted.has_source)
                    && season.is_none_or(|season| row.season == season.get())
                    && episode.is_none_or(|episode| row.episode == episode.get());
                let matches = test.is_some_and(|test| test.matches(view.row(doc as u32)));
                prop_assert_eq!(matches, expected);
            }
        }
    }
}
