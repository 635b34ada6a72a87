//! The `query` branch over one segment, when no record has its words: titles in another spelling
//! (SEARCH.md 4.10).

use crate::error::Result;
use crate::plan::{Filter, FitRule, PlanContext, episode_clause, keyed_docs, year_clause};
use crate::query::ParsedText;

use super::branch::{BranchResult, PageRequest};
use super::doc_set::DocSet;
use super::top::Ranked;

/// Relevance of every match.
const RELEVANCE: u8 = 8;

/// Runs the branch. Cost: a binary search; if a title has the key, linear in its documents.
pub(super) fn search_equal_title(
    context: &PlanContext<'_>,
    text: &ParsedText<'_>,
    key: &str,
    filter: &Filter<'_>,
    page: PageRequest<'_>,
) -> Result<BranchResult> {
    let mut docs = keyed_docs(&context.view, key)?;
    filter.retain(&mut docs)?;
    if docs.is_empty() {
        return Ok(BranchResult::empty());
    }
    if let Some(clause) = episode_clause(&context.view, text)? {
        clause.retain(context, &mut docs);
    }
    if let Some(clause) = year_clause(context, text)? {
        clause.retain(context, &mut docs);
    }
    let rule = FitRule::new(&context.view, text)?;
    let ranked = |&doc: &u32| Ranked::new(RELEVANCE, rule.fit(doc, filter), doc);
    Ok(BranchResult {
        total: docs.len() as u64,
        best: page.best(docs.iter().map(ranked).collect()),
        docs: Some(DocSet::List(docs)),
    })
}
