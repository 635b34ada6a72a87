//! Names asked of a catalog, counted by form.

use std::fmt;

use subcat_engine::{Filters, Query, SearchText};

use super::catalog::{NameCatalog, Subject};
use super::form::{FORMS, NameForm};
use crate::error::{BenchError, Result};
use crate::random::Random;

/// Names of one form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FormCount {
    /// Names that were asked.
    pub asked: u64,
    /// Names whose record was first.
    pub right: u64,
    /// Names that say which episode, and another one was first.
    pub wrong_episodes: u64,
}

/// Counts of all forms.
pub struct NameReport {
    /// The forms and their counts.
    pub forms: Vec<(&'static NameForm, FormCount)>,
    /// A name of each form whose record was not first.
    pub misses: Vec<String>,
}

impl NameReport {
    /// Asks for `per_form` subjects of a catalog in every form.
    pub fn new(catalog: &NameCatalog, per_form: usize) -> Result<Self> {
        let mut report = Self {
            forms: Vec::with_capacity(FORMS.len()),
            misses: Vec::new(),
        };
        for (idx, form) in FORMS.iter().enumerate() {
            let subjects = catalog.subjects.iter();
            let named: Vec<&Subject> = subjects.filter(|subject| form.can_name(subject)).collect();
            let mut random = Random::new(idx as u64);
            let mut count = FormCount::default();
            for _ in 0..per_form {
                let subject = named[random.below(named.len())];
                if let Some(miss) = ask(catalog, form, subject, &mut count)?
                    && report.misses.len() == idx
                {
                    report.misses.push(miss);
                }
            }
            report.misses.resize(idx + 1, String::new());
            report.forms.push((form, count));
        }
        Ok(report)
    }

    /// The sum of all forms, or of the ordinary ones.
    pub fn sum(&self, ordinary_only: bool) -> FormCount {
        let mut sum = FormCount::default();
        for (form, count) in &self.forms {
            if form.is_ordinary || !ordinary_only {
                sum.asked += count.asked;
                sum.right += count.right;
                sum.wrong_episodes += count.wrong_episodes;
            }
        }
        sum
    }
}

/// Asks for a subject; returns the name if its record is not first.
fn ask(
    catalog: &NameCatalog,
    form: &NameForm,
    subject: &Subject,
    count: &mut FormCount,
) -> Result<Option<String>> {
    let name = (form.write)(subject);
    let Ok(text) = SearchText::query(&name) else {
        return Ok(None);
    };
    let query = Query::new(Filters::default(), 1).with_query(text);
    let hits = catalog.snapshot.search(&query);
    let hits = hits.map_err(BenchError::on("search"))?;
    let mut first = None;
    if !hits.is_empty() {
        let doc = catalog.snapshot.hit_doc(&hits, 0);
        first = Some(catalog.subject(doc.map_err(BenchError::on("read a hit"))?.id()));
    }
    let is_right = first.is_some_and(|found| form.is_right(subject, found));
    let is_wrong = first.is_some_and(|found| form.is_wrong_episode(subject, found));
    count.asked += 1;
    count.right += u64::from(is_right);
    count.wrong_episodes += u64::from(is_wrong);
    Ok(Some(name).filter(|_| !is_right))
}

impl FormCount {
    /// Share of the names whose record was first, in percent.
    pub fn share(&self) -> f64 {
        100.0 * self.right as f64 / self.asked.max(1) as f64
    }
}

impl fmt::Display for NameReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| form | names | right record first | wrong episode first | not right |"
        )?;
        writeln!(f, "|---|---:|---:|---:|---|")?;
        for ((form, count), miss) in self.forms.iter().zip(&self.misses) {
            let (asked, share, wrong) = (count.asked, count.share(), count.wrong_episodes);
            let miss = if miss.is_empty() {
                String::new()
            } else {
                format!("`{miss}`")
            };
            writeln!(
                f,
                "| {} | {asked} | {share:.2} % | {wrong} | {miss} |",
                form.name
            )?;
        }
        for (name, ordinary_only) in [("ordinary", true), ("all", false)] {
            let sum = self.sum(ordinary_only);
            let (asked, share, wrong) = (sum.asked, sum.share(), sum.wrong_episodes);
            writeln!(f, "| **{name}** | {asked} | {share:.2} % | {wrong} | |")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_form_find_their_record() {
        let titles = [
            "Dark",
            "Los Serrano",
            "The Office",
            "Spider-Man",
            "El hormiguero",
            "La casa de papel",
            "Blade Runner 2049",
            "Mushishi",
            "Superman & Lois",
            "Volver",
            "Amélie",
            "S.W.A.T.",
        ];
        let titles = titles.map(String::from);
        let catalog = NameCatalog::new(&titles).unwrap();
        let report = NameReport::new(&catalog, 20).unwrap();
        assert!(99.0 <= report.sum(true).share(), "{report}");
        assert!(95.0 <= report.sum(false).share(), "{report}");
        assert_eq!(report.sum(false).wrong_episodes, 0, "{report}");
    }
}
