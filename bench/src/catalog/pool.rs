//! The titles, series and users that records are about.

use std::collections::HashSet;

use super::dice::Dice;
use super::vocabulary::{FIRST_EN, NICKS, SECOND_EN, SYLLABLES, TAILS_ES, THINGS_ES, words};

/// Movies that a catalog draws from.
pub(super) const MOVIE_COUNT: usize = 100_000;
/// Series that a catalog draws from.
pub(super) const SERIES_COUNT: usize = 10_000;
/// Users who upload.
pub(super) const USER_COUNT: usize = 20_000;

/// Years of the newest titles.
const YEAR_LAST: u32 = 2026;

/// A movie, or a series.
pub(super) struct Title {
    /// The name it is known by.
    pub(super) name: String,
    /// Its Spanish name, if it differs.
    pub(super) name_es: Option<String>,
    /// `name` as release names write it.
    pub(super) dotted: String,
    pub(super) year: u32,
    /// Digits of its catalog id.
    pub(super) catalog_id: Option<u32>,
    /// Episodes of each season; empty for a movie.
    pub(super) seasons: Vec<u32>,
}

/// Titles, series and users, fixed before the first record.
pub(super) struct Pool {
    pub(super) movies: Vec<Title>,
    pub(super) series: Vec<Title>,
    pub(super) users: Vec<String>,
}

impl Pool {
    /// A pool that depends only on the seed. Cost: about 200 ms.
    pub(super) fn new(seed: u64) -> Self {
        let namer = Namer::new();
        let mut movies = Vec::with_capacity(MOVIE_COUNT);
        for rank in 0..MOVIE_COUNT {
            movies.push(namer.title(&mut Dice::new(seed, 1, rank as u64), 60_000_000, rank));
        }
        let mut series = Vec::with_capacity(SERIES_COUNT);
        for rank in 0..SERIES_COUNT {
            let mut dice = Dice::new(seed, 2, rank as u64);
            let mut title = namer.title(&mut dice, 70_000_000, rank);
            for _ in 0..dice.between(1, 8) {
                title.seasons.push(dice.between(6, 24));
            }
            series.push(title);
        }
        Self {
            movies,
            series,
            users: namer.users(seed),
        }
    }
}

/// Makes names out of the word lists.
struct Namer {
    things_es: Vec<&'static str>,
    tails_es: Vec<&'static str>,
    first_en: Vec<&'static str>,
    second_en: Vec<&'static str>,
    syllables: Vec<&'static str>,
    nicks: Vec<&'static str>,
}

impl Namer {
    fn new() -> Self {
        Self {
            things_es: words(THINGS_ES, ','),
            tails_es: words(TAILS_ES, ','),
            first_en: words(FIRST_EN, ','),
            second_en: words(SECOND_EN, ','),
            syllables: words(SYLLABLES, ' '),
            nicks: words(NICKS, ' '),
        }
    }

    fn title(&self, dice: &mut Dice, catalog_base: u32, rank: usize) -> Title {
        let spanish = self.spanish(dice);
        let is_foreign = dice.falls(0.7);
        let name = if is_foreign {
            self.english(dice)
        } else {
            spanish.clone()
        };
        // Newer years have more titles.
        let age = (dice.share() * dice.share() * 90.0) as u32;
        Title {
            dotted: dotted(&name),
            name,
            name_es: (is_foreign && dice.falls(0.75)).then_some(spanish),
            year: YEAR_LAST - age,
            catalog_id: dice.falls(0.95).then_some(catalog_base + rank as u32),
            seasons: Vec::new(),
        }
    }

    fn spanish(&self, dice: &mut Dice) -> String {
        let thing = dice.one_of(&self.things_es);
        let mut name = match dice.between(0, 9) {
            0..=4 => format!("{thing} {}", dice.one_of(&self.tails_es)),
            5..=6 => format!("{thing} de {}", self.person(dice)),
            7 => format!("{thing} y {}", dice.one_of(&self.things_es)),
            8 => self.person(dice),
            _ => thing.to_owned(),
        };
        if dice.falls(0.06) {
            name.push_str(&format!(" {}", dice.between(2, 4)));
        }
        capitalized(&name)
    }

    fn english(&self, dice: &mut Dice) -> String {
        let (first, second) = (dice.one_of(&self.first_en), dice.one_of(&self.second_en));
        let mut name = match dice.between(0, 9) {
            0..=2 => format!("{first} {second}"),
            3..=4 => format!("The {first} {second}"),
            5 => format!("{second} of {}", self.person(dice)),
            6 => format!("{}'s {second}", self.person(dice)),
            7 => format!("{first} {second}: {}", dice.one_of(&self.second_en)),
            8 => self.person(dice),
            _ => second.to_owned(),
        };
        if dice.falls(0.06) {
            name.push_str(&format!(" {}", dice.between(2, 9)));
        }
        name
    }

    fn person(&self, dice: &mut Dice) -> String {
        let mut name = String::new();
        for _ in 0..dice.between(2, 4) {
            name.push_str(dice.one_of(&self.syllables));
        }
        capitalized(&name)
    }

    fn users(&self, seed: u64) -> Vec<String> {
        let mut dice = Dice::new(seed, 3, 0);
        let mut users = Vec::with_capacity(USER_COUNT);
        let mut seen = HashSet::new();
        while users.len() < USER_COUNT {
            let mut user = match dice.between(0, 9) {
                0..=3 => format!("{}{}", dice.one_of(&self.nicks), dice.between(1, 2099)),
                4..=7 => format!("{}{}", self.person(&mut dice), dice.between(1, 999)),
                _ => format!("{}_{}", dice.one_of(&self.nicks), self.person(&mut dice)),
            };
            if dice.falls(0.5) {
                user = capitalized(&user);
            }
            if seen.insert(user.clone()) {
                users.push(user);
            }
        }
        users
    }
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

/// `La niña de Oz: 2` → `La.nina.de.Oz.2`.
fn dotted(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            'á' => out.push('a'),
            'é' => out.push('e'),
            'í' => out.push('i'),
            'ó' => out.push('o'),
            'ú' | 'ü' => out.push('u'),
            'ñ' => out.push('n'),
            'Á' => out.push('A'),
            '\'' => {}
            _ if letter.is_ascii_alphanumeric() => out.push(letter),
            _ if out.ends_with('.') => {}
            _ => out.push('.'),
        }
    }
    out.trim_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_many_and_words_repeat() {
        let pool = Pool::new(1);
        let names: HashSet<&str> = pool
            .movies
            .iter()
            .map(|movie| movie.name.as_str())
            .collect();
        assert!(names.len() > 50_000, "{} distinct names", names.len());
        assert!(names.len() < MOVIE_COUNT, "remakes share a name");
        for series in &pool.series {
            assert!((1..=8).contains(&series.seasons.len()));
        }
    }

    #[test]
    fn names_are_written_as_releases_write_them() {
        assert_eq!(dotted("Cora's Tide: La niña 2"), "Coras.Tide.La.nina.2");
    }
}
