//! A service with 100,000 records, which the tests of one program share: what the demo's 506 hide.
//!
//! Each record depends on its number only, so a test can tell which ones a page must show.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use subcat_engine::{DraftValue, RecordDraft, Role, Timestamp};

use crate::portal::{Portal, Visitor};
use crate::server::{film, text};

/// Records.
pub const RECORDS: u64 = 100_000;
/// Catalog id of a series of 30 seasons, each with 40 episodes and a pack: the first records.
pub const SERIES: &str = "tt7654321";
/// Records of the series.
pub const SERIES_RECORDS: u64 = 30 * EPISODES;
/// Records of a season.
const EPISODES: u64 = 41;
/// A word in the titles of every fifth record but those of the series.
pub const WORD: &str = "zumaque";
/// Name of the uploader of every nineteenth record.
pub const UPLOADER: &str = "maestro";
/// Tags of the languages, by number.
const LANGUAGES: [&str; 20] = [
    "en", "ar", "pt-BR", "es-ES", "es-ES", "es-MX", "es-AR", "es-419", "es", "es", "es", "es",
    "es", "es", "es", "es", "es", "es", "es", "es",
];
const NOUNS: [&str; 16] = [
    "sombra", "casa", "noche", "río", "ciudad", "invierno", "camino", "jardín", "frontera", "isla",
    "tormenta", "espejo", "montaña", "verano", "océano", "canción",
];
const ENDS: [&str; 12] = [
    "del norte",
    "perdida",
    "sin fin",
    "de papel",
    "en llamas",
    "de cristal",
    "invisible",
    "azul",
    "del desierto",
    "salvaje",
    "de piedra",
    "en la niebla",
];

/// The service, and the number of accounts that its readers have.
static LARGE: LazyLock<(Portal, AtomicUsize)> = LazyLock::new(|| {
    let portal = Portal::empty(|_| ());
    let ids: Vec<String> = (0..RECORDS).map(id_of).collect();
    portal.import(
        (0..RECORDS)
            .zip(&ids)
            .map(|(it, id)| draft(it, id))
            .collect(),
    );
    (portal, AtomicUsize::new(0))
});

/// The service; made by the first test that asks for it.
pub fn portal() -> &'static Portal {
    &LARGE.0
}

/// A reader with an account of their own: an account gets 120 pages a minute.
pub fn reader() -> Visitor {
    let (portal, accounts_count) = &*LARGE;
    let number = accounts_count.fetch_add(1, Ordering::Relaxed);
    let (email, password) = (format!("reader{number}@example.com"), "correct horse");
    portal.make_account(&email, password, Role::Admin);
    portal.signed_in(&email, password)
}

/// Pages that show much of the catalog: a name for the picture, and a path.
pub fn pages() -> Vec<(&'static str, String)> {
    let record = |number| format!("/catalog/{}", id_of(number));
    vec![
        ("list", "/catalog?sort=downloads&page=100".to_owned()),
        (
            "search",
            format!("/catalog?query={WORD}&sort=downloads&page=400"),
        ),
        (
            "filtered",
            format!("/catalog?query={WORD}&language=es-ES&year=1990"),
        ),
        ("film", record(RECORDS - 5)),
        ("episode", record(SERIES_RECORDS - 1)),
        ("series", format!("/title/{SERIES}")),
        ("season", format!("/title/{SERIES}?season=30")),
        ("slot", format!("/title/{SERIES}?season=30&episode=40")),
        ("uploader", format!("/uploader?name={UPLOADER}&page=200")),
        ("admin", "/admin".to_owned()),
    ]
}

/// Id of a record.
pub fn id_of(number: u64) -> String {
    format!("{:08x}-0000-4000-8000-{number:012}", spread(number) as u32)
}

/// Upstream's downloads of a record.
pub fn downloads_of(number: u64) -> u64 {
    spread(number) % 50_021
}

/// Time at which a record was posted, in seconds: hours that repeat for a few.
pub fn posted_at(number: u64) -> i64 {
    1_300_000_000 + 3_600 * (spread(number + 7) % 90_001).cast_signed()
}

/// True if the title of a record has [`WORD`].
pub fn has_word(number: u64) -> bool {
    SERIES_RECORDS <= number && number.is_multiple_of(5)
}

/// Tag of a record's language.
pub fn language_of(number: u64) -> &'static str {
    LANGUAGES[(number % 20) as usize]
}

/// Returns true if the record is of [`UPLOADER`].
pub fn is_of_uploader(number: u64) -> bool {
    number.is_multiple_of(19)
}

/// A number without an order.
fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17
}

fn draft(number: u64, id: &str) -> RecordDraft<'_> {
    let uploader = if is_of_uploader(number) {
        UPLOADER.to_owned()
    } else {
        format!("persona {}", spread(number) % 3_000)
    };
    let posted_at = Timestamp::from_seconds(posted_at(number)).expect("it is in range");
    let common = RecordDraft {
        uploader_name: DraftValue::Text(uploader.into()),
        posted_at: DraftValue::Text(posted_at.to_string().into()),
        downloads: DraftValue::Integer(downloads_of(number).cast_signed()),
        language: text(language_of(number)),
        description: text("Para la versión 1080p WEB-DL, sincronizados."),
        ..film(id, "", 1950 + (number % 75).cast_signed(), "release")
    };
    if number < SERIES_RECORDS {
        return episode(number, common);
    }
    let noun = NOUNS[(number % 16) as usize];
    let end = ENDS[(number / 16 % 12) as usize];
    let word = if has_word(number) { WORD } else { "" };
    RecordDraft {
        title: DraftValue::Text(format!("La {noun} {end} {} {word}", number / 192 % 300).into()),
        catalog_id: DraftValue::Text(format!("tt{}", 1_000_000 + number / 3).into()),
        ..common
    }
}

fn episode(number: u64, common: RecordDraft<'_>) -> RecordDraft<'_> {
    let (season, episode) = (1 + number / EPISODES, number % EPISODES);
    RecordDraft {
        video_type: text("episode"),
        title: text("Los días de la señora de la montaña"),
        year: DraftValue::Integer(1990),
        season: DraftValue::Integer(season.cast_signed()),
        episode: match episode {
            0 => DraftValue::default(),
            episode => DraftValue::Integer(episode.cast_signed()),
        },
        parent_catalog_id: text(SERIES),
        ..common
    }
}
