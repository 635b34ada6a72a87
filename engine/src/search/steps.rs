//! The steps of a search by `query`, each alone, for `cargo bench`.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::index::{Bits, Postings, Segment, Tombstones};
use crate::plan::{CostModel, Filter, PlanContext, Typos, WordPlan};
use crate::query::Query;

use super::doc_set::intersect;
use super::segment_search::ParsedQuery;
use super::top::{Ranked, Top};

/// One segment, over which single steps of a search are run.
///
/// The steps do not add up to a search, which matches and ranks in one pass where that saves work.
pub struct SearchSteps<'s> {
    context: PlanContext<'s>,
    tombstones: &'s Tombstones,
}

impl<'s> SearchSteps<'s> {
    /// The steps over a segment with documents. Errors: a damaged block.
    pub fn new(segment: &'s Segment, tombstones: &'s Tombstones) -> Result<Self> {
        let context = PlanContext {
            view: segment.view()?,
            costs: &CostModel::DEFAULT,
            trace: None,
        };
        Ok(Self {
            context,
            tombstones,
        })
    }

    /// Dictionary: number of documents with a word.
    pub fn docs_count(&self, word: &str) -> Result<u32> {
        Ok(self.postings(word)?.count())
    }

    /// Dictionary: number of title words at distance 1 to `distance_max` (1 or 2) from a word.
    pub fn close_words_count(&self, word: &str, distance_max: u8) -> usize {
        let mut ranks = Vec::new();
        (self.context.view).close_terms(word, distance_max, &mut ranks);
        ranks.len()
    }

    /// Postings: the documents of a word, ascending.
    pub fn listed(&self, word: &str) -> Result<Vec<u32>> {
        let mut docs = Vec::new();
        self.postings(word)?.decode(&mut docs);
        Ok(docs)
    }

    /// Postings: the ascending `docs` that have a word.
    pub fn retained(&self, mut docs: Vec<u32>, word: &str) -> Result<Vec<u32>> {
        self.postings(word)?.retain(&mut docs);
        Ok(docs)
    }

    /// Postings: number of documents with any of the words, united as bits.
    pub fn united_count(&self, words: &[&str]) -> Result<u64> {
        let mut bits = Bits::new(self.context.view.docs_count());
        for word in words {
            self.postings(word)?.union_into(&mut bits);
        }
        Ok(bits.count())
    }

    /// Postings: number of documents with all of the words, and the first `page_size` of them: a
    /// list that is reduced, or, if even the smallest set is large, an intersection of bits.
    pub fn intersected(&self, words: &[&str], page_size: usize) -> Result<(u64, Vec<u32>)> {
        let sets = words.iter().map(|word| self.postings(word));
        let mut sets = sets.collect::<Result<Vec<_>>>()?;
        sets.sort_by_key(Postings::count);
        let Some((smallest, others)) = sets.split_first() else {
            return Ok((0, Vec::new()));
        };
        let (count, docs_count) = (smallest.count(), self.context.view.docs_count());
        let mut docs = Vec::new();
        if others.is_empty() {
            docs.reserve(page_size);
            let _ = smallest.try_for_each(|doc| {
                if docs.len() == page_size {
                    return ControlFlow::Break(());
                }
                docs.push(doc);
                ControlFlow::Continue(())
            });
            return Ok((count.into(), docs));
        }
        if (self.context.costs).prefers_list(count.into(), docs_count) {
            smallest.decode(&mut docs);
            others.iter().for_each(|set| set.retain(&mut docs));
            let count = docs.len() as u64;
            docs.truncate(page_size);
            return Ok((count, docs));
        }
        let mut bits = Bits::new(docs_count);
        smallest.union_into(&mut bits);
        others.iter().for_each(|set| set.intersect_into(&mut bits));
        let _ = bits.try_for_each(|doc| {
            if docs.len() == page_size {
                return ControlFlow::Break(());
            }
            docs.push(doc);
            ControlFlow::Continue(())
        });
        Ok((bits.count(), docs))
    }

    /// Plan: number of clauses of the `query` value; 0 when no document can match.
    pub fn clauses_count(&self, query: &Query) -> Result<usize> {
        self.planned(query, |plan, _| Ok(plan.clauses.len()))
    }

    /// Plan and match: number of documents that satisfy the `query` value and the filters.
    pub fn matches_count(&self, query: &Query) -> Result<u64> {
        self.planned(query, |plan, filter| {
            Ok(intersect(&self.context, filter, &plan.clauses)?.len())
        })
    }

    /// Rank: the best `size_max` of `docs_count` documents with relevances 0 to 7 in no order.
    pub fn best_count(docs_count: u32, size_max: usize) -> usize {
        let mut top = Top::new(size_max, Ranked::LAST);
        for doc in 0..docs_count {
            // Multiplying by the golden ratio scatters the relevances.
            let relevance = (doc.wrapping_mul(0x9e37_79b9) >> 29) as u8;
            top.offer(Ranked::new(relevance, 0, doc));
        }
        top.into_sorted().len()
    }

    fn postings(&self, word: &str) -> Result<Postings<'s>> {
        let view = &self.context.view;
        match view.term(word) {
            Some(term) => view.term_docs(term.rank),
            None => Ok(Postings::EMPTY),
        }
    }

    fn planned<T: Default>(
        &self,
        query: &Query,
        run: impl FnOnce(&WordPlan<'_>, &Filter<'_>) -> Result<T>,
    ) -> Result<T> {
        let parsed = ParsedQuery::new(query);
        let Some(text) = &parsed.free_text else {
            return Ok(T::default());
        };
        let filter = Filter::new(&self.context, self.tombstones, query.filters())?;
        let plan = WordPlan::new(&self.context, text, Typos::Refused)?;
        match (filter, plan) {
            (Some(filter), Some(plan)) => run(&plan, &filter),
            _ => Ok(T::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::index::SegmentBuilder;
    use crate::model::{Record, RecordId};
    use crate::query::{Filters, SearchText};

    use super::*;

    fn segment() -> Segment {
        let mut builder = SegmentBuilder::new();
        for (number, title) in ["lost", "lost highway", "last highway"].iter().enumerate() {
            let id = RecordId::from_bytes([number as u8 + 1; 16]);
            builder.add(&Record::new(id, title)).unwrap();
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes).unwrap();
        Segment::open(bytes.into(), "test").unwrap()
    }

    fn query(text: &str) -> Query {
        let text = SearchText::title(text).unwrap();
        Query::new(Filters::default(), 10).with_query(Some(text))
    }

    #[test]
    fn each_step_does_its_part_of_a_search() {
        let (segment, tombstones) = (segment(), Tombstones::new());
        let steps = SearchSteps::new(&segment, &tombstones).unwrap();
        assert_eq!(steps.docs_count("lost").unwrap(), 2);
        assert_eq!(steps.docs_count("unknown").unwrap(), 0);
        assert_eq!(steps.close_words_count("lost", 1), 1);
        let lost = steps.listed("lost").unwrap();
        assert_eq!(lost.len(), 2);
        assert_eq!(steps.retained(lost, "highway").unwrap().len(), 1);
        assert_eq!(steps.united_count(&["lost", "highway"]).unwrap(), 3);
        assert_eq!(steps.intersected(&["lost"], 1).unwrap().0, 2);
        let both = steps.intersected(&["lost", "highway"], 10).unwrap();
        assert_eq!((both.0, both.1.len()), (1, 1));
        assert_eq!(steps.intersected(&["lost", "none"], 10).unwrap().0, 0);
        assert_eq!(steps.clauses_count(&query("lost highway")).unwrap(), 2);
        assert_eq!(steps.matches_count(&query("lost highway")).unwrap(), 1);
        assert_eq!(steps.matches_count(&query("unknown")).unwrap(), 0);
        assert_eq!(SearchSteps::best_count(1_000, 100), 100);
        assert_eq!(SearchSteps::best_count(7, 100), 7);
    }
}
