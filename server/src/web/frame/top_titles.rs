//! The titles with the most downloads since the start.

use std::collections::BTreeMap;

use subcat_engine::{CatalogId, Number, RecordId};

use super::error::PageError;
use super::title_text::{bare_title, shortened, title_path};
use super::web_request::WebRequest;
use crate::limits::{HIT_TITLE_CHARS_MAX, TOP_TITLES_SHOWN};

/// A row of the table of titles.
pub(crate) struct TopTitle {
    /// Path of its page, or of its record if it has no catalog id.
    pub(crate) path: String,
    pub(crate) title: String,
    pub(crate) downloads: String,
}

impl TopTitle {
    /// The titles, most downloads first. The records of a title count together. Cost: a look-up for
    /// each of the records that the engine counts.
    pub(crate) fn all(request: &WebRequest) -> Result<Vec<Self>, PageError> {
        let engine = &request.site.service.engine;
        let snapshot = engine.catalog().snapshot();
        let mut titles: BTreeMap<String, (RecordId, u64)> = BTreeMap::new();
        for (id, count) in engine.usage().busiest_records() {
            // A record may have left the catalog since.
            let Some(doc) = snapshot.doc(id)? else {
                continue;
            };
            let number = doc.catalog_id().map(CatalogId::number);
            let number = doc.parent_catalog_number().or(number);
            let path = number.map_or_else(|| format!("/catalog/{id}"), title_path);
            titles.entry(path).or_insert((id, 0)).1 += count;
        }
        let mut titles: Vec<_> = titles.into_iter().collect();
        titles.sort_by_key(|(_, (_, count))| std::cmp::Reverse(*count));
        let mut rows = Vec::with_capacity(TOP_TITLES_SHOWN);
        for (path, (id, count)) in titles.into_iter().take(TOP_TITLES_SHOWN) {
            if let Some(record) = engine.catalog().stored_record(id)? {
                let year = record.year.map(|year| year.get().into());
                let (season, episode) = (record.season, record.episode);
                let season = season.map(Number::get);
                let title = bare_title(&record.title, year, season, episode.map(Number::get));
                rows.push(Self {
                    path,
                    title: shortened(title, HIT_TITLE_CHARS_MAX),
                    downloads: request.lang.number(count),
                });
            }
        }
        snapshot.ensure_not_truncated()?;
        Ok(rows)
    }
}
