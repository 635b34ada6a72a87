//! Rows of `INSERT INTO` in a dump of SQL.

use std::collections::HashMap;
use std::io::{self, BufRead};

use super::row::{Next, RowSource, TableRow};
use super::sniff::SqlDialect;
use super::text::decoded;
use crate::limits::{LINE_BYTES_MAX, TABLE_COLUMNS_MAX};

/// A piece of SQL.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// A word or a number, as written.
    Word(String),
    /// A name in backticks, brackets or double quotes.
    Name(String),
    /// A text in single quotes.
    Text(String),
    /// Any other character.
    Sign(u8),
}

impl Token {
    fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own.eq_ignore_ascii_case(word))
    }

    /// The name of a table or column.
    fn name(self) -> Option<String> {
        match self {
            Self::Word(name) | Self::Name(name) => Some(name),
            Self::Text(_) | Self::Sign(_) => None,
        }
    }
}

/// Rows of all tables, in the order of the dump.
pub(super) struct SqlRows<'a> {
    tokens: Tokens<'a>,
    /// Columns of the tables that the dump makes, by name.
    tables: HashMap<String, Vec<String>>,
    /// True between the rows of one `INSERT`.
    is_in_rows: bool,
    rows_count: u64,
}

impl<'a> SqlRows<'a> {
    pub(super) fn new(input: Box<dyn BufRead + 'a>, dialect: SqlDialect) -> Self {
        Self {
            tokens: Tokens { input, dialect },
            tables: HashMap::new(),
            is_in_rows: false,
            rows_count: 0,
        }
    }

    /// Reads statements up to the next row. Returns false at the end.
    fn find_row(&mut self, row: &mut TableRow) -> io::Result<bool> {
        while let Some(token) = self.tokens.next()? {
            if self.is_in_rows {
                match token {
                    Token::Sign(b'(') => return Ok(true),
                    Token::Sign(b',') => {}
                    // The end of the statement, or the clause after its rows in some dialects.
                    _ => self.is_in_rows = false,
                }
            } else if token.is_word("create") {
                self.read_create()?;
            } else if token.is_word("insert") || token.is_word("replace") {
                self.read_insert(row)?;
            } else if token.is_word("copy") {
                self.read_copy()?;
            }
        }
        Ok(false)
    }

    /// `COPY name (columns) FROM stdin`: rows that are not SQL.
    fn read_copy(&mut self) -> io::Result<()> {
        loop {
            match self.tokens.next()? {
                None | Some(Token::Sign(b';')) => return Ok(()),
                Some(token) if token.is_word("stdin") => {
                    let reason = "its rows are in COPY: dump them as INSERT (pg_dump --inserts)";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
                }
                Some(_) => {}
            }
        }
    }

    /// `CREATE TABLE name (column type, ...)`.
    fn read_create(&mut self) -> io::Result<()> {
        let mut name = None;
        let mut is_table = false;
        loop {
            match self.tokens.next()? {
                Some(Token::Sign(b'(')) if is_table => break,
                None | Some(Token::Sign(b';' | b'(')) => return Ok(()),
                Some(token) if token.is_word("table") => is_table = true,
                Some(token) => name = token.name().or(name),
            }
        }
        let columns = self.read_columns()?;
        if let Some(name) = name {
            self.tables.insert(name, columns);
        }
        Ok(())
    }

    /// The first name of each item in brackets, up to the closing one; keys are no columns.
    fn read_columns(&mut self) -> io::Result<Vec<String>> {
        const KEYS: &[&str] = &[
            "primary",
            "key",
            "unique",
            "index",
            "constraint",
            "foreign",
            "fulltext",
            "spatial",
            "check",
            "exclude",
        ];
        let mut columns = Vec::new();
        let (mut depth, mut is_first) = (1, true);
        while depth != 0 {
            let Some(token) = self.tokens.next()? else {
                break;
            };
            match token {
                Token::Sign(b'(') => depth += 1,
                Token::Sign(b')') => depth -= 1,
                Token::Sign(b',') if depth == 1 => {
                    is_first = true;
                    continue;
                }
                token if is_first && columns.len() < TABLE_COLUMNS_MAX => {
                    let is_key = KEYS.iter().any(|key| token.is_word(key));
                    columns.extend(token.name().filter(|_| !is_key));
                }
                _ => {}
            }
            is_first = false;
        }
        Ok(columns)
    }

    /// `INSERT INTO name (columns) VALUES`, up to the first row.
    fn read_insert(&mut self, row: &mut TableRow) -> io::Result<()> {
        let mut name = None;
        let mut columns = None;
        loop {
            match self.tokens.next()? {
                None | Some(Token::Sign(b';')) => return Ok(()),
                Some(Token::Sign(b'(')) => columns = Some(self.read_columns()?),
                Some(token) if token.is_word("values") => break,
                // The last name before the columns: `database`.`table`.
                Some(token) if columns.is_none() => name = token.name().or(name),
                Some(_) => {}
            }
        }
        let name = name.unwrap_or_default();
        let Some(columns) = columns.or_else(|| self.tables.get(&name).cloned()) else {
            let reason = format!("INSERT INTO {name} names no columns, and no CREATE TABLE does");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        };
        if row.columns != columns {
            row.set_columns(columns);
        }
        self.is_in_rows = true;
        Ok(())
    }

    /// The values up to the closing bracket.
    fn read_values(&mut self, row: &mut TableRow) -> io::Result<()> {
        row.cells.clear();
        let (mut depth, mut value) = (1, None);
        loop {
            let Some(token) = self.tokens.next()? else {
                let reason = "a row of INSERT INTO does not end";
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            };
            match token {
                Token::Sign(b'(') => depth += 1,
                Token::Sign(b')') if depth == 1 => {
                    row.cells.push(value);
                    return Ok(());
                }
                Token::Sign(b')') => depth -= 1,
                Token::Sign(b',') if depth == 1 => row.cells.push(value.take()),
                Token::Sign(_) => {}
                Token::Word(word) if word.eq_ignore_ascii_case("null") => value = None,
                Token::Word(text) | Token::Name(text) | Token::Text(text) => value = Some(text),
            }
            if TABLE_COLUMNS_MAX < row.cells.len() {
                let reason = format!("a row of more than {TABLE_COLUMNS_MAX} values");
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        }
    }
}

impl RowSource for SqlRows<'_> {
    fn next(&mut self, row: &mut TableRow) -> io::Result<Next> {
        if !self.find_row(row)? {
            return Ok(Next::End);
        }
        self.rows_count += 1;
        row.number = self.rows_count;
        self.read_values(row)?;
        let (values, columns) = (row.cells.len(), row.columns.len());
        if values != columns {
            return Ok(Next::Refused(format!(
                "{values} values for {columns} columns"
            )));
        }
        Ok(Next::Row)
    }
}

/// Splits SQL into tokens, without comments and blanks.
struct Tokens<'a> {
    input: Box<dyn BufRead + 'a>,
    dialect: SqlDialect,
}

impl Tokens<'_> {
    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    fn take(&mut self) -> io::Result<Option<u8>> {
        let byte = self.peek()?;
        self.input.consume(usize::from(byte.is_some()));
        Ok(byte)
    }

    fn next(&mut self) -> io::Result<Option<Token>> {
        loop {
            let Some(byte) = self.take()? else {
                return Ok(None);
            };
            let token = match byte {
                _ if byte.is_ascii_whitespace() => continue,
                b'-' if self.peek()? == Some(b'-') => {
                    self.skip_line()?;
                    continue;
                }
                b'#' => {
                    self.skip_line()?;
                    continue;
                }
                b'/' if self.peek()? == Some(b'*') => {
                    self.skip_comment()?;
                    continue;
                }
                b'\'' => Token::Text(self.quoted(b'\'', self.dialect)?),
                b'`' | b'"' => Token::Name(self.quoted(byte, self.dialect)?),
                b'[' => Token::Name(self.quoted(b']', self.dialect)?),
                // A text of PostgreSQL with escapes.
                b'E' | b'e' if self.peek()? == Some(b'\'') => {
                    self.take()?;
                    Token::Text(self.quoted(b'\'', SqlDialect::Escapes)?)
                }
                _ if is_word(byte) => Token::Word(self.word(byte)?),
                _ => Token::Sign(byte),
            };
            return Ok(Some(token));
        }
    }

    fn skip_line(&mut self) -> io::Result<()> {
        while let Some(byte) = self.take()? {
            if byte == b'\n' {
                break;
            }
        }
        Ok(())
    }

    fn skip_comment(&mut self) -> io::Result<()> {
        let mut last = 0;
        while let Some(byte) = self.take()? {
            if last == b'*' && byte == b'/' {
                break;
            }
            last = byte;
        }
        Ok(())
    }

    fn word(&mut self, first: u8) -> io::Result<String> {
        let mut word = vec![first];
        while let Some(byte) = self.peek()?.filter(|byte| is_word(*byte)) {
            self.input.consume(1);
            push(&mut word, byte);
        }
        Ok(decoded(&word).into_owned())
    }

    /// The text up to its closing quote. A doubled quote is a literal one.
    fn quoted(&mut self, quote: u8, dialect: SqlDialect) -> io::Result<String> {
        let escapes = matches!(quote, b'\'' | b'"') && dialect == SqlDialect::Escapes;
        let mut text = Vec::new();
        while let Some(byte) = self.take()? {
            if byte == quote {
                if self.peek()? != Some(quote) {
                    return Ok(decoded(&text).into_owned());
                }
                self.input.consume(1);
                push(&mut text, quote);
            } else if byte == b'\\' && escapes {
                let Some(escaped) = self.take()? else {
                    break;
                };
                push(&mut text, unescaped(escaped));
            } else {
                push(&mut text, byte);
            }
        }
        let reason = "a quote of SQL does not end";
        Err(io::Error::new(io::ErrorKind::InvalidData, reason))
    }
}

/// Adds a byte, unless the text is longer already than any field may be.
fn push(text: &mut Vec<u8>, byte: u8) {
    if text.len() <= LINE_BYTES_MAX {
        text.push(byte);
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'-' | b'+') || 0x7F < byte
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'0' => 0,
        b'Z' => 26,
        _ => byte,
    }
}
