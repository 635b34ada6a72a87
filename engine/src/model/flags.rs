//! Flags of subtitles: properties that players ask about (SEARCH.md 3.5).

/// A property of subtitles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flag {
    /// Subtitles that describe sounds, for viewers with impaired hearing.
    HearingImpaired,
    /// Subtitles that translate foreign passages only.
    Forced,
    /// A machine translated them.
    MachineTranslated,
}

impl Flag {
    /// All flags, in listing order.
    pub const ALL: [Self; 3] = [Self::HearingImpaired, Self::Forced, Self::MachineTranslated];

    /// Name of the flag in requests, answers and imports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HearingImpaired => "hearing_impaired",
            Self::Forced => "forced",
            Self::MachineTranslated => "machine_translated",
        }
    }

    /// Index of the flag in [`Flag::ALL`].
    pub(crate) const fn idx(self) -> usize {
        self as usize
    }
}

/// A set of flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct FlagSet(u8);

impl FlagSet {
    /// Every flag.
    pub const ALL: Self = Self(7);

    /// True if the flag is in the set.
    pub const fn contains(self, flag: Flag) -> bool {
        self.0 & 1 << flag.idx() != 0
    }

    /// The set with this flag.
    #[must_use]
    pub const fn with(self, flag: Flag) -> Self {
        Self(self.0 | 1 << flag.idx())
    }

    /// The flags of the set, in their order.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        let flags = Flag::ALL.into_iter();
        flags.filter(move |flag| self.contains(*flag))
    }

    /// A bit for each flag; the first flag has the lowest.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set with these bits, when no other bit is set.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits <= Self::ALL.0 {
            Some(Self(bits))
        } else {
            None
        }
    }
}

/// The flags of a record, each true, false or unknown.
///
/// ```
/// use subcat_engine::{Flag, RecordFlags};
/// let flags = RecordFlags::default().with(Flag::Forced, Some(false));
/// assert_eq!(flags.get(Flag::Forced), Some(false));
/// assert_eq!(flags.get(Flag::HearingImpaired), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct RecordFlags {
    known: FlagSet,
    /// INVARIANT: each of them is known.
    set: FlagSet,
}

impl RecordFlags {
    /// The known flags, and those of them that are true; `None` if an unknown one is true.
    pub(crate) const fn new(known: FlagSet, set: FlagSet) -> Option<Self> {
        if set.bits() & !known.bits() == 0 {
            Some(Self { known, set })
        } else {
            None
        }
    }

    /// The flag, if it is known.
    pub const fn get(self, flag: Flag) -> Option<bool> {
        if self.known.contains(flag) {
            Some(self.set.contains(flag))
        } else {
            None
        }
    }

    /// The same flags but for one, which is true, false or unknown.
    #[must_use]
    pub const fn with(self, flag: Flag, value: Option<bool>) -> Self {
        let bit = 1 << flag.idx();
        let mut known = FlagSet(self.known.bits() & !bit);
        let mut set = FlagSet(self.set.bits() & !bit);
        match value {
            Some(true) => (known, set) = (known.with(flag), set.with(flag)),
            Some(false) => known = known.with(flag),
            None => {}
        }
        Self { known, set }
    }

    /// The flags that are known.
    pub const fn known(self) -> FlagSet {
        self.known
    }

    /// The flags that are true.
    pub const fn set(self) -> FlagSet {
        self.set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_is_true_false_or_unknown() {
        for flag in Flag::ALL {
            let mut flags = RecordFlags::default();
            for value in [Some(true), Some(false), None, Some(true)] {
                flags = flags.with(flag, value);
                assert_eq!(flags.get(flag), value, "{flag:?}");
                let others = Flag::ALL.into_iter().filter(|other| *other != flag);
                assert!(others.into_iter().all(|other| flags.get(other).is_none()));
            }
        }
    }

    #[test]
    fn a_set_lists_its_flags_in_their_order() {
        let set = FlagSet::default()
            .with(Flag::MachineTranslated)
            .with(Flag::HearingImpaired);
        let names: Vec<&str> = set.iter().map(Flag::as_str).collect();
        assert_eq!(names, ["hearing_impaired", "machine_translated"]);
        assert_eq!(FlagSet::from_bits(set.bits()), Some(set));
        assert_eq!(FlagSet::from_bits(8), None);
    }

    #[test]
    fn what_is_true_is_known() {
        let (none, forced) = (FlagSet::default(), FlagSet::default().with(Flag::Forced));
        assert_eq!(RecordFlags::new(none, forced), None);
        let flags = RecordFlags::new(forced, none).unwrap();
        assert_eq!(flags.get(Flag::Forced), Some(false));
    }
}
