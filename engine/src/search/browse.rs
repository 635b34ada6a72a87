//! Lists without words: the newest records, those of a title, and the counts of a title's episodes.
//! For pages; the API has no such request.
//!
//! Documents of a segment are numbered newest first, so a list of one segment is a prefix of its
//! documents. Lists of several segments are merged by time and id, like hits.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::codec::{AnswerFields, fragment_fields};
use crate::error::{Error, Result};
use crate::index::{ColumnValue, Segment, StoredDoc, read_whole};
use crate::limits::LISTED_DOCS_MAX;
use crate::model::{FlagSet, RecordId};
use crate::plan::{Filter, PlanContext};
use crate::query::{Filters, LanguageTerm, Query};

use super::hits::Doc;
use super::segment_search::{ParsedQuery, SegmentSearch};
use super::snapshot::{Snapshot, id_of};

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
    fn rank(self, slot: EpisodeSlot) -> u64 {
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
    /// Number of records that a segment must deliver: the page, those before it, and one more,
    /// which shows that there is a next page.
    fn needed(self) -> usize {
        let needed = self.skipped.saturating_add(self.size).saturating_add(1);
        needed.min(LISTED_DOCS_MAX)
    }
}

impl Snapshot {
    /// The active records that pass the filters, newest first.
    ///
    /// Cost: a probe of each document until the page is full. With selective filters, they are
    /// listed from their smallest set instead. Only the first [`LISTED_DOCS_MAX`] can be listed.
    pub fn newest(&self, filters: &Filters, page: ListPage) -> Result<Listing<'_>> {
        self.list(filters, page, |part| {
            let docs = newest_of(part.context, &part.filter, page.needed())?;
            Ok(unranked(docs))
        })
    }

    /// The active records of the title with this catalog number: its own, and those of its
    /// episodes. Cost: linear in the records of the title.
    pub fn of_title(&self, number: u64, of: TitlePart, page: ListPage) -> Result<Listing<'_>> {
        self.list(&Filters::default(), page, |part| {
            let mut docs = Vec::new();
            for doc in title_docs(part.context, number)? {
                let slot = slot_of(part, doc);
                if part.filter.accepts(doc) && of.has(slot) {
                    docs.push((of.rank(slot), doc));
                }
            }
            docs.sort_unstable();
            docs.truncate(page.needed());
            Ok(docs)
        })
    }

    /// The active records of the uploader with exactly this name, newest first, and their number.
    ///
    /// Cost: linear in the uploader's records; with several segments, a document is read for each
    /// one before the page.
    pub fn of_uploader(&self, name: &str, page: ListPage) -> Result<(Listing<'_>, usize)> {
        self.list_of_uploader(name, page, |_, docs| Ok(unranked(docs)))
    }

    /// The same, those with the most downloads first, and the newest of equals: `own` gives the
    /// downloads of a record that are not upstream's.
    ///
    /// Cost: each document of the uploader is read.
    pub fn most_downloaded_of_uploader(
        &self,
        name: &str,
        own: impl Fn(RecordId) -> u64,
        page: ListPage,
    ) -> Result<(Listing<'_>, usize)> {
        self.list_of_uploader(name, page, |segment, docs| {
            let mut ranked = Vec::with_capacity(docs.len());
            for doc in docs {
                let stored = segment.doc(doc)?;
                let own = own(id_of(segment, &stored)?);
                let downloads = u64::from(stored.downloads()).saturating_add(own);
                // The lowest rank comes first.
                ranked.push((u64::MAX - downloads, doc));
            }
            ranked.sort_unstable();
            Ok(ranked)
        })
    }

    /// Lists the documents of an uploader; `rank` puts those of a segment into the order of the
    /// list.
    fn list_of_uploader(
        &self,
        name: &str,
        page: ListPage,
        rank: impl Fn(&Segment, Vec<u32>) -> Result<Vec<RankedDoc>>,
    ) -> Result<(Listing<'_>, usize)> {
        read_whole(self.segments(), || {
            let mut total = 0;
            let mut lists = Vec::new();
            for (part_idx, (segment, tombstones)) in self.parts().iter().enumerate() {
                let mut docs = Vec::new();
                segment.view()?.uploader_docs(name)?.decode(&mut docs);
                docs.retain(|&doc| !tombstones.contains(doc));
                total += docs.len();
                if !docs.is_empty() {
                    lists.push((part_idx, rank(segment, docs)?));
                }
            }
            Ok((self.merge_lists(lists, page)?, total))
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

    /// Lists documents: `list` gives those of a segment, in the order of the list.
    fn list(
        &self,
        filters: &Filters,
        page: ListPage,
        list: impl Fn(&SegmentSearch<'_>) -> Result<Vec<RankedDoc>>,
    ) -> Result<Listing<'_>> {
        let query = Query::new(filters.clone(), 1);
        read_whole(self.segments(), || {
            let contexts = self.contexts(None)?;
            let mut parts = Vec::new();
            for (part_idx, part) in self.prepared(&ParsedQuery::new(&query), &contexts)? {
                parts.push((part_idx, list(&part)?));
            }
            self.merge_lists(parts, page)
        })
    }

    /// Merges the documents of segments by rank, time and id, and keeps the page.
    fn merge_lists(
        &self,
        parts: Vec<(usize, Vec<RankedDoc>)>,
        page: ListPage,
    ) -> Result<Listing<'_>> {
        let mut heads = Vec::with_capacity(parts.len());
        for (part_idx, docs) in parts {
            heads.extend(self.list_head(part_idx, docs.into_iter())?);
        }
        let mut merge = ListMerge::new(heads, page);
        while self.merge_next(&mut merge)? {}
        Ok(merge.listing)
    }

    /// Takes the next document of a merge, and lists it if it is on the page. Returns false when
    /// the page is complete, or no document is left.
    fn merge_next<'a>(&'a self, merge: &mut ListMerge<'a>) -> Result<bool> {
        let heads = merge.heads.iter().enumerate();
        let Some((head_idx, _)) = heads.min_by(|a, b| a.1.compare(b.1)) else {
            return Ok(false);
        };
        let page = merge.page;
        if merge.listing.docs.len() == page.size {
            merge.listing.has_more = true;
            return Ok(false);
        }
        let mut head = merge.heads.swap_remove(head_idx);
        if page.skipped <= merge.passed_count {
            let doc = self.doc_at(head.part_idx, head.number)?;
            merge.listing.docs.push(doc);
            merge.passed_count += 1;
        } else {
            // The last segment with documents needs no comparison up to the page.
            let rest_count = if merge.heads.is_empty() {
                (page.skipped - merge.passed_count - 1).min(head.rest.len())
            } else {
                0
            };
            merge.passed_count += 1 + rest_count;
            head.rest.by_ref().take(rest_count).for_each(drop);
        }
        let next = self.list_head(head.part_idx, head.rest)?;
        merge.heads.extend(next);
        Ok(true)
    }

    fn list_head(
        &self,
        part_idx: usize,
        mut rest: std::vec::IntoIter<RankedDoc>,
    ) -> Result<Option<ListHead<'_>>> {
        let Some((rank, number)) = rest.next() else {
            return Ok(None);
        };
        let stored = self.parts()[part_idx].0.doc(number)?;
        Ok(Some(ListHead {
            part_idx,
            rank,
            number,
            stored,
            rest,
        }))
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

/// A merge of the lists of segments in progress.
struct ListMerge<'a> {
    heads: Vec<ListHead<'a>>,
    page: ListPage,
    listing: Listing<'a>,
    /// Documents that were taken.
    passed_count: usize,
}

impl<'a> ListMerge<'a> {
    fn new(heads: Vec<ListHead<'a>>, page: ListPage) -> Self {
        Self {
            heads,
            page,
            listing: Listing {
                docs: Vec::with_capacity(page.size),
                has_more: false,
            },
            passed_count: 0,
        }
    }
}

/// A document, after its sort key that precedes its time.
type RankedDoc = (u64, u32);

/// Documents that time alone orders.
fn unranked(docs: Vec<u32>) -> Vec<RankedDoc> {
    docs.into_iter().map(|doc| (0, doc)).collect()
}

fn slot_of(part: &SegmentSearch<'_>, doc: u32) -> EpisodeSlot {
    let row = part.context.view.columns().get(doc);
    EpisodeSlot {
        season: Some(row.season).filter(|season| *season != 0),
        episode: Some(row.episode).filter(|episode| *episode != 0),
    }
}

/// The first document of a segment that is not listed yet.
struct ListHead<'a> {
    part_idx: usize,
    rank: u64,
    number: u32,
    stored: StoredDoc<'a>,
    /// Documents of the segment after this one.
    rest: std::vec::IntoIter<RankedDoc>,
}

impl ListHead<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        let ranks = self.rank.cmp(&other.rank);
        let times = || other.stored.time().cmp(&self.stored.time());
        ranks
            .then_with(times)
            .then_with(|| self.stored.id().cmp(&other.stored.id()))
    }
}

/// The first documents of a segment that the filter accepts.
fn newest_of(context: &PlanContext<'_>, filter: &Filter<'_>, needed: usize) -> Result<Vec<u32>> {
    let docs_count = context.view.docs_count();
    let smallest = filter.clauses()?.iter().min_by_key(|it| it.size_max());
    // A probe costs about as much as decoding a number: a set of less than a sixteenth of the
    // documents is listed whole, in case most of the documents would be probed in vain.
    if let Some(clause) = smallest
        && clause.size_max() < u64::from(docs_count / 16)
    {
        let mut docs = clause.docs(context);
        docs.retain(|&doc| filter.accepts(doc));
        docs.truncate(needed);
        return Ok(docs);
    }
    Ok((0..docs_count)
        .filter(|&doc| filter.accepts(doc))
        .take(needed)
        .collect())
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
    use crate::index::{Segment, SegmentBuilder, Tombstones};
    use crate::model::{CatalogId, Language, Number, Record, RecordId, Timestamp, VideoType, Year};

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
            let list = |page| snapshot.newest(&filters, page).expect("it is read");
            check(
                |page| ids(&list(page)),
                |page| list(page).has_more,
                &expected,
            );
        }
    }

    #[test]
    fn the_records_of_an_uploader_are_those_with_exactly_this_name() {
        let (snapshot, live) = snapshot();
        let own = |id: RecordId| u64::from(id.as_bytes()[0] % 4);
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
            let list = |page| snapshot.of_uploader(name, page).expect("it is read");
            assert_eq!(list(first).1, count);
            check(
                |page| ids(&list(page).0),
                |page| list(page).0.has_more,
                &expected,
            );
            let downloads = |record: &&Record| u64::from(record.downloads) + own(record.id);
            // A stable sort: equal ones keep the order of time.
            expected.sort_by_key(|record| std::cmp::Reverse(downloads(record)));
            let list = |page| {
                let listing = snapshot.most_downloaded_of_uploader(name, own, page);
                listing.expect("it is read")
            };
            assert_eq!(list(first).1, count);
            check(
                |page| ids(&list(page).0),
                |page| list(page).0.has_more,
                &expected,
            );
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
