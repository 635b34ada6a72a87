//! The `query` or `title` branch over one segment, by one look-up of a name (SEARCH.md 4.13 to
//! 4.16).

use crate::error::Result;
use crate::plan::{Filter, NamePlan, PlanContext};
use crate::query::NameLookup;

use super::branch::{BranchResult, PageRequest};
use super::doc_set::{DocSet, intersect};
use super::top::Ranked;

/// Relevance of every match.
const RELEVANCE: u8 = 8;

/// Runs the branch. Cost: linear in the documents of the titles with the key; for a look-up of
/// words that of [`intersect`].
pub(super) fn search_name(
    context: &PlanContext<'_>,
    lookup: &NameLookup,
    filter: &Filter<'_>,
    page: PageRequest<'_>,
) -> Result<BranchResult> {
    let plan = NamePlan::new(context, lookup)?;
    let mut docs = match plan.clauses()? {
        Some(clauses) if clauses.iter().any(|clause| clause.size_max() == 0) => Vec::new(),
        Some(clauses) => intersect(context, filter, &clauses)?.listed().into_owned(),
        None => {
            let mut docs = plan.keyed_docs()?;
            filter.retain(&mut docs)?;
            docs
        }
    };
    plan.retain(&mut docs)?;
    let ranked = |&doc: &u32| Ranked::new(RELEVANCE, plan.fit(doc, filter), doc);
    Ok(BranchResult {
        total: docs.len() as u64,
        best: page.best(docs.iter().map(ranked).collect()),
        docs: Some(DocSet::List(docs)),
    })
}
