//! The order for programs that take the first playable hit (SEARCH.md 8.4).
//!
//! The groups follow each other, each in the usual order: episodes before packs, machine
//! translations after everything else. A page that holds every hit is sorted. With more hits, each
//! group is searched alone, under a filter that only its records pass, until the page is full.

use crate::error::Result;
use crate::model::Flag;
use crate::query::{Filters, FlagFilter, PackFilter, Query};

use super::Snapshot;
use super::hits::{Hit, Hits};
use super::reading::QueryReading;

impl Snapshot {
    /// Runs a search with hits ordered by groups. Cost: that of one search, or, with more hits than
    /// a page, of up to five.
    pub(super) fn search_in_groups(&self, query: &Query) -> Result<(Hits, QueryReading)> {
        let (mut found, reading) = self.search_parts(query)?;
        if found.len() as u64 == found.total {
            self.sort_by_group(&mut found.hits, query.filters())?;
            return Ok((found, reading));
        }
        let page_size = usize::from(query.page_size());
        let mut page: Vec<Hit> = Vec::with_capacity(page_size);
        for filters in groups(query.filters()) {
            if page.len() < page_size {
                let group = query.clone().with_filters(filters);
                page.extend(self.search_under(&group, reading)?);
            }
        }
        page.truncate(page_size);
        found.hits = page.into();
        Ok((found, reading))
    }

    fn sort_by_group(&self, hits: &mut [Hit], filters: &Filters) -> Result<()> {
        let mut keyed = Vec::with_capacity(hits.len());
        for hit in &*hits {
            let view = self.parts()[hit.part_idx as usize].0.view()?;
            let row = view.columns().get(hit.doc);
            let is_pack = filters.episode.is_some() && row.episode == 0;
            keyed.push(((row.flags.contains(Flag::MachineTranslated), is_pack), *hit));
        }
        keyed.sort_by_key(|(group, _)| *group);
        for (place, (_, hit)) in hits.iter_mut().zip(keyed) {
            *place = hit;
        }
        Ok(())
    }
}

/// The filters of each group that may have hits, in the order of the groups.
fn groups(filters: &Filters) -> Vec<Filters> {
    let by_machine = match filters.flag(Flag::MachineTranslated) {
        FlagFilter::Include => vec![FlagFilter::Exclude, FlagFilter::Only],
        decided => vec![decided],
    };
    let packs = match (filters.packs, filters.episode) {
        (PackFilter::Include, Some(_)) => vec![PackFilter::Exclude, PackFilter::Only],
        (decided, _) => vec![decided],
    };
    let mut groups = Vec::new();
    for machine in by_machine {
        for packs in &packs {
            let mut group = filters.clone().with_flag(Flag::MachineTranslated, machine);
            group.packs = *packs;
            groups.push(group);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Number;

    #[test]
    fn a_decided_filter_leaves_its_group_only() {
        let filters = Filters {
            episode: Number::new(2),
            packs: PackFilter::Include,
            ..Filters::default()
        };
        let packs = |filters: &Filters| -> Vec<_> {
            let groups = groups(filters).into_iter();
            groups
                .map(|group| (group.flag(Flag::MachineTranslated), group.packs))
                .collect()
        };
        let (exclude, only) = (FlagFilter::Exclude, FlagFilter::Only);
        let expected = [
            (exclude, PackFilter::Exclude),
            (exclude, PackFilter::Only),
            (only, PackFilter::Exclude),
            (only, PackFilter::Only),
        ];
        assert_eq!(packs(&filters), expected);
        let by_machine = filters.with_flag(Flag::MachineTranslated, only);
        assert_eq!(packs(&by_machine), expected[2..]);
        assert_eq!(packs(&Filters::default()).len(), 2);
    }
}
