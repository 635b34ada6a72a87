//! Bytes that come in pieces, for code that blocks.

use std::io::{self, Read};

use bytes::{Buf as _, Bytes};
use tokio::sync::mpsc;

use crate::limits::BODY_PIECES_MAX;

/// Reads the bytes that a task of the control runtime sends. Reading blocks, so it must not happen
/// there.
pub struct PieceReader {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

impl PieceReader {
    /// A reader, and the sender of its pieces; the reader ends when the sender is dropped.
    pub fn new() -> (mpsc::Sender<io::Result<Bytes>>, Self) {
        let (sender, pieces) = mpsc::channel(BODY_PIECES_MAX);
        let current = Bytes::new();
        (sender, Self { pieces, current })
    }
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.current = piece?,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}
