//! Matching documents of one segment, and the intersection of clauses.
//!
//! Two strategies, chosen by the size of the smallest clause:
//!
//! - *List*, up to 1/64 of the documents. `query=breaking bad` over 350,000 documents: "breaking"
//!   has 400, below 5,468. Its 400 numbers are listed, and the list is reduced by "bad" (900
//!   numbers, searched by galloping), then by the filters, to 120.
//! - *Bits*, otherwise. `query=the of` has 90,000 and 60,000: each set becomes 350,000 bits, and
//!   5,469 words are combined with "and". When a clause of titles is next and few documents are
//!   left, those are listed and probed instead.

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::error::Result;
use crate::index::{BLOCK_NUMBERS, Bits, SegmentView};
use crate::plan::{Clause, Filter, PlanContext};

/// Matching documents.
#[derive(Debug, Clone)]
pub(super) enum DocSet {
    /// Ascending.
    List(Vec<u32>),
    /// A bit for each document, and the count of set bits.
    Bits(Bits, u64),
}

/// Matching documents of a block of 65,536; never empty.
pub(super) enum DocBlock<'d> {
    /// Ascending.
    List(&'d [u32]),
    /// A bit for each document of the block.
    Bits(&'d [u64]),
}

impl DocSet {
    /// The set without documents.
    pub(super) const fn empty() -> Self {
        Self::List(Vec::new())
    }

    /// Count of documents.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::List(docs) => docs.len() as u64,
            Self::Bits(_, count) => *count,
        }
    }

    /// Calls `each` with the documents, ascending, until it breaks.
    pub(super) fn try_for_each(
        &self,
        mut each: impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Self::List(docs) => docs.iter().try_for_each(|&doc| each(doc)),
            Self::Bits(bits, _) => bits.try_for_each(each),
        }
    }

    /// Calls `each` with the index and the documents of each block that has some, ascending, until
    /// it breaks.
    pub(super) fn try_for_each_block(
        &self,
        mut each: impl FnMut(u32, DocBlock<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Self::List(docs) => {
                let mut blocks = docs.chunk_by(|a, b| a / BLOCK_NUMBERS == b / BLOCK_NUMBERS);
                blocks.try_for_each(|docs| each(docs[0] / BLOCK_NUMBERS, DocBlock::List(docs)))
            }
            Self::Bits(bits, _) => {
                let blocks = bits.words().chunks(BLOCK_NUMBERS as usize / 64);
                let has_docs = |(_, words): &(u32, &[u64])| words.iter().any(|word| *word != 0);
                let mut blocks = (0..).zip(blocks).filter(has_docs);
                blocks.try_for_each(|(block_idx, words)| each(block_idx, DocBlock::Bits(words)))
            }
        }
    }

    /// The documents, ascending.
    pub(super) fn listed(&self) -> Cow<'_, [u32]> {
        match self {
            Self::List(docs) => Cow::Borrowed(docs),
            Self::Bits(bits, count) => {
                let mut docs = Vec::with_capacity(*count as usize);
                bits.decode(&mut docs);
                Cow::Owned(docs)
            }
        }
    }

    /// True if the document is in the set.
    pub(super) fn contains(&self, doc: u32) -> bool {
        match self {
            Self::List(docs) => docs.binary_search(&doc).is_ok(),
            Self::Bits(bits, _) => bits.contains(doc),
        }
    }

    /// Documents of either set.
    pub(super) fn union(self, other: Self) -> Self {
        match (self, other) {
            // Usually one side is empty: then the other is passed on unchanged.
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

    /// Number of documents in any of the sets.
    pub(super) fn union_len(sets: &[Self], view: &SegmentView<'_>) -> u64 {
        match sets {
            [] => 0,
            [set] => set.len(),
            // Only lists: a sort of few numbers, no bits of the whole segment.
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

/// Documents that satisfy all clauses and are accepted by the filter.
///
/// The order of work changes only the cost, never the result. The smallest set of the branch or of
/// the filter comes first, because no list grows afterwards. Cost: linear in the smallest set, or a
/// bit of every document for each set.
pub(super) fn intersect(
    context: &PlanContext<'_>,
    filter: &Filter<'_>,
    clauses: &[Clause<'_>],
) -> Result<DocSet> {
    let mut ordered: Vec<&Clause<'_>> = clauses.iter().collect();
    ordered.sort_by_key(|clause| clause.size_max());
    let smallest = ordered.first().map_or(u64::MAX, |clause| clause.size_max());
    // A rare filter, such as a language with a hundred documents, may be smaller than every word.
    let start = if filter.prefers_probing(smallest) {
        None
    } else {
        let smallest_filter = filter.clauses()?.iter().min_by_key(|it| it.size_max());
        // Documents of titles are checked against the columns at once, those of a filter are sought
        // among the titles afterwards: twice the cost.
        let is_titled = ordered.first().is_some_and(|clause| is_titled(clause));
        let share = if is_titled { 2 } else { 1 };
        smallest_filter.filter(|clause| clause.size_max() * share < smallest)
    };
    let (costs, docs_count) = (context.costs, context.view.docs_count());
    let size_max = start.map_or(smallest, Clause::size_max);
    // Sets of a filter that are united as bits anyway are not listed for the other clauses.
    let is_union = start.is_some_and(|clause| clause.only_set().is_none());
    let prefers_list = if is_union {
        costs.prefers_sort(size_max, docs_count)
    } else {
        costs.prefers_list(size_max, docs_count)
    };
    if !prefers_list {
        return intersect_bits(context, filter, &ordered);
    }
    let first = start.unwrap_or_else(|| ordered.remove(0));
    let is_accepted = is_titled(first) && !filter.is_trivial();
    let mut docs = if is_accepted {
        first.accepted_docs(context, |docs| filter.retain_unordered(docs))
    } else {
        first.docs(context)
    };
    let action = || format!("list, as it has at most {size_max} documents");
    context.note(Some(first.subject()), || docs.len() as u64, action);
    // Plain posting lists are read sequentially. Columns and titles are read at scattered addresses
    // and cost more for each document, so they come when the list is shortest.
    ordered.sort_by_key(|clause| clause.only_set().is_none());
    let sets_count = ordered.partition_point(|clause| clause.only_set().is_some());
    let (sets, others) = ordered.split_at(sets_count);
    for clause in sets {
        clause.retain(context, &mut docs);
    }
    if !is_accepted {
        filter.retain(&mut docs)?;
    }
    for clause in others {
        clause.retain(context, &mut docs);
    }
    Ok(DocSet::List(docs))
}

fn is_titled(clause: &Clause<'_>) -> bool {
    clause.title_docs_max() > 0
}

/// Intersects whole sets as bits, then those that name titles.
///
/// Clauses of titles come last, because they cost the most to unite. Once few documents are left,
/// probing these documents is cheaper, and the rest of the work is done on a list.
fn intersect_bits(
    context: &PlanContext<'_>,
    filter: &Filter<'_>,
    ordered: &[&Clause<'_>],
) -> Result<DocSet> {
    let view = &context.view;
    let (mut all, titled): (Vec<_>, Vec<_>) = ordered
        .iter()
        .copied()
        .chain(filter.clauses()?)
        .partition(|clause| !is_titled(clause));
    // A union that comes first needs no second set of bits.
    all.sort_by_key(|clause| clause.only_set().is_some());
    all.extend(titled);
    let mut bits = Bits::new(view.docs_count());
    let (first, mut others) = all.split_first().expect("a branch has a clause");
    filter.set_bits_of(first, &mut bits);
    context.note(Some(first.subject()), || bits.count(), || "bits".into());
    let mut union = None;
    while let Some((clause, rest)) = others.split_first() {
        if is_titled(clause) && clause.is_probing_cheaper(context, bits.count_estimate()) {
            return Ok(probe_rest(context, filter, &bits, others));
        }
        others = rest;
        if let Some(set) = clause.only_set() {
            set.intersect_into(&mut bits);
            let action = || "intersect bits".into();
            context.note(Some(clause.subject()), || bits.count(), action);
            continue;
        }
        // One buffer for all unions: clearing it costs less than fresh pages.
        let union = union.get_or_insert_with(|| Bits::new(view.docs_count()));
        union.clear();
        filter.set_bits_of(clause, union);
        bits.and(union);
        let action = || "unite and intersect bits".into();
        context.note(Some(clause.subject()), || bits.count(), action);
    }
    filter.retain_bits_beyond_clauses(&mut bits);
    let count = bits.count();
    Ok(DocSet::Bits(bits, count))
}

/// Documents of `bits` that satisfy the remaining clauses and are accepted. All clauses of the
/// filter were intersected before: they name no titles.
fn probe_rest(
    context: &PlanContext<'_>,
    filter: &Filter<'_>,
    bits: &Bits,
    clauses: &[&Clause<'_>],
) -> DocSet {
    let mut docs = Vec::new();
    bits.decode(&mut docs);
    for clause in clauses {
        clause.retain(context, &mut docs);
    }
    filter.retain_beyond_clauses(&mut docs);
    DocSet::List(docs)
}
