//! The `query` or `title` branch over one segment, by one look-up of a name (SEARCH.md 4.13 to
//! 4.16).
//!
//! Of up to two dozen look-ups no more than one matches, and most find no title: the further
//! conditions on a record, and the words that order the matches, are looked up once a title is
//! found.

use crate::error::Result;
use crate::plan::{Filter, NamePlan, PlanContext, keyed_docs, word_clauses};
use crate::query::{LookupSubject, NameLookup};

use super::branch::{BranchResult, PageRequest};
use super::doc_set::{DocSet, intersect};
use super::top::Ranked;

/// Relevance of every match.
const RELEVANCE: u8 = 8;

/// Matches of a look-up in one segment; never empty.
pub(super) struct FoundName<'a, 'n> {
    plan: NamePlan<'a, 'n>,
    /// Ascending.
    docs: Vec<u32>,
}

impl<'a, 'n> FoundName<'a, 'n> {
    /// Looks the name up.
    ///
    /// Cost: linear in the documents of the titles with the key; for a look-up of words that of
    /// [`intersect`].
    pub(super) fn new(
        context: &'a PlanContext<'a>,
        lookup: &'n NameLookup,
        filter: &Filter<'_>,
    ) -> Result<Option<Self>> {
        let mut docs = match &lookup.subject {
            LookupSubject::Key(key) => {
                let mut docs = keyed_docs(&context.view, key)?;
                filter.retain(&mut docs)?;
                docs
            }
            LookupSubject::Words(words) => {
                let clauses = word_clauses(context, lookup, words)?;
                if clauses.iter().any(|clause| clause.size_max() == 0) {
                    return Ok(None);
                }
                intersect(context, filter, &clauses)?.listed().into_owned()
            }
        };
        if docs.is_empty() {
            return Ok(None);
        }
        let plan = NamePlan::new(context, lookup)?;
        plan.retain(&mut docs)?;
        Ok((!docs.is_empty()).then_some(Self { plan, docs }))
    }

    /// Ranks the matches.
    pub(super) fn ranked(self, filter: &Filter<'_>, page: PageRequest<'_>) -> BranchResult {
        let fit = |&doc: &u32| Ranked::new(RELEVANCE, self.plan.fit(doc, filter), doc);
        BranchResult {
            total: self.docs.len() as u64,
            best: page.best(self.docs.iter().map(fit).collect()),
            docs: Some(DocSet::List(self.docs)),
        }
    }
}
