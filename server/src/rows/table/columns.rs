//! Columns of tables by name, and the field that each fills (API.md 13.9).

use subcat_engine::fold;

use super::row::TableRow;
use crate::rows::nearest::nearest;

/// Fields of a table: those of records, the names of releases, and the path of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Id,
    VideoType,
    Title,
    Release,
    Season,
    Episode,
    Year,
    CatalogId,
    ParentCatalogId,
    Description,
    UploaderName,
    PostedAt,
    Downloads,
    IsActive,
    HearingImpaired,
    Forced,
    MachineTranslated,
    SourceReleaseId,
    Language,
    FileName,
    File,
}

/// A field, its name, and the other names of its columns. A name with a leading `!` is a column
/// with the opposite meaning.
struct KnownField {
    field: Field,
    name: &'static str,
    columns: &'static [&'static str],
}

const fn known(field: Field, name: &'static str, columns: &'static [&'static str]) -> KnownField {
    KnownField {
        field,
        name,
        columns,
    }
}

const FIELDS: &[KnownField] = &[
    known(Field::Id, "id", &[]),
    known(
        Field::VideoType,
        "video_type",
        &["MovieKind", "titleType", "type", "kind", "tipo"],
    ),
    known(
        Field::Title,
        "title",
        &["MovieName", "movie_name", "movie_title", "titulo"],
    ),
    known(
        Field::Release,
        "release",
        &[
            "releases",
            "release_name",
            "MovieReleaseName",
            "rls",
            "version",
        ],
    ),
    known(
        Field::Season,
        "season",
        &["SeriesSeason", "season_number", "temporada"],
    ),
    known(
        Field::Episode,
        "episode",
        &["SeriesEpisode", "episode_number", "episodio", "capitulo"],
    ),
    known(Field::Year, "year", &["MovieYear", "startYear", "anio"]),
    known(
        Field::CatalogId,
        "catalog_id",
        &["imdb_id", "imdb", "ImdbID", "tconst"],
    ),
    known(
        Field::ParentCatalogId,
        "parent_catalog_id",
        &["SeriesIMDBParent", "parentTconst"],
    ),
    known(
        Field::Description,
        "description",
        &["comment", "comments", "descripcion"],
    ),
    known(
        Field::UploaderName,
        "uploader_name",
        &["uploader", "author", "author_name", "nick", "usuario"],
    ),
    known(
        Field::PostedAt,
        "posted_at",
        &[
            "SubAddDate",
            "date",
            "upload_date",
            "uploaded_at",
            "fecha_subida",
            "fecha",
        ],
    ),
    known(
        Field::Downloads,
        "downloads",
        &["SubDownloadsCnt", "download_count", "descargas"],
    ),
    known(Field::IsActive, "is_active", &["!eliminado"]),
    known(Field::HearingImpaired, "hearing_impaired", &[]),
    known(Field::Forced, "forced", &[]),
    known(Field::MachineTranslated, "machine_translated", &[]),
    known(
        Field::SourceReleaseId,
        "source_release_id",
        &["IDSubtitle", "subscene_id", "subtitle_id", "sub_id"],
    ),
    known(
        Field::Language,
        "language",
        &["LanguageName", "lang", "idioma", "ISO639"],
    ),
    known(Field::FileName, "file_name", &[]),
    known(
        Field::File,
        "file",
        &["path", "file_path", "fileLink", "zip", "download"],
    ),
];

/// A name of a column as names are compared.
fn plain(name: &str) -> String {
    fold(name).replace(' ', "")
}

/// The known name that is nearest to one that is not known.
pub fn nearest_column(name: &str) -> Option<&'static str> {
    let columns = FIELDS.iter().flat_map(|known| known.columns);
    let columns = columns.map(|column| column.trim_start_matches('!'));
    let names = FIELDS.iter().map(|known| known.name);
    nearest(name, names.chain(columns))
}

/// Returns true if a column of this name fills a field.
pub(super) fn is_known(name: &str) -> bool {
    let name = plain(name);
    FIELDS.iter().any(|known| {
        let columns = known
            .columns
            .iter()
            .map(|column| column.trim_start_matches('!'));
        columns
            .chain([known.name])
            .any(|column| plain(column) == name)
    })
}

/// Values of one field as `--map` names them: `A|B`, `A+B`, `!A`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MapEntry {
    field: Field,
    columns: Vec<String>,
    join: Join,
    is_negated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Join {
    /// The first column that is not null counts.
    First,
    /// All are lines of one text.
    Lines,
}

/// Columns of fields as the command line names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnMap(Vec<MapEntry>);

/// An option `--map` that cannot be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ColumnMapError {
    /// No `=`, or nothing on one side of it.
    #[error("--map {0:?}: write FIELD=COLUMN")]
    Form(String),
    /// No field of a record.
    #[error("--map {0:?}: no record has this field{nearest}", nearest = shown_nearest(.0))]
    Field(String),
    /// The table has no such column.
    #[error("--map {0:?}: the table has no such column: it has {1}")]
    Column(String, String),
}

fn shown_nearest(name: &str) -> String {
    let names = FIELDS.iter().map(|known| known.name);
    nearest(name, names).map_or(String::new(), |name| format!(" (is it {name}?)"))
}

impl ColumnMap {
    /// Reads `title=Name,year=A|B,description=C+D,is_active=!E`.
    pub fn parse(text: &str) -> Result<Self, ColumnMapError> {
        let mut entries = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let form = || ColumnMapError::Form(part.trim().to_owned());
            let (name, columns) = part.split_once('=').ok_or_else(form)?;
            let (name, columns) = (name.trim(), columns.trim());
            let known = FIELDS.iter().find(|known| known.name == name);
            let known = known.ok_or_else(|| ColumnMapError::Field(name.to_owned()))?;
            let (is_negated, columns) = match columns.strip_prefix('!') {
                Some(columns) => (true, columns),
                None => (false, columns),
            };
            let join = if columns.contains('+') {
                Join::Lines
            } else {
                Join::First
            };
            let columns = columns.split(['|', '+']).map(|name| name.trim().to_owned());
            let columns: Vec<String> = columns.collect();
            if columns.iter().any(String::is_empty) {
                return Err(form());
            }
            entries.push(MapEntry {
                field: known.field,
                join,
                is_negated,
                columns,
            });
        }
        Ok(Self(entries))
    }

    /// Returns true if nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A column that fills a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Source {
    field: Field,
    column: usize,
    is_negated: bool,
    join: Join,
    /// True for a column that holds types of videos and nothing else.
    is_strict_type: bool,
    /// True for OpenSubtitles' year, which is one of films.
    is_of_films: bool,
}

/// The columns of one table and the fields that they fill, in order of precedence.
#[derive(Debug, Default)]
pub(super) struct ColumnPlan {
    generation: u64,
    sources: Vec<Source>,
    /// Columns that fill no field.
    pub(super) unused: Vec<usize>,
}

/// A cell and the rules of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlannedCell<'r> {
    pub(super) text: &'r str,
    pub(super) is_negated: bool,
    pub(super) is_line: bool,
    pub(super) is_strict_type: bool,
    pub(super) is_of_films: bool,
}

impl ColumnPlan {
    /// Returns true if it was made of the columns that the row has now.
    pub(super) fn is_of(&self, row: &TableRow) -> bool {
        self.generation == row.generation
    }

    /// The plan of a row's columns.
    ///
    /// Errors: the map names a column that is not there.
    pub(super) fn new(row: &TableRow, map: &ColumnMap) -> Result<Self, ColumnMapError> {
        let names: Vec<String> = row.columns.iter().map(|name| plain(name)).collect();
        let position = |name: &str| {
            let wanted = plain(name);
            names.iter().position(|name| *name == wanted)
        };
        let mut sources = Vec::new();
        for entry in &map.0 {
            for name in &entry.columns {
                let column = position(name)
                    .ok_or_else(|| ColumnMapError::Column(name.clone(), row.columns.join(", ")))?;
                sources.push(Source {
                    is_negated: entry.is_negated,
                    join: entry.join,
                    ..Source::plain(entry.field, column)
                });
            }
        }
        let is_mapped = |field| map.0.iter().any(|entry| entry.field == field);
        for known in FIELDS.iter().filter(|known| !is_mapped(known.field)) {
            for name in std::iter::once(&known.name).chain(known.columns) {
                let bare = name.trim_start_matches('!');
                // `MovieName` and `movie_name` are one name.
                let found = position(bare).filter(|column| {
                    let same = |source: &&Source| source.field == known.field;
                    !sources
                        .iter()
                        .filter(same)
                        .any(|source: &Source| source.column == *column)
                });
                if let Some(column) = found {
                    sources.push(Source {
                        is_negated: bare.len() < name.len(),
                        is_strict_type: matches!(bare, "video_type" | "MovieKind" | "titleType"),
                        is_of_films: bare == "MovieYear",
                        ..Source::plain(known.field, column)
                    });
                }
            }
        }
        let is_used = |column: &usize| sources.iter().any(|source| source.column == *column);
        Ok(Self {
            generation: row.generation,
            unused: (0..names.len()).filter(|column| !is_used(column)).collect(),
            sources,
        })
    }

    /// Returns true if a column fills one of these fields.
    pub(super) fn has_any(&self, fields: &[Field]) -> bool {
        self.sources
            .iter()
            .any(|source| fields.contains(&source.field))
    }

    /// Cells of a field, the one that counts first; nulls of JSON and SQL are left out.
    pub(super) fn cells<'r>(
        &'r self,
        field: Field,
        row: &'r TableRow,
    ) -> impl Iterator<Item = PlannedCell<'r>> {
        let sources = self
            .sources
            .iter()
            .filter(move |source| source.field == field);
        sources.filter_map(|source| {
            let text = row.cells.get(source.column)?.as_deref()?;
            Some(PlannedCell {
                text,
                is_negated: source.is_negated,
                is_line: source.join == Join::Lines,
                is_strict_type: source.is_strict_type,
                is_of_films: source.is_of_films,
            })
        })
    }
}

impl Source {
    const fn plain(field: Field, column: usize) -> Self {
        Self {
            field,
            column,
            is_negated: false,
            join: Join::First,
            is_strict_type: false,
            is_of_films: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: &[&str]) -> TableRow {
        let mut row = TableRow::default();
        row.set_columns(columns.iter().map(|name| (*name).to_owned()).collect());
        row.cells = columns
            .iter()
            .map(|name| Some((*name).to_owned()))
            .collect();
        row
    }

    fn cells(row: &TableRow, map: &str, field: Field) -> Vec<String> {
        let plan = ColumnPlan::new(row, &ColumnMap::parse(map).unwrap()).unwrap();
        plan.cells(field, row)
            .map(|cell| cell.text.to_owned())
            .collect()
    }

    #[test]
    fn columns_are_found_by_name() {
        let row = row(&[
            "ISO639",
            "Título",
            "Movie Name",
            "LanguageName",
            "Año ",
            "URL",
        ]);
        assert_eq!(cells(&row, "", Field::Title), ["Movie Name", "Título"]);
        assert_eq!(cells(&row, "", Field::Language), ["LanguageName", "ISO639"]);
        let plan = ColumnPlan::new(&row, &ColumnMap::default()).unwrap();
        assert_eq!(plan.unused, [4, 5]);
        assert!(is_known("movie name") && !is_known("saeson"));
    }

    #[test]
    fn a_map_goes_before_names() {
        let row = row(&["title", "Núm", "A", "B"]);
        let map = "title=a|B,source_release_id=num,description=A+B,is_active=!title";
        assert_eq!(cells(&row, map, Field::Title), ["A", "B"]);
        assert_eq!(cells(&row, map, Field::SourceReleaseId), ["Núm"]);
        let plan = ColumnPlan::new(&row, &ColumnMap::parse(map).unwrap()).unwrap();
        assert!(
            plan.cells(Field::Description, &row)
                .all(|cell| cell.is_line)
        );
        assert!(
            plan.cells(Field::IsActive, &row)
                .all(|cell| cell.is_negated)
        );
        assert!(plan.unused.is_empty());
    }

    #[test]
    fn a_map_that_makes_no_sense_is_refused() {
        let reason = |map: &str| ColumnMap::parse(map).unwrap_err().to_string();
        assert_eq!(reason("title"), "--map \"title\": write FIELD=COLUMN");
        assert_eq!(reason("title="), "--map \"title=\": write FIELD=COLUMN");
        assert_eq!(
            reason("titel=A"),
            "--map \"titel\": no record has this field (is it title?)"
        );
        let map = ColumnMap::parse("title=X").unwrap();
        let error = ColumnPlan::new(&row(&["a", "b"]), &map).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--map \"X\": the table has no such column: it has a, b"
        );
    }
}
