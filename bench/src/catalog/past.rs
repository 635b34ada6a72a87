//! Records of catalogs with a past: uploads that stopped years ago, titles that share hundreds of
//! characters, descriptions as long as they may be.
//!
//! A search meets the newest documents first, so what is found among the oldest only is found last.
//! An invented catalog has no such thing by itself: its popular titles have uploads to the last
//! day.

use super::dice::Dice;

/// Title of a series of which one in 200 records is, all of the first year.
pub const OLD_SERIES: &str = "Veladas del Faro";
/// Text that begins titles of their own of one in 100 records, all of the first year.
pub const OLD_TEXT: &str = "Noticiero Antiguo";
/// Word that only the descriptions of both have.
pub const OLD_WORD: &str = "betacamrip";
/// Text that is repeated in the titles of [`shared_title`].
pub const SHARED_TEXT: &str = "Actas de la Villa";
/// Word that begins the descriptions that are as long as they may be.
pub const LONG_WORD: &str = "transcripcionintegra";

/// One in this many records is of the old series.
const SERIES_SHARE: u64 = 200;
/// One in this many records has an old title of its own.
const TEXT_SHARE: u64 = 100;
/// One in this many records has a long title that differs in its end only.
const SHARED_SHARE: u64 = 1_000;
/// One in this many records has a long description.
const LONG_SHARE: u64 = 10_000;
/// Repetitions of [`SHARED_TEXT`] in a title, which is shorter than 500 characters.
const SHARED_REPEATS: usize = 26;
/// Characters of a long description: the most that a record may have.
const LONG_CHARS: usize = 10_000;
/// Different words of long descriptions.
const LONG_WORDS: u32 = 50_000;

/// The beginning of the titles of one in 1,000 records: 468 characters.
pub fn shared_title() -> String {
    format!("{SHARED_TEXT} ").repeat(SHARED_REPEATS)
}

/// Appends record `number` if it is of the past; else returns false.
pub(super) fn write_old(dice: &mut Dice, id: &str, number: u64, out: &mut String) -> bool {
    let (mut title, mut episode) = (format!("{OLD_TEXT} {number}"), None);
    let mut description = format!("{OLD_WORD} {number}");
    if number.is_multiple_of(SERIES_SHARE) {
        title = OLD_SERIES.to_owned();
        episode = Some(number / SERIES_SHARE % 400 + 1);
    } else if number % SHARED_SHARE == 3 {
        title = format!("{}{number}", shared_title());
        description = number.to_string();
    } else if number % LONG_SHARE == 7 {
        description = long_description(dice);
    } else if number % TEXT_SHARE != 1 {
        return false;
    }
    let (month, day, hour) = (
        dice.between(1, 12),
        dice.between(1, 28),
        dice.between(0, 23),
    );
    let kind = match episode {
        Some(episode) => format!("\"episode\",\"season\":1,\"episode\":{episode}"),
        None => "\"movie\"".to_owned(),
    };
    out.push_str(&format!(
        "{{\"id\":\"{id}\",\"video_type\":{kind},\"title\":\"{title}\",\"year\":2004,\
         \"description\":\"{description}\",\
         \"posted_at\":\"2004-{month:02}-{day:02}T{hour:02}:00:00Z\",\"downloads\":1,\
         \"source_release_id\":\"{}\"}}\n",
        100_001 + number
    ));
    true
}

/// A description that is as long as it may be, of more than a thousand words.
fn long_description(dice: &mut Dice) -> String {
    let mut text = LONG_WORD.to_owned();
    while text.len() < LONG_CHARS {
        text.push_str(&format!(" linea{}", dice.between(1, LONG_WORDS)));
    }
    text.truncate(LONG_CHARS);
    text
}
