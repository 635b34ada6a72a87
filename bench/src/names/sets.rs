//! Names of a catalog's own records, as sets of queries whose time is measured.

use subcat_engine::{
    Filters, Number, PAGE_SIZE_DEFAULT, Query, Record, SearchText, VideoType, Year,
};

use super::catalog::Subject;
use super::form::{FORMS, NameForm, Named};
use crate::error::Result;
use crate::random::Random;
use crate::search::{QuerySet, Records};

/// Days of the month that names tell.
const DAYS: usize = 28;

/// A set for each form: names of random records in it, `count` each. A catalog needs films with a
/// year, and episodes behind the thirteenth and of later seasons.
pub fn name_sets(records: &(impl Records + ?Sized), count: usize) -> Result<Vec<QuerySet>> {
    let mut sets = Vec::with_capacity(FORMS.len());
    for (idx, form) in FORMS.iter().enumerate() {
        let mut random = Random::new(idx as u64 + 400);
        let mut queries = Vec::with_capacity(count);
        while queries.len() < count {
            let record = records.record(random.below(records.count()))?;
            let subject = subject_of(&record, form, 1 + random.below(DAYS) as u16);
            if form.can_name(&subject) {
                queries.extend(query(&(form.write)(&subject)));
            }
        }
        sets.push(QuerySet {
            name: format!("name: {}", form.name),
            has_typos: false,
            queries,
        });
    }
    Ok(sets)
}

/// The facts of a record by which a form can name it; with a day it is a daily episode.
fn subject_of(record: &Record, form: &NameForm, day: u16) -> Subject {
    let number = |number: Option<Number>| number.map_or(0, Number::get);
    let is_day = form.named == Named::Day && record.video_type == VideoType::Episode;
    let year = record.year.map(Year::get);
    Subject {
        title: record.title.clone(),
        year: year.unwrap_or_default(),
        season: number(record.season),
        episode: match form.named {
            Named::Season => 0,
            _ => number(record.episode),
        },
        day: if is_day { day } else { 0 },
        is_film: record.video_type == VideoType::Movie && year.is_some(),
        is_decoy: false,
    }
}

/// None for a name that is too long for a search.
fn query(name: &str) -> Option<Query> {
    let text = SearchText::query(name).ok()?;
    Some(Query::new(Filters::default(), PAGE_SIZE_DEFAULT).with_query(text))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use subcat_engine::RecordId;

    #[test]
    fn every_form_names_the_records_that_it_can() {
        let film = Record {
            year: Year::new(1985),
            ..Record::new(RecordId::from_bytes([1; 16]), "Ran")
        };
        let episode = Record {
            video_type: VideoType::Episode,
            season: Number::new(2),
            episode: Number::new(14),
            ..Record::new(RecordId::from_bytes([2; 16]), "Lost")
        };
        let sets = name_sets([film, episode].as_slice(), 3).unwrap();
        let names: HashSet<&str> = sets.iter().map(|set| set.name.as_str()).collect();
        assert_eq!(names.len(), FORMS.len());
        assert!(sets.iter().all(|set| set.queries.len() == 3));
        let films = sets.iter().find(|set| set.name == "name: (2006)").unwrap();
        assert_eq!(films.queries[0], query("Ran (1985).mkv").unwrap());
        let episodes = sets.iter().find(|set| set.name == "name: 2x04").unwrap();
        assert_ne!(episodes.queries[0], films.queries[0]);
    }
}
