//! A record as pages show it, read from its stored answer.

use serde::{Deserialize, Deserializer};
use subcat_engine::{Doc, Engine, Timestamp, VideoType};

use crate::web::error::PageError;
use crate::web::language::Lang;

/// A record with its downloads of now.
///
/// Templates read `record` directly, and use the methods for what depends on the language. A new
/// field of records is a line here and a line in `record.html`.
pub(super) struct RecordView {
    pub(super) record: RecordFields,
    pub(super) has_file: bool,
    downloads: u64,
    lang: Lang,
}

/// Fields of an answer (API.md, 4) that pages show.
#[derive(Deserialize)]
pub(super) struct RecordFields {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) season: Option<u32>,
    pub(super) episode: Option<u32>,
    pub(super) year: Option<u32>,
    #[serde(deserialize_with = "filled")]
    pub(super) catalog_id: Option<String>,
    #[serde(deserialize_with = "filled")]
    pub(super) description: Option<String>,
    #[serde(deserialize_with = "filled")]
    pub(super) uploader_name: Option<String>,
    video_type: String,
    posted_at: String,
}

impl RecordView {
    /// Reads a document of the current snapshot.
    pub(super) fn new(doc: &Doc<'_>, engine: &Engine, lang: Lang) -> Result<Self, PageError> {
        // A fragment is the JSON of the record up to the count of downloads: complete it with any
        // count, as the true one is not in the index.
        let mut json = doc.fragment().to_vec();
        json.extend_from_slice(b"0}");
        let record =
            serde_json::from_slice(&json).map_err(|source| PageError::InvalidFragment {
                id: doc.id(),
                source,
            })?;
        Ok(Self {
            record,
            has_file: doc.source_release_id().is_some(),
            downloads: u64::from(doc.upstream_downloads()) + engine.usage().downloads(doc.id()),
            lang,
        })
    }

    /// Shortens title and description, each to one line.
    pub(super) fn shortened(mut self, title_chars: usize, description_chars: usize) -> Self {
        self.record.title = shortened(&self.record.title, title_chars);
        let description = self.record.description.as_deref();
        self.record.description = description.map(|text| shortened(text, description_chars));
        self
    }

    /// Cuts the description, and keeps its lines.
    pub(super) fn with_description_cut(mut self, chars_max: usize) -> Self {
        if let Some(description) = &mut self.record.description
            && let Some((end, _)) = description.char_indices().nth(chars_max)
        {
            description.truncate(end);
            description.push('…');
        }
        self
    }

    /// Film or series.
    pub(super) fn kind(&self) -> &'static str {
        match VideoType::parse(&self.record.video_type) {
            Some(VideoType::Movie) => self.lang.t("Film", "Película"),
            _ => self.lang.t("Series", "Serie"),
        }
    }

    /// `S01E02`, `S01` for a season, or nothing.
    pub(super) fn episode_number(&self) -> String {
        episode_number(self.record.season, self.record.episode)
    }

    /// The day on which it was posted.
    pub(super) fn posted(&self) -> String {
        match Timestamp::parse(&self.record.posted_at) {
            Some(time) => self.lang.date(time),
            None => self.record.posted_at.clone(),
        }
    }

    /// Upstream's downloads and those of this service.
    pub(super) fn downloads(&self) -> String {
        self.lang.number(self.downloads)
    }
}

/// Reads a text that may be null; an empty one is shown like null.
fn filled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}

fn episode_number(season: Option<u32>, episode: Option<u32>) -> String {
    match (season, episode) {
        (Some(season), Some(episode)) => format!("S{season:02}E{episode:02}"),
        (Some(season), None) => format!("S{season:02}"),
        (None, Some(episode)) => format!("E{episode:02}"),
        (None, None) => String::new(),
    }
}

fn shortened(text: &str, chars_max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars_max) {
        None => line,
        Some((end, _)) => {
            let end = line[..end].rfind(' ').unwrap_or(end);
            format!("{}…", &line[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_shortened_between_words() {
        assert_eq!(shortened("uno\r\n dos  tres", 20), "uno dos tres");
        assert_eq!(shortened("uno dos tres", 9), "uno dos…");
        assert_eq!(shortened("ñññññ", 3), "ñññ…");
    }

    #[test]
    fn episodes_are_numbered_as_usual() {
        assert_eq!(episode_number(Some(1), Some(2)), "S01E02");
        assert_eq!(episode_number(Some(1), None), "S01");
        assert_eq!(episode_number(None, None), "");
    }
}
