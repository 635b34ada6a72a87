//! The items of an answer below an address (API.md 20.10).

use std::sync::Arc;

use bytes::BytesMut;

use super::item::{ID_BYTES, ID_START, IDS_BYTES};
use super::item_request::{AskedTitle, ItemRequest};
use super::item_title::title_fields;
use super::json::{write_number, write_quoted};
use crate::cache::{AddressItem, ItemTitle};

/// A line break in JSON.
const LINE_BREAK: &[u8] = b"\\n";
/// Memory that the lines of a first release begin with.
const LINES_BYTES: usize = 256;
/// Memory for the end of a URL.
const URL_END_BYTES: usize = 64;

/// Writes the items of one answer: prepared items, with the parts of the request between theirs.
pub(super) struct ItemWriter<'r> {
    request: ItemRequest<'r>,
    /// Part of a download's URL behind the id, and the end of an item.
    url_end: Vec<u8>,
    /// Title and numbers of the last item.
    last: Option<(Arc<ItemTitle>, ShownNumbers)>,
    /// Fields of the title of the last item, if the title of the request is one of its names.
    asked_fields: Option<Vec<u8>>,
    /// Lines of the first release of the last item: most items of an answer have the same.
    lines: Vec<u8>,
}

/// Year, season and episode of a record in the lines of its first release, those of the request in
/// place of the record's.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ShownNumbers {
    year: Option<u32>,
    season: Option<u32>,
    episode: Option<u32>,
}

impl<'r> ItemWriter<'r> {
    /// A writer of the items of a request.
    pub(super) fn new(request: ItemRequest<'r>) -> Self {
        Self {
            url_end: url_end(&request),
            request,
            last: None,
            asked_fields: None,
            lines: Vec::with_capacity(LINES_BYTES),
        }
    }

    /// The title of the last item.
    pub(super) fn last_title(&self) -> Option<&Arc<ItemTitle>> {
        self.last.as_ref().map(|(title, _)| title)
    }

    /// Appends an item with its download count of now.
    pub(super) fn write(&mut self, item: &AddressItem, downloads: u64, out: &mut BytesMut) {
        self.turn_to(item);
        let json = &*item.json;
        out.extend_from_slice(&json[..IDS_BYTES]);
        let own_fields = &item.title.fields;
        out.extend_from_slice(self.asked_fields.as_deref().unwrap_or(own_fields));
        match self.request.language {
            None => out.extend_from_slice(&json[IDS_BYTES..item.release_start]),
            Some(language) => {
                out.extend_from_slice(&json[IDS_BYTES..item.language.start]);
                write_quoted(out, language);
                out.extend_from_slice(&json[item.language.end..item.release_start]);
            }
        }
        out.extend_from_slice(&self.lines);
        out.extend_from_slice(&json[item.release_start..]);
        write_number(out, downloads);
        out.extend_from_slice(b",\"download_url\":\"");
        out.extend_from_slice(self.request.base.as_bytes());
        out.extend_from_slice(&json[ID_START..ID_START + ID_BYTES]);
        out.extend_from_slice(&self.url_end);
    }

    /// Makes the parts that follow from title and numbers of an item, unless they are those of the
    /// last one.
    fn turn_to(&mut self, item: &AddressItem) {
        let (title, numbers) = (&item.title, ShownNumbers::new(item, &self.request));
        if let Some((last, last_numbers)) = &self.last
            && Arc::ptr_eq(last, title)
            && *last_numbers == numbers
        {
            return;
        }
        let is_name = |asked: &AskedTitle<'_>| {
            let mut names = title.folded_names.split('\n');
            names.any(|name| name == asked.folded)
        };
        let asked = self.request.query.filter(is_name);
        self.asked_fields = asked.map(|asked| title_fields(asked.text, asked.folded));
        self.write_lines(title, numbers);
        self.last = Some((Arc::clone(title), numbers));
    }

    /// Writes the lines of the first release anew.
    fn write_lines(&mut self, title: &ItemTitle, numbers: ShownNumbers) {
        let mut starts = title.line_starts.split(|byte| *byte == 0);
        let first = starts.next().unwrap_or_default();
        let lines = &mut self.lines;
        lines.clear();
        lines.extend_from_slice(first);
        let year_start = lines.len();
        numbers.write_year(lines);
        let season_start = lines.len();
        if title.is_episode {
            numbers.write_season(lines);
        }
        let end = lines.len();
        for start in starts {
            lines.extend_from_slice(LINE_BREAK);
            lines.extend_from_slice(start);
            lines.extend_from_within(year_start..end);
        }
        // The year of a series is told differently here and there: its id is certain.
        if title.is_episode && self.request.is_by_id && numbers.year.is_some() {
            lines.extend_from_slice(LINE_BREAK);
            lines.extend_from_slice(first);
            lines.extend_from_within(season_start..end);
        }
    }
}

impl ShownNumbers {
    fn new(item: &AddressItem, request: &ItemRequest<'_>) -> Self {
        let is_film_by_id = request.is_by_id && !item.title.is_episode;
        let asked_year = request.year.filter(|_| is_film_by_id);
        Self {
            year: asked_year.or(item.year.map(u32::from)),
            season: request.season.or(item.season.map(u32::from)),
            episode: request.episode.or(item.episode.map(u32::from)),
        }
    }

    /// Appends ` (YEAR)`, if it is known.
    fn write_year(self, out: &mut Vec<u8>) {
        if let Some(year) = self.year {
            out.extend_from_slice(b" (");
            write_number(out, year);
            out.push(b')');
        }
    }

    /// Appends ` S01E02`, or ` S01` without an episode; nothing without a season.
    fn write_season(self, out: &mut Vec<u8>) {
        if let Some(season) = self.season {
            out.extend_from_slice(b" S");
            write_two_digits(season, out);
            if let Some(episode) = self.episode {
                out.push(b'E');
                write_two_digits(episode, out);
            }
        }
    }
}

/// Appends a number with two digits or more.
fn write_two_digits(number: u32, out: &mut Vec<u8>) {
    if number < 10 {
        out.push(b'0');
    }
    write_number(out, number);
}

/// The end of the URL of a download, with the query string that names an episode, and of the item.
fn url_end(request: &ItemRequest<'_>) -> Vec<u8> {
    let mut end = Vec::with_capacity(URL_END_BYTES);
    end.extend_from_slice(b"/download");
    if let Some(season) = request.season {
        end.extend_from_slice(b"?season=");
        write_number(&mut end, season);
        if let Some(episode) = request.episode {
            end.extend_from_slice(b"&episode=");
            write_number(&mut end, episode);
        }
    }
    end.extend_from_slice(b"\"}");
    end
}
