//! Bodies of requests and answers.

use std::fs::File;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use subcat_engine::Blob;

use super::connection::ConnectionState;

/// Bytes of a file that is open and mapped. The mapping gives the bytes an address; what is sent
/// comes from the file.
pub trait StoredBytes: Send + Sync {
    /// The open file.
    fn file(&self) -> &File;

    /// The mapped bytes, which no one touches.
    fn mapped(&self) -> &[u8];

    /// Is told that the file has become shorter than its bytes.
    fn mark_truncated(&self);
}

impl StoredBytes for Blob {
    fn file(&self) -> &File {
        Blob::file(self)
    }

    fn mapped(&self) -> &[u8] {
        self.bytes()
    }

    fn mark_truncated(&self) {
        Blob::mark_truncated(self);
    }
}

/// What an answer is made of beside its status and the fields that hyper writes.
pub struct Body {
    /// What follows the head.
    pub content: Content,
    /// Finished lines of the head, each with its end: they go out behind those that hyper writes.
    /// To hash, keep and write a field of its own costs hyper 400 instructions.
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

/// The content of an answer.
pub enum Content {
    /// None.
    Empty,
    /// Finished bytes, in one piece.
    Bytes(Bytes),
    /// A part of a file, which goes from the file to the socket.
    File(Arc<dyn StoredBytes>, Range<usize>),
}

impl Content {
    /// Its length in bytes.
    pub fn len_bytes(&self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, range) => range.len() as u64,
        }
    }
}

/// Keeps the mapping alive as long as hyper holds an address in it.
struct MappedBytes(Arc<dyn StoredBytes>);

impl AsRef<[u8]> for MappedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.mapped()
    }
}

/// A file that is being sent on a connection: which addresses stand for which of its bytes.
///
/// hyper's queue is what keeps the file open: when the last byte is sent, it is let go.
pub(super) struct Sending {
    stored: Weak<dyn StoredBytes>,
    addresses: Range<usize>,
}

impl Sending {
    /// The offset in the file for which this slice stands, none when it stands for none.
    pub(super) fn offset_of(&self, slice: &[u8]) -> Option<u64> {
        let address = slice.as_ptr().addr();
        let is_inside = !slice.is_empty() && self.addresses.contains(&address);
        is_inside.then(|| (address - self.addresses.start) as u64)
    }

    /// The file, while it is being sent.
    pub(super) fn stored(&self) -> Option<Arc<dyn StoredBytes>> {
        self.stored.upgrade()
    }
}

/// The body of an answer on its connection, as hyper wants it: one frame.
pub(super) struct OutgoingBody {
    content: Content,
    state: Arc<ConnectionState>,
}

impl OutgoingBody {
    /// The body of the answer whose head hyper writes next.
    pub(super) fn new(body: Body, state: Arc<ConnectionState>) -> Self {
        if !body.raw_headers.is_empty() {
            state.put_raw_headers(body.raw_headers);
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
                self.state.send_memory();
                bytes
            }
            Content::File(stored, range) => {
                // hyper asks for a frame only when the body before it has left its queue: one
                // file at a time is being sent.
                let start = stored.mapped().as_ptr().addr();
                self.state.send(Sending {
                    addresses: start..start + stored.mapped().len(),
                    stored: Arc::downgrade(&stored),
                });
                Bytes::from_owner(MappedBytes(stored)).slice(range)
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

/// The body of a request, not read yet.
pub struct RequestBody {
    incoming: Incoming,
    /// None when there is no body, as nearly always.
    state: Option<Arc<ConnectionState>>,
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyRejection {
    /// It is longer than allowed.
    TooLarge,
    /// The client went, or sent what is no body.
    Broken,
}

impl RequestBody {
    pub(super) fn new(incoming: Incoming, state: &Arc<ConnectionState>) -> Self {
        let has_body = !incoming.is_end_stream();
        state.head_received(has_body);
        Self {
            state: has_body.then(|| Arc::clone(state)),
            incoming,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.state.is_none()
    }

    /// Reads it all, at most so many bytes, within the time that a header has.
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
