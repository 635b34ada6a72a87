//! Descriptions as uploaders write them: release names and sentences around them.

use super::dice::{Dice, Zipf};
use super::pool::Title;
use super::vocabulary::{ENDINGS, GROUPS, SENTENCES, VARIANTS, words};

/// Subject of a description.
pub(super) struct Subject<'a> {
    pub(super) title: &'a Title,
    /// `S01E02`, `S01`, or nothing.
    pub(super) episode_word: &'a str,
    /// Year of the release; it determines the formats.
    pub(super) year: u32,
    pub(super) is_episode: bool,
}

/// Writes descriptions.
pub(super) struct Writer {
    groups: Vec<&'static str>,
    group_ranks: Zipf,
    users: Vec<String>,
    user_ranks: Zipf,
}

impl Writer {
    pub(super) fn new(users: Vec<String>) -> Self {
        let groups = words(GROUPS, ' ');
        let group_ranks = Zipf::new(groups.len(), 4.0, 0.8);
        let user_ranks = Zipf::new(users.len(), 5.0, 1.0);
        Self {
            groups,
            group_ranks,
            users,
            user_ranks,
        }
    }

    /// Name of an uploader; a few of them upload much.
    pub(super) fn user(&self, dice: &mut Dice) -> &str {
        &self.users[self.user_ranks.rank(dice)]
    }

    /// Appends a description to `out`, unescaped.
    pub(super) fn write(&self, dice: &mut Dice, subject: &Subject<'_>, out: &mut String) {
        if dice.falls(0.24) {
            self.release(dice, subject, out);
        } else {
            let sentence = dice.one_of(SENTENCES);
            let ending = dice.one_of(ENDINGS);
            for template in [sentence, ending] {
                self.fill(template, dice, subject, out);
            }
        }
        if dice.falls(0.1) {
            for _ in 0..dice.between(1, 2) {
                out.push_str("\r\n");
                self.release(dice, subject, out);
            }
        }
    }

    fn fill(&self, template: &str, dice: &mut Dice, subject: &Subject<'_>, out: &mut String) {
        let mut rest = template;
        while let Some((text, after)) = rest.split_once('{') {
            out.push_str(text);
            let (slot, after) = after.split_once('}').unwrap_or((after, ""));
            rest = after;
            match slot {
                "rel" | "rel2" => self.release(dice, subject, out),
                "user" | "user2" | "user3" => out.push_str(self.user(dice)),
                "title" => out.push_str(&subject.title.name),
                "se" => out.push_str(subject.episode_word),
                "year" => out.push_str(&subject.title.year.to_string()),
                "src" => out.push_str(self.source(dice, subject)),
                "grp" => out.push_str(self.group(dice)),
                _ => figure(slot, dice, subject, out),
            }
        }
        out.push_str(rest);
    }

    /// A release name with the formats of its year.
    fn release(&self, dice: &mut Dice, subject: &Subject<'_>, out: &mut String) {
        out.push_str(&subject.title.dotted);
        out.push('.');
        if subject.is_episode {
            if !subject.episode_word.is_empty() {
                out.push_str(subject.episode_word);
                out.push('.');
            }
        } else {
            out.push_str(&subject.title.year.to_string());
            out.push('.');
        }
        out.push_str(self.source(dice, subject));
        out.push('-');
        out.push_str(self.group(dice));
    }

    fn source(&self, dice: &mut Dice, subject: &Subject<'_>) -> &'static str {
        let sources: &[&str] = match (subject.year, subject.is_episode) {
            (..2009, true) => &["HDTV.XviD", "HDTV.XviD", "DVDRip.XviD", "720p.HDTV.x264"],
            (..2009, false) => &[
                "DVDRip.XviD",
                "DVDRip.XviD",
                "DVDRip.XviD.AC3",
                "DVDSCR.XviD",
            ],
            (..2016, true) => &["HDTV.x264", "720p.HDTV.x264", "720p.WEB-DL.DD5.1.H.264"],
            (..2016, false) => &[
                "720p.BluRay.x264",
                "1080p.BluRay.x264",
                "BDRip.XviD",
                "BRRip",
            ],
            _ => &[
                "1080p.WEB-DL.DDP5.1.H.264",
                "1080p.AMZN.WEB-DL.DDP5.1.H.264",
                "1080p.NF.WEB-DL.DDP5.1.H.264",
                "720p.WEBRip.x264",
                "1080p.WEB.H264",
                "2160p.WEB-DL.DDP5.1.Atmos.HDR.HEVC",
                "1080p.BluRay.x265.10bit",
            ],
        };
        dice.one_of(sources)
    }

    fn group(&self, dice: &mut Dice) -> &'static str {
        self.groups[self.group_ranks.rank(dice)]
    }
}

/// The slots that are numbers or one of a few words.
fn figure(slot: &str, dice: &mut Dice, subject: &Subject<'_>, out: &mut String) {
    match slot {
        "var" => out.push_str(dice.one_of(VARIANTS)),
        "fps" => out.push_str(dice.one_of(&["23.976", "25", "24", "29.97", "23,976"])),
        "off" => out.push_str(&format!("{},{}", dice.between(0, 11), dice.between(0, 9))),
        "size" if dice.falls(0.6) => {
            out.push_str(&format!(
                "{}.{:02} GB",
                dice.between(0, 9),
                dice.between(0, 99)
            ));
        }
        "size" => out.push_str(&format!("{} MB", dice.between(170, 1450))),
        "dur" => {
            let minutes = dice.between(22, if subject.is_episode { 58 } else { 170 });
            let (hours, minutes) = (minutes / 60, minutes % 60);
            out.push_str(&format!(
                "{hours:02}:{minutes:02}:{:02}",
                dice.between(0, 59)
            ));
        }
        _ => unreachable!("the sentences name no other slot: {slot}"),
    }
}
