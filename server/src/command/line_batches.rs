//! Lines that come one by one, grouped into batches that are loaded together.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use crate::limits::{BATCH_BYTES_MAX, BATCH_LINES_MAX, LINE_BYTES_MAX};
use crate::rows::{Format, is_csv_header, next_line, unpacked};

/// Time without a line after which a batch ends.
const QUIET: Duration = Duration::from_secs(1);
/// Poll interval for the end of a batch and for shutdown.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

type Line = io::Result<Vec<u8>>;

/// Sends every line with its line end, until the receiver is dropped.
pub(super) fn read_lines(input: Box<dyn Read>, lines: &SyncSender<Line>) {
    let mut input = match unpacked(input) {
        Ok(input) => input,
        Err(error) => {
            let _ = lines.send(Err(error));
            return;
        }
    };
    loop {
        let line = next_line(&mut *input);
        let is_failed = line.is_err();
        let is_end = line.as_ref().is_ok_and(Vec::is_empty);
        if is_end || lines.send(line).is_err() || is_failed {
            return;
        }
    }
}

/// Lines that are loaded together.
pub(super) struct LineBatch {
    /// The lines; in CSV the header stands before them.
    pub text: Vec<u8>,
    lines_count: u64,
    /// Number of lines in the batches before.
    lines_before: u64,
    /// Number of lines of the header that was put before the lines.
    header_lines: u64,
    is_full: bool,
}

impl LineBatch {
    /// The number in the whole input of a line of the text.
    pub(super) fn line_of(&self, line: u64) -> u64 {
        (self.lines_before + line).saturating_sub(self.header_lines)
    }

    fn push(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.lines_count += 1;
    }
}

/// Groups lines into batches.
pub(super) struct LineBatches {
    lines: Receiver<Line>,
    is_stopping: Arc<AtomicBool>,
    lines_count: u64,
    is_over: bool,
    /// The header of CSV, which every batch begins with; empty before the first line.
    header: Vec<u8>,
    /// A header that ended a batch: the next one begins with it.
    next_header: Option<Vec<u8>>,
    /// Lines of a row of CSV in which a quote is open.
    open_row: Vec<u8>,
    open_lines: u64,
    format: Format,
    /// The error that ended reading, if it was not the end of the input.
    pub(super) failed: Option<io::Error>,
}

impl LineBatches {
    pub(super) fn new(lines: Receiver<Line>, format: Format, is_stopping: Arc<AtomicBool>) -> Self {
        Self {
            lines,
            is_stopping,
            lines_count: 0,
            is_over: false,
            header: Vec::new(),
            next_header: None,
            open_row: Vec::new(),
            open_lines: 0,
            format,
            failed: None,
        }
    }

    /// Waits for the next batch; none after the last.
    ///
    /// A batch ends when it is full, when no line has come for [`QUIET`], or with the input. The
    /// channel is polled, because lines, the clock and the request to stop are waited for together.
    pub(super) fn next(&mut self) -> Option<LineBatch> {
        let mut batch = self.begin();
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
        self.lines_count += batch.lines_count;
        if batch.lines_count == 0 {
            return None;
        }
        Some(batch)
    }

    fn begin(&mut self) -> LineBatch {
        if let Some(header) = self.next_header.take() {
            self.header = header;
            self.lines_count += 1;
        }
        LineBatch {
            text: self.header.clone(),
            lines_count: 0,
            lines_before: self.lines_count,
            header_lines: u64::from(!self.header.is_empty()),
            is_full: false,
        }
    }

    fn take(&mut self, batch: &mut LineBatch, line: Vec<u8>) {
        match self.format {
            Format::Jsonl => batch.push(&line),
            Format::Csv => self.take_csv(batch, line),
        }
    }

    fn take_csv(&mut self, batch: &mut LineBatch, mut line: Vec<u8>) {
        // A file that was truncated or replaced begins with its header again.
        if self.header.is_empty() || is_csv_header(&line) {
            self.end_open_row(batch);
            self.next_header = Some(line);
            if batch.lines_count == 0 {
                *batch = self.begin();
            } else {
                batch.is_full = true;
            }
            return;
        }
        let is_odd = line.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
        let mut is_open = self.open_row.is_empty() == is_odd;
        self.open_row.append(&mut line);
        self.open_lines += 1;
        if is_open && LINE_BYTES_MAX < self.open_row.len() {
            // It is refused as too long. An open quote would take the next rows with it.
            self.open_row.insert(self.open_row.len() - 1, b'"');
            is_open = false;
        }
        if !is_open {
            batch.text.append(&mut self.open_row);
            batch.lines_count += std::mem::take(&mut self.open_lines);
        }
    }

    /// Gives up waiting for the end of a row. It is the last one of its batch, as its open quote
    /// would take those after it with it.
    fn end_open_row(&mut self, batch: &mut LineBatch) {
        if self.open_row.is_empty() {
            return;
        }
        batch.text.append(&mut self.open_row);
        batch.lines_count += std::mem::take(&mut self.open_lines);
        batch.is_full = true;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    fn batches_of(format: Format) -> (SyncSender<Line>, LineBatches) {
        let (sender, lines) = sync_channel(20_000);
        (sender, LineBatches::new(lines, format, Arc::default()))
    }

    fn batches() -> (SyncSender<Line>, LineBatches) {
        batches_of(Format::Jsonl)
    }

    #[test]
    fn a_batch_ends_when_it_is_full_or_the_input_ends() {
        let (sender, mut batches) = batches();
        for _ in 0..=BATCH_LINES_MAX {
            sender.send(Ok(b"x\n".to_vec())).unwrap();
        }
        let first = batches.next().unwrap();
        assert_eq!((first.lines_before, first.lines_count), (0, 10_000));
        sender.send(Err(io::ErrorKind::InvalidData.into())).unwrap();
        let second = batches.next().unwrap();
        assert_eq!((second.lines_before, second.lines_count), (10_000, 1));
        assert_eq!(second.text, b"x\n");
        assert!(batches.next().is_none());
        assert!(batches.failed.is_some());
    }

    #[test]
    fn a_batch_ends_when_nothing_comes_for_a_second() {
        let (sender, mut batches) = batches();
        sender.send(Ok(b"x\n".to_vec())).unwrap();
        let started = Instant::now();
        assert_eq!(batches.next().unwrap().lines_count, 1);
        assert!(QUIET <= started.elapsed());
        batches.is_stopping.store(true, Ordering::SeqCst);
        sender.send(Ok(b"y\n".to_vec())).unwrap();
        assert_eq!(batches.next().unwrap().text, b"y\n");
        assert!(batches.next().is_none());
    }

    const HEADER: &str = "video_type,title,posted_at\n";

    /// The batches of CSV, each with the numbers in the input of its lines.
    fn csv_batches(lines: &[&str]) -> Vec<(String, Vec<u64>)> {
        let (sender, mut batches) = batches_of(Format::Csv);
        for line in lines {
            sender.send(Ok(line.as_bytes().to_vec())).unwrap();
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

    /// A writer that was killed within a row: what follows is not taken for a part of it.
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
