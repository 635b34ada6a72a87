//! Parsing of lines on several threads.

use std::io::{self, BufRead};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

use crate::limits::{LINE_BATCHES_MAX, PARSER_THREADS_MAX};
use crate::rows::{Format, LineGroup};

/// Reads lines of a format of JSON lines in batches, and calls `each` with every batch, parsed, in
/// order.
///
/// This thread reads and `each` runs on it; others parse. They end before this returns.
///
/// Errors: reading fails, or `each` does. Lines before the failure were passed on.
pub(super) fn parse_lines<E: From<io::Error>>(
    input: &mut dyn BufRead,
    format: Format,
    each: &mut dyn FnMut(&LineGroup) -> Result<(), E>,
) -> Result<(), E> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let parsers_count = cores.min(PARSER_THREADS_MAX);
        let batches_max = LINE_BATCHES_MAX / parsers_count;
        let parsers = (0..parsers_count).map(|_| Parser::start(scope, batches_max));
        let mut pipeline = Pipeline {
            parsers: parsers.collect(),
            batches_max,
            sent_count: 0,
            taken_count: 0,
        };
        let mut first_line = 1;
        let mut batch = LineGroup::default();
        loop {
            let (lines_count, read) = batch.read(input, format, first_line);
            first_line += lines_count;
            if lines_count != 0 {
                pipeline.send(batch);
            }
            let is_over = lines_count == 0 || read.is_err();
            batch = LineGroup::default();
            while let Some(parsed) = pipeline.take(is_over) {
                each(&parsed)?;
                batch = parsed;
            }
            read?;
            if is_over {
                return Ok(());
            }
        }
    })
}

/// A thread that parses batches, in order.
struct Parser {
    sender: SyncSender<LineGroup>,
    parsed: Receiver<LineGroup>,
}

impl Parser {
    /// Starts a thread that has at most this many batches at a time.
    fn start<'scope>(scope: &'scope Scope<'scope, '_>, batches_max: usize) -> Self {
        let (sender, batches) = sync_channel::<LineGroup>(batches_max);
        let (done, parsed) = sync_channel(batches_max);
        scope.spawn(move || {
            for mut batch in batches {
                batch.parse();
                // The receiver is gone: the import has failed.
                if done.send(batch).is_err() {
                    return;
                }
            }
        });
        Self { sender, parsed }
    }
}

/// Parsers that get batches in turn. Results are taken in the same turn, and so are in order.
struct Pipeline {
    parsers: Vec<Parser>,
    /// Maximum number of batches that each has at a time.
    batches_max: usize,
    sent_count: usize,
    taken_count: usize,
}

impl Pipeline {
    fn send(&mut self, batch: LineGroup) {
        let parser = &self.parsers[self.sent_count % self.parsers.len()];
        let sent = parser.sender.send(batch);
        sent.expect("a parser ends after its channel");
        self.sent_count += 1;
    }

    /// The next parsed batch, when there is no room for another one, or at the end of all.
    fn take(&mut self, is_over: bool) -> Option<LineGroup> {
        let waiting_count = self.sent_count - self.taken_count;
        let is_full = waiting_count == self.parsers.len() * self.batches_max;
        if waiting_count == 0 || !(is_full || is_over) {
            return None;
        }
        let parser = &self.parsers[self.taken_count % self.parsers.len()];
        let parsed = parser.parsed.recv().expect("parsing does not panic");
        self.taken_count += 1;
        Some(parsed)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;
    use crate::limits::LINE_BATCH_BYTES;

    /// Input that fails at its end.
    struct Failing<'t>(&'t [u8]);

    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("gone")),
                count => Ok(count),
            }
        }
    }

    #[test]
    fn batches_come_in_order_and_those_before_a_failure_too() {
        let lines_count = 2 * LINE_BATCH_BYTES;
        let text = b"not JSON\n".repeat(lines_count);
        let mut input = BufReader::new(Failing(&text));
        let mut lines = Vec::new();
        let mut batches_count = 0;
        let parsed = parse_lines::<io::Error>(&mut input, Format::Jsonl, &mut |batch| {
            batches_count += 1;
            lines.extend(batch.rejections.iter().map(|rejection| rejection.line));
            Ok(())
        });
        assert_eq!(parsed.unwrap_err().to_string(), "gone");
        assert!(LINE_BATCHES_MAX < batches_count);
        assert!(lines.into_iter().eq(1..=lines_count as u64));
    }

    #[test]
    fn a_failure_of_the_receiver_ends_it() {
        let text = b"{}\n".repeat(LINE_BATCH_BYTES);
        let mut batches_count = 0;
        let parsed = parse_lines(&mut &*text, Format::Jsonl, &mut |_| {
            batches_count += 1;
            Err(io::Error::other("full"))
        });
        assert_eq!(parsed.unwrap_err().to_string(), "full");
        assert_eq!(batches_count, 1);
    }
}
