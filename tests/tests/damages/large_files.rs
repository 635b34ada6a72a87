//! Files of the truth that are too large to be checked page by page at a start. An older page in
//! one of them, which may be one that says which pages are free, is met while changes are made: it
//! ends in an error, or in damage that is told, never in the end of the process or a silent loss.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use subcat_engine::{AccountId, ApiKeyId, Change, Engine, Error};
use subcat_tests::campaign::maintain;
use subcat_tests::filled::{flush, id, import, now, open, open_on};
use subcat_tests::lying_disk::LyingDisk;

use crate::damage::Damage;
use crate::round::Prepared;

/// Size that is claimed of both files.
const SIZE_CLAIMED: u64 = 1 << 40;
/// Openings in which changes are made.
const SESSIONS: usize = 2;
/// Records that change, with the word of their titles.
const IMPORTED: [(Range<u64>, &str); 2] = [(40..60, "octava"), (300..310, "novena")];
/// Records that are deleted.
const DELETED: [u64; 2] = [11, 12];

/// Changes a damaged directory, then compares. Returns the ending; an error if something is lost
/// that nothing tells.
pub fn run(prepared: &Prepared, work: &Path, damage: &Damage) -> Result<&'static str, String> {
    let data = work.join("data");
    prepared.write(&data, damage);
    let disk = Arc::new(LyingDisk::new(work, None, Some(SIZE_CLAIMED)));
    let (mut is_told, mut has_failed) = (false, false);
    for _ in 0..SESSIONS {
        let Ok(engine) = open_on(Arc::clone(&disk) as _, &data) else {
            return Ok("refused");
        };
        for step in [change_records, change_accounts, flush] {
            has_failed |= step(&engine).is_err();
        }
        maintain(&engine);
        has_failed |= engine.close().is_err();
        is_told |= !engine.take_damage().is_empty();
    }
    let Ok(engine) = open(&data) else {
        return Ok("refused later");
    };
    is_told |= !engine.take_damage().is_empty();
    let found = engine.verify(false).map_err(|error| error.to_string())?;
    is_told |= found.iter().any(|finding| !finding.is_note);
    match (has_failed, is_told) {
        (true, _) => Ok("failed"),
        (false, true) => Ok("told"),
        (false, false) => ensure_changed(&engine).map(|()| "no difference"),
    }
}

fn change_records(engine: &Engine) -> Result<(), Error> {
    for (records, word) in IMPORTED {
        import(engine, records, word)?;
    }
    engine.catalog().delete_records(&DELETED.map(id)).map(drop)
}

fn change_accounts(engine: &Engine) -> Result<(), Error> {
    let changes = [
        Change::SetDisplayName(AccountId(1), "Sara".to_owned()),
        Change::RevokeApiKey(ApiKeyId(2)),
    ];
    let events = changes.map(|change| change.into_event("ana@example.org", now()));
    engine.apply(events.into()).map(drop)
}

/// Errors: a change that was acknowledged is not there.
fn ensure_changed(engine: &Engine) -> Result<(), String> {
    let stored = |number| {
        let record = engine.catalog().stored_record(id(number));
        record.map_err(|error| error.to_string())
    };
    for (records, word) in IMPORTED {
        for number in records {
            let record = stored(number)?;
            if !record.is_some_and(|record| record.title.contains(word)) {
                return Err(format!("record {number} is not as it was imported"));
            }
        }
    }
    for number in DELETED {
        if stored(number)?.is_some() {
            return Err(format!("record {number} is there again"));
        }
    }
    let api_key = engine.accounts().api_key(ApiKeyId(2));
    if api_key.is_none_or(|api_key| api_key.revoked_at.is_none()) {
        return Err("the key is valid again".to_owned());
    }
    Ok(())
}
