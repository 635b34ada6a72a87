//! The texts of an item that follow from its title (API.md 20.10).

use std::borrow::Cow;
use std::collections::HashMap;

use subcat_engine::{fold, without_accents, words};

use super::item_request::ItemRequest;
use super::record::AddressRecord;
use super::title_names::title_names;
use crate::limits::TITLE_LINES_MAX;

/// The texts of an item that follow from its title.
pub(super) struct TitleText {
    /// The title in the spelling of the query, if it is one of the names; else the first name.
    pub(super) title: String,
    /// Its words, joined by `-`.
    pub(super) slug: String,
    /// The first release: lines, joined by LF.
    pub(super) lines: String,
}

/// The fields of a record that decide its texts.
#[derive(PartialEq, Eq, Hash)]
struct TitleFields<'a> {
    title: Cow<'a, str>,
    is_episode: bool,
    /// Year, season and episode, those of the request in place of the record's.
    year: Option<u32>,
    season: Option<u32>,
    episode: Option<u32>,
}

/// The texts of the titles of one answer: most of its items share one.
#[derive(Default)]
pub(super) struct TitleCache<'a>(HashMap<TitleFields<'a>, TitleText, foldhash::fast::RandomState>);

impl<'a> TitleCache<'a> {
    /// The texts of a record's title.
    pub(super) fn texts(
        &mut self,
        record: &AddressRecord<'a>,
        request: &ItemRequest<'_>,
    ) -> &TitleText {
        let fields = TitleFields::new(record, request);
        let make = |fields: &TitleFields<'_>| TitleText::new(fields, request);
        self.0.entry(fields).or_insert_with_key(make)
    }
}

impl<'a> TitleFields<'a> {
    fn new(record: &AddressRecord<'a>, request: &ItemRequest<'_>) -> Self {
        let (fields, is_episode) = (&record.fields, record.is_episode());
        let asked_year = request.year.filter(|_| !is_episode && request.is_by_id);
        Self {
            title: fields.title.clone(),
            is_episode,
            year: asked_year.or(fields.year.map(u32::from)),
            season: request.season.or(fields.season.map(u32::from)),
            episode: request.episode.or(fields.episode.map(u32::from)),
        }
    }

    /// ` S01E02`, or ` S01` without an episode; nothing for films and without a season.
    fn number(&self) -> String {
        match (self.season, self.episode) {
            _ if !self.is_episode => String::new(),
            (Some(season), Some(episode)) => format!(" S{season:02}E{episode:02}"),
            (Some(season), None) => format!(" S{season:02}"),
            (None, _) => String::new(),
        }
    }
}

impl TitleText {
    fn new(fields: &TitleFields<'_>, request: &ItemRequest<'_>) -> Self {
        let names = title_names(&fields.title, fields.is_episode);
        let asked = request.query.filter(|query| {
            let folded = query.folded;
            names.iter().any(|name| fold(name) == folded)
        });
        let title = asked.map_or(&*names[0], |query| query.text).to_owned();
        let slug = words(&fold(&title)).collect::<Vec<_>>().join("-");
        let lines = lines(fields, &names, request.is_by_id).join("\n");
        Self { title, slug, lines }
    }
}

/// The lines of the first release.
fn lines(fields: &TitleFields<'_>, names: &[String], is_by_id: bool) -> Vec<String> {
    let year = fields
        .year
        .map_or(String::new(), |year| format!(" ({year})"));
    let number = fields.number();
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        for name in [name.clone(), without_accents(name)] {
            let line = format!("{name}{year}{number}");
            if lines.len() < TITLE_LINES_MAX && !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    if fields.is_episode && is_by_id && fields.year.is_some() {
        lines.push(format!("{}{number}", names[0]));
    }
    lines
}
