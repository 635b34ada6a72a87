//! A socket as hyper wants it: notices progress, and sends files without reading them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use rustix::net::SendFlags;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::connection::ConnectionState;

/// Bytes that one call of `sendfile` may move, so that one reader does not hold up its worker.
const SENDFILE_BYTES_MAX: usize = 1 << 20;
/// Bytes that are read and thrown away after our last word, so that the client gets to read it.
const LINGER_BYTES_MAX: usize = 1 << 18;

/// The IO adapter of one connection.
pub(super) struct Socket {
    io: TokioIo<TcpStream>,
    state: Arc<ConnectionState>,
    lingered_bytes: usize,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Self {
        Self {
            io: TokioIo::new(stream),
            state,
            lingered_bytes: 0,
        }
    }

    /// Remembers what a write did to the connection.
    fn note(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &outcome {
            Poll::Ready(Ok(_)) => self.state.wrote(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.state.write_blocked(),
        }
        outcome
    }

    /// Tries a system call until it does not find the socket full.
    fn poll_call(
        &self,
        context: &mut Context<'_>,
        mut call: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let stream = self.io.inner();
        loop {
            ready!(stream.poll_write_ready(context))?;
            match stream.try_io(Interest::WRITABLE, || call(stream)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return Poll::Ready(outcome),
            }
        }
    }

    /// Sends what stands before a file, telling the kernel that more follows; or the file. None
    /// when there is no file among the slices.
    fn poll_file(
        &self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Option<Poll<io::Result<usize>>> {
        let sending = self.state.sending();
        let sending = sending.as_ref()?;
        let file_idx = slices
            .iter()
            .position(|slice| sending.offset_of(slice).is_some())?;
        let first = slices.first()?;
        if file_idx != 0 {
            let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
            let send = |stream: &TcpStream| Ok(rustix::net::send(stream, first, flags)?);
            return Some(self.poll_call(context, send));
        }
        let offset = sending.offset_of(first)?;
        let stored = sending.stored()?;
        let bytes_count = first.len().min(SENDFILE_BYTES_MAX);
        let send = |stream: &TcpStream| {
            let mut offset = offset;
            let place = Some(&mut offset);
            let sent_count = rustix::fs::sendfile(stream, stored.file(), place, bytes_count)?;
            if sent_count == 0 {
                // The file became shorter than it was: the promised length cannot be kept.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(sent_count)
        };
        Some(self.poll_call(context, send))
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = ready!(Pin::new(&mut self.io).poll_read(context, buffer));
        self.state.read();
        Poll::Ready(outcome)
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(context, bytes);
        self.note(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(outcome) = self.poll_file(context, slices) {
            return self.note(outcome);
        }
        let outcome = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.note(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Ends our side, then waits for the client's: closing over bytes that nobody read would
    /// reset the connection, and the client might never see our last answer.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_shutdown(context))?;
        self.state.linger();
        let mut waste = [0; 4096];
        while self.lingered_bytes < LINGER_BYTES_MAX {
            ready!(self.io.inner().poll_read_ready(context))?;
            match self.io.inner().try_read(&mut waste) {
                Ok(0) => break,
                Ok(bytes_count) => self.lingered_bytes += bytes_count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
