//! Bodies of requests and responses.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use super::connection::ConnectionState;
use super::file_body::{StoredBytes, addresses_of};

/// A response apart from its status and the header fields that hyper writes.
pub struct Body {
    /// Content after the head.
    pub content: Content,
    /// Finished header lines, each with its line end. They are written after hyper's own fields: to
    /// hash, keep and write a field costs hyper 400 instructions.
    pub raw_headers: Bytes,
}

impl From<Content> for Body {
    fn from(content: Content) -> Self {
        Self {
            content,
            raw_headers: Bytes::new(),
        }
    }
}

/// Content of a response.
pub enum Content {
    /// No content.
    Empty,
    /// Bytes in memory, in one slice.
    Bytes(Bytes),
    /// A range of a file, sent from the file to the socket.
    File(Arc<dyn StoredBytes>, Range<usize>),
}

impl Content {
    /// Length in bytes.
    pub fn len_bytes(&self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, range) => range.len() as u64,
        }
    }
}

/// Body of a response on its connection: at most one frame.
pub(super) struct OutgoingBody {
    content: Content,
    state: Arc<ConnectionState>,
}

impl OutgoingBody {
    /// Body of the response that hyper writes next.
    pub(super) fn new(body: Body, state: Arc<ConnectionState>) -> Self {
        if !body.raw_headers.is_empty() {
            state.outgoing.set_raw_headers(body.raw_headers);
        }
        Self {
            content: body.content,
            state,
        }
    }
}

impl http_body::Body for OutgoingBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let bytes = match std::mem::replace(&mut self.content, Content::Empty) {
            Content::Empty => return Poll::Ready(None),
            Content::Bytes(bytes) => {
                self.state.outgoing.clear_file();
                bytes
            }
            Content::File(stored, range) => {
                self.state.outgoing.set_file(&stored);
                addresses_of(stored, range)
            }
        };
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.content.len_bytes() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.content.len_bytes())
    }
}

/// Body of a request, not read yet.
pub struct RequestBody {
    incoming: Incoming,
    /// `None` if there is no body, which is the usual case and costs no reference count.
    state: Option<Arc<ConnectionState>>,
}

/// A body that a client sent wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyRejection {
    /// The body is longer than allowed.
    #[error("the body is too large")]
    TooLarge,
    /// The client disconnected, or sent an invalid body.
    #[error("the body is incomplete or invalid")]
    Broken,
}

impl RequestBody {
    pub(super) fn new(incoming: Incoming, state: &Arc<ConnectionState>) -> Self {
        let has_body = !incoming.is_end_stream();
        state.head_received(has_body);
        let state = if has_body {
            Some(Arc::clone(state))
        } else {
            None
        };
        Self { incoming, state }
    }

    /// True if the request has no body.
    pub fn is_empty(&self) -> bool {
        self.state.is_none()
    }

    /// Reads and discards the body, up to `bytes_max` bytes of it. Takes no memory.
    pub async fn discard(mut self, bytes_max: usize) -> Result<(), BodyRejection> {
        let body_bytes = self.incoming.size_hint().exact().unwrap_or(0);
        let outcome = self.discard_frames(bytes_max).await;
        if let Some(state) = self.state {
            state.body_received(body_bytes);
        }
        outcome
    }

    async fn discard_frames(&mut self, bytes_max: usize) -> Result<(), BodyRejection> {
        let mut left = bytes_max;
        while let Some(frame) = self.incoming.frame().await {
            let frame = frame.map_err(|_| BodyRejection::Broken)?;
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            left = left.checked_sub(bytes).ok_or(BodyRejection::TooLarge)?;
        }
        Ok(())
    }

    /// Reads the body, up to `bytes_max` bytes. The connection's deadline for a request still
    /// applies.
    pub async fn collect(self, bytes_max: usize) -> Result<Bytes, BodyRejection> {
        let body_bytes = self.incoming.size_hint().exact().unwrap_or(0);
        let collected = Limited::new(self.incoming, bytes_max).collect().await;
        if let Some(state) = self.state {
            state.body_received(body_bytes);
        }
        match collected {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                Err(BodyRejection::TooLarge)
            }
            Err(_) => Err(BodyRejection::Broken),
        }
    }
}
