//! The forms in which names are written.

use super::catalog::Subject;

/// Words in front of a title that its title key leaves out.
const ARTICLES: [&str; 8] = ["the", "el", "la", "los", "las", "les", "le", "l"];
/// Words that it leaves out anywhere.
const CONJUNCTIONS: [&str; 3] = ["and", "y", "&"];

/// Subjects that a form can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A film, by its year.
    Film,
    /// A film of the title, of any year.
    Title,
    /// An episode of a season.
    Episode,
    /// An episode of a season and of a series without others.
    Number,
    /// A season.
    Season,
    /// An episode of a day.
    Day,
}

/// A form of names.
pub struct NameForm {
    /// Its name in the report.
    pub name: &'static str,
    /// True for the forms that most names have.
    pub is_ordinary: bool,
    /// Subjects that it can name.
    pub named: Named,
    /// Writes the name of a subject.
    pub write: fn(&Subject) -> String,
}

const fn form(name: &'static str, named: Named, write: fn(&Subject) -> String) -> NameForm {
    NameForm {
        name,
        is_ordinary: false,
        named,
        write,
    }
}

const fn ordinary(name: &'static str, named: Named, write: fn(&Subject) -> String) -> NameForm {
    NameForm {
        is_ordinary: true,
        ..form(name, named, write)
    }
}

fn dotted(subject: &Subject) -> String {
    subject.title.replace(' ', ".")
}

/// A title with its words joined, but for an article in front and conjunctions, which the title
/// key knows by themselves: `TheCloser` is another title.
fn joined(title: &str) -> String {
    let mut text = String::new();
    let mut is_apart = true;
    for (idx, word) in title.split(' ').enumerate() {
        let lower = word.to_lowercase();
        let stands_apart =
            CONJUNCTIONS.contains(&&*lower) || idx == 0 && ARTICLES.contains(&&*lower);
        if !text.is_empty() && (stands_apart || is_apart) {
            text.push(' ');
        }
        text.push_str(&word.replace(['-', '.'], ""));
        is_apart = stands_apart;
    }
    text
}

/// All forms.
pub static FORMS: [NameForm; 28] = [
    ordinary("S02E04", Named::Episode, |s| {
        format!(
            "{}.S{:02}E{:02}.1080p.WEB-DL.x264-GRP.mkv",
            dotted(s),
            s.season,
            s.episode
        )
    }),
    ordinary("2x04", Named::Episode, |s| {
        format!(
            "{} {}x{:02} HDTV XviD-GRP.avi",
            s.title, s.season, s.episode
        )
    }),
    ordinary("film and year", Named::Film, |s| {
        format!("{}.{}.1080p.BluRay.x264-GRP.mkv", dotted(s), s.year)
    }),
    form("S02.E04", Named::Episode, |s| {
        format!(
            "{}.S{:02}.E{:02}.720p.WEB.mkv",
            dotted(s),
            s.season,
            s.episode
        )
    }),
    form("S02E04-E05", Named::Episode, |s| {
        let next = s.episode + 1;
        format!(
            "{}.S{:02}E{:02}-E{next:02}.720p-GRP",
            dotted(s),
            s.season,
            s.episode
        )
    }),
    form("S02", Named::Season, |s| {
        format!("{}.S{:02}.1080p.WEB.x264-GRP", dotted(s), s.season)
    }),
    form("Temporada 2 Capítulo 4", Named::Episode, |s| {
        format!("{} Temporada {} Capítulo {}", s.title, s.season, s.episode)
    }),
    form("Capítulo 4 de la temporada 2", Named::Episode, |s| {
        format!(
            "{} Capítulo {} de la temporada {}",
            s.title, s.episode, s.season
        )
    }),
    form("T2 Cap 4", Named::Episode, |s| {
        format!("{} T{} Cap {}.avi", s.title, s.season, s.episode)
    }),
    form("Temporada 2", Named::Season, |s| {
        format!("{} Temporada {}", s.title, s.season)
    }),
    form("2ª temporada", Named::Season, |s| {
        format!("{} {}ª temporada", s.title, s.season)
    }),
    form("[Cap.204]", Named::Episode, |s| {
        format!(
            "{} [HDTV][Cap.{}{:02}][Castellano].avi",
            s.title, s.season, s.episode
        )
    }),
    form("204", Named::Episode, |s| {
        format!(
            "{}.{}{:02}.hdtv-lol.avi",
            dotted(s).to_lowercase(),
            s.season,
            s.episode
        )
    }),
    form(" - 04", Named::Number, |s| {
        format!("[Grupo] {} - {:02} [720p].mkv", s.title, s.episode)
    }),
    form("EP04", Named::Number, |s| {
        format!("{}.EP{:02}.720p.mkv", dotted(s), s.episode)
    }),
    form("Capítulo 4", Named::Number, |s| {
        format!("{} Capítulo {}", s.title, s.episode)
    }),
    form("(2019) S02E04", Named::Episode, |s| {
        format!("{} ({}) S{:02}E{:02}", s.title, s.year, s.season, s.episode)
    }),
    form("site - S02E04", Named::Episode, |s| {
        format!(
            "www.sitio.example - {} S{:02}E{:02} 720p.mkv",
            s.title, s.season, s.episode
        )
    }),
    form("[group] S02E04", Named::Episode, |s| {
        format!(
            "[grupo] {} S{:02}E{:02} [720p].mkv",
            s.title, s.season, s.episode
        )
    }),
    form("title in one word", Named::Episode, |s| {
        format!("{} S{:02}E{:02}", joined(&s.title), s.season, s.episode)
    }),
    form("(2006)", Named::Film, |s| {
        format!("{} ({}).mkv", s.title, s.year)
    }),
    form("film without year", Named::Title, |s| {
        format!("{}.DVDRip.XviD-GRP.avi", dotted(s))
    }),
    form("words before the year", Named::Film, |s| {
        format!("{} Extended {} 1080p BluRay-GRP", s.title, s.year)
    }),
    form("(Final Cut) (2006)", Named::Film, |s| {
        format!("{} (Final Cut) ({})", s.title, s.year)
    }),
    form("03 - film (2006)", Named::Film, |s| {
        format!("03 - {} ({}).avi", s.title, s.year)
    }),
    form("another year", Named::Film, |s| {
        format!("{}.{}.1080p.BluRay.x264-GRP.mkv", dotted(s), s.year + 1)
    }),
    form("14.03.2019", Named::Day, |s| {
        format!("{} {:02}.03.2019.avi", s.title, s.day)
    }),
    form("2019-03-14", Named::Day, |s| {
        format!("{} 2019-03-{:02}", s.title, s.day)
    }),
];

impl NameForm {
    /// True if the form can name the subject.
    pub fn can_name(&self, subject: &Subject) -> bool {
        if subject.is_decoy {
            return false;
        }
        match self.named {
            Named::Film | Named::Title => subject.is_film,
            // A series of one season is named by its numbers only.
            Named::Episode => 1 < subject.season && subject.episode > 0,
            Named::Number => subject.episode > 13,
            Named::Season => subject.season > 0 && subject.episode == 0,
            Named::Day => subject.day > 0,
        }
    }

    /// True if a record is what the name of a subject asks for.
    pub fn is_right(&self, asked: &Subject, found: &Subject) -> bool {
        if asked.title != found.title || asked.is_film != found.is_film {
            return false;
        }
        match self.named {
            Named::Film => asked.year == found.year,
            Named::Title => true,
            Named::Episode | Named::Number => {
                asked.season == found.season && asked.episode == found.episode
            }
            Named::Season => asked.season == found.season,
            Named::Day => asked.day == found.day,
        }
    }

    /// True if a record is an episode that the name does not ask for, though it says which.
    pub fn is_wrong_episode(&self, asked: &Subject, found: &Subject) -> bool {
        let says_which = matches!(
            self.named,
            Named::Episode | Named::Number | Named::Season | Named::Day
        );
        says_which && !found.is_film && !self.is_right(asked, found)
    }
}
