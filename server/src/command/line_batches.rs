//! Lines that come one by one, grouped into batches that are loaded together.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use crate::limits::{BATCH_BYTES_MAX, BATCH_LINES_MAX, LINE_BYTES_MAX};
use crate::rows::{Format, is_csv_header, next_line, unpacked};

/// Idle time that ends a batch.
const QUIET: Duration = Duration::from_secs(1);
/// Poll interval for the end of a batch and for shutdown.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A line of the input.
pub(super) struct Line {
    /// Line number in the file, counted from 1.
    number: u64,
    /// Bytes of the line, with its line end.
    text: Vec<u8>,
}

/// Sends every line, until the receiver is dropped. Numbers begin again with 1 whenever `restarts`
/// is incremented: the input is another file, or the same one from its beginning.
pub(super) fn read_lines(
    input: Box<dyn Read>,
    restarts: &AtomicU64,
    lines: &SyncSender<io::Result<Line>>,
) {
    let mut input = match unpacked(input) {
        Ok(input) => input,
        Err(error) => {
            let _ = lines.send(Err(error));
            return;
        }
    };
    let mut number = 0;
    loop {
        let restarts_before = restarts.load(Ordering::SeqCst);
        let line = next_line(&mut *input);
        let is_first = restarts.load(Ordering::SeqCst) != restarts_before;
        number = if is_first { 1 } else { number + 1 };
        let is_failed = line.is_err();
        let is_end = line.as_ref().is_ok_and(Vec::is_empty);
        let line = line.map(|text| Line { number, text });
        if is_end || lines.send(line).is_err() || is_failed {
            return;
        }
    }
}

/// Lines that are loaded together.
pub(super) struct LineBatch {
    /// The lines; in CSV, preceded by the header.
    pub text: Vec<u8>,
    lines_count: u64,
    /// Number in its file of the first line; those after it follow one by one.
    first_number: u64,
    /// Header lines that were put before the lines.
    header_lines: u64,
    is_full: bool,
}

impl LineBatch {
    /// The number in its file of a line of the text.
    pub(super) fn line_of(&self, line: u64) -> u64 {
        (self.first_number + line).saturating_sub(self.header_lines + 1)
    }

    /// Appends lines; `first_number` is that of the first one.
    fn push(&mut self, first_number: u64, lines: &[u8], lines_count: u64) {
        if self.lines_count == 0 {
            self.first_number = first_number;
        }
        self.text.extend_from_slice(lines);
        self.lines_count += lines_count;
    }
}

/// Groups lines into batches.
pub(super) struct LineBatches {
    lines: Receiver<io::Result<Line>>,
    is_stopping: Arc<AtomicBool>,
    is_over: bool,
    /// Line number of the last line.
    last_number: u64,
    /// The first line of a file, which ended the batch of the file before.
    next_line: Option<Line>,
    /// The header of CSV, which every batch begins with; empty before the first line.
    header: Vec<u8>,
    /// A header that ended a batch: the next one begins with it.
    next_header: Option<Vec<u8>>,
    /// Lines of a row of CSV with an open quote.
    open_row: Vec<u8>,
    open_lines: u64,
    /// Line number of the first of them.
    open_number: u64,
    format: Format,
    /// The error that ended reading, if it was not the end of the input.
    pub(super) failed: Option<io::Error>,
}

impl LineBatches {
    pub(super) fn new(
        lines: Receiver<io::Result<Line>>,
        format: Format,
        is_stopping: Arc<AtomicBool>,
    ) -> Self {
        Self {
            lines,
            is_stopping,
            is_over: false,
            last_number: 0,
            next_line: None,
            header: Vec::new(),
            next_header: None,
            open_row: Vec::new(),
            open_lines: 0,
            open_number: 0,
            format,
            failed: None,
        }
    }

    /// Waits for the next batch; none after the last.
    ///
    /// A batch ends when it is full, when no line has come for [`QUIET`], or with its file. The
    /// channel is polled, because lines, the clock and the request to stop are waited for together.
    pub(super) fn next(&mut self) -> Option<LineBatch> {
        let mut batch = self.begin();
        if let Some(line) = self.next_line.take() {
            self.take(&mut batch, line);
        }
        let mut last_at = Instant::now();
        while !self.is_over && !batch.is_full {
            // Read before the channel: the lines that came before the request to stop are loaded.
            let is_stopping = self.is_stopping.load(Ordering::SeqCst);
            match self.lines.recv_timeout(POLL_INTERVAL) {
                Ok(Ok(line)) => {
                    self.take(&mut batch, line);
                    batch.is_full |=
                        BATCH_LINES_MAX <= batch.lines_count || BATCH_BYTES_MAX <= batch.text.len();
                    last_at = Instant::now();
                }
                Ok(Err(error)) => {
                    self.failed = Some(error);
                    self.is_over = true;
                }
                Err(RecvTimeoutError::Disconnected) => self.is_over = true,
                Err(RecvTimeoutError::Timeout) if is_stopping => self.is_over = true,
                Err(RecvTimeoutError::Timeout) => {
                    batch.is_full = batch.lines_count != 0 && QUIET <= last_at.elapsed();
                }
            }
        }
        if self.is_over {
            self.end_open_row(&mut batch);
        }
        if batch.lines_count == 0 {
            return None;
        }
        Some(batch)
    }

    fn begin(&mut self) -> LineBatch {
        if let Some(header) = self.next_header.take() {
            self.header = header;
        }
        LineBatch {
            text: self.header.clone(),
            lines_count: 0,
            first_number: self.last_number + 1,
            header_lines: u64::from(!self.header.is_empty()),
            is_full: false,
        }
    }

    fn take(&mut self, batch: &mut LineBatch, line: Line) {
        if line.number != self.last_number + 1 {
            // The first line of a file. A batch has no lines of two files, and an open row does not
            // continue in the next file.
            self.last_number = line.number - 1;
            self.end_open_row(batch);
            if batch.lines_count != 0 {
                batch.is_full = true;
                self.next_line = Some(line);
                return;
            }
        }
        self.last_number = line.number;
        match self.format {
            Format::Jsonl | Format::Converted => batch.push(line.number, &line.text, 1),
            Format::Csv => self.take_csv(batch, line),
        }
    }

    fn take_csv(&mut self, batch: &mut LineBatch, mut line: Line) {
        // A file that was truncated or replaced begins with its header again.
        if self.header.is_empty() || is_csv_header(&line.text) {
            self.end_open_row(batch);
            self.next_header = Some(line.text);
            if batch.lines_count == 0 {
                *batch = self.begin();
            } else {
                batch.is_full = true;
            }
            return;
        }
        let is_odd = line.text.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
        let mut is_open = self.open_row.is_empty() == is_odd;
        if self.open_row.is_empty() {
            self.open_number = line.number;
        }
        self.open_row.append(&mut line.text);
        self.open_lines += 1;
        if is_open && LINE_BYTES_MAX < self.open_row.len() {
            // It is refused as too long. An open quote would take the next rows with it.
            self.open_row.insert(self.open_row.len() - 1, b'"');
            is_open = false;
        }
        if !is_open {
            self.push_open_row(batch);
        }
    }

    fn push_open_row(&mut self, batch: &mut LineBatch) {
        let lines_count = std::mem::take(&mut self.open_lines);
        batch.push(self.open_number, &self.open_row, lines_count);
        self.open_row.clear();
    }

    /// Gives up waiting for the end of a row. The row is the last one of its batch, because its
    /// open quote would swallow the rows after it.
    fn end_open_row(&mut self, batch: &mut LineBatch) {
        if self.open_row.is_empty() {
            return;
        }
        self.push_open_row(batch);
        batch.is_full = true;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    /// Sends lines that are numbered one by one.
    struct Sender(SyncSender<io::Result<Line>>, u64);

    impl Sender {
        fn send(&mut self, text: &str) {
            self.1 += 1;
            let text = text.as_bytes().to_vec();
            let number = self.1;
            self.0.send(Ok(Line { number, text })).unwrap();
        }

        /// The next line is the first of another file.
        fn begin_again(&mut self) {
            self.1 = 0;
        }
    }

    fn batches_of(format: Format) -> (Sender, LineBatches) {
        let (sender, lines) = sync_channel(20_000);
        let batches = LineBatches::new(lines, format, Arc::default());
        (Sender(sender, 0), batches)
    }

    fn batches() -> (Sender, LineBatches) {
        batches_of(Format::Jsonl)
    }

    #[test]
    fn a_batch_ends_when_it_is_full_or_the_input_ends() {
        let (mut sender, mut batches) = batches();
        for _ in 0..=BATCH_LINES_MAX {
            sender.send("x\n");
        }
        let first = batches.next().unwrap();
        assert_eq!((first.line_of(1), first.lines_count), (1, 10_000));
        let error = io::ErrorKind::InvalidData.into();
        sender.0.send(Err(error)).unwrap();
        let second = batches.next().unwrap();
        assert_eq!((second.line_of(1), second.lines_count), (10_001, 1));
        assert_eq!(second.text, b"x\n");
        assert!(batches.next().is_none());
        assert!(batches.failed.is_some());
    }

    #[test]
    fn a_batch_ends_when_nothing_comes_for_a_second() {
        let (mut sender, mut batches) = batches();
        sender.send("x\n");
        let started = Instant::now();
        assert_eq!(batches.next().unwrap().lines_count, 1);
        assert!(QUIET <= started.elapsed());
        batches.is_stopping.store(true, Ordering::SeqCst);
        sender.send("y\n");
        assert_eq!(batches.next().unwrap().text, b"y\n");
        assert!(batches.next().is_none());
    }

    const HEADER: &str = "video_type,title,posted_at\n";

    #[test]
    fn lines_are_numbered_within_their_file() {
        let (mut sender, mut batches) = batches();
        sender.send("a\n");
        sender.send("b\n");
        sender.begin_again();
        sender.send("c\n");
        sender.send("d\n");
        sender.begin_again();
        drop(sender);
        let first = batches.next().unwrap();
        assert_eq!((&first.text[..], first.line_of(2)), (&b"a\nb\n"[..], 2));
        let second = batches.next().unwrap();
        assert_eq!((&second.text[..], second.line_of(2)), (&b"c\nd\n"[..], 2));
        assert!(batches.next().is_none());

        let (mut sender, mut batches) = batches_of(Format::Csv);
        for line in [HEADER, "a\n", "b,\"half\n"] {
            sender.send(line);
        }
        sender.begin_again();
        for line in [HEADER, "c\n", "d\n"] {
            sender.send(line);
        }
        drop(sender);
        let first = batches.next().unwrap();
        assert_eq!((first.lines_count, first.line_of(3)), (2, 3));
        let second = batches.next().unwrap();
        assert_eq!(second.text, format!("{HEADER}c\nd\n").as_bytes());
        assert_eq!((second.line_of(2), second.line_of(3)), (2, 3));
        assert!(batches.next().is_none());
    }

    #[test]
    fn numbers_begin_again_with_the_input() {
        /// An input that is one file, and then another.
        struct Two<'c>(Vec<&'static [u8]>, &'c AtomicU64);
        impl Read for Two<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if self.0.is_empty() {
                    return Ok(0);
                }
                if self.0.len() == 1 {
                    self.1.store(1, Ordering::SeqCst);
                }
                let count = self.0[0].len().min(buffer.len());
                buffer[..count].copy_from_slice(&self.0[0][..count]);
                self.0[0] = &self.0[0][count..];
                if self.0[0].is_empty() {
                    self.0.remove(0);
                }
                Ok(count)
            }
        }
        static RESTARTS: AtomicU64 = AtomicU64::new(0);
        let (sender, lines) = sync_channel(10);
        let input = Two(vec![b"one\ntwo\n", b"three\nfour\n"], &RESTARTS);
        read_lines(Box::new(input), &RESTARTS, &sender);
        drop(sender);
        let numbers: Vec<u64> = lines.iter().map(|line| line.unwrap().number).collect();
        assert_eq!(numbers, [1, 2, 1, 2]);
    }

    /// The batches of CSV, each with the numbers in the input of its lines.
    fn csv_batches(lines: &[&str]) -> Vec<(String, Vec<u64>)> {
        let (mut sender, mut batches) = batches_of(Format::Csv);
        for line in lines {
            sender.send(line);
        }
        drop(sender);
        let mut found = Vec::new();
        while let Some(batch) = batches.next() {
            let text = String::from_utf8(batch.text.clone()).unwrap();
            let lines_count = text.lines().count() as u64;
            let numbers = (2..=lines_count).map(|line| batch.line_of(line));
            found.push((text, numbers.collect()));
        }
        found
    }

    #[test]
    fn every_batch_of_csv_begins_with_the_header() {
        let other = "title,posted_at,video_type,year\n";
        let found = csv_batches(&[HEADER, "a\n", "b\n", HEADER, "c\n", other, "d\n"]);
        let expected = [
            (format!("{HEADER}a\nb\n"), vec![2, 3]),
            (format!("{HEADER}c\n"), vec![5]),
            (format!("{other}d\n"), vec![7]),
        ];
        assert_eq!(found, expected);
        let found = csv_batches(&[HEADER, HEADER, other, "d\n"]);
        assert_eq!(found, [(format!("{other}d\n"), vec![4])]);
        assert!(csv_batches(&[HEADER]).is_empty());
    }

    #[test]
    fn a_row_of_csv_is_not_torn() {
        let found = csv_batches(&[HEADER, "a,\"b\n", "c\"\"d\n", "e\"\n", "f\n"]);
        let expected = format!("{HEADER}a,\"b\nc\"\"d\ne\"\nf\n");
        assert_eq!(found, [(expected, vec![2, 3, 4, 5])]);
    }

    /// A writer that was killed within a row: later lines are not taken for a part of it.
    #[test]
    fn an_open_quote_ends_with_its_batch() {
        let found = csv_batches(&[HEADER, "a,\"b\n", "c\n", HEADER, "d\n"]);
        let expected = [
            (format!("{HEADER}a,\"b\nc\n"), vec![2, 3]),
            (format!("{HEADER}d\n"), vec![5]),
        ];
        assert_eq!(found, expected);
        let half = format!("\"{}\n", "x".repeat(LINE_BYTES_MAX / 2));
        let even = format!("{}\n", "x".repeat(LINE_BYTES_MAX / 2));
        let found = csv_batches(&[HEADER, &half, &even, "z\n"]);
        assert_eq!(found[0].1, [2, 3, 4]);
        assert!(found[0].0.ends_with("x\"\nz\n"));
        let long = format!("\"{}\n", "x".repeat(LINE_BYTES_MAX));
        let found = csv_batches(&[HEADER, &long, "z\n"]);
        assert!(found[0].0.ends_with("x\"\nz\n"));
    }
}
