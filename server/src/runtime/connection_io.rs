//! A socket as hyper wants it: notices progress, puts the lines of an answer into its head, and
//! sends files without reading them.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use rustix::net::{SendAncillaryBuffer, SendFlags, sockopt};

use super::connection::{ConnectionPhase, ConnectionState};
use super::transport::Transport;
use crate::limits::{JOINED_BYTES_MAX, LINGER_BYTES_MAX, SENDFILE_BYTES_MAX, WRITE_SLICES_MAX};

thread_local! {
    /// Where head and body are put together.
    static JOINED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The IO adapter of one connection.
pub(super) struct ConnectionIo {
    transport: Transport,
    state: Arc<ConnectionState>,
    /// What hyper takes as written and the client did not take yet.
    rest: Vec<u8>,
    is_corked: Cell<bool>,
    lingered_bytes: usize,
}

impl ConnectionIo {
    pub(super) fn new(transport: Transport, state: Arc<ConnectionState>) -> Self {
        Self {
            transport,
            state,
            rest: Vec::new(),
            is_corked: Cell::new(false),
            lingered_bytes: 0,
        }
    }

    /// Sends what was kept back.
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

    /// Sends a head with these lines in it, and what follows the head as far as that is in memory;
    /// the number of bytes among `slices` that this takes care of.
    ///
    /// The head stands at the end of the first slice: hyper writes no second one before the
    /// first has left its queue.
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
            return Poll::Ready(Err(io::Error::other("a head has no end")));
        };
        // A file that was sent before is still known when an answer without content follows.
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
            // A connection that is full keeps the rest here: hyper counts without the lines.
            let joined_sent = sent_count.min(joined.len());
            self.rest.extend_from_slice(&joined[joined_sent..]);
            Poll::Ready(Ok(taken_count + sent_count - joined_sent))
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
        self.transport.poll_call(context, |socket| {
            let mut nothing = SendAncillaryBuffer::default();
            let flags = SendFlags::NOSIGNAL;
            Ok(rustix::net::sendmsg(socket, slices, &mut nothing, flags)?)
        })
    }

    /// Sends what stands before a file, telling the kernel that more follows; or the file. None
    /// when there is no file among the slices.
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
        let send = |socket: BorrowedFd<'_>| {
            let mut offset = offset;
            let place = Some(&mut offset);
            let sent_count = rustix::fs::sendfile(socket, stored.file(), place, bytes_count)?;
            if sent_count == 0 {
                // The file became shorter than it was: the promised length cannot be kept.
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

    /// Lets only full segments go (`TCP_CORK` of tcp(7)), or lets everything go. A refusal costs
    /// only time.
    fn cork(&self, is_corked: bool) {
        let _ = sockopt::set_tcp_cork(self.transport.as_fd(), is_corked);
        self.is_corked.set(is_corked);
    }
}

impl Read for ConnectionIo {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.remaining();
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

    /// What a ring sends needs no one to wait for it, unless hyper leaves right after this.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(context))?;
        if self.state.outgoing.may_close() {
            return self.transport.poll_sent(context);
        }
        Poll::Ready(Ok(()))
    }

    /// Ends our side, then waits for the client's: closing over bytes that nobody read would
    /// reset the connection, and the client might never see our last answer.
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
