//! Parts of a response that bypass hyper, between the body that hyper polls and the socket to
//! which it writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};

use super::file_body::{FileInTransit, StoredBytes};

/// Raw header block, file and close of the response that a connection is sending.
///
/// INVARIANT (raw headers): a block is set before hyper writes the head of its response, and taken
/// by the first write afterwards. That write begins with the head alone in its first slice, ended
/// by an empty line: hyper starts no response before the one before it has left its queue (it would
/// with `pipeline_flush`, which stays off).
///
/// INVARIANT (file): addresses of the mapping appear in writes only while `file` names that file.
/// hyper polls the next frame only when the body before it has left its queue, so one file is
/// enough.
///
/// INVARIANT (close): once `may_close` is set, a flush waits until everything has been sent. hyper
/// drops a connection after an upgrade without shutting it down.
///
/// hyper promises none of this: its version is pinned, and the tests below fail if it ever writes
/// differently.
///
/// One thread uses all of it; the atomics and locks are there because hyper's connection runs in a
/// task that must be `Send`. The flags spare answers from memory the locks. See
/// [`super::connection::ConnectionState`] for what that costs.
#[derive(Default)]
pub(super) struct Outgoing {
    has_raw_headers: AtomicBool,
    raw_headers: Mutex<Bytes>,
    is_sending_file: AtomicBool,
    file: Mutex<Option<FileInTransit>>,
    may_close: AtomicBool,
}

impl Outgoing {
    /// Sets the raw header block of the head that hyper writes next.
    pub(super) fn set_raw_headers(&self, raw_headers: Bytes) {
        *self.raw_headers.lock() = raw_headers;
        self.has_raw_headers.store(true, Ordering::Relaxed);
    }

    /// Takes the raw header block of the head that is being written, once.
    pub(super) fn take_raw_headers(&self) -> Option<Bytes> {
        if !self.has_raw_headers.load(Ordering::Relaxed) {
            return None;
        }
        self.has_raw_headers.store(false, Ordering::Relaxed);
        Some(std::mem::take(&mut *self.raw_headers.lock()))
    }

    /// From now on, addresses of this file's mapping stand for its bytes.
    pub(super) fn set_file(&self, stored: &Arc<dyn StoredBytes>) {
        *self.file.lock() = Some(FileInTransit::new(stored));
        self.is_sending_file.store(true, Ordering::Relaxed);
    }

    /// The body that is sent from now on is in memory.
    pub(super) fn clear_file(&self) {
        if self.is_sending_file.load(Ordering::Relaxed) {
            self.is_sending_file.store(false, Ordering::Relaxed);
            *self.file.lock() = None;
        }
    }

    /// True while a file is being sent.
    pub(super) fn is_sending_file(&self) -> bool {
        self.is_sending_file.load(Ordering::Relaxed)
    }

    /// The file that is being sent.
    pub(super) fn file(&self) -> Option<MutexGuard<'_, Option<FileInTransit>>> {
        if self.is_sending_file() {
            Some(self.file.lock())
        } else {
            None
        }
    }

    /// The client asked for an upgrade: hyper may drop the connection after its next flush.
    pub(super) fn allow_close(&self) {
        self.may_close.store(true, Ordering::Relaxed);
    }

    /// True if hyper may drop the connection after a flush.
    pub(super) fn may_close(&self) -> bool {
        self.may_close.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::io::{self, IoSlice};
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http::{Request, Response};
    use http_body_util::Full;
    use hyper::body::Incoming;
    use hyper::rt::{Read, ReadBufCursor, Write};
    use hyper::server::conn::http1;
    use hyper::service::service_fn;

    use super::*;

    const CONTENT: &[u8] = &[b'c'; 20_000];

    /// A write of hyper: its first slice, the address of that, and the number of slices.
    type Offer = (Vec<u8>, usize, usize);

    /// I/O of a connection that takes one slice per call and records what hyper offers.
    #[derive(Default)]
    struct Recorder {
        requests: &'static [u8],
        offers: Arc<Mutex<Vec<Offer>>>,
    }

    impl Read for Recorder {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            mut buffer: ReadBufCursor<'_>,
        ) -> Poll<io::Result<()>> {
            buffer.put_slice(std::mem::take(&mut self.requests));
            Poll::Ready(Ok(()))
        }
    }

    impl Write for Recorder {
        fn poll_write(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.poll_write_vectored(context, &[IoSlice::new(bytes)])
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let filled = slices.iter().filter(|slice| !slice.is_empty());
            let first = &slices[0];
            let offer = (first.to_vec(), first.as_ptr().addr(), filled.count());
            self.offers.lock().push(offer);
            Poll::Ready(Ok(first.len()))
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// hyper's writes for pipelined requests with this content in each answer.
    fn offers(content: &'static [u8]) -> Vec<Offer> {
        let recorder = Recorder {
            requests: b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n\
                HEAD /3 HTTP/1.1\r\nHost: a\r\n\r\n",
            offers: Arc::default(),
        };
        let offers = Arc::clone(&recorder.offers);
        let answer = move |_: Request<Incoming>| async move {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(content))))
        };
        let connection = http1::Builder::new()
            .half_close(true)
            .header_read_timeout(None)
            .serve_connection(recorder, service_fn(answer));
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(connection)
            .unwrap();
        std::mem::take(&mut *offers.lock())
    }

    fn is_one_head(bytes: &[u8]) -> bool {
        let ends = bytes.windows(4).filter(|four| four == b"\r\n\r\n").count();
        bytes.starts_with(b"HTTP/1.1 200 OK\r\n") && bytes.ends_with(b"\r\n\r\n") && ends == 1
    }

    #[test]
    fn hyper_writes_each_head_alone_in_a_first_slice() {
        let offers = offers(CONTENT);
        let heads = offers
            .iter()
            .filter(|(first, ..)| first.starts_with(b"HTTP/"));
        assert_eq!(
            heads.clone().count(),
            3,
            "one head a write, also when pipelined"
        );
        for (first, _, slices_count) in heads {
            assert!(is_one_head(first), "{}", first.escape_ascii());
            assert!(*slices_count <= 2, "a head and at most its content");
        }
    }

    #[test]
    fn hyper_passes_the_address_of_a_body_on() {
        let offers = offers(CONTENT);
        let bodies = offers
            .iter()
            .filter(|(first, ..)| !first.starts_with(b"HTTP/"));
        let addresses: Vec<usize> = bodies.map(|(_, address, _)| *address).collect();
        assert_eq!(addresses, [CONTENT.as_ptr().addr(); 2]);
    }

    #[test]
    fn hyper_starts_no_response_before_the_one_before_is_written() {
        for content in [CONTENT, b"", b"small"] {
            let offers = offers(content);
            let order: Vec<bool> = offers
                .iter()
                .map(|(first, ..)| is_one_head(first))
                .collect();
            let expected: &[bool] = match content {
                b"" => &[true, true, true],
                _ => &[true, false, true, false, true],
            };
            assert_eq!(order, expected, "{} bytes", content.len());
        }
    }
}
