//! A socket as hyper wants it: notices progress, puts the lines of an answer into its head, and
//! sends files without reading them.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, sockopt};
use tokio::io::{AsyncWrite, Interest};
use tokio::net::TcpStream;

use super::connection::ConnectionState;

/// Bytes that one call of `sendfile` may move, so that one reader does not hold up its worker. What
/// takes several calls is corked meanwhile: 8 MB took 3.8 to 4.0 ms of processor time without and
/// 3.0 ms with the cork (`compare-serving --only file-8m`, Linux 6.18). In a bare loop of our own
/// 1 MB took the same with and without it, and 256 KB four times as much with it.
const SENDFILE_BYTES_MAX: usize = 1 << 20;
/// Up to so many bytes, a head and a body are put together and sent by one `send`: with a head of
/// 600 bytes and a body of 400, 2,048 and 8,192 bytes that took 4.18, 4.13 and 4.78 µs where
/// `writev` took 4.46, 4.34 and 4.90 (loopback, Linux 6.18).
const JOINED_BYTES_MAX: usize = 8 << 10;
/// Slices that go out in one call; a head and a content are two.
const SLICES_MAX: usize = 4;
/// Bytes that are read and thrown away after our last word, so that the client gets to read it.
const LINGER_BYTES_MAX: usize = 1 << 18;
/// Bytes that one call reads, at most.
const READ_BYTES_MAX: usize = 16 << 10;

thread_local! {
    /// Where head and body are put together.
    static JOINED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Where bytes arrive: a request is small, and to copy it costs less than to be careful with
    /// memory that nothing was written to.
    static ARRIVED: RefCell<[u8; READ_BYTES_MAX]> = const { RefCell::new([0; READ_BYTES_MAX]) };
}

/// The IO adapter of one connection.
///
/// It makes its own system calls where tokio would call the C library: there `recv` and `send` are
/// places where a thread may be cancelled, which took 1.4 % of the time of a cached search.
pub(super) struct Socket {
    stream: TcpStream,
    state: Arc<ConnectionState>,
    /// What hyper takes as written and the client did not take yet.
    rest: Vec<u8>,
    is_corked: Cell<bool>,
    lingered_bytes: usize,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Self {
        Self {
            stream,
            state,
            rest: Vec::new(),
            is_corked: Cell::new(false),
            lingered_bytes: 0,
        }
    }

    /// Sends what was kept back.
    fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.rest.is_empty() {
            let outcome = self.poll_send(context, &self.rest, SendFlags::empty());
            let sent_count = ready!(self.note(outcome))?;
            if sent_count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.rest.drain(..sent_count);
            if self.rest.is_empty() {
                self.rest = Vec::new();
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends a head with these lines in it, and what follows the head as far as that is in memory;
    /// the number of bytes among `slices` that this takes care of.
    ///
    /// The head stands at the end of the first slice: hyper writes no second one before the
    /// first has left its queue.
    fn poll_head(
        &mut self,
        context: &mut Context<'_>,
        lines: &[u8],
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        const END: &[u8] = b"\r\n";
        let Some((head, content)) = slices.split_first() else {
            return Poll::Ready(Ok(0));
        };
        let Some(open_head) = head.strip_suffix(b"\r\n\r\n") else {
            return Poll::Ready(Err(io::Error::other("a head has no end")));
        };
        // A file that was sent before is still known when an answer without content follows.
        let is_file = !content.is_empty() && self.state.is_sending_file();
        let content_bytes: usize = content.iter().map(|slice| slice.len()).sum();
        let is_joined = !is_file && head.len() + lines.len() + content_bytes <= JOINED_BYTES_MAX;
        JOINED.with_borrow_mut(|joined| {
            joined.clear();
            for part in [open_head, END, lines, END] {
                joined.extend_from_slice(part);
            }
            let mut taken_count = head.len();
            if is_joined {
                content
                    .iter()
                    .for_each(|slice| joined.extend_from_slice(slice));
                taken_count += content_bytes;
            }
            let outcome = if is_file {
                self.poll_send(context, joined, SendFlags::MORE)
            } else if is_joined || content.is_empty() {
                self.poll_send(context, joined, SendFlags::empty())
            } else {
                let mut all = [IoSlice::new(&[]); SLICES_MAX];
                let first = std::iter::once(IoSlice::new(joined));
                let filled = all.iter_mut().zip(first.chain(content.iter().copied()));
                let count = filled.map(|(place, slice)| *place = slice).count();
                self.poll_send_all(context, &all[..count])
            };
            let sent_count = match self.note(outcome) {
                Poll::Ready(outcome) => outcome?,
                Poll::Pending => 0,
            };
            // A connection that is full keeps the rest here: hyper counts without the lines.
            let joined_sent = sent_count.min(joined.len());
            self.rest.extend_from_slice(&joined[joined_sent..]);
            Poll::Ready(Ok(taken_count + sent_count - joined_sent))
        })
    }

    fn poll_send(
        &self,
        context: &mut Context<'_>,
        bytes: &[u8],
        flags: SendFlags,
    ) -> Poll<io::Result<usize>> {
        let flags = flags | SendFlags::NOSIGNAL;
        self.poll_call(context, |stream| {
            Ok(rustix::net::send(stream, bytes, flags)?)
        })
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

    fn poll_send_all(
        &self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_call(context, |stream| {
            let mut nothing = SendAncillaryBuffer::default();
            let flags = SendFlags::NOSIGNAL;
            Ok(rustix::net::sendmsg(stream, slices, &mut nothing, flags)?)
        })
    }

    /// Tries a system call that sends until it does not find the socket full.
    fn poll_call(
        &self,
        context: &mut Context<'_>,
        mut call: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let stream = &self.stream;
        loop {
            match stream.try_io(Interest::WRITABLE, || call(stream)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(stream.poll_write_ready(context))?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return Poll::Ready(outcome),
            }
        }
    }

    /// The same, as long as it is this task's turn: a reader as fast as its file does not keep the
    /// worker.
    fn poll_turn(
        &self,
        context: &mut Context<'_>,
        call: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        ready!(self.stream.poll_write_ready(context))?;
        self.poll_call(context, call)
    }

    /// Receives what has come; 0 bytes are the end.
    fn poll_receive(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let stream = &self.stream;
        loop {
            let mut received_count = None;
            let outcome = stream.try_io(Interest::READABLE, || {
                let (_, count) = rustix::net::recv(stream, &mut *buffer, RecvFlags::empty())?;
                received_count = Some(count);
                // Less than there is room for is all there was: saying so here spares the call
                // that would find nothing. The kernel tells when more comes (epoll(7), question 9).
                match (1..buffer.len()).contains(&count) {
                    true => Err(io::ErrorKind::WouldBlock.into()),
                    false => Ok(()),
                }
            });
            match (received_count, outcome) {
                (Some(count), _) => return Poll::Ready(Ok(count)),
                (None, Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(stream.poll_read_ready(context))?;
                }
                (None, Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                (None, outcome) => return Poll::Ready(outcome.map(|()| 0)),
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
        let sending = self.state.sending()?;
        let sending = sending.as_ref()?;
        let file_idx = slices
            .iter()
            .position(|slice| sending.offset_of(slice).is_some())?;
        let first = slices.first()?;
        if file_idx != 0 {
            return Some(self.poll_send(context, first, SendFlags::MORE));
        }
        let offset = sending.offset_of(first)?;
        let stored = sending.stored()?;
        let bytes_count = first.len().min(SENDFILE_BYTES_MAX);
        if bytes_count < first.len() && !self.is_corked.get() {
            self.cork(true);
        }
        let send = |stream: &TcpStream| {
            let mut offset = offset;
            let place = Some(&mut offset);
            let sent_count = rustix::fs::sendfile(stream, stored.file(), place, bytes_count)?;
            if sent_count == 0 {
                // The file became shorter than it was: the promised length cannot be kept.
                stored.tell_cut();
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(sent_count)
        };
        let outcome = self.poll_turn(context, send);
        let is_end = matches!(&outcome, Poll::Ready(Ok(count)) if *count == first.len());
        if is_end && self.is_corked.get() {
            self.cork(false);
        }
        Some(outcome)
    }

    /// Lets only full segments go (`TCP_CORK` of tcp(7)), or lets everything go. A refusal costs
    /// only time.
    fn cork(&self, is_corked: bool) {
        let _ = sockopt::set_tcp_cork(&self.stream, is_corked);
        self.is_corked.set(is_corked);
    }
}

impl Read for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        ARRIVED.with_borrow_mut(|arrived| {
            let room = buffer.remaining().min(arrived.len());
            let count = ready!(self.poll_receive(context, &mut arrived[..room]))?;
            let bytes = &arrived[..count];
            self.state.read(bytes);
            buffer.put_slice(bytes);
            Poll::Ready(Ok(()))
        })
    }
}

impl Write for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_rest(context))?;
        if let Some(lines) = self.state.take_lines() {
            return self.poll_head(context, &lines, slices);
        }
        if let Some(outcome) = self.poll_file(context, slices) {
            return self.note(outcome);
        }
        let outcome = self.poll_send_all(context, slices);
        self.note(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_rest(context)
    }

    /// Ends our side, then waits for the client's: closing over bytes that nobody read would
    /// reset the connection, and the client might never see our last answer.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(context))?;
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        self.state.linger();
        let mut waste = [0; 4096];
        while self.lingered_bytes < LINGER_BYTES_MAX {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_read(&mut waste) {
                Ok(0) => break,
                Ok(bytes_count) => self.lingered_bytes += bytes_count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
