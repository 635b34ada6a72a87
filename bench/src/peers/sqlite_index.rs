//! SQLite at its best for this job: FTS5 without contents, positions or sizes, text folded
//! beforehand, row ids in answer order, values that markers ask for as words; filters are read
//! from a table by row id. Substrings are phrases of the trigram tokenizer over distinct titles.
//!
//! It does not support typos.

use std::cell::RefCell;
use std::collections::HashMap;

use rusqlite::{Connection, Statement, ToSql};
use subcat_engine::{
    CatalogId, CatalogTerm, Number, Query, Record, VideoType, Year, fold, internals::ParsedText,
};

use crate::error::{BenchError, Result};

use super::peer::{Answer, Builder, Deletions, PAGE, Peer, Prepared};

/// Prefix of a word that stands for a column's value: no folded text has this character.
const FACT: char = '\u{e000}';

const TABLES: &str = "
    PRAGMA page_size = 4096;
    PRAGMA journal_mode = OFF;
    PRAGMA cache_size = -4000000;
    CREATE VIRTUAL TABLE words USING fts5(title, description,
        content = '', columnsize = 0, detail = column, tokenize = 'ascii');
    CREATE VIRTUAL TABLE titles USING fts5(title,
        content = '', columnsize = 0, tokenize = 'trigram case_sensitive 1');
    CREATE TABLE records (id INTEGER PRIMARY KEY, year INTEGER, type INTEGER, title INTEGER);
    CREATE TABLE catalog (number INTEGER, record INTEGER, PRIMARY KEY (number, record))
        WITHOUT ROWID;
    BEGIN;";

const FINISH: &str = "
    COMMIT;
    CREATE INDEX records_of_titles ON records (title);
    INSERT INTO words (words) VALUES ('optimize');
    INSERT INTO titles (titles) VALUES ('optimize');
    ANALYZE;";

fn failed() -> impl FnOnce(rusqlite::Error) -> BenchError {
    BenchError::on("use SQLite")
}

/// Builds a database in memory.
pub struct SqliteBuilder {
    connection: Connection,
    title_numbers: HashMap<String, i64>,
    count: i64,
}

impl SqliteBuilder {
    /// A database without records.
    pub fn new() -> Result<Self> {
        let connection = Connection::open_in_memory().map_err(failed())?;
        connection.execute_batch(TABLES).map_err(failed())?;
        Ok(Self {
            connection,
            title_numbers: HashMap::new(),
            count: 0,
        })
    }

    fn run(&self, sql: &str, values: &[&dyn ToSql]) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failed())?;
        statement.execute(values).map_err(failed())?;
        Ok(())
    }
}

impl Builder for SqliteBuilder {
    const NAME: &'static str = "SQLite";
    type Index = SqliteIndex;

    fn add(&mut self, record: &Record) -> Result<()> {
        let rank = self.count;
        self.count += 1;
        let (title, description) = texts(record);
        let year = record.year.map_or(0, Year::get);
        self.run(
            "INSERT INTO words (rowid, title, description) VALUES (?, ?, ?)",
            &[&rank, &title, &description],
        )?;
        let next = self.title_numbers.len() as i64;
        let number = *self.title_numbers.entry(title.clone()).or_insert(next);
        if number == next {
            let sql = "INSERT INTO titles (rowid, title) VALUES (?, ?)";
            self.run(sql, &[&number, &title])?;
        }
        let video_type = type_number(record.video_type);
        self.run(
            "INSERT INTO records VALUES (?, ?, ?, ?)",
            &[&rank, &year, &video_type, &number],
        )?;
        let ids = [record.catalog_id, record.parent_catalog_id];
        for number in ids.into_iter().flatten().map(CatalogId::number) {
            let sql = "INSERT OR IGNORE INTO catalog VALUES (?, ?)";
            self.run(sql, &[&(number as i64), &rank])?;
        }
        Ok(())
    }

    fn finish(self) -> Result<(SqliteIndex, u64)> {
        self.connection.execute_batch(FINISH).map_err(failed())?;
        let pragma = |name: &str| -> Result<i64> {
            let value = self
                .connection
                .pragma_query_value(None, name, |row| row.get(0));
            value.map_err(failed())
        };
        let bytes = pragma("page_count")? * pragma("page_size")?;
        let index = SqliteIndex {
            connection: self.connection,
            is_deleting: false,
        };
        Ok((index, bytes.unsigned_abs()))
    }
}

/// The indexed texts of a record: its title, and its description with what markers ask for.
fn texts(record: &Record) -> (String, String) {
    let mut description = fold(record.description.as_deref().unwrap_or(""));
    let year = record.year.map_or(0, Year::get);
    description.push_str(&format!(" {FACT}y{year}"));
    if let Some(season) = record.season {
        let episode = record.episode.map_or(0, Number::get);
        let season = season.get();
        description.push_str(&format!(" {FACT}s{season} {FACT}s{season}e{episode}"));
    }
    (fold(&record.title), description)
}

fn type_number(video_type: VideoType) -> i64 {
    i64::from(video_type == VideoType::Episode)
}

/// A database in memory.
pub struct SqliteIndex {
    connection: Connection,
    /// True while a transaction of deletions is open.
    is_deleting: bool,
}

impl Deletions for SqliteIndex {
    /// An index without contents is told the texts that it forgets.
    fn delete(&mut self, rank: u32, record: &Record) -> Result<()> {
        if !self.is_deleting {
            self.connection.execute_batch("BEGIN").map_err(failed())?;
            self.is_deleting = true;
        }
        let (title, description) = texts(record);
        let forget = "INSERT INTO words (words, rowid, title, description) \
                      VALUES ('delete', ?, ?, ?)";
        let run = |sql: &str, values: &[&dyn ToSql]| -> Result<()> {
            let mut statement = self.connection.prepare_cached(sql).map_err(failed())?;
            statement.execute(values).map_err(failed())?;
            Ok(())
        };
        run(forget, &[&rank, &title, &description])?;
        run("DELETE FROM records WHERE id = ?", &[&rank])?;
        let ids = [record.catalog_id, record.parent_catalog_id];
        for number in ids.into_iter().flatten().map(CatalogId::number) {
            let sql = "DELETE FROM catalog WHERE number = ? AND record = ?";
            run(sql, &[&(number as i64), &rank])?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if self.is_deleting {
            self.connection.execute_batch("COMMIT").map_err(failed())?;
        }
        self.is_deleting = false;
        Ok(())
    }
}

/// The database with prepared statements.
pub struct Database<'i>(pub &'i SqliteIndex);

impl Peer for Database<'_> {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn finds_typos(&self) -> bool {
        false
    }

    fn prepare<'a>(&'a self, request: &'a Query) -> Result<Prepared<'a>> {
        let mut values: Vec<Box<dyn ToSql>> = Vec::new();
        let mut is_ordered = true;
        let mut sql = if let Some(CatalogTerm::Number(number)) = request.catalog_id() {
            values.push(Box::new(number as i64));
            "SELECT record AS id FROM catalog WHERE number = ?1".to_owned()
        } else if let Some(title) = request.title() {
            values.push(Box::new(phrase(title.folded())));
            is_ordered = false;
            "SELECT id FROM titles CROSS JOIN records ON records.title = titles.rowid \
             WHERE titles MATCH ?1"
                .to_owned()
        } else {
            let text = request.parsed_query();
            let text = text.ok_or_else(|| BenchError::new("a request without criterion"))?;
            values.push(Box::new(expression(&text)));
            "SELECT rowid AS id FROM words WHERE words MATCH ?1".to_owned()
        };
        let filters = request.filters();
        if let (Some(year), Some(video_type)) = (filters.year, filters.video_type) {
            values.push(Box::new(year.get()));
            values.push(Box::new(type_number(video_type)));
            let test = "year IN (0, ?2) AND type = ?3";
            sql = if is_ordered {
                format!("SELECT id FROM ({sql}) CROSS JOIN records USING (id) WHERE {test}")
            } else {
                format!("{sql} AND {test}")
            };
        }
        if is_ordered {
            sql.push_str(" ORDER BY id");
        }
        let statement = self.0.connection.prepare(&sql).map_err(failed())?;
        let statement = RefCell::new(statement);
        Ok(Box::new(move || {
            run(&mut statement.borrow_mut(), &values, is_ordered)
        }))
    }
}

/// Steps through all rows: faster than a count besides, also where there are many.
fn run(
    statement: &mut Statement<'_>,
    values: &[Box<dyn ToSql>],
    is_ordered: bool,
) -> Result<Answer> {
    let params = rusqlite::params_from_iter(values);
    let mut rows = statement.query(params).map_err(failed())?;
    let mut answer = Answer::default();
    while let Some(row) = rows.next().map_err(failed())? {
        answer.total += 1;
        if !is_ordered || answer.page.len() < PAGE {
            answer.page.push(row.get(0).map_err(failed())?);
        }
    }
    if !is_ordered {
        if answer.page.len() > PAGE {
            answer.page.select_nth_unstable(PAGE - 1);
            answer.page.truncate(PAGE);
        }
        answer.page.sort_unstable();
    }
    Ok(answer)
}

fn phrase(text: &str) -> String {
    format!("\"{text}\"")
}

/// A request as an expression of FTS5.
fn expression(text: &ParsedText<'_>) -> String {
    let last = text.plain_words().count() - 1;
    let mut all = Vec::new();
    for (idx, word) in text.plain_words().enumerate() {
        all.push(if idx == last && word.chars().count() >= 3 {
            format!("(\"{word}\" OR title : \"{word}\" *)")
        } else {
            phrase(word)
        });
    }
    let markers = text.markers();
    if let (Some(marker), Some(word)) = (markers.episode, text.episode_word()) {
        let season = marker.season.get();
        all.push(match marker.episode {
            Some(episode) => {
                let episode = episode.get();
                let fact = format!("\"{FACT}s{season}e{episode}\" OR \"{FACT}s{season}e0\"");
                format!("({fact} OR \"{word}\")")
            }
            None => format!("(\"{FACT}s{season}\" OR \"{word}\")"),
        });
    }
    if let (Some(marker), Some(word)) = (markers.year, text.year_word()) {
        let year = marker.year.get();
        all.push(format!(
            "(\"{FACT}y{year}\" OR \"{FACT}y0\" OR title : \"{word}\")"
        ));
    }
    all.join(" AND ")
}
