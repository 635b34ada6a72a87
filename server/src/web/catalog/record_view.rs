//! A record as pages show it, read from its stored answer.

use std::borrow::Cow;

use subcat_engine::{
    AnswerFields, CatalogId, CatalogTerm, Doc, EpisodeSlot, Flag, ListPage, RecordId, ReleaseId,
    Snapshot, Timestamp, TitlePart, VideoType,
};

use super::language_badge::LanguageBadge;
use super::release_words::ReleaseWords;
use crate::limits::{
    EPISODE_PACKS_MAX, HIT_DESCRIPTION_CHARS_MAX, HIT_TITLE_CHARS_MAX, UPLOADER_CHARS_MAX,
};
use crate::web::frame::error::PageError;
use crate::web::frame::language::Lang;
use crate::web::frame::params;
use crate::web::frame::title_text::{bare_title, episode_number, shortened, title_path};
use crate::web::frame::web_request::WebRequest;

/// A record with its downloads of now.
///
/// Templates read `record` directly, and use the methods for what depends on the language. A new
/// field of records is a line here and a line in `record.html`.
pub(crate) struct RecordView {
    pub(crate) record: RecordFields,
    pub(crate) has_file: bool,
    /// True if the file can be downloaded: it is cached, or there is an upstream to fetch it from.
    pub(crate) is_available: bool,
    pub(crate) badge: LanguageBadge,
    /// Labels of the flags that are true.
    pub(crate) flags: Vec<&'static str>,
    pub(crate) release: ReleaseWords,
    /// Kind and size of the file, if it is cached: `srt 42 KB`.
    pub(crate) file: String,
    /// Name of the file, as imported.
    pub(crate) file_name: String,
    /// Path of the page of its title, if it has a catalog id.
    pub(crate) title_path: String,
    /// Path of the page of its uploader, if it has one.
    pub(crate) uploader_path: String,
    /// True if the record before it in the list is of the same release.
    pub(crate) is_same_release: bool,
    /// Path of the page of its title, or nothing if that has none, for the first of several records
    /// of a title, which stand below a head.
    pub(crate) head: Option<String>,
    /// True if the row is not of the title of the one before it, and one of them is below a head.
    pub(crate) begins_card: bool,
    /// True if a heading above the row has the title: the row begins with the release.
    pub(crate) is_below_title: bool,
    /// True if the row has the number of its episode: no heading above it has.
    pub(crate) names_episode: bool,
    /// True if the row has its language: no heading above it has.
    pub(crate) names_language: bool,
    /// Query string of its download in this list, with its question mark; empty for the whole file.
    pub(crate) text_query: String,
    /// True if it has the id of its series.
    has_series_id: bool,
    downloads: u64,
    now: Timestamp,
    lang: Lang,
}

/// Fields of an answer (API.md, 4) that pages show; an empty text is shown like none.
pub(crate) struct RecordFields {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) season: Option<u16>,
    pub(crate) episode: Option<u16>,
    pub(crate) year: Option<u32>,
    pub(crate) catalog_id: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) uploader_name: Option<String>,
    video_type: VideoType,
    posted_at: String,
}

impl RecordFields {
    fn new(id: RecordId, fields: AnswerFields<'_>) -> Self {
        let filled = |text: Option<Cow<'_, str>>| {
            let text = text.filter(|text| !text.is_empty());
            text.map(Cow::into_owned)
        };
        Self {
            id: id.to_string(),
            title: fields.title.into_owned(),
            season: fields.season,
            episode: fields.episode,
            year: fields.year.map(u32::from),
            catalog_id: filled(fields.catalog_id),
            description: filled(fields.description),
            uploader_name: filled(fields.uploader_name),
            video_type: fields.video_type,
            posted_at: fields.posted_at.into_owned(),
        }
    }
}

impl RecordView {
    /// Reads a document of a snapshot.
    pub(crate) fn new(
        request: &WebRequest,
        snapshot: &Snapshot,
        doc: &Doc<'_>,
    ) -> Result<Self, PageError> {
        let (engine, lang) = (&request.site.service.engine, request.lang);
        let record = RecordFields::new(doc.id(), snapshot.fields_of(doc)?);
        let release = doc.source_release_id().and_then(ReleaseId::parse);
        let cached = release.and_then(|release| engine.files().cached_file(&release));
        let has_source = request.site.service.config().upstream.url.is_some();
        let number = doc.catalog_id().map(CatalogId::number);
        let series_number = doc.parent_catalog_number();
        let title_number = series_number.or(number);
        Ok(Self {
            badge: LanguageBadge::new(snapshot.language_of(doc)?, lang),
            flags: snapshot
                .flags_of(doc)?
                .iter()
                .map(|flag| flag_label(flag, lang))
                .collect(),
            release: ReleaseWords::read(doc.file_name(), record.description.as_deref()),
            is_available: cached.is_some() || (doc.source_release_id().is_some() && has_source),
            file: cached.map_or(String::new(), |file| {
                let size = lang.bytes(file.size_bytes);
                format!("{} {size}", file.kind.extension())
            }),
            file_name: doc.file_name().unwrap_or("").to_owned(),
            title_path: title_number.map_or(String::new(), title_path),
            uploader_path: record
                .uploader_name
                .as_deref()
                .map_or(String::new(), uploader_path),
            has_file: doc.source_release_id().is_some(),
            is_same_release: false,
            head: None,
            begins_card: false,
            is_below_title: false,
            names_episode: true,
            names_language: true,
            text_query: String::new(),
            has_series_id: series_number.is_some(),
            downloads: u64::from(doc.upstream_downloads()) + engine.usage().downloads(doc.id()),
            record,
            now: request.now,
            lang,
        })
    }

    /// The views of records in a list.
    pub(crate) fn list(
        request: &WebRequest,
        snapshot: &Snapshot,
        docs: &[Doc<'_>],
    ) -> Result<Vec<Self>, PageError> {
        let view = |doc| Ok(Self::new(request, snapshot, doc)?.shortened());
        docs.iter().map(view).collect()
    }

    /// Shortens title, uploader and description, each to one line.
    pub(crate) fn shortened(mut self) -> Self {
        self.record.title = shortened(&self.record.title, HIT_TITLE_CHARS_MAX);
        let description = self.record.description.as_deref();
        let short = |text| shortened(text, HIT_DESCRIPTION_CHARS_MAX);
        self.record.description = description.map(short);
        let uploader = self.record.uploader_name.as_deref();
        self.record.uploader_name = uploader.map(|text| shortened(text, UPLOADER_CHARS_MAX));
        self
    }

    /// Without the characters that XML cannot hold.
    pub(crate) fn without_controls(mut self) -> Self {
        self.record.title = xml_text(&self.record.title);
        self.record.description = self.record.description.as_deref().map(xml_text);
        self.record.uploader_name = self.record.uploader_name.as_deref().map(xml_text);
        self
    }

    /// Cuts the description, and keeps its lines.
    pub(crate) fn with_description_cut(mut self, chars_max: usize) -> Self {
        if let Some(description) = &mut self.record.description
            && let Some((end, _)) = description.char_indices().nth(chars_max)
        {
            description.truncate(end);
            description.push('…');
        }
        self
    }

    /// The title without a year or an episode number at its end that is shown beside it.
    pub(crate) fn title(&self) -> &str {
        let record = &self.record;
        bare_title(&record.title, record.year, record.season, record.episode)
    }

    /// Title, number and release in one line: they distinguish this record from its neighbours.
    pub(crate) fn full_name(&self) -> String {
        let mut name = self.title().to_owned();
        let number = self.episode_number();
        let release = self.release.line();
        for part in [number.as_str(), release.as_str(), self.badge.name.as_str()] {
            if !part.is_empty() {
                name.push(' ');
                name.push_str(part);
            }
        }
        name
    }

    /// First words of its row below the head of its title: the release, else the name of the file,
    /// else the title again.
    pub(crate) fn lead(&self) -> String {
        let release = self.release.line();
        match (release.is_empty(), self.file_name.as_str()) {
            (false, _) => release,
            (true, "") => self.title().to_owned(),
            (true, name) => name.to_owned(),
        }
    }

    /// Returns true if its row names the release before the description: no heading above the row
    /// has the title, so the row begins with that.
    pub(crate) fn names_release(&self) -> bool {
        !self.is_below_title && !self.is_same_release && !self.release.is_empty()
    }

    /// Returns true if both are of one film or episode, and of one release of it that is known.
    fn has_release_of(&self, other: &Self) -> bool {
        let is_one_title = match (self.title_path.as_str(), other.title_path.as_str()) {
            ("", "") => self.title() == other.title() && self.record.year == other.record.year,
            (path, other_path) => path == other_path,
        };
        is_one_title
            && !self.release.is_empty()
            && self.release == other.release
            && self.record.season == other.record.season
            && self.record.episode == other.record.episode
    }

    /// Returns true if both are of one film or series. Where one lacks the id of that, title and
    /// year count.
    fn has_title_of(&self, other: &Self) -> bool {
        if self.title_path == other.title_path && !self.title_path.is_empty() {
            return true;
        }
        (self.lacks_title_id() || other.lacks_title_id())
            && self.is_episode() == other.is_episode()
            && self.title() == other.title()
            && self.record.year == other.record.year
    }

    /// Returns true if the id of its film or series is unknown: that of an episode may be its own.
    fn lacks_title_id(&self) -> bool {
        self.title_path.is_empty() || (self.is_episode() && !self.has_series_id)
    }

    /// Film, episode, season or series.
    pub(crate) fn kind(&self) -> &'static str {
        let is_movie = self.record.video_type == VideoType::Movie;
        match (self.record.season, self.record.episode) {
            _ if is_movie => self.lang.t("Film", "Película"),
            (_, Some(_)) => self.lang.t("Episode", "Episodio"),
            (Some(_), None) => self.lang.t("Season", "Temporada"),
            (None, None) => self.lang.t("Series", "Serie"),
        }
    }

    /// True for a season or a series: no text of its file is the one that is meant.
    pub(crate) fn is_pack(&self) -> bool {
        self.is_episode() && self.record.episode.is_none()
    }

    /// True for an episode or the pack of a season.
    pub(crate) fn is_episode(&self) -> bool {
        self.record.video_type == VideoType::Episode
    }

    /// `S01E02`, `S01` for a season, or nothing.
    pub(crate) fn episode_number(&self) -> String {
        episode_number(self.record.season, self.record.episode)
    }

    /// Day of its posting.
    pub(crate) fn posted(&self) -> String {
        match Timestamp::parse(&self.record.posted_at) {
            Some(time) => self.lang.date(time),
            None => self.record.posted_at.clone(),
        }
    }

    /// Time since it was posted; the day if that is yet to come, as imports have it.
    pub(crate) fn posted_ago(&self) -> String {
        match Timestamp::parse(&self.record.posted_at) {
            Some(time) if time <= self.now => self.lang.ago(time, self.now),
            _ => self.posted(),
        }
    }

    /// Time of its posting, in machine-readable form.
    pub(crate) fn posted_at(&self) -> &str {
        &self.record.posted_at
    }

    /// Upstream's downloads and those of this service.
    pub(crate) fn downloads(&self) -> String {
        self.lang.number(self.downloads)
    }

    /// The same in words: `1 download`, `473 downloads`.
    pub(crate) fn downloads_in_words(&self) -> String {
        let word = match self.downloads {
            1 => self.lang.t("download", "descarga"),
            _ => self.lang.t("downloads", "descargas"),
        };
        format!("{} {word}", self.downloads())
    }
}

/// Puts the records of one release after the first of them, and marks them. The first ones keep
/// their order, and so do those of one release.
pub(crate) fn same_releases_together(hits: Vec<RecordView>) -> Vec<RecordView> {
    let mut hits = gathered(hits, RecordView::has_release_of);
    for idx in 1..hits.len() {
        hits[idx].is_same_release = hits[idx].has_release_of(&hits[idx - 1]);
    }
    hits
}

/// Puts the records of one title after the first of them, and gives them a head if they are
/// several.
pub(crate) fn below_titles(hits: Vec<RecordView>) -> Vec<RecordView> {
    let mut hits = gathered(hits, RecordView::has_title_of);
    let mut start = 0;
    let mut was_below_title = false;
    while start < hits.len() {
        let rest = &hits[start..];
        let count = rest.iter().take_while(|it| it.has_title_of(&rest[0]));
        let end = start + count.count();
        let group = &mut hits[start..end];
        let is_below_title = 1 < group.len();
        group[0].begins_card = was_below_title || is_below_title;
        if is_below_title {
            group[0].head = Some(common_path(group));
            for hit in group {
                hit.is_below_title = true;
            }
        }
        was_below_title = is_below_title;
        start = end;
    }
    hits
}

/// Path of the page that most records of a title have, the first of equals.
fn common_path(group: &[RecordView]) -> String {
    let count = |hit: &&RecordView| {
        let same = group.iter().filter(|it| it.title_path == hit.title_path);
        (!hit.title_path.is_empty(), same.count())
    };
    let common = group.iter().rev().max_by_key(count);
    common.map_or(String::new(), |hit| hit.title_path.clone())
}

/// Puts the records that belong together after the first of them. The first ones keep their order,
/// and so do those that belong together.
fn gathered(
    hits: Vec<RecordView>,
    are_one: impl Fn(&RecordView, &RecordView) -> bool,
) -> Vec<RecordView> {
    let mut ordered: Vec<RecordView> = Vec::with_capacity(hits.len());
    for hit in hits {
        let last = ordered.iter().rposition(|other| are_one(&hit, other));
        ordered.insert(last.map_or(ordered.len(), |idx| idx + 1), hit);
    }
    ordered
}

/// The packs of a season, newest first, each with the download of one episode out of it. Empty if
/// there is no such episode.
pub(crate) fn packs_with(
    request: &WebRequest,
    snapshot: &Snapshot,
    title: u64,
    slot: EpisodeSlot,
) -> Result<Vec<RecordView>, PageError> {
    let (Some(season), Some(episode)) = (slot.season, slot.episode) else {
        return Ok(Vec::new());
    };
    let page = ListPage::first(EPISODE_PACKS_MAX);
    let of_packs = TitlePart::Slot(EpisodeSlot {
        season: Some(season),
        episode: None,
    });
    let listing = snapshot.of_title(title, of_packs, page)?;
    let mut packs = RecordView::list(request, snapshot, &listing.docs)?;
    for pack in &mut packs {
        pack.text_query = format!("?season={season}&episode={episode}");
    }
    Ok(below_heading(packs, false))
}

/// The records of a page with their title as its heading, and the number of their episode if
/// `has_episode`.
pub(crate) fn below_heading(mut hits: Vec<RecordView>, has_episode: bool) -> Vec<RecordView> {
    for hit in &mut hits {
        hit.is_below_title = true;
        hit.names_episode = !has_episode;
    }
    hits
}

/// Label of a flag that is true.
fn flag_label(flag: Flag, lang: Lang) -> &'static str {
    match flag {
        Flag::HearingImpaired => "SDH",
        Flag::Forced => lang.t("Forced", "Forzados"),
        Flag::MachineTranslated => lang.t("Machine translation", "Traducción automática"),
    }
}

/// Path of the page of an uploader.
pub(crate) fn uploader_path(name: &str) -> String {
    format!("/uploader?name={}", params::encode(name))
}

/// The number of a catalog id as an address has it.
pub(crate) fn title_number(text: &str) -> Option<u64> {
    match CatalogTerm::parse(text) {
        CatalogTerm::Number(number) => Some(number),
        CatalogTerm::Nothing => None,
    }
}

/// The characters of a text that XML can hold.
pub(crate) fn xml_text(text: &str) -> String {
    let is_held = |c: &char| !c.is_control() && !matches!(c, '\u{FFFE}' | '\u{FFFF}');
    text.chars().filter(is_held).collect()
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
