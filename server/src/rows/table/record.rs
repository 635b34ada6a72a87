//! A row of a table becomes the fields of a record, or a reason why not (API.md 13.9).

use serde::Serialize;
use subcat_engine::fold;

use super::cell::{self, SlotCell};
use super::columns::{ColumnPlan, Field};
use super::date::{DateCell, DateOrder, date};
use super::language::{primary, tag_of_cell};
use super::reading::{NameReading, read_name};
use super::row::TableRow;

/// Facts about all rows that the command line states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowOptions {
    /// Order of day and month.
    pub dates: Option<DateOrder>,
    /// Language of rows that name none.
    pub language: Option<String>,
    /// Languages that are loaded, by their first subtag; all if there are none.
    pub languages: Vec<String>,
    /// The year after this one: later numbers are no years in names.
    pub next_year: u16,
}

/// Fields of the record that a row describes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TableRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) video_type: &'static str,
    pub(super) title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) season: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) episode: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) year: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) catalog_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent_catalog_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uploader_name: Option<String>,
    pub(super) posted_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) downloads: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) is_active: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hearing_impaired: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) forced: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) machine_translated: Option<bool>,
    /// Identifier of the file, as in the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_release_id: Option<String>,
    pub(super) language: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_name: Option<String>,
    /// Path of the file, below the folder of files.
    #[serde(skip)]
    pub file: Option<String>,
}

/// Result of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Converted {
    /// The record of the row.
    Record(Box<TableRecord>),
    /// The row is refused, for this reason.
    Refused(String),
    /// The row has an unwanted language.
    LeftOut,
    /// The import ends: a date can be read in two ways.
    NeedsDateOrder,
}

/// Reason to end an import with dates that can be read in two ways.
pub(super) const NEEDS_DATE_ORDER: &str =
    "posted_at: say whether days or months come first (--dates dmy or mdy)";

/// Season and episode of a row while it is read.
#[derive(Debug, Clone, Copy, Default)]
struct EpisodePlace {
    season: Option<u16>,
    episode: Option<u16>,
    /// True if season or episode is 0 and the row is a special: both stay empty.
    is_special: bool,
}

/// Converts a row; `plan` is that of its columns.
///
/// Source: API.md 13.9; of several refusals the first by rule.
pub(super) fn convert(row: &TableRow, plan: &ColumnPlan, options: &RowOptions) -> Converted {
    match record(row, plan, options) {
        Ok(record) => Converted::Record(Box::new(record)),
        Err(CellRejection::Refused(reason)) => Converted::Refused(reason),
        Err(CellRejection::LeftOut) => Converted::LeftOut,
        Err(CellRejection::NeedsDateOrder) => Converted::NeedsDateOrder,
    }
}

enum CellRejection {
    Refused(String),
    LeftOut,
    NeedsDateOrder,
}

fn refused(field: &str, value: &str) -> CellRejection {
    CellRejection::Refused(format!("{field}: {}", value.trim()))
}

fn record(
    row: &TableRow,
    plan: &ColumnPlan,
    options: &RowOptions,
) -> Result<TableRecord, CellRejection> {
    let cells = Cells { row, plan };
    let place = cells.place()?;
    let is_active = cells.truth(Field::IsActive, "is_active")?;
    let hearing_impaired = cells.truth(Field::HearingImpaired, "hearing_impaired")?;
    let forced = cells.truth(Field::Forced, "forced")?;
    let machine_translated = cells.truth(Field::MachineTranslated, "machine_translated")?;
    let stated_type = cells.stated_type()?;
    let posted_at = cells.posted_at(options)?;
    let language = cells.language(options)?;
    let mut draft = Draft {
        place,
        stated_type,
        title: cells.title(),
        year: cells.year(true),
        notes: Vec::new(),
    };
    let has_year_of_films_only = draft.year.is_some() && cells.year(false).is_none();
    draft.read_title(options.next_year);
    let releases = cells.lines(Field::Release);
    draft.read_releases(&releases, options.next_year);
    let is_episode = draft.is_episode();
    if is_episode && has_year_of_films_only && draft.year == cells.year(true) {
        draft.year = None;
    }
    let title = draft
        .title
        .ok_or_else(|| CellRejection::Refused("no title".to_owned()))?;
    let file = cells.file()?;
    let (id, source_release_id) = cells.ids();
    let parent_catalog_id = cells.catalog_id(Field::ParentCatalogId);
    let catalog_id = cells.catalog_id(Field::CatalogId);
    let mut notes = releases;
    notes.extend(draft.notes);
    notes.extend(cells.description());
    let file_name = cells.text(Field::FileName);
    Ok(TableRecord {
        id,
        video_type: if is_episode { "episode" } else { "movie" },
        title,
        season: draft.place.season,
        episode: draft.place.episode,
        year: draft.year,
        catalog_id: catalog_id.filter(|id| Some(id) != parent_catalog_id.as_ref()),
        parent_catalog_id,
        description: Some(notes.join("\n")).filter(|notes| !notes.is_empty()),
        uploader_name: cells.text(Field::UploaderName),
        posted_at,
        downloads: cells.downloads(),
        // Active is the default, which is left out.
        is_active: is_active.filter(|is_active| !is_active),
        hearing_impaired,
        forced,
        machine_translated,
        source_release_id,
        language,
        file_name: file_name.or_else(|| file.as_deref().map(last_part)),
        file,
    })
}

fn last_part(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

/// Cells of one row by field.
struct Cells<'r> {
    row: &'r TableRow,
    plan: &'r ColumnPlan,
}

impl Cells<'_> {
    fn place(&self) -> Result<EpisodePlace, CellRejection> {
        let season = self.slot(Field::Season, "season", 's')?;
        let episode = self.slot(Field::Episode, "episode", 'e')?;
        let number = |slot| match slot {
            SlotCell::Number(number) => Some(number),
            _ => None,
        };
        let is_special = matches!(
            (season, episode),
            (SlotCell::Zero, SlotCell::Number(_)) | (SlotCell::Number(_), SlotCell::Zero)
        );
        if is_special && season == SlotCell::Zero {
            return Ok(EpisodePlace {
                is_special,
                ..EpisodePlace::default()
            });
        }
        Ok(EpisodePlace {
            season: number(season),
            episode: number(episode),
            is_special: false,
        })
    }

    fn slot(&self, field: Field, name: &str, prefix: char) -> Result<SlotCell, CellRejection> {
        for cell in self.plan.cells(field, self.row) {
            match cell::slot(cell.text, prefix) {
                SlotCell::Empty => {}
                SlotCell::Unreadable => return Err(refused(name, cell.text)),
                slot => return Ok(slot),
            }
        }
        Ok(SlotCell::Empty)
    }

    fn truth(&self, field: Field, name: &str) -> Result<Option<bool>, CellRejection> {
        for cell in self.plan.cells(field, self.row) {
            match cell::truth(cell.text) {
                Ok(None) => {}
                Ok(Some(truth)) => return Ok(Some(truth != cell.is_negated)),
                Err(()) => return Err(refused(name, cell.text)),
            }
        }
        Ok(None)
    }

    fn stated_type(&self) -> Result<Option<bool>, CellRejection> {
        for cell in self.plan.cells(Field::VideoType, self.row) {
            if cell::is_null(cell.text) {
                continue;
            }
            match cell::is_episode_type(cell.text) {
                Some(is_episode) => return Ok(Some(is_episode)),
                None if cell.is_strict_type => return Err(refused("video_type", cell.text)),
                None => {}
            }
        }
        Ok(None)
    }

    fn posted_at(&self, options: &RowOptions) -> Result<String, CellRejection> {
        for cell in self.plan.cells(Field::PostedAt, self.row) {
            if cell::is_null(cell.text) {
                continue;
            }
            match date(cell.text, options.dates) {
                DateCell::Empty => {}
                DateCell::Time(time) => return Ok(time.to_string()),
                DateCell::NeedsOrder => return Err(CellRejection::NeedsDateOrder),
                DateCell::Unreadable => {
                    return Err(CellRejection::Refused("posted_at: no date".to_owned()));
                }
            }
        }
        Ok(subcat_engine::Timestamp::EPOCH.to_string())
    }

    fn language(&self, options: &RowOptions) -> Result<String, CellRejection> {
        let mut unread = None;
        let mut tag = None;
        for cell in self.plan.cells(Field::Language, self.row) {
            if cell::is_null(cell.text) {
                continue;
            }
            tag = tag_of_cell(cell.text);
            if tag.is_some() {
                break;
            }
            unread = unread.or(Some(cell.text));
        }
        let tag = match (tag, unread) {
            (Some(tag), _) => tag,
            (None, Some(name)) => return Err(refused("language", name)),
            (None, None) => options.language.clone().unwrap_or_else(|| "es".to_owned()),
        };
        let is_wanted = |wanted: &String| primary(wanted) == primary(&tag);
        if !options.languages.is_empty() && !options.languages.iter().any(is_wanted) {
            return Err(CellRejection::LeftOut);
        }
        Ok(tag)
    }

    fn title(&self) -> Option<String> {
        let mut cells = self.plan.cells(Field::Title, self.row);
        cells.find_map(|cell| cell::title(cell.text))
    }

    /// The year, with or without that of a column of films.
    fn year(&self, of_films_too: bool) -> Option<u16> {
        let cells = self.plan.cells(Field::Year, self.row);
        let mut cells = cells.filter(|cell| of_films_too || !cell.is_of_films);
        cells.find_map(|cell| cell::year(cell.text))
    }

    fn catalog_id(&self, field: Field) -> Option<String> {
        let mut cells = self.plan.cells(field, self.row);
        cells.find_map(|cell| cell::catalog_id(cell.text))
    }

    fn downloads(&self) -> Option<u32> {
        let mut cells = self.plan.cells(Field::Downloads, self.row);
        cells.find_map(|cell| cell::downloads(cell.text))
    }

    /// The first text of a field, or all of them as lines if the field takes several.
    fn text(&self, field: Field) -> Option<String> {
        let lines = self.lines(field);
        Some(lines.join("\n")).filter(|text| !text.is_empty())
    }

    fn description(&self) -> Option<String> {
        self.text(Field::Description)
    }

    fn lines(&self, field: Field) -> Vec<String> {
        let mut lines = Vec::new();
        for cell in self.plan.cells(field, self.row) {
            if !lines.is_empty() && !cell.is_line {
                break;
            }
            let texts = cell::text(cell.text);
            let texts = texts.iter().flat_map(|text| text.lines());
            lines.extend(texts.map(|line| line.trim().to_owned()));
        }
        if field == Field::Release {
            lines.retain(|line| !line.is_empty());
        }
        lines
    }

    /// The record's id, and that of its file: a column `id` may hold either.
    fn ids(&self) -> (Option<String>, Option<String>) {
        let mut release = self.plan.cells(Field::SourceReleaseId, self.row);
        let release = release.find_map(|cell| cell::release_id(cell.text));
        let mut id = self.plan.cells(Field::Id, self.row);
        let Some(id) = id.find_map(|cell| cell::release_id(cell.text)) else {
            return (None, release);
        };
        if subcat_engine::RecordId::parse(&id).is_some() {
            return (Some(id), release);
        }
        (None, release.or(Some(id)))
    }

    /// A path below the folder of files.
    fn file(&self) -> Result<Option<String>, CellRejection> {
        let cells = self.plan.cells(Field::File, self.row);
        let Some(path) = cells
            .map(|cell| cell.text.trim())
            .find(|path| !cell::is_null(path))
        else {
            return Ok(None);
        };
        let mut parts = path.split(['/', '\\']);
        let is_below = !path.starts_with(['/', '\\']) && !path.contains('\0');
        if !is_below || parts.any(|part| part == "..") {
            return Err(refused("file", path));
        }
        Ok(Some(path.to_owned()))
    }
}

/// The fields that names may fill.
struct Draft {
    place: EpisodePlace,
    /// True for an episode, false for a film, by the column of types.
    stated_type: Option<bool>,
    title: Option<String>,
    year: Option<u16>,
    /// Lines for the beginning of the description.
    notes: Vec<String>,
}

impl Draft {
    fn has_place(&self) -> bool {
        self.place.season.is_some() || self.place.episode.is_some() || self.place.is_special
    }

    fn is_episode(&self) -> bool {
        self.stated_type.unwrap_or_else(|| self.has_place())
    }

    /// Takes apart a title that holds more than that.
    fn read_title(&mut self, next_year: u16) {
        let is_of_series = self.has_place() || self.stated_type == Some(true);
        if is_of_series
            && let Some(title) = &self.title
            && let Some((show, rest)) = title.strip_prefix('"').and_then(|t| t.split_once('"'))
            && !show.trim().is_empty()
        {
            let rest = rest.trim();
            self.notes
                .extend(Some(rest.to_owned()).filter(|rest| !rest.is_empty()));
            self.title = Some(show.trim().to_owned());
        }
        let is_placed = self.place.season.is_some() && self.place.episode.is_some();
        if is_placed || self.place.is_special {
            return;
        }
        let Some(title) = &self.title else {
            return;
        };
        let Some(reading) = read_name(title, next_year) else {
            return;
        };
        if reading.is_episode {
            self.take_episode(reading);
        } else {
            self.take_film(reading);
        }
    }

    fn take_episode(&mut self, reading: NameReading) {
        let is_other = |cell: Option<u16>, read: Option<u16>| {
            cell.is_some_and(|cell| read.is_some_and(|read| read != cell))
        };
        if self.stated_type == Some(false) || is_other(self.place.season, reading.season) {
            return;
        }
        self.stated_type = Some(true);
        self.place.season = self.place.season.or(reading.season);
        self.place.episode = self.place.episode.or(reading.episode);
        self.year = self.year.or(reading.year);
        self.title = reading.title.or(self.title.take());
    }

    fn take_film(&mut self, reading: NameReading) {
        if let Some(year) = reading.year {
            let differs = self.year.is_some_and(|own| own != year);
            if differs || !reading.is_year_sure {
                return;
            }
            self.year = Some(year);
        }
        self.title = reading.title.or(self.title.take());
    }

    /// Fills gaps with what all recognised releases agree on, if they are of this title.
    fn read_releases(&mut self, releases: &[String], next_year: u16) {
        let readings: Vec<NameReading> = releases
            .iter()
            .filter_map(|release| read_name(release, next_year))
            .filter(|reading| self.may_be_of(reading))
            .collect();
        let title = |reading: &NameReading| reading.title.as_deref().map(fold);
        let Some(wanted) = self
            .title
            .as_deref()
            .map(fold)
            .or_else(|| common(&readings, title))
        else {
            return;
        };
        if readings.is_empty()
            || readings
                .iter()
                .any(|one| title(one).is_some_and(|t| t != wanted))
        {
            return;
        }
        if self.title.is_none() {
            self.title = readings.iter().find_map(|reading| reading.title.clone());
        }
        self.year = self
            .year
            .or_else(|| common(&readings, |reading| reading.year));
        if self.stated_type == Some(false) || self.place.is_special {
            return;
        }
        let season = common(&readings, |reading| reading.season);
        let is_same = self.place.season.is_none() || self.place.season == season;
        if is_same {
            self.place.season = season.or(self.place.season);
            let episode = common(&readings, |reading| reading.episode);
            self.place.episode = self.place.episode.or(episode);
        }
        if self.stated_type.is_none() && readings.iter().all(|reading| reading.is_episode) {
            self.stated_type = Some(true);
        }
    }

    /// Returns true if a release is of the type that the row has by now.
    fn may_be_of(&self, reading: &NameReading) -> bool {
        match self.stated_type {
            Some(is_episode) => is_episode == reading.is_episode,
            None => !self.has_place() || reading.is_episode,
        }
    }
}

/// The value that all have that have one.
fn common<T: PartialEq>(
    readings: &[NameReading],
    value: impl Fn(&NameReading) -> Option<T>,
) -> Option<T> {
    let mut values = readings.iter().filter_map(value);
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::columns::ColumnMap;
    use super::*;

    /// The record of a row as JSON, or the reason why it is none.
    fn read(cells: &[(&str, &str)]) -> String {
        let mut row = TableRow::default();
        row.set_columns(cells.iter().map(|(name, _)| (*name).to_owned()).collect());
        row.cells = cells
            .iter()
            .map(|(_, cell)| Some((*cell).to_owned()))
            .collect();
        let plan = ColumnPlan::new(&row, &ColumnMap::default()).unwrap();
        let options = RowOptions {
            next_year: 2027,
            ..RowOptions::default()
        };
        match convert(&row, &plan, &options) {
            Converted::Record(record) => {
                let text = serde_json::to_string(&record).unwrap();
                let text = text.replace(r#","posted_at":"1970-01-01T00:00:00Z""#, "");
                text.replace(r#","language":"es""#, "")
            }
            Converted::Refused(reason) => reason,
            other => format!("{other:?}"),
        }
    }

    fn check(cells: &[(&str, &str)], expected: &str) {
        assert_eq!(read(cells), expected, "{cells:?}");
    }

    #[test]
    fn titles_are_read_where_cells_leave_gaps() {
        check(
            &[("titulo", "Ronin (1998)")],
            r#"{"video_type":"movie","title":"Ronin","year":1998}"#,
        );
        check(
            &[("titulo", "Ronin (1998)"), ("year", "1999")],
            r#"{"video_type":"movie","title":"Ronin (1998)","year":1999}"#,
        );
        check(
            &[("titulo", "Fargo S02E03"), ("season", "2")],
            r#"{"video_type":"episode","title":"Fargo","season":2,"episode":3}"#,
        );
        check(
            &[("titulo", "Fargo S02E03"), ("season", "1")],
            r#"{"video_type":"episode","title":"Fargo S02E03","season":1}"#,
        );
        check(
            &[("titulo", "Fargo S02E03"), ("tipo", "film")],
            r#"{"video_type":"movie","title":"Fargo S02E03"}"#,
        );
        check(
            &[("titulo", "\"Fargo\" Loplop"), ("tipo", "serie")],
            r#"{"video_type":"episode","title":"Fargo","description":"Loplop"}"#,
        );
        check(
            &[("titulo", "Fargo"), ("season", "0"), ("episode", "2")],
            r#"{"video_type":"episode","title":"Fargo"}"#,
        );
    }

    #[test]
    fn releases_fill_gaps_when_they_agree() {
        let releases = "Fargo.S01E02.720p-A\nFargo.S01E02.1080p-B";
        check(
            &[("titulo", "Fargo"), ("rls", releases), ("comment", "Hola")],
            "{\"video_type\":\"episode\",\"title\":\"Fargo\",\"season\":1,\"episode\":2,\
             \"description\":\"Fargo.S01E02.720p-A\\nFargo.S01E02.1080p-B\\nHola\"}",
        );
        let releases = "Fargo.S01E02.720p-A\nFargo.S01E03.720p-A";
        check(
            &[("titulo", "Fargo"), ("rls", releases)],
            "{\"video_type\":\"episode\",\"title\":\"Fargo\",\"season\":1,\
             \"description\":\"Fargo.S01E02.720p-A\\nFargo.S01E03.720p-A\"}",
        );
        check(
            &[("rls", "Ronin.1998.720p-A")],
            "{\"video_type\":\"movie\",\"title\":\"Ronin\",\"year\":1998,\
             \"description\":\"Ronin.1998.720p-A\"}",
        );
    }

    #[test]
    fn refusals_name_field_and_value() {
        check(&[("titulo", "A"), ("episode", "5-6")], "episode: 5-6");
        check(
            &[("titulo", "A"), ("is_active", "maybe")],
            "is_active: maybe",
        );
        check(
            &[("titulo", "A"), ("MovieKind", "game")],
            "video_type: game",
        );
        check(&[("titulo", "A"), ("date", "ayer")], "posted_at: no date");
        check(&[("titulo", "A"), ("lang", "Klingon")], "language: Klingon");
        check(&[("titulo", "<b></b>")], "no title");
        check(&[("titulo", "A"), ("file", "../b.srt")], "file: ../b.srt");
        check(&[("titulo", "A"), ("file", "/b.srt")], "file: /b.srt");
        check(
            &[("titulo", ""), ("lang", "und"), ("season", "x")],
            "season: x",
        );
    }

    #[test]
    fn ids_go_where_they_belong() {
        check(
            &[("id", "7"), ("titulo", "A"), ("imdb", "903747")],
            r#"{"video_type":"movie","title":"A","catalog_id":"tt0903747","source_release_id":"7"}"#,
        );
        check(
            &[
                ("id", "2906d866-ed83-508c-b6e5-4eed344c9f5e"),
                ("titulo", "A"),
                ("imdb", "1"),
                ("parentTconst", "tt0000001"),
                ("tipo", "tv"),
            ],
            "{\"id\":\"2906d866-ed83-508c-b6e5-4eed344c9f5e\",\"video_type\":\"episode\",\
             \"title\":\"A\",\"parent_catalog_id\":\"tt0000001\"}",
        );
    }
}
