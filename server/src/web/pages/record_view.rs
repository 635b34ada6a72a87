//! A record as pages show it, read from its answer.

use serde::Deserialize;
use subcat_engine::Engine;
use subcat_engine::model::{Timestamp, VideoType};
use subcat_engine::search::Doc;

use crate::web::error::PageError;
use crate::web::language::Lang;

/// The fields of an answer (API.md, 4) that pages show.
#[derive(Deserialize)]
struct Fields {
    id: String,
    video_type: String,
    title: String,
    season: Option<u32>,
    episode: Option<u32>,
    year: Option<u32>,
    catalog_id: Option<String>,
    description: Option<String>,
    uploader_name: Option<String>,
    posted_at: String,
}

/// A record, in the words of a language. What is not known is empty.
pub(super) struct HitView {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) kind: &'static str,
    pub(super) year: String,
    /// `S01E02`, or `S01` for a season.
    pub(super) number: String,
    pub(super) season: String,
    pub(super) episode: String,
    pub(super) catalog_id: String,
    pub(super) description: String,
    pub(super) uploader: String,
    pub(super) posted: String,
    pub(super) downloads: String,
    pub(super) has_file: bool,
}

impl HitView {
    /// Reads a document of the current snapshot, with the downloads of now.
    pub(super) fn new(doc: &Doc<'_>, engine: &Engine, lang: Lang) -> Result<Self, PageError> {
        let mut json = doc.fragment().to_vec();
        json.extend_from_slice(b"0}");
        let fields: Fields =
            serde_json::from_slice(&json).map_err(|source| PageError::InvalidFragment {
                id: doc.id(),
                source,
            })?;
        let downloads = u64::from(doc.upstream_downloads()) + engine.downloads(doc.id());
        let text = |number: Option<u32>| number.map_or(String::new(), |number| number.to_string());
        let posted_at = Timestamp::parse(&fields.posted_at);
        Ok(Self {
            id: fields.id,
            title: fields.title,
            kind: kind(&fields.video_type, lang),
            year: text(fields.year),
            number: episode_number(fields.season, fields.episode),
            season: text(fields.season),
            episode: text(fields.episode),
            catalog_id: fields.catalog_id.unwrap_or_default(),
            description: fields.description.unwrap_or_default(),
            uploader: fields.uploader_name.unwrap_or_default(),
            posted: posted_at.map_or(fields.posted_at, |time| lang.date(time)),
            downloads: lang.number(downloads),
            has_file: doc.source_release_id().is_some(),
        })
    }

    /// With the beginnings of its title and description, each on one line.
    pub(super) fn shortened(mut self, title_chars: usize, description_chars: usize) -> Self {
        self.title = shortened(&self.title, title_chars);
        self.description = shortened(&self.description, description_chars);
        self
    }
}

fn kind(video_type: &str, lang: Lang) -> &'static str {
    match VideoType::parse(video_type) {
        Some(VideoType::Movie) => lang.t("Film", "Película"),
        _ => lang.t("Series", "Serie"),
    }
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
            let cut = line[..end].rfind(' ').unwrap_or(end);
            format!("{}…", &line[..cut])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_cut_between_words() {
        assert_eq!(shortened("uno\r\n dos  tres", 20), "uno dos tres");
        assert_eq!(shortened("uno dos tres", 9), "uno dos…");
        assert_eq!(shortened("ñññññ", 3), "ñññ…");
    }

    #[test]
    fn episodes_are_numbered_as_people_do() {
        assert_eq!(episode_number(Some(1), Some(2)), "S01E02");
        assert_eq!(episode_number(Some(1), None), "S01");
        assert_eq!(episode_number(None, None), "");
    }
}
