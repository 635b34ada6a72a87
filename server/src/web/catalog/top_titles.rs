//! The titles with the most downloads since the start.

use std::collections::BTreeMap;

use subcat_engine::{CatalogId, RecordId};

use super::record_view::{RecordView, title_path};
use crate::limits::{HIT_DESCRIPTION_CHARS_MAX, HIT_TITLE_CHARS_MAX, TOP_TITLES_SHOWN};
use crate::web::frame::error::PageError;
use crate::web::frame::web_request::WebRequest;

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
            if let Some(doc) = snapshot.doc(id)? {
                let view = RecordView::new(request, &snapshot, &doc)?;
                let view = view.shortened(HIT_TITLE_CHARS_MAX, HIT_DESCRIPTION_CHARS_MAX);
                rows.push(Self {
                    path,
                    title: view.title().to_owned(),
                    downloads: request.lang.number(count),
                });
            }
        }
        snapshot.ensure_not_truncated()?;
        Ok(rows)
    }
}
