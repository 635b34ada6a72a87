//! Bodies on the admin socket: whole, or written and read in pieces by code that blocks.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;

use crate::limits::BODY_PIECES_MAX;
use crate::runtime::{ControlHandle, PieceReader};
use hyper::body::Incoming;
use tokio::sync::mpsc;

/// A body to be sent.
pub enum SentBody {
    /// All of it; none once it is sent.
    Whole(Option<Bytes>),
    /// Pieces from a channel; it ends when the sender is dropped.
    Pieces(mpsc::Receiver<io::Result<Bytes>>),
}

impl SentBody {
    /// A body of these bytes.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
    }

    /// A body and the sender of its pieces. Sending blocks while the other side is slow.
    pub fn pieces() -> (mpsc::Sender<io::Result<Bytes>>, Self) {
        let (sender, receiver) = mpsc::channel(BODY_PIECES_MAX);
        (sender, Self::Pieces(receiver))
    }
}

impl Body for SentBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Pieces(receiver) => {
                let piece = receiver.poll_recv(context);
                piece.map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                let bytes = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(bytes as u64)
            }
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}

/// A received body for code that blocks, forwarded on the control runtime.
pub fn received_body(mut body: Incoming, control: &ControlHandle) -> PieceReader {
    let (sender, reader) = PieceReader::new();
    control.spawn(async move {
        while let Some(frame) = body.frame().await {
            let piece = match frame.map(Frame::into_data) {
                Ok(Ok(bytes)) => Ok(bytes),
                Ok(Err(_)) => continue,
                Err(error) => Err(io::Error::other(error)),
            };
            if sender.send(piece).await.is_err() {
                return;
            }
        }
    });
    reader
}
