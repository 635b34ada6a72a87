//! Lists: the newest or most downloaded records, those of an uploader or a title, the hits of a
//! search in another order, and the counts of a title's episodes. For pages; the API has no such
//! request.
//!
//! Documents of a segment are numbered newest first, so a list of one segment is a prefix of its
//! documents. Lists of several segments are merged by time and id, like hits.

use std::collections::BTreeMap;

use crate::codec::{AnswerFields, fragment_fields};
use crate::error::{Error, Result};
use crate::index::{Bits, ColumnValue, read_whole};
use crate::limits::LISTED_DOCS_MAX;
use crate::model::FlagSet;
use crate::plan::{Filter, PlanContext};
use crate::query::{Filters, LanguageTerm, Query};

use super::doc_set::DocSet;
use super::hits::Doc;
use super::list_order::{ListOrder, PreparedOrder};
use super::page_merge::{PageRun, merge_pages};
use super::segment_search::{ParsedQuery, SegmentSearch};
use super::snapshot::{Snapshot, find, id_of};
use super::top::Ranked;

/// Records of a list, newest first.
#[derive(Debug, Clone)]
pub struct Listing<'a> {
    /// The records of the requested page.
    pub docs: Vec<Doc<'a>>,
    /// True if more records follow.
    pub has_more: bool,
}

/// Season and episode of records; none for a film, no episode for a pack of a season.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EpisodeSlot {
    /// The season.
    pub season: Option<u16>,
    /// The episode.
    pub episode: Option<u16>,
}

/// Records of a title to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitlePart {
    /// All, newest first.
    All,
    /// Records of a season: its packs, then its episodes in order, each newest first.
    Season(u16),
    /// Records of an episode, or of a film, newest first.
    Slot(EpisodeSlot),
}

impl TitlePart {
    fn has(self, slot: EpisodeSlot) -> bool {
        match self {
            Self::All => true,
            Self::Season(season) => slot.season == Some(season),
            Self::Slot(only) => slot == only,
        }
    }

    /// Sort key of a record that precedes its time.
    fn rank(self, slot: EpisodeSlot) -> u32 {
        match self {
            Self::Season(_) => slot.episode.unwrap_or(0).into(),
            Self::All | Self::Slot(_) => 0,
        }
    }
}

/// Part of a list: the number of records before it, and in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPage {
    /// Records before the page.
    pub skipped: usize,
    /// Maximum number of records on the page.
    pub size: usize,
}

impl ListPage {
    /// The first page of a list.
    pub const fn first(size: usize) -> Self {
        Self { skipped: 0, size }
    }

    /// Number of records that a segment must deliver: the page, those before it, and one more,
    /// which shows that there is a next page.
    fn needed(self) -> usize {
        let needed = self.skipped.saturating_add(self.size).saturating_add(1);
        needed.min(LISTED_DOCS_MAX)
    }
}

impl Snapshot {
    /// The active records that pass the filters.
    ///
    /// Cost: for the newest, a probe of each document until the page is full; with selective
    /// filters, they are listed from their smallest set instead. By downloads, a probe of each
    /// document and [`ListOrder`]'s. Only the first [`LISTED_DOCS_MAX`] can be listed.
    pub fn listed(
        &self,
        filters: &Filters,
        order: ListOrder<'_>,
        page: ListPage,
    ) -> Result<Listing<'_>> {
        self.list(filters, page, order, |part_idx, part, order| {
            let (context, filter) = (part.context, &part.filter);
            match order {
                PreparedOrder::Newest => Ok(unkeyed(newest_of(context, filter, page.needed())?)),
                PreparedOrder::Downloads(..) => {
                    let docs = accepted_of(context, filter)?;
                    order.first_of(&docs, part_idx, part.segment, page.needed())
                }
            }
        })
    }

    /// The hits of a search in another order than theirs, over all of them, and their number.
    ///
    /// Cost: that of a search that lists all its documents, and [`ListOrder`]'s. Errors: as of
    /// [`Snapshot::search`].
    pub fn search_listed(
        &self,
        query: &Query,
        order: ListOrder<'_>,
        page: ListPage,
    ) -> Result<(Listing<'_>, u64)> {
        if self.is_partial() {
            return Err(Error::Rebuilding);
        }
        // The hits are put into order here: ranking more than one would be in vain.
        let query = query.clone().with_page_size(1).with_release(None);
        read_whole(self.segments(), || {
            let order = self.prepared_order(order)?;
            let parsed = ParsedQuery::of_all(&query);
            let contexts = self.contexts(None)?;
            let parts = self.prepared(&parsed, &contexts)?;
            let (found, _) = find(&parts, &parsed)?;
            let (mut lists, mut total) = (Vec::with_capacity(found.len()), 0);
            for (part_idx, hits) in found {
                total += hits.total;
                let docs = hits.docs.unwrap_or(DocSet::empty());
                let segment = &self.parts()[part_idx].0;
                let docs = order.first_of(&docs, part_idx, segment, page.needed())?;
                lists.push((part_idx, docs));
            }
            Ok((self.page_of(&lists, page)?, total))
        })
    }

    /// The active records of the title with this catalog number: its own, and those of its
    /// episodes. Cost: linear in the records of the title.
    pub fn of_title(&self, number: u64, of: TitlePart, page: ListPage) -> Result<Listing<'_>> {
        self.list(
            &Filters::default(),
            page,
            ListOrder::Newest,
            |_, part, _| {
                let mut docs = Vec::new();
                for doc in title_docs(part.context, number)? {
                    let slot = slot_of(part, doc);
                    if part.filter.accepts(doc) && of.has(slot) {
                        docs.push(Ranked::keyed(of.rank(slot), doc));
                    }
                }
                docs.sort_unstable();
                docs.truncate(page.needed());
                Ok(docs)
            },
        )
    }

    /// The active records of the uploader with exactly this name, and their number.
    ///
    /// Cost: linear in the uploader's records, and [`ListOrder`]'s.
    pub fn of_uploader(
        &self,
        name: &str,
        order: ListOrder<'_>,
        page: ListPage,
    ) -> Result<(Listing<'_>, usize)> {
        read_whole(self.segments(), || {
            let order = self.prepared_order(order)?;
            let (mut lists, mut total) = (Vec::new(), 0);
            for &part_idx in self.newest_first()? {
                let (segment, tombstones) = &self.parts()[part_idx];
                let mut docs = Vec::new();
                segment.view()?.uploader_docs(name)?.decode(&mut docs);
                docs.retain(|&doc| !tombstones.contains(doc));
                total += docs.len();
                let docs = DocSet::List(docs);
                let docs = order.first_of(&docs, part_idx, segment, page.needed())?;
                lists.push((part_idx, docs));
            }
            Ok((self.page_of(&lists, page)?, total))
        })
    }

    /// Counts of active records of a title for each of its episodes. Cost: a read of the columns
    /// for each record of the title.
    pub fn episodes_of_title(&self, number: u64) -> Result<BTreeMap<EpisodeSlot, u32>> {
        let query = Query::new(Filters::default(), 1);
        read_whole(self.segments(), || {
            let contexts = self.contexts(None)?;
            let mut counts = BTreeMap::new();
            for (_, part) in self.prepared(&ParsedQuery::new(&query), &contexts)? {
                for doc in title_docs(part.context, number)? {
                    if part.filter.accepts(doc) {
                        *counts.entry(slot_of(&part, doc)).or_default() += 1;
                    }
                }
            }
            Ok(counts)
        })
    }

    /// Language and region of a record of this snapshot. Cost: a read of its column.
    pub fn language_of(&self, doc: &Doc<'_>) -> Result<Option<LanguageTerm>> {
        let view = self.parts()[doc.part_idx as usize].0.view()?;
        let number = view.language_of(doc.number) as usize;
        let mut terms = view.language_terms()?;
        Ok(terms.nth(number))
    }

    /// Counts of active records by language and region. Cost: a look at the language of each
    /// deleted document, and a count of documents for each language.
    pub fn language_counts(&self) -> Result<BTreeMap<LanguageTerm, u64>> {
        read_whole(self.segments(), || {
            let mut counts = BTreeMap::new();
            for (segment, tombstones) in self.parts() {
                let view = segment.view()?;
                let terms: Vec<LanguageTerm> = view.language_terms()?.collect();
                let mut of_segment = Vec::with_capacity(terms.len());
                for number in 0..terms.len() as u32 {
                    let docs = view.value_docs(ColumnValue::Language(number))?;
                    of_segment.push(u64::from(docs.count()));
                }
                for doc in (0..segment.len()).filter(|&doc| tombstones.contains(doc)) {
                    of_segment[view.language_of(doc) as usize] -= 1;
                }
                let found = terms.into_iter().zip(of_segment);
                for (term, count) in found.filter(|(_, count)| 0 < *count) {
                    *counts.entry(term).or_default() += count;
                }
            }
            Ok(counts)
        })
    }

    /// The flags that are true for a record of this snapshot. Cost: a read of its columns.
    pub fn flags_of(&self, doc: &Doc<'_>) -> Result<FlagSet> {
        let view = self.parts()[doc.part_idx as usize].0.view()?;
        Ok(view.columns().get(doc.number).flags)
    }

    /// The fields that answers show of a record of this snapshot. Cost: a pass over its fragment.
    pub fn fields_of<'a>(&'a self, doc: &Doc<'a>) -> Result<AnswerFields<'a>> {
        let fields = fragment_fields(doc.fragment());
        fields.ok_or_else(|| {
            let segment = &self.parts()[doc.part_idx as usize].0;
            Error::corrupt(segment.name(), 0, "documents with the fields of answers")
        })
    }

    /// An order, ready for the segments of this snapshot.
    fn prepared_order<'o>(&self, order: ListOrder<'o>) -> Result<PreparedOrder<'o>> {
        match order {
            ListOrder::Newest => Ok(PreparedOrder::Newest),
            ListOrder::Downloads(own) => {
                let (places, parts_count) = (self.kept_places(), self.parts().len());
                let kept = places.kept_docs(own, parts_count, |id| self.live_place(id))?;
                Ok(PreparedOrder::Downloads(own, kept))
            }
        }
    }

    /// Lists documents: `list` gives those of a segment, in the order of the list.
    fn list(
        &self,
        filters: &Filters,
        page: ListPage,
        order: ListOrder<'_>,
        list: impl Fn(usize, &SegmentSearch<'_>, &PreparedOrder<'_>) -> Result<Vec<Ranked>>,
    ) -> Result<Listing<'_>> {
        let query = Query::new(filters.clone(), 1);
        read_whole(self.segments(), || {
            let order = self.prepared_order(order)?;
            let contexts = self.contexts(None)?;
            let mut lists = Vec::new();
            for (part_idx, part) in self.prepared(&ParsedQuery::new(&query), &contexts)? {
                lists.push((part_idx, list(part_idx, &part, &order)?));
            }
            self.page_of(&lists, page)
        })
    }

    /// The page of documents that the segments list, each in the order of the list; equal ones by
    /// time and id.
    fn page_of(&self, lists: &[(usize, Vec<Ranked>)], page: ListPage) -> Result<Listing<'_>> {
        let runs = lists.iter().map(|(part_idx, docs)| {
            let segment = &*self.parts()[*part_idx].0;
            PageRun::new(*part_idx, segment, docs)
        });
        let hits = merge_pages(runs.collect(), page.needed())?;
        let shown = hits.iter().skip(page.skipped).take(page.size);
        let docs = shown.map(|hit| self.doc_at(hit.part_idx as usize, hit.doc));
        Ok(Listing {
            docs: docs.collect::<Result<_>>()?,
            has_more: page.skipped.saturating_add(page.size) < hits.len(),
        })
    }

    /// The record of a document.
    fn doc_at(&self, part_idx: usize, number: u32) -> Result<Doc<'_>> {
        let segment = &self.parts()[part_idx].0;
        let stored = segment.doc(number)?;
        Ok(Doc {
            id: id_of(segment, &stored)?,
            stored,
            part_idx: part_idx as u32,
            number,
        })
    }
}

/// Documents that time alone orders.
fn unkeyed(docs: Vec<u32>) -> Vec<Ranked> {
    docs.into_iter().map(|doc| Ranked::keyed(0, doc)).collect()
}

fn slot_of(part: &SegmentSearch<'_>, doc: u32) -> EpisodeSlot {
    let row = part.context.view.columns().get(doc);
    EpisodeSlot {
        season: Some(row.season).filter(|season| *season != 0),
        episode: Some(row.episode).filter(|episode| *episode != 0),
    }
}

/// The first documents of a segment that the filter accepts.
fn newest_of(context: &PlanContext<'_>, filter: &Filter<'_>, needed: usize) -> Result<Vec<u32>> {
    if let Some(mut docs) = few_accepted(context, filter)? {
        docs.truncate(needed);
        return Ok(docs);
    }
    let docs = 0..context.view.docs_count();
    let accepted = docs.filter(|&doc| filter.accepts(doc));
    Ok(accepted.take(needed).collect())
}

/// All documents of a segment that the filter accepts.
fn accepted_of(context: &PlanContext<'_>, filter: &Filter<'_>) -> Result<DocSet> {
    if let Some(docs) = few_accepted(context, filter)? {
        return Ok(DocSet::List(docs));
    }
    let docs_count = context.view.docs_count();
    let mut bits = Bits::new(docs_count);
    let docs = (0..docs_count).filter(|&doc| filter.accepts(doc));
    docs.for_each(|doc| bits.insert(doc));
    let count = bits.count();
    Ok(DocSet::Bits(bits, count))
}

/// All documents that the filter accepts, if one of its sets is small.
fn few_accepted(context: &PlanContext<'_>, filter: &Filter<'_>) -> Result<Option<Vec<u32>>> {
    let smallest = filter.clauses()?.iter().min_by_key(|it| it.size_max());
    // A probe costs about as much as decoding a number: a set of less than a sixteenth of the
    // documents is listed whole, in case most of the documents would be probed in vain.
    let few = u64::from(context.view.docs_count() / 16);
    let Some(clause) = smallest.filter(|clause| clause.size_max() < few) else {
        return Ok(None);
    };
    let mut docs = clause.docs(context);
    docs.retain(|&doc| filter.accepts(doc));
    Ok(Some(docs))
}

/// The documents of a title, ascending: with its id, and with its id as that of their series.
fn title_docs(context: &PlanContext<'_>, number: u64) -> Result<Vec<u32>> {
    let mut docs = Vec::new();
    // A document of both lists is in the first only.
    for set in context.view.catalog_docs(number)? {
        set.decode(&mut docs);
    }
    docs.sort_unstable();
    Ok(docs)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::counters::DownloadTable;
    use crate::index::{Segment, SegmentBuilder, Tombstones};
    use crate::limits::MOST_DOWNLOADED_MAX;
    use crate::model::{CatalogId, Language, Number, Record, RecordId, Timestamp, VideoType, Year};
    use crate::query::{CatalogTerm, SearchText};

    fn record(number: u8) -> Record {
        let is_episode = number.is_multiple_of(2);
        let language = ["es-ES", "es-419", "es"][usize::from(number % 3)];
        let mut record = Record::new(RecordId::from_bytes([number; 16]), "Lost");
        // Several records share a second: the id decides.
        let second = i64::from(number / 3) * 1_000;
        record.posted_at = Timestamp::from_seconds(second).expect("a time");
        record.year = Year::new(2_000 + u16::from(number % 4));
        record.uploader_name = ["ana", "eva", "ana maria"]
            .get(usize::from(number % 5))
            .map(|name| (*name).to_owned());
        record.language = Language::parse(language).expect("a tag");
        record.downloads = u32::from(number % 6);
        if is_episode {
            record.video_type = VideoType::Episode;
            record.season = Number::new(1 + u16::from(number % 5));
            record.episode = Number::new(u16::from(number % 7));
            record.parent_catalog_id = CatalogId::parse("tt0411008");
            record.catalog_id = CatalogId::parse(&format!("tt{}", 5_000 + u32::from(number)));
        } else {
            record.catalog_id = CatalogId::parse("tt0133093");
        }
        record
    }

    fn segment(records: &[Record]) -> (Arc<Segment>, Arc<Tombstones>) {
        let mut builder = SegmentBuilder::new();
        let mut tombstones = Tombstones::new();
        for record in records {
            builder.add(record).expect("it fits");
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes).expect("it is written");
        let segment = Segment::open(bytes.into(), "test").expect("it is sound");
        // A deleted document of each segment.
        tombstones.insert(1);
        (Arc::new(segment), Arc::new(tombstones))
    }

    /// Three segments of records in no order, and the live records, newest first.
    fn snapshot() -> (Snapshot, Vec<Record>) {
        let records: Vec<Record> = (0..120).map(record).collect();
        let of = |part: u8| -> Vec<Record> {
            let numbers = (0..120u8).filter(|number| number % 3 == part);
            numbers
                .map(|number| records[usize::from(number)].clone())
                .collect()
        };
        let parts: Vec<_> = (0..3).map(|part| segment(&of(part))).collect();
        let mut live = records;
        for (segment, _) in &parts {
            let deleted = segment.id(1).expect("an id");
            live.retain(|record| record.id != deleted);
        }
        live.sort_by_key(|record| (std::cmp::Reverse(record.posted_at.seconds()), record.id));
        (Snapshot::new(1, parts), live)
    }

    fn ids(listing: &Listing<'_>) -> Vec<RecordId> {
        listing.docs.iter().map(Doc::id).collect()
    }

    /// Lists all pages of a size and compares them with the expected records.
    fn check(
        list: impl Fn(ListPage) -> Vec<RecordId>,
        has_more: impl Fn(ListPage) -> bool,
        expected: &[&Record],
    ) {
        for size in [1, 7, 200] {
            for (page_idx, page) in expected.chunks(size).enumerate() {
                let skipped = page_idx * size;
                let page_ids: Vec<RecordId> = page.iter().map(|record| record.id).collect();
                let asked = ListPage { skipped, size };
                assert_eq!(list(asked), page_ids, "{asked:?}");
                assert_eq!(
                    has_more(asked),
                    skipped + size < expected.len(),
                    "{asked:?}"
                );
            }
        }
    }

    #[test]
    fn the_newest_are_those_of_a_scan() {
        let (snapshot, live) = snapshot();
        let filters = [
            Filters::default(),
            Filters {
                video_type: Some(VideoType::Movie),
                ..Filters::default()
            },
            Filters {
                year: Year::new(2_001),
                language: Language::parse("es-MX"),
                ..Filters::default()
            },
            Filters {
                season: Number::new(2),
                episode: Number::new(3),
                ..Filters::default()
            },
            Filters {
                episode: Number::new(3),
                ..Filters::default()
            },
        ];
        for filters in filters {
            let passes = |record: &&Record| {
                let language = filters.language.as_ref().is_none_or(|language| {
                    LanguageTerm::of(&record.language).matches(LanguageTerm::of(language))
                });
                language
                    && filters.video_type.is_none_or(|it| record.video_type == it)
                    && filters.year.is_none_or(|it| record.year == Some(it))
                    && filters.season.is_none_or(|it| record.season == Some(it))
                    && filters.episode.is_none_or(|it| record.episode == Some(it))
            };
            let expected: Vec<&Record> = live.iter().filter(passes).collect();
            assert!(!expected.is_empty(), "{filters:?}");
            let own = own_downloads(&live);
            let own = own.own_downloads();
            let list = |order, page| snapshot.listed(&filters, order, page).expect("it is read");
            check(
                |page| ids(&list(ListOrder::Newest, page)),
                |page| list(ListOrder::Newest, page).has_more,
                &expected,
            );
            let mut expected = expected;
            by_downloads(&mut expected);
            let by_downloads = ListOrder::Downloads(&own);
            check(
                |page| ids(&list(by_downloads, page)),
                |page| list(by_downloads, page).has_more,
                &expected,
            );
        }
    }

    /// Our own downloads of a record: up to three are those of a record that is not kept.
    fn own_of(id: RecordId) -> u64 {
        u64::from(id.as_bytes()[0] % 7)
    }

    /// The downloads of these records, and of others, so that only those with more than three are
    /// kept.
    fn own_downloads(records: &[Record]) -> DownloadTable {
        let others = 2 * MOST_DOWNLOADED_MAX as u64 + 1;
        let table = DownloadTable::load(others, |add| {
            for number in 0..others {
                add(
                    RecordId::from_bytes((u128::from(number) + 1).to_be_bytes()),
                    3,
                );
            }
            records.iter().for_each(|it| add(it.id, own_of(it.id)));
            Ok(())
        });
        let table = table.expect("nothing fails");
        assert_eq!(table.own_downloads().most().rest_max(), 3);
        table
    }

    /// A stable sort: equal ones keep the order of time.
    fn by_downloads(records: &mut [&Record]) {
        let downloads = |record: &Record| u64::from(record.downloads) + own_of(record.id);
        records.sort_by_key(|record| std::cmp::Reverse(downloads(record)));
    }

    #[test]
    fn all_hits_of_a_search_are_put_into_an_order() {
        let (snapshot, live) = snapshot();
        let table = own_downloads(&live);
        let own = table.own_downloads();
        let films = Filters {
            video_type: Some(VideoType::Movie),
            ..Filters::default()
        };
        let words = |text| SearchText::query(text).expect("few words");
        let queries = [
            Query::new(Filters::default(), 1).with_query(words("lost")),
            Query::new(films, 1).with_query(words("lost")),
            Query::new(Filters::default(), 1).with_query(words("losst")),
            Query::new(Filters::default(), 1).with_query(words("lost s02e03")),
            Query::new(Filters::default(), 1).with_title(SearchText::title("ost")),
            Query::new(Filters::default(), 1).with_catalog_id(Some(CatalogTerm::Number(411_008))),
            Query::new(Filters::default(), 1)
                .with_catalog_id(Some(CatalogTerm::Number(133_093)))
                .with_public_id(Some(live[0].id))
                .with_query(words("lost s03")),
        ];
        for query in queries {
            let all = snapshot
                .search(&query.clone().with_page_size(200))
                .expect("it is read");
            let found = |idx| snapshot.hit_doc(&all, idx).expect("it is read").id();
            let found: Vec<RecordId> = (0..all.len()).map(found).collect();
            let mut expected: Vec<&Record> = live.iter().collect();
            expected.retain(|record| found.contains(&record.id));
            assert!(1 < expected.len(), "{query:?}");
            let list = |order, page| {
                let (listing, total) = snapshot
                    .search_listed(&query, order, page)
                    .expect("it is read");
                assert_eq!(total, all.total(), "{query:?}");
                listing
            };
            for order in [ListOrder::Newest, ListOrder::Downloads(&own)] {
                if matches!(order, ListOrder::Downloads(_)) {
                    by_downloads(&mut expected);
                }
                check(
                    |page| ids(&list(order, page)),
                    |page| list(order, page).has_more,
                    &expected,
                );
            }
        }
    }

    #[test]
    fn the_records_of_an_uploader_are_those_with_exactly_this_name() {
        let (snapshot, live) = snapshot();
        let table = own_downloads(&live);
        let own = table.own_downloads();
        for name in ["ana", "eva", "ana maria", "an", ""] {
            let is_of = |record: &&Record| record.uploader_name.as_deref() == Some(name);
            let mut expected: Vec<&Record> = live.iter().filter(is_of).collect();
            let (count, first) = (
                expected.len(),
                ListPage {
                    skipped: 0,
                    size: 5,
                },
            );
            assert_eq!(count == 0, ["an", ""].contains(&name));
            for order in [ListOrder::Newest, ListOrder::Downloads(&own)] {
                if matches!(order, ListOrder::Downloads(_)) {
                    by_downloads(&mut expected);
                }
                let list = |page| snapshot.of_uploader(name, order, page).expect("it is read");
                assert_eq!(list(first).1, count);
                check(
                    |page| ids(&list(page).0),
                    |page| list(page).0.has_more,
                    &expected,
                );
            }
        }
    }

    #[test]
    fn the_records_of_a_title_are_its_own_and_those_of_its_episodes() {
        let (snapshot, live) = snapshot();
        for number in [411_008, 133_093, 5_010, 7] {
            let is_of = |id: &Option<CatalogId>| id.is_some_and(|id| id.number() == number);
            let expected: Vec<&Record> = live
                .iter()
                .filter(|record| is_of(&record.catalog_id) || is_of(&record.parent_catalog_id))
                .collect();
            let list = |page| {
                let listing = snapshot.of_title(number, TitlePart::All, page);
                listing.expect("it is read")
            };
            check(
                |page| ids(&list(page)),
                |page| list(page).has_more,
                &expected,
            );
            let mut counts = BTreeMap::new();
            for record in expected {
                let slot = EpisodeSlot {
                    season: record.season.map(Number::get),
                    episode: record.episode.map(Number::get),
                };
                *counts.entry(slot).or_default() += 1;
            }
            assert_eq!(
                snapshot.episodes_of_title(number).expect("it is read"),
                counts
            );
        }
    }

    #[test]
    fn languages_are_counted_without_deleted_records() {
        let (snapshot, live) = snapshot();
        let mut expected = BTreeMap::new();
        for record in &live {
            let term = LanguageTerm::of(&record.language);
            *expected.entry(term).or_default() += 1_u64;
        }
        assert!(1 < expected.len());
        assert_eq!(snapshot.language_counts().expect("it is read"), expected);
    }

    #[test]
    fn a_season_begins_with_its_packs_and_goes_on_by_episode() {
        let (snapshot, live) = snapshot();
        let mut expected: Vec<&Record> = live
            .iter()
            .filter(|record| record.season == Number::new(2))
            .collect();
        // A stable sort: each episode keeps the order of time.
        expected.sort_by_key(|record| record.episode.map_or(0, Number::get));
        assert!(expected[0].episode.is_none());
        let list = |part, page| snapshot.of_title(411_008, part, page).expect("it is read");
        let season = TitlePart::Season(2);
        check(
            |page| ids(&list(season, page)),
            |page| list(season, page).has_more,
            &expected,
        );
        let slot = EpisodeSlot {
            season: Some(2),
            episode: Some(3),
        };
        expected.retain(|record| record.episode == Number::new(3));
        assert!(!expected.is_empty());
        check(
            |page| ids(&list(TitlePart::Slot(slot), page)),
            |page| list(TitlePart::Slot(slot), page).has_more,
            &expected,
        );
    }

    #[test]
    fn a_record_has_the_language_that_it_was_stored_with() {
        let (snapshot, live) = snapshot();
        for record in live {
            let doc = snapshot.doc(record.id).expect("it is read").expect("live");
            let language = snapshot.language_of(&doc).expect("it is read");
            assert_eq!(language, Some(LanguageTerm::of(&record.language)));
        }
    }
}
