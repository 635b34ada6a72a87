//! The documents of one segment that match.

use crate::index::{Bits, View};
use crate::plan::{Clause, Filter};

/// A document list is used while a set is below this share of the segment; bits above.
/// (Tests have small segments, and take both ways.)
const LIST_SHARE: u64 = if cfg!(test) { 4 } else { 64 };

/// Matching documents.
#[derive(Debug, Clone)]
pub(super) enum DocSet {
    /// Ascending.
    List(Vec<u32>),
    /// A bit each, and how many.
    Bits(Bits, u64),
}

impl DocSet {
    /// No document.
    pub(super) const fn empty() -> Self {
        Self::List(Vec::new())
    }

    /// How many documents.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::List(docs) => docs.len() as u64,
            Self::Bits(_, count) => *count,
        }
    }

    /// Calls `each` with the documents, ascending, until it says no.
    pub(super) fn for_each_while(&self, mut each: impl FnMut(u32) -> bool) {
        match self {
            Self::List(docs) => {
                docs.iter().all(|&doc| each(doc));
            }
            Self::Bits(bits, _) => bits.for_each_while(each),
        }
    }

    /// Whether the document is in the set.
    pub(super) fn contains(&self, doc: u32) -> bool {
        match self {
            Self::List(docs) => docs.binary_search(&doc).is_ok(),
            Self::Bits(bits, _) => bits.contains(doc),
        }
    }

    /// The documents of both.
    pub(super) fn union(self, other: Self) -> Self {
        match (self, other) {
            (only, other) | (other, only) if other.len() == 0 => only,
            (Self::List(mut docs), Self::List(more)) => {
                docs.extend(more);
                docs.sort_unstable();
                docs.dedup();
                Self::List(docs)
            }
            (Self::Bits(mut bits, _), other) | (other, Self::Bits(mut bits, _)) => {
                other.add_to(&mut bits);
                let count = bits.count();
                Self::Bits(bits, count)
            }
        }
    }

    fn add_to(&self, bits: &mut Bits) {
        match self {
            Self::List(docs) => docs.iter().for_each(|&doc| bits.insert(doc)),
            Self::Bits(more, _) => bits.or(more),
        }
    }

    /// How many documents are in any of the sets.
    pub(super) fn union_len(sets: &[Self], view: &View<'_>) -> u64 {
        match sets {
            [] => 0,
            [set] => set.len(),
            _ if sets.iter().all(|set| matches!(set, Self::List(_))) => {
                let mut docs = Vec::new();
                for set in sets {
                    if let Self::List(more) = set {
                        docs.extend_from_slice(more);
                    }
                }
                docs.sort_unstable();
                docs.dedup();
                docs.len() as u64
            }
            _ => {
                let mut bits = Bits::new(view.docs_count());
                sets.iter().for_each(|set| set.add_to(&mut bits));
                bits.count()
            }
        }
    }
}

/// The documents that satisfy all clauses and pass the filter.
///
/// Starts from the smallest set. While that is a small share of the segment, its documents are
/// listed, the filter is probed for each and the list is cut by one clause after the other,
/// smallest first; else all sets are intersected as bits. Cost: linear in the smallest set, or a
/// bit of every document per set. `filters` are the filter's own sets.
pub(super) fn intersect(
    view: &View<'_>,
    filter: &Filter<'_>,
    clauses: &[Clause<'_>],
    filters: &[Clause<'_>],
) -> DocSet {
    let mut ordered: Vec<&Clause<'_>> = clauses.iter().collect();
    ordered.sort_by_key(|clause| clause.size_max());
    let smallest_filter = filters.iter().min_by_key(|clause| clause.size_max());
    let smallest = ordered.first().map_or(u64::MAX, |clause| clause.size_max());
    let by_filter = smallest_filter.filter(|clause| clause.size_max() < smallest);
    let size_max = by_filter.map_or(smallest, Clause::size_max);
    if size_max > u64::from(view.docs_count()) / LIST_SHARE {
        return intersect_bits(view, filter, &ordered, filters);
    }
    let mut docs = match by_filter {
        Some(clause) => clause.docs(view),
        None => ordered.remove(0).docs(view),
    };
    // Plain sets are met in order; what is asked of columns lies anywhere, and costs more.
    ordered.sort_by_key(|clause| clause.only_set().is_none());
    let sets_count = ordered.partition_point(|clause| clause.only_set().is_some());
    let (sets, others) = ordered.split_at(sets_count);
    sets.iter()
        .for_each(|clause| clause.retain(view, &mut docs));
    filter.retain(filters, &mut docs);
    others
        .iter()
        .for_each(|clause| clause.retain(view, &mut docs));
    DocSet::List(docs)
}

/// Intersects whole sets as bits, then what names titles; as soon as so few documents are left that
/// these are better asked for each, as a list.
fn intersect_bits(
    view: &View<'_>,
    filter: &Filter<'_>,
    ordered: &[&Clause<'_>],
    filters: &[Clause<'_>],
) -> DocSet {
    let (mut all, titled): (Vec<_>, Vec<_>) = ordered
        .iter()
        .copied()
        .chain(filters)
        .partition(|clause| clause.by_title_max() == 0);
    all.extend(titled);
    let mut bits = Bits::new(view.docs_count());
    let (first, mut others) = all.split_first().expect("a branch has a clause");
    first.set_bits(view, &mut bits);
    let mut union = None;
    while let Some((clause, rest)) = others.split_first() {
        let is_titled = clause.by_title_max() > 0;
        if is_titled && clause.is_better_asked(view, bits.count()) {
            return list_of(view, filter, &bits, others);
        }
        others = rest;
        if let Some(set) = clause.only_set() {
            set.keep_bits(&mut bits);
            continue;
        }
        let union = union.get_or_insert_with(|| Bits::new(view.docs_count()));
        union.clear();
        clause.set_bits(view, union);
        bits.and(union);
    }
    if filter.is_more_than_sets() {
        bits.retain(|doc| filter.passes(doc));
    }
    let count = bits.count();
    DocSet::Bits(bits, count)
}

/// The documents of `bits`, which are of the filter's sets, that satisfy the clauses and pass.
fn list_of(view: &View<'_>, filter: &Filter<'_>, bits: &Bits, clauses: &[&Clause<'_>]) -> DocSet {
    let mut docs = Vec::new();
    bits.decode(&mut docs);
    for clause in clauses {
        clause.retain(view, &mut docs);
    }
    filter.retain(&[], &mut docs);
    DocSet::List(docs)
}
