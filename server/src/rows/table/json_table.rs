//! Tables in JSON: an object a line, an array of objects, an object with one array.

use std::io::{self, BufRead, Read};

use serde_json::{Map, Value};

use super::json_scan::JsonScan;
use super::row::{Next, RowSource, TableRow};
use super::text::decoded;
use crate::limits::LINE_BYTES_MAX;
use crate::rows::csv_reader::BYTE_ORDER_MARK;
use crate::rows::reading::next_line;

/// Objects, one a line.
pub(super) struct JsonLines<'a> {
    input: Box<dyn BufRead + 'a>,
    line: u64,
}

impl<'a> JsonLines<'a> {
    pub(super) fn new(input: Box<dyn BufRead + 'a>) -> Self {
        Self { input, line: 0 }
    }
}

impl RowSource for JsonLines<'_> {
    fn next(&mut self, row: &mut TableRow) -> io::Result<Next> {
        loop {
            let line = next_line(&mut *self.input)?;
            if line.is_empty() {
                return Ok(Next::End);
            }
            self.line += 1;
            row.number = self.line;
            if LINE_BYTES_MAX < line.len() {
                return Ok(Next::Refused(format!("longer than {LINE_BYTES_MAX} bytes")));
            }
            let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
            let line = line.trim_ascii();
            if !line.is_empty() {
                return Ok(put_object(line, row));
            }
        }
    }
}

/// Reads one object into a row.
fn put_object(text: &[u8], row: &mut TableRow) -> Next {
    match serde_json::from_str::<Value>(&decoded(text)) {
        Ok(Value::Object(object)) => {
            put_fields(object, row);
            Next::Row
        }
        Ok(_) => Next::Refused("not an object".to_owned()),
        Err(error) => Next::Refused(format!("not JSON: {error}")),
    }
}

fn put_fields(object: Map<String, Value>, row: &mut TableRow) {
    row.cells.clear();
    for (name, value) in object {
        row.put(&name, cell(value));
    }
}

/// A value as a cell: an array of texts and numbers is lines, an object nothing.
fn cell(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Array(items) => {
            let lines: Vec<String> = items.into_iter().filter_map(cell).collect();
            Some(lines.join("\n"))
        }
        Value::Null | Value::Object(_) => None,
    }
}

/// Elements of one array: the input itself, or a field of the object that it is.
pub(super) struct JsonArray<'a> {
    input: Box<dyn BufRead + 'a>,
    /// True if the input is an object.
    is_in_object: bool,
    is_begun: bool,
    rows_count: u64,
    element: Vec<u8>,
}

impl<'a> JsonArray<'a> {
    pub(super) fn new(input: Box<dyn BufRead + 'a>, is_in_object: bool) -> Self {
        Self {
            input,
            is_in_object,
            is_begun: false,
            rows_count: 0,
            element: Vec::new(),
        }
    }

    /// The next byte, without taking it.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    /// Goes behind the bracket that opens the array.
    fn begin(&mut self) -> io::Result<()> {
        self.is_begun = true;
        let mut scan = JsonScan::default();
        while let Some(byte) = self.peek()? {
            self.input.consume(1);
            let is_wanted = scan.depth == usize::from(self.is_in_object);
            if byte == b'[' && is_wanted && !scan.is_in_text {
                return Ok(());
            }
            scan.take(byte);
        }
        Err(cut_off())
    }

    /// Reads one element. Returns false at the end of the array.
    fn read_element(&mut self) -> io::Result<bool> {
        self.element.clear();
        let mut scan = JsonScan::default();
        loop {
            let Some(byte) = self.peek()? else {
                return Err(cut_off());
            };
            let is_between = scan.depth == 0 && !scan.is_in_text;
            if is_between && self.element.is_empty() {
                if byte == b']' {
                    return Ok(false);
                }
                if byte.is_ascii_whitespace() || byte == b',' {
                    self.input.consume(1);
                    continue;
                }
            }
            if is_between && matches!(byte, b',' | b']') {
                return Ok(true);
            }
            self.input.consume(1);
            scan.take(byte);
            // One byte more than it may have shows that it is too long.
            if self.element.len() <= LINE_BYTES_MAX {
                self.element.push(byte);
            }
        }
    }
}

impl RowSource for JsonArray<'_> {
    fn next(&mut self, row: &mut TableRow) -> io::Result<Next> {
        if !self.is_begun {
            self.begin()?;
        }
        if !self.read_element()? {
            return Ok(Next::End);
        }
        self.rows_count += 1;
        row.number = self.rows_count;
        if LINE_BYTES_MAX < self.element.len() {
            return Ok(Next::Refused(format!("longer than {LINE_BYTES_MAX} bytes")));
        }
        Ok(put_object(&self.element, row))
    }
}

/// The elements of an array, one a line.
pub(super) struct ArrayLines<'a> {
    array: JsonArray<'a>,
    /// The line that is being read.
    line: Vec<u8>,
    given_count: usize,
}

impl<'a> ArrayLines<'a> {
    pub(super) fn new(array: JsonArray<'a>) -> Self {
        Self {
            array,
            line: Vec::new(),
            given_count: 0,
        }
    }

    /// Reads the next element. Returns false at the end of the array.
    fn next_line(&mut self) -> io::Result<bool> {
        if !self.array.is_begun {
            self.array.begin()?;
        }
        if !self.array.read_element()? {
            return Ok(false);
        }
        self.line.clear();
        self.given_count = 0;
        // In JSON the end of a line is a blank: texts have it escaped.
        let blank = |byte: &u8| match byte {
            b'\n' | b'\r' => b' ',
            byte => *byte,
        };
        self.line.extend(self.array.element.iter().map(blank));
        self.line.push(b'\n');
        Ok(true)
    }
}

impl Read for ArrayLines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given_count == self.line.len() && !self.next_line()? {
            return Ok(0);
        }
        let count = (&self.line[self.given_count..]).read(buffer)?;
        self.given_count += count;
        Ok(count)
    }
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its array does not end")
}
