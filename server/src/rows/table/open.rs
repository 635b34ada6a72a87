//! Files of records, whatever they are.

use std::io::{self, BufRead, BufReader};

use super::convert::{RecordVisitor, TableOptions, TableRead, source};
use super::json_table::{ArrayLines, JsonArray};
use super::row::{Next, TableRow};
use super::sniff::{TableKind, has_own_rows, kind_of};
use super::text::peek;
use crate::limits::READ_BUFFER_BYTES;
use crate::rows::reading::Format;

/// A file of a known kind.
pub enum OpenedTable<'a> {
    /// Our own format.
    Own(Format, Box<dyn BufRead + 'a>),
    /// A foreign table, as lines of [`Format::Converted`].
    Foreign(Box<TableRead<'a>>),
}

/// Opens a file by its content. `visit` gets each record of a foreign table.
///
/// Errors: reading fails, or it is not a table; the error says what it is.
pub fn open_table<'a>(
    input: Box<dyn BufRead + 'a>,
    options: TableOptions,
    visit: Box<RecordVisitor<'a>>,
) -> io::Result<OpenedTable<'a>> {
    let peeked = peek(input)?;
    let kind = kind_of(&peeked)?;
    let is_in_object = kind == TableKind::JsonObject;
    let is_array = is_in_object || kind == TableKind::JsonArray;
    let is_own_array = is_array && has_own_rows(&peeked.beginning, is_in_object);
    let own = match kind {
        TableKind::OwnCsv => Some(Format::Csv),
        TableKind::OwnJson | TableKind::Empty => Some(Format::Jsonl),
        _ => None,
    };
    let content: Box<dyn BufRead + 'a> =
        Box::new(BufReader::with_capacity(READ_BUFFER_BYTES, peeked.content));
    if is_own_array && !options.is_asked {
        let lines = ArrayLines::new(JsonArray::new(content, is_in_object));
        let content = BufReader::with_capacity(READ_BUFFER_BYTES, lines);
        return Ok(OpenedTable::Own(Format::Jsonl, Box::new(content)));
    }
    match own {
        Some(format) if !options.is_asked => Ok(OpenedTable::Own(format, content)),
        _ => {
            let read = TableRead::new(content, kind, options, visit)?;
            Ok(OpenedTable::Foreign(Box::new(read)))
        }
    }
}

/// Calls `each` with every row of a table, whatever its columns are; rows that cannot be read are
/// left out.
pub fn each_row(input: Box<dyn BufRead + '_>, each: &mut dyn FnMut(&TableRow)) -> io::Result<()> {
    let peeked = peek(input)?;
    let kind = kind_of(&peeked)?;
    let mut rows = source(peeked.content, kind)?;
    let mut row = TableRow::default();
    loop {
        match rows.next(&mut row)? {
            Next::End => return Ok(()),
            Next::Row => each(&row),
            Next::Refused(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::{ColumnMap, DateOrder, TableRecord};
    use super::*;

    /// The lines of a table with options, or the error that ends it.
    fn lines(text: &str, options: TableOptions) -> Result<String, String> {
        let visit = Box::new(|_: &mut TableRecord| Ok(None));
        let opened = open_table(Box::new(text.as_bytes()), options, visit);
        let mut lines = String::new();
        match opened.map_err(|error| error.to_string())? {
            OpenedTable::Own(_, mut content) => content.read_to_string(&mut lines),
            OpenedTable::Foreign(mut table) => table.read_to_string(&mut lines),
        }
        .map_err(|error| error.to_string())?;
        Ok(lines)
    }

    /// Options as the command gives them.
    fn options() -> TableOptions {
        let mut options = TableOptions::default();
        options.rows.next_year = 2027;
        options
    }

    #[test]
    fn a_table_becomes_lines_at_its_own_line_numbers() {
        let text = "titulo;anio;URL\n\"Up\n(2009)\";;http://e/1\nHeat;x\nRonin;1998;\n";
        let rest = r#""posted_at":"1970-01-01T00:00:00Z","language":"es""#;
        let expected = [
            "",
            &format!(r#"{{"video_type":"movie","title":"Up","year":2009,{rest},"URL":null}}"#),
            "",
            r#""2 cells under a header of 3""#,
            &format!(r#"{{"video_type":"movie","title":"Ronin","year":1998,{rest}}}"#),
            "",
        ];
        assert_eq!(lines(text, options()).unwrap(), expected.join("\n"));
    }

    #[test]
    fn our_own_formats_stay_as_they_are() {
        let text = "{\"title\":\"Heat (1995)\",\"season\":\"x\"}\n";
        assert_eq!(lines(text, options()).unwrap(), text);
        let array = "[\n {\"title\": \"Heat (1995)\",\n  \"season\": 1},\n {\"title\":\"Up\"} ]";
        let expected = "{\"title\": \"Heat (1995)\",   \"season\": 1}\n{\"title\":\"Up\"} \n";
        assert_eq!(lines(array, options()).unwrap(), expected);
        let in_object = format!("{{\"items\": {array}}}");
        assert_eq!(lines(&in_object, options()).unwrap(), expected);
        let mut asked = options();
        asked.is_asked = true;
        assert_eq!(lines(text, asked).unwrap(), "\"season: x\"\n");
    }

    #[test]
    fn languages_that_are_not_wanted_are_left_out() {
        let mut wanted = options();
        wanted.rows.languages = vec!["es".to_owned()];
        let text = r#"[{"titulo":"A b","lang":"en"},{"titulo":"C","lang":"es-MX"}]"#;
        let found = lines(text, wanted).unwrap();
        let (first, rest) = found.split_once('\n').unwrap();
        assert!(first.is_empty() && rest.contains("\"es-MX\""), "{found}");
    }

    #[test]
    fn what_cannot_be_read_ends_with_one_message() {
        let reason = |text: &str| lines(text, options()).unwrap_err();
        let dates = reason("titulo,fecha\nHeat,7/8/2009\n");
        assert!(dates.contains("--dates dmy or mdy"), "{dates}");
        let columns = reason("a,b\n1,2\n");
        assert!(
            columns.contains("its columns are a, b; say which is which with --map"),
            "{columns}"
        );
        let array = reason("[[1,2]]");
        assert!(array.contains("an array of JSON"), "{array}");
        let copy = reason("-- PostgreSQL database dump\nCOPY a (titulo) FROM stdin;\nUp\n\\.\n");
        assert!(copy.contains("pg_dump --inserts"), "{copy}");
        let cut = reason("[{\"titulo\":\"A\"}");
        assert!(cut.contains("does not end"), "{cut}");
        let sql = reason("INSERT INTO a VALUES (1, 'x');");
        assert!(sql.contains("names no columns"), "{sql}");
    }

    #[test]
    fn dumps_of_sql_are_read_by_the_columns_of_their_tables() {
        let text = "-- a dump\nCREATE TABLE users (id int, name text);\n\
            INSERT INTO users VALUES (1,'a');\n\
            CREATE TABLE IF NOT EXISTS `subs` (`sub_id` int(11), `titulo` varchar(9), \
            KEY `k` (`a`));\n\
            INSERT INTO `subs` VALUES (1,'It''s; (ok)'),(2,'Don\\'t'),(3,NULL);";
        let found = lines(text, options()).unwrap();
        assert!(found.contains("\"title\":\"It's; (ok)\"") && found.contains("\"Don't\""));
        assert!(found.ends_with("\"no title\"\n"), "{found}");
    }

    /// In PostgreSQL and SQLite a backslash is a character: one before a quote does not hide the
    /// end of the text.
    #[test]
    fn backslashes_of_dumps_mean_what_their_program_writes() {
        for header in ["PRAGMA foreign_keys=OFF;", "-- PostgreSQL database dump"] {
            let text = format!(
                "{header}\nCREATE TABLE s (titulo text, sub_id int);\n\
                 INSERT INTO s VALUES ('C:\\',1),('D:\\dir',2),(E'Don\\'t',3);\n"
            );
            let found = lines(&text, options()).unwrap();
            for title in ["\"C:\\\\\"", "\"D:\\\\dir\"", "\"Don't\""] {
                let wanted = format!("\"title\":{title}");
                assert!(found.contains(&wanted), "{wanted}: {found}");
            }
        }
    }

    #[test]
    fn a_table_without_a_readable_row_still_has_columns() {
        let found = lines("titulo;anio\n\"Up;2009\nHeat;1995\n", options()).unwrap();
        assert_eq!(found, "\n\"opens a quote that is never closed\"\n");
    }

    #[test]
    fn options_say_which_columns_and_which_order() {
        let mut asked = options();
        asked.map = ColumnMap::parse("title=Nombre,is_active=!Borrado").unwrap();
        asked.rows.dates = Some(DateOrder::DayFirst);
        let text = "Nombre|Borrado|fecha|sub_id\nHeat|s\u{ed}|5/7/2009|7\n";
        let found = lines(text, asked).unwrap();
        assert!(found.contains("\"posted_at\":\"2009-07-05T00:00:00Z\",\"is_active\":false"));
    }
}
