//! A connection's socket as hyper's I/O: notes progress, inserts raw headers into heads, and sends
//! files with `sendfile`.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use rustix::net::{SendAncillaryBuffer, SendFlags, sockopt};

use super::cold_read::ColdRead;
use super::connection::{ConnectionPhase, ConnectionState};
use super::partial_head::is_partial_head;
use super::transport::Transport;
use crate::limits::{
    HYPER_READ_BYTES_MAX, JOINED_BYTES_MAX, LINGER_BYTES_MAX, PARTIAL_HEAD_BYTES_MAX,
    SENDFILE_BYTES_MAX, WRITE_SLICES_MAX,
};

thread_local! {
    /// Buffer that joins a head and a small body.
    static JOINED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// I/O adapter between hyper and the transport of one connection.
pub(super) struct ConnectionIo {
    /// The socket. hyper never uses it directly.
    transport: Transport,
    state: Arc<ConnectionState>,
    /// Bytes that hyper counts as written and the socket had no room for. They contain raw headers,
    /// which hyper does not know, so hyper cannot offer them again.
    rest: Vec<u8>,
    /// Received bytes that hyper has not got yet: the beginning of a head, or more.
    early: Vec<u8>,
    /// True while the socket is corked: from the first part of a file that takes several calls to
    /// the last one.
    is_corked: Cell<bool>,
    /// The read into the page cache that the connection waits for, if its file is not in memory.
    cold_read: RefCell<ColdRead>,
    /// Bytes discarded by lingering close, up to `LINGER_BYTES_MAX`.
    lingered_bytes: usize,
}

impl ConnectionIo {
    pub(super) fn new(transport: Transport, state: Arc<ConnectionState>) -> Self {
        Self {
            transport,
            state,
            rest: Vec::new(),
            early: Vec::new(),
            is_corked: Cell::new(false),
            cold_read: RefCell::default(),
            lingered_bytes: 0,
        }
    }

    /// Receives until there is something for hyper. Ready with false if the connection has ended
    /// without any.
    pub(super) fn poll_head_received(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        loop {
            let checked_count = self.early.len();
            let take = |bytes: &[u8]| {
                self.state.read(bytes);
                self.early.extend_from_slice(bytes);
            };
            let outcome = self
                .transport
                .poll_receive(context, PARTIAL_HEAD_BYTES_MAX, take);
            if matches!(ready!(outcome), Ok(0) | Err(_)) {
                return Poll::Ready(!self.early.is_empty());
            }
            if !is_partial_head(&self.early, checked_count) {
                return Poll::Ready(true);
            }
        }
    }

    /// Puts bytes back that hyper received and did not use. Returns true if they are only the
    /// beginning of a head.
    pub(super) fn put_back(&mut self, bytes: &[u8]) -> bool {
        self.early.splice(..0, bytes.iter().copied());
        is_partial_head(&self.early, 0)
    }

    /// Sends the rest of an earlier write.
    fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.rest.is_empty() {
            let outcome = self
                .transport
                .poll_send(context, &self.rest, SendFlags::empty());
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

    /// Sends a head with the raw header block inserted, and the content behind it if that is in
    /// memory. Returns the number of bytes of `slices` that are done, in hyper's count: without the
    /// raw headers.
    ///
    /// The head is the first slice and ends with an empty line (the invariant of `Outgoing`). The
    /// block goes before that line. Small content is joined with the head for one `send`, which on
    /// a ring is queued until the turn ends; large content goes out by `sendmsg`; a file follows in
    /// the next write, and the head is marked as not the last (`MSG_MORE`).
    fn poll_head(
        &mut self,
        context: &mut Context<'_>,
        raw_headers: &[u8],
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        const END: &[u8] = b"\r\n";
        let Some((head, content)) = slices.split_first() else {
            return Poll::Ready(Ok(0));
        };
        let Some(open_head) = head.strip_suffix(b"\r\n\r\n") else {
            return Poll::Ready(Err(io::Error::other("hyper wrote a head without its end")));
        };
        // A response without content never polls its body, so the file before it is still set.
        let is_file = !content.is_empty() && self.state.outgoing.is_sending_file();
        let content_bytes: usize = content.iter().map(|slice| slice.len()).sum();
        let is_joined =
            !is_file && head.len() + raw_headers.len() + content_bytes <= JOINED_BYTES_MAX;
        let taken_count = if is_joined {
            head.len() + content_bytes
        } else {
            head.len()
        };
        let join = |joined: &mut Vec<u8>| {
            for part in [open_head, END, raw_headers, END] {
                joined.extend_from_slice(part);
            }
            if is_joined {
                let content = content.iter();
                content.for_each(|slice| joined.extend_from_slice(slice));
            }
        };
        if is_joined && self.transport.send_later(join) {
            self.state.answer_queued();
            return Poll::Ready(Ok(taken_count));
        }
        JOINED.with_borrow_mut(|joined| {
            joined.clear();
            join(joined);
            let outcome = if is_file {
                self.transport.poll_send(context, joined, SendFlags::MORE)
            } else if is_joined || content.is_empty() {
                self.transport
                    .poll_send(context, joined, SendFlags::empty())
            } else {
                let mut all = [IoSlice::new(&[]); WRITE_SLICES_MAX];
                let first = std::iter::once(IoSlice::new(joined));
                let filled = all.iter_mut().zip(first.chain(content.iter().copied()));
                let count = filled.map(|(place, slice)| *place = slice).count();
                self.poll_send_all(context, &all[..count])
            };
            let sent_count = match self.note(outcome) {
                Poll::Ready(outcome) => outcome?,
                Poll::Pending => 0,
            };
            // All of the joined bytes count as written, whatever the socket took: unsent bytes stay
            // in `rest`. hyper's count has no place for a part of the raw headers.
            let joined_sent = sent_count.min(joined.len());
            self.rest.extend_from_slice(&joined[joined_sent..]);
            Poll::Ready(Ok(taken_count + sent_count - joined_sent))
        })
    }

    /// Records the effect of a write on the connection's phase.
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
        self.transport.poll_call(context, |socket| {
            let mut nothing = SendAncillaryBuffer::default();
            let flags = SendFlags::NOSIGNAL;
            Ok(rustix::net::sendmsg(socket, slices, &mut nothing, flags)?)
        })
    }

    /// Sends the slice before a file, or a part of the file. Returns `None` if there is no file
    /// among the slices.
    ///
    /// A file of several calls is corked: every `sendfile` call ends in a segment of its own
    /// otherwise. The cork is removed with the last part. A part that is not in memory is read by
    /// another thread first.
    fn poll_file(
        &self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Option<Poll<io::Result<usize>>> {
        let sending = self.state.outgoing.file()?;
        let sending = sending.as_ref()?;
        let file_idx = slices
            .iter()
            .position(|slice| sending.offset_of(slice).is_some())?;
        let first = slices.first()?;
        if file_idx != 0 {
            return Some(self.transport.poll_send(context, first, SendFlags::MORE));
        }
        let offset = sending.offset_of(first)?;
        let stored = sending.stored()?;
        let bytes_count = first.len().min(SENDFILE_BYTES_MAX);
        if bytes_count < first.len() && !self.is_corked.get() {
            self.cork(true);
        }
        let start = usize::try_from(offset).ok()?;
        let mut cold_read = self.cold_read.borrow_mut();
        let part = start..start + bytes_count;
        let Poll::Ready(bytes_count) = cold_read.poll_resident(context, &stored, part) else {
            return Some(Poll::Pending);
        };
        let send = |socket: BorrowedFd<'_>| {
            let mut offset = offset;
            let place = Some(&mut offset);
            let sent_count = rustix::fs::sendfile(socket, stored.file(), place, bytes_count)?;
            if sent_count == 0 {
                // The file is shorter than its mapping. The promised length cannot be kept, so the
                // connection ends, and the mark has the blob opened anew.
                stored.mark_truncated();
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(sent_count)
        };
        let outcome = self.transport.poll_turn(context, send);
        let is_end = matches!(&outcome, Poll::Ready(Ok(count)) if *count == first.len());
        if is_end && self.is_corked.get() {
            self.cork(false);
        }
        Some(outcome)
    }

    /// Sets or clears `TCP_CORK` (tcp(7)): only full segments are sent. A failure costs only time.
    fn cork(&self, is_corked: bool) {
        let _ = sockopt::set_tcp_cork(self.transport.as_fd(), is_corked);
        self.is_corked.set(is_corked);
    }
}

impl Read for ConnectionIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.remaining().min(HYPER_READ_BYTES_MAX);
        if !self.early.is_empty() {
            let taken_count = room.min(self.early.len());
            buffer.put_slice(&self.early[..taken_count]);
            self.early.drain(..taken_count);
            if self.early.is_empty() {
                self.early = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        let take = |bytes: &[u8]| {
            self.state.read(bytes);
            buffer.put_slice(bytes);
        };
        self.transport
            .poll_receive(context, room, take)
            .map_ok(|_| ())
    }
}

impl Write for ConnectionIo {
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
        if self.transport.poll_sent(context)?.is_pending() {
            self.state.write_blocked();
            return Poll::Pending;
        }
        if let Some(raw_headers) = self.state.outgoing.take_raw_headers() {
            return self.poll_head(context, &raw_headers, slices);
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

    /// A ring sends by itself, so a flush does not wait for it, unless hyper drops the connection
    /// right afterwards.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(context))?;
        if self.state.outgoing.may_close() {
            return self.transport.poll_sent(context);
        }
        Poll::Ready(Ok(()))
    }

    /// Lingering close: shuts our side down, then waits for the client's end. Closing a socket with
    /// unread bytes resets the connection, and the client might lose our last answer.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(context))?;
        ready!(self.transport.poll_sent(context))?;
        if self.state.phase() != ConnectionPhase::Lingering {
            self.transport.shut_down();
            self.state.linger();
        }
        while self.lingered_bytes < LINGER_BYTES_MAX {
            let outcome = self
                .transport
                .poll_receive(context, LINGER_BYTES_MAX, |_| {});
            match ready!(outcome) {
                Ok(0) | Err(_) => break,
                Ok(bytes_count) => self.lingered_bytes += bytes_count,
            }
        }
        Poll::Ready(Ok(()))
    }
}
