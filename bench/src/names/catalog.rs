//! A catalog that is made from titles: of each a film, a series, a series without seasons or a
//! daily one, with decoys beside it.

use std::collections::HashSet;

use subcat_engine::{
    Named, Number, QueryName, Record, RecordId, Snapshot, VideoType, Year,
    internals::{Segment, SegmentBuilder, Tombstones, title_key},
};

use crate::error::{BenchError, Result};

/// Seasons of a series, and episodes of each.
const SEASONS: u16 = 3;
const EPISODES: u16 = 13;
/// Episodes of a series without seasons.
const NUMBERS: u16 = 30;
/// Days of a daily series.
const DAYS: u16 = 9;
/// Words that make a decoy of a title.
const DECOY_WORDS: [&str; 2] = ["Nights", "Returns"];
/// Years between a film and the other one of its title.
const REMAKE_YEARS: u16 = 20;

/// Facts of a record by which a name can ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its title.
    pub title: String,
    /// The year of a film, or of a series.
    pub year: u16,
    /// The season; 0 for none.
    pub season: u16,
    /// The episode; 0 for none.
    pub episode: u16,
    /// Day of March 2019 of a daily episode; 0 for none.
    pub day: u16,
    /// True for a film.
    pub is_film: bool,
    /// True for a record that no name asks for.
    pub is_decoy: bool,
}

/// Records, the facts of each, and a snapshot of them.
pub struct NameCatalog {
    /// The facts; the place of a record's is its id.
    pub subjects: Vec<Subject>,
    /// The records, to be searched.
    pub snapshot: Snapshot,
}

impl NameCatalog {
    /// A catalog of these titles, but those whose title keys are equal to others' and those that
    /// are names themselves: `Monk S03E02`. A title that tells the year of its film, `Heat (1995)`,
    /// is taken without it: a series is not of that year.
    pub fn new(titles: &[String]) -> Result<Self> {
        let mut keys = HashSet::new();
        let mut subjects = Vec::new();
        let are_names = |title: &&String| QueryName::parse(title).named != Named::Nothing;
        let titles = titles.iter().filter(|title| !are_names(title));
        let titles = titles.map(|title| without_year(title));
        let distinct = titles.filter(|title| keys.insert(title_key(title)));
        for (idx, title) in distinct.enumerate() {
            add_subjects(title, idx, &mut subjects);
        }
        let mut builder = SegmentBuilder::new();
        for (idx, subject) in subjects.iter().enumerate() {
            let record = record(idx, subject);
            builder
                .add(&record)
                .map_err(BenchError::on("add a record"))?;
        }
        let mut bytes = Vec::new();
        let finished = builder.finish(&mut bytes);
        finished.map_err(BenchError::on("build the index"))?;
        let segment = Segment::open(bytes.into(), "names");
        let segment = segment.map_err(BenchError::on("open the index"))?;
        let part = (segment.into(), Tombstones::new().into());
        Ok(Self {
            subjects,
            snapshot: Snapshot::new(1, vec![part]),
        })
    }

    /// The facts of a record of the catalog. Panics for an id of another one.
    pub fn subject(&self, id: RecordId) -> &Subject {
        let number = u128::from_be_bytes(*id.as_bytes());
        &self.subjects[number as usize]
    }
}

/// A title without a year in brackets, and what stands behind it: `Heat (1995) aka Fuego`.
fn without_year(title: &str) -> &str {
    let is_year = |text: &str| text.parse().ok().and_then(Year::new).is_some();
    match title.rsplit_once(" (") {
        Some((name, rest)) if rest.split_once(')').is_some_and(|(year, _)| is_year(year)) => name,
        _ => title,
    }
}

fn add_subjects(title: &str, idx: usize, subjects: &mut Vec<Subject>) {
    let year = 1950 + (idx % 60) as u16;
    let film = Subject {
        title: title.to_string(),
        year,
        season: 0,
        episode: 0,
        day: 0,
        is_film: true,
        is_decoy: false,
    };
    let decoy = |title: &str, season, episode| Subject {
        title: title.to_string(),
        season,
        episode,
        is_film: season == 0,
        is_decoy: true,
        ..film.clone()
    };
    for word in DECOY_WORDS {
        let title = format!("{title} {word}");
        subjects.extend([
            decoy(&title, 0, 0),
            decoy(&title, 1, 4),
            decoy(&title, 2, 4),
        ]);
    }
    match idx % 4 {
        0 => {
            subjects.push(Subject {
                year: year + REMAKE_YEARS,
                ..film.clone()
            });
            subjects.push(film);
        }
        1 => add_series(&film, subjects),
        2 => subjects.extend((1..=NUMBERS).map(|episode| Subject {
            season: 1,
            episode,
            is_film: false,
            ..film.clone()
        })),
        _ => subjects.extend((1..=DAYS).map(|day| Subject {
            day,
            is_film: false,
            ..film.clone()
        })),
    }
}

fn add_series(film: &Subject, subjects: &mut Vec<Subject>) {
    for season in 1..=SEASONS {
        subjects.extend((0..=EPISODES).map(|episode| Subject {
            season,
            episode,
            is_film: false,
            ..film.clone()
        }));
    }
}

fn record(idx: usize, subject: &Subject) -> Record {
    let id = RecordId::from_bytes((idx as u128).to_be_bytes());
    Record {
        video_type: if subject.is_film {
            VideoType::Movie
        } else {
            VideoType::Episode
        },
        year: Year::new(subject.year),
        season: Number::new(subject.season),
        episode: Number::new(subject.episode),
        description: match subject.day {
            0 => None,
            day => Some(format!("Programa del {day} de marzo de 2019")),
        },
        ..Record::new(id, &subject.title)
    }
}
