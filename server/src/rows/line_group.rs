//! Lines of a file that are read, and parsed, together.

use std::io::{self, BufRead};

use subcat_engine::EncodedRecords;

use super::ignored::IgnoredFields;
use super::reading::{Format, LineNumbers, append_line, read_lines};
use super::row::RowRejection;
use crate::limits::LINE_BATCH_BYTES;

/// Some lines of a file of JSON lines, and the records in them. Its memory is used again.
#[derive(Debug, Default)]
pub struct LineGroup {
    text: Vec<u8>,
    lines: LineNumbers,
    /// Records of the lines that hold one.
    pub records: EncodedRecords,
    /// Reasons why the other lines hold none.
    pub rejections: Vec<RowRejection>,
    /// Lines that are not blank.
    pub rows_count: u64,
    /// Fields that no record has.
    pub ignored: IgnoredFields,
}

impl LineGroup {
    /// Replaces the lines by the next ones of the input, numbered from `first_line`. Returns their
    /// count, 0 at the end of the input.
    ///
    /// Errors: reading fails; the batch has the lines before.
    pub fn read(
        &mut self,
        input: &mut dyn BufRead,
        format: Format,
        first_line: u64,
    ) -> (u64, io::Result<()>) {
        self.text.clear();
        self.lines = LineNumbers::of(format, first_line);
        let mut lines_count = 0;
        while self.text.len() < LINE_BATCH_BYTES {
            match append_line(input, &mut self.text) {
                Ok(true) => lines_count += 1,
                Ok(false) => break,
                Err(error) => return (lines_count, Err(error)),
            }
        }
        (lines_count, Ok(()))
    }

    /// Parses and validates the lines.
    pub fn parse(&mut self) {
        self.records.clear();
        self.rejections.clear();
        self.rows_count = 0;
        self.ignored.clear();
        let mut text = &*self.text;
        let parsed = read_lines::<io::Error>(&mut text, self.lines, &mut |row| {
            self.rows_count += 1;
            let rejection = match row {
                Ok(row) => {
                    for name in &row.ignored {
                        self.ignored.add(name);
                    }
                    let pushed = self.records.push(&row.draft);
                    pushed
                        .err()
                        .map(|error| RowRejection::of_field(row.line, error))
                }
                Err(rejection) => Some(rejection),
            };
            self.rejections.extend(rejection);
            Ok(())
        });
        parsed.expect("memory can be read");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LINE_BYTES_MAX;

    #[test]
    fn lines_keep_their_numbers_over_batches() {
        let mut file = b"\xEF\xBB\xBF{}\n\n".to_vec();
        file.extend(b" \n".repeat(LINE_BATCH_BYTES));
        file.extend(b"x".repeat(LINE_BYTES_MAX + 2));
        file.extend(b"\n\xEF\xBB\xBF{}\nlast");
        let mut input = &*file;
        let (mut batch, mut found) = (LineGroup::default(), Vec::new());
        let (mut line, mut batches_count) = (1, 0);
        loop {
            let (lines_count, read) = batch.read(&mut input, Format::Jsonl, line);
            read.unwrap();
            if lines_count == 0 {
                break;
            }
            line += lines_count;
            batches_count += 1;
            batch.parse();
            found.extend(batch.rejections.iter().map(ToString::to_string));
        }
        assert!(1 < batches_count);
        let blank = LINE_BATCH_BYTES as u64;
        assert_eq!(line, blank + 6);
        let expected = [
            "line 1: video_type: it must be there".to_owned(),
            format!("line {}: longer than 1048576 bytes", blank + 3),
            format!("line {}: not JSON: expected value at column 1", blank + 4),
            format!("line {}: not JSON: expected value at column 1", blank + 5),
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found[1..].iter().zip(&expected[1..]) {
            assert_eq!(found, expected);
        }
    }
}
