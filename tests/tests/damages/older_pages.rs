//! Pages of a file of the truth as they were at an earlier moment: what a disk leaves that loses
//! one write and says that it went well.

use std::fs;
use std::path::Path;

use subcat_engine::{AccountId, ApiKeyId, Change, Engine, Error};
use subcat_tests::filled::{fill, flush, id, import, now, open};

use crate::damage::{Damage, PAGE_BYTES};

/// Changes of an engine that lies in a killed process afterwards.
type Step = fn(&Engine) -> Result<(), Error>;

/// Makes a data directory in steps, left as by a killed process. Returns the content of a file
/// after each of them.
pub fn fill_in_steps(data: &Path, file: &str) -> Result<Vec<Vec<u8>>, Error> {
    let steps: [Step; 3] = [settle, change_more, change_last];
    fill(data)?;
    let read = || fs::read(data.join(file)).expect("the file is there");
    let mut contents = vec![read()];
    for step in steps {
        step(&open(data)?)?;
        contents.push(read());
    }
    Ok(contents)
}

fn settle(engine: &Engine) -> Result<(), Error> {
    import(engine, 60..70, "cuarta")?;
    engine.catalog().delete_records(&[id(7)])?;
    flush(engine)
}

fn change_more(engine: &Engine) -> Result<(), Error> {
    import(engine, 66..75, "quinta")?;
    engine.catalog().set_active(id(50), true)?;
    change_accounts(engine, "Eva")
}

fn change_last(engine: &Engine) -> Result<(), Error> {
    import(engine, 200..203, "sexta")?;
    import(engine, 66..67, "sexta")?;
    engine.catalog().delete_records(&[id(8), id(100)])?;
    change_accounts(engine, "Sol")?;
    let revoke = Change::RevokeApiKey(ApiKeyId(1)).into_event("ana@example.org", now());
    engine.apply(vec![revoke])?;
    Ok(())
}

fn change_accounts(engine: &Engine, name: &str) -> Result<(), Error> {
    let changes = [
        Change::SetDisplayName(AccountId(1), name.to_owned()),
        Change::RenameApiKey(ApiKeyId(2), name.to_owned()),
    ];
    let events = changes.map(|change| change.into_event("ana@example.org", now()));
    engine.apply(events.into())?;
    Ok(())
}

/// The damage of each page that is another one than before.
pub fn older_pages(path: &str, before: &[u8], now: &[u8]) -> Vec<Damage> {
    let pages = before.chunks(PAGE_BYTES).zip(now.chunks(PAGE_BYTES));
    let differing = pages.enumerate().filter(|(_, (old, new))| old != new);
    let damage = differing.map(|(page_idx, (old, _))| {
        let at = page_idx * PAGE_BYTES;
        let mut content = now.to_vec();
        content[at..at + old.len()].copy_from_slice(old);
        Damage {
            path: path.to_owned(),
            kind: "an older page",
            at,
            content,
        }
    });
    damage.collect()
}
