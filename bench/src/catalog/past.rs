//! Uploads that stopped years ago, for catalogs with a past.
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

/// One in this many records is of the old series.
const SERIES_SHARE: u64 = 200;
/// One in this many records has an old title of its own.
const TEXT_SHARE: u64 = 100;

/// Appends record `number` if it is of the past; else returns false.
pub(super) fn write_old(dice: &mut Dice, id: &str, number: u64, out: &mut String) -> bool {
    let (title, episode) = if number.is_multiple_of(SERIES_SHARE) {
        let episode = number / SERIES_SHARE % 400 + 1;
        (OLD_SERIES.to_owned(), Some(episode))
    } else if number % TEXT_SHARE == 1 {
        (format!("{OLD_TEXT} {number}"), None)
    } else {
        return false;
    };
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
         \"description\":\"{OLD_WORD} {number}\",\
         \"posted_at\":\"2004-{month:02}-{day:02}T{hour:02}:00:00Z\",\"downloads\":1,\
         \"source_release_id\":\"{}\"}}\n",
        100_001 + number
    ));
    true
}
