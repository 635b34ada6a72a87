//! The path of a file as a record (API.md 13.11).

use serde_json::{Map, Value};
use subcat_engine::{CorrectedPath, Language, PathName, PathRefusal, Timestamp, fold};

use super::corrections::Corrections;
use super::nfo::NfoIds;
use super::walk::{file_name_of, stem_of};

/// Inputs of the reading of a path.
pub(super) struct PathReader<'c> {
    /// Fields that override those read from the path.
    pub(super) corrections: &'c Corrections,
    /// Ids in files beside.
    pub(super) nfos: &'c NfoIds,
    /// Language of a path that names none.
    pub(super) language: &'c str,
    /// Languages that are loaded, by their first subtag; all if there are none.
    pub(super) languages: &'c [String],
    /// The last number that is a year.
    pub(super) year_last: u32,
}

/// The record that a path describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FolderRecord {
    /// Fields of the record in the form of an import, without identity and time.
    pub(super) fields: Map<String, Value>,
}

/// Reason why a path is not a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathRejection {
    /// The path is refused, for this reason.
    Refused(String),
    /// The path is hidden, or an extra.
    LeftOut,
    /// The path has an unwanted language.
    OtherLanguage,
}

/// Fields that are numbers.
const NUMBERS: &[&str] = &["season", "episode", "year", "downloads"];
/// Fields that are true or false.
const TRUTHS: &[&str] = &[
    "is_active",
    "hearing_impaired",
    "forced",
    "machine_translated",
];

impl PathReader<'_> {
    /// Reads a path below the folder.
    pub(super) fn read(&self, path: &str) -> Result<FolderRecord, PathRejection> {
        let correction = self.corrections.of(path);
        let has = |name: &str| correction.iter().any(|(field, _)| *field == name);
        let corrected = CorrectedPath {
            has_type: has("video_type"),
            has_title: has("title"),
            has_language: has("language"),
        };
        let name = match PathName::parse_corrected(path, self.year_last, corrected) {
            Ok(name) => name,
            Err(PathRefusal::Hidden | PathRefusal::Extra) => return Err(PathRejection::LeftOut),
            Err(refusal) => return Err(PathRejection::Refused(refusal.to_string())),
        };
        let mut fields = self.fields_of(path, &name);
        for (field, cell) in correction {
            fields.insert((*field).to_owned(), typed(field, cell));
        }
        let language = fields.get("language").and_then(Value::as_str).unwrap_or("");
        let primary = |tag: &str| Language::parse(tag).map(|tag| tag.primary());
        let is_wanted = |wanted: &String| primary(wanted) == primary(language);
        if !self.languages.is_empty() && !self.languages.iter().any(is_wanted) {
            return Err(PathRejection::OtherLanguage);
        }
        Ok(FolderRecord { fields })
    }

    fn fields_of(&self, path: &str, name: &PathName) -> Map<String, Value> {
        let mut fields = Map::new();
        let kind = if name.is_episode { "episode" } else { "movie" };
        fields.insert("video_type".into(), kind.into());
        fields.insert("title".into(), name.title.clone().into());
        let numbers = [
            ("season", name.season),
            ("episode", name.episode),
            ("year", name.year),
        ];
        for (field, number) in numbers {
            if let Some(number) = number {
                fields.insert(field.into(), number.into());
            }
        }
        let parent = name.parent_catalog_id.as_deref();
        let parent = parent.or_else(|| self.nfos.of_series(path).filter(|_| name.is_episode));
        let own = name.catalog_id.as_deref();
        let own = own.or_else(|| self.nfos.of_file(path, name));
        if let Some(id) = own.filter(|id| Some(*id) != parent) {
            fields.insert("catalog_id".into(), id.into());
        }
        if let Some(id) = parent {
            fields.insert("parent_catalog_id".into(), id.into());
        }
        let stem = stem_of(path);
        let description = match &name.folder {
            Some(folder) => format!("{folder}\n{stem}"),
            None => stem.to_owned(),
        };
        fields.insert("description".into(), description.into());
        let language = name.language.as_deref().unwrap_or(self.language);
        fields.insert("language".into(), language.into());
        fields.insert("file_name".into(), file_name_of(path).into());
        if name.is_hearing_impaired {
            fields.insert("hearing_impaired".into(), true.into());
        }
        if name.is_forced {
            fields.insert("forced".into(), true.into());
        }
        fields
    }
}

impl FolderRecord {
    /// A field as text, for tables.
    pub(super) fn text(&self, field: &str) -> String {
        match self.fields.get(field) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        }
    }

    /// Returns true if another file with the same content is one of the same video.
    pub(super) fn agrees_with(&self, other: &Self) -> bool {
        let same = |field: &str| self.fields.get(field) == other.fields.get(field);
        let is_same = ["video_type", "season", "episode", "language"]
            .into_iter()
            .all(same);
        is_same && fold(&self.text("title")) == fold(&other.text("title"))
    }

    /// Adds the name of another file with the same content to the description.
    pub(super) fn add_name(&mut self, path: &str) {
        let description = format!("{}\n{}", self.text("description"), stem_of(path));
        self.fields.insert("description".into(), description.into());
    }

    /// Puts the time of the file in, unless it was corrected.
    pub(super) fn set_time(&mut self, modified_nanos: i64) {
        let seconds = modified_nanos.div_euclid(1_000_000_000);
        let time = Timestamp::from_seconds(seconds).unwrap_or(Timestamp::EPOCH);
        self.set_missing("posted_at", time.to_string());
    }

    /// Puts a text in, unless it was corrected.
    pub(super) fn set_missing(&mut self, field: &str, text: String) {
        self.fields.entry(field).or_insert_with(|| text.into());
    }
}

/// A cell of the table of corrections in the type of its field. An invalid value is refused later,
/// with the record.
fn typed(field: &str, cell: &str) -> Value {
    if NUMBERS.contains(&field)
        && let Ok(number) = cell.trim_end_matches(".0").parse::<u64>()
    {
        return number.into();
    }
    if TRUTHS.contains(&field)
        && let Ok(truth) = cell.to_ascii_lowercase().parse::<bool>()
    {
        return truth.into();
    }
    cell.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, languages: &[String]) -> Result<String, PathRejection> {
        let reader = PathReader {
            corrections: &Corrections::default(),
            nfos: &NfoIds::default(),
            language: "es",
            languages,
            year_last: 2027,
        };
        let mut record = reader.read(path)?;
        record.set_time(1_900_000_000);
        Ok(Value::Object(record.fields).to_string())
    }

    #[test]
    fn a_path_becomes_the_fields_of_a_record() {
        assert_eq!(
            read("Movies/Ronin (1998)/Ronin (1998).en.srt", &[]).unwrap(),
            "{\"video_type\":\"movie\",\"title\":\"Ronin\",\"year\":1998,\
             \"description\":\"Ronin (1998).en\",\"language\":\"en\",\
             \"file_name\":\"Ronin (1998).en.srt\",\"posted_at\":\"1970-01-01T00:00:01Z\"}"
        );
        let record = read("tv/Fargo.S01E02.720p-A/Subs/2_Spanish.srt", &[]).unwrap();
        assert!(
            record.contains(r#""description":"Fargo.S01E02.720p-A\n2_Spanish""#),
            "{record}"
        );
    }

    #[test]
    fn refused_paths_say_why() {
        let refused = "neither year nor episode nor id, in name or folder";
        assert_eq!(
            read("x/Hola.srt", &[]),
            Err(PathRejection::Refused(refused.to_owned()))
        );
        assert_eq!(
            read(".x/Ronin (1998).srt", &[]),
            Err(PathRejection::LeftOut)
        );
        let wanted = ["en".to_owned()];
        assert_eq!(
            read("Ronin (1998).es.srt", &wanted),
            Err(PathRejection::OtherLanguage)
        );
        assert!(read("Ronin (1998).en.srt", &wanted).is_ok());
    }

    #[test]
    fn equal_contents_agree_on_the_video() {
        let reader = PathReader {
            corrections: &Corrections::default(),
            nfos: &NfoIds::default(),
            language: "es",
            languages: &[],
            year_last: 2027,
        };
        let mut one = reader.read("Ronin (1998).srt").unwrap();
        let other = reader.read("b/Ronin.1998.720p-A.srt").unwrap();
        assert!(one.agrees_with(&other));
        assert!(!one.agrees_with(&reader.read("Heat (1995).srt").unwrap()));
        one.add_name("b/Ronin.1998.720p-A.srt");
        assert_eq!(one.text("description"), "Ronin (1998)\nRonin.1998.720p-A");
    }
}
