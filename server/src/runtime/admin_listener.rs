//! Admin listener: connections for administration, over TCP and over a Unix socket.

use std::fs::File;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Control, ControlHandle};
use crate::limits::{ADMIN_CONNECTIONS_MAX, SOCKET_PATH_BYTES_MAX};

/// Time limit for a client to send the head of a request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause of accepting when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Listener for administration.
pub enum AdminListener {
    /// A TCP address.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(UnixListener),
}

impl AdminListener {
    /// Listens on an address. Errors: the address is in use or not a local one.
    pub fn tcp(address: SocketAddr, control: &ControlHandle) -> io::Result<Self> {
        Self::inherited(std::net::TcpListener::bind(address)?, control)
    }

    /// Listens on a socket that listens already.
    pub fn inherited(listener: std::net::TcpListener, control: &ControlHandle) -> io::Result<Self> {
        let _context = control.enter();
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(TcpListener::from_std(listener)?))
    }

    /// Listens on a Unix socket that listens already.
    pub(super) fn inherited_unix(
        listener: std::os::unix::net::UnixListener,
        control: &ControlHandle,
    ) -> io::Result<Self> {
        let _context = control.enter();
        listener.set_nonblocking(true)?;
        Ok(Self::Unix(UnixListener::from_std(listener)?))
    }

    /// Listens on a Unix socket that only its owner may use. Replaces the file of an earlier
    /// process: the caller holds the lock of the directory, so no other process listens there.
    pub fn unix(path: &Path, control: &ControlHandle) -> io::Result<Self> {
        let _context = control.enter();
        match std::fs::remove_file(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let (short_path, _directory) = short_path(path)?;
        let listener = UnixListener::bind(short_path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self::Unix(listener))
    }

    /// Address with its actual port; `None` for a Unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    async fn accept_and_serve<H, F, B>(
        &self,
        handler: &H,
        connections: &mut AdminConnections,
    ) -> io::Result<()>
    where
        H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body<Error = io::Error> + Send + 'static,
        B::Data: Send,
    {
        let state = connections.state.clone();
        match self {
            Self::Tcp(listener) => {
                let io = TokioIo::new(listener.accept().await?.0);
                if connections.has_room() {
                    let connection = serve_connection(io, handler.clone(), state);
                    connections.tasks.spawn(connection);
                }
            }
            Self::Unix(listener) => {
                let io = TokioIo::new(listener.accept().await?.0);
                if connections.has_room() {
                    let connection = serve_connection(io, handler.clone(), state);
                    connections.tasks.spawn(connection);
                }
            }
        }
        Ok(())
    }
}

/// State of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AdminState {
    /// The listener accepts connections.
    Serving,
    /// The listener accepts no more connections. Open ones are served on.
    Leaving,
    /// The listener accepts no more connections, and open ones end with their next answer.
    Stopping,
}

/// Connections of a listener. They end when its state is [`AdminState::Stopping`], or when this is
/// dropped.
struct AdminConnections {
    tasks: JoinSet<()>,
    state: watch::Receiver<AdminState>,
}

impl AdminConnections {
    /// True if one more may be served. Forgets the tasks that have ended, which a set keeps until
    /// they are joined.
    fn has_room(&mut self) -> bool {
        while self.tasks.try_join_next().is_some() {}
        let has_room = self.tasks.len() < ADMIN_CONNECTIONS_MAX;
        if !has_room {
            tracing::debug!("too many admin connections: closing the newest");
        }
        has_room
    }
}

/// A running admin listener. Dropping it closes the listener and its connections.
pub struct AdminServer {
    state: watch::Sender<AdminState>,
    accepting: Option<tokio::task::JoinHandle<()>>,
    /// Ends when connections are no longer accepted.
    closed: Mutex<mpsc::Receiver<()>>,
}

impl AdminServer {
    /// Answers every request of `listener` with `handler`.
    pub fn start<H, F, B>(listener: AdminListener, control: &ControlHandle, handler: H) -> Self
    where
        H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body<Error = io::Error> + Send + 'static,
        B::Data: Send,
    {
        let (state, mut changed) = watch::channel(AdminState::Serving);
        let mut connections = AdminConnections {
            tasks: JoinSet::new(),
            state: state.subscribe(),
        };
        let (closing, closed) = mpsc::channel::<()>();
        let accepting = control.spawn(async move {
            loop {
                let accepted = tokio::select! {
                    accepted = listener.accept_and_serve(&handler, &mut connections) => accepted,
                    _ = changed.changed() => break,
                };
                if let Err(error) = accepted {
                    tracing::warn!(%error, "an admin connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
            drop(listener);
            drop(closing);
            while connections.tasks.join_next().await.is_some() {}
        });
        Self {
            state,
            accepting: Some(accepting),
            closed: Mutex::new(closed),
        }
    }

    /// Accepts no more connections when it returns. Those that were accepted are served on, each
    /// until its client or its answer closes it.
    pub fn leave(mut self) {
        self.state.send_replace(AdminState::Leaving);
        // Always an error, when the sender is dropped: nothing is ever sent.
        let _ = self.closed.get_mut().recv();
        // Without its handle the task runs until its last connection has ended.
        self.accepting = None;
    }

    /// Closes the listeners, waits up to `grace` for answers, then closes the remaining
    /// connections. Blocks.
    pub fn stop<const N: usize>(mut servers: [Self; N], control: &Control, grace: Duration) {
        for server in &servers {
            server.state.send_replace(AdminState::Stopping);
        }
        let ended = async {
            for server in &mut servers {
                // Ended or panicked: either way nothing is left of it.
                if let Some(accepting) = &mut server.accepting {
                    let _ = accepting.await;
                }
            }
        };
        if control.block_on(async { tokio::time::timeout(grace, ended).await.is_err() }) {
            tracing::info!("closing the remaining admin connections");
        }
    }
}

impl Drop for AdminServer {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

async fn serve_connection<I, H, F, B>(
    io: TokioIo<I>,
    handler: H,
    mut state: watch::Receiver<AdminState>,
) where
    TokioIo<I>: hyper::rt::Read + hyper::rt::Write + Unpin,
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<B>>,
    B: Body<Error = io::Error> + 'static,
{
    let service = service_fn(|request| {
        let answer = handler(request);
        async move { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    let connection = server::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .serve_connection(io, service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop_wanted(&mut state) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an admin connection ended");
    }
}

/// Waits until the listener stops. A listener that has left sends no more news.
async fn stop_wanted(state: &mut watch::Receiver<AdminState>) {
    if state
        .wait_for(|it| *it == AdminState::Stopping)
        .await
        .is_err()
    {
        std::future::pending::<()>().await;
    }
}

/// Sends one request to a Unix socket. Errors: no process listens; the connection breaks.
pub async fn ask_socket<B>(path: &Path, request: Request<B>) -> io::Result<Response<Incoming>>
where
    B: Body<Error = io::Error> + Send + 'static,
    B::Data: Send,
{
    let stream = {
        let (short_path, _directory) = short_path(path)?;
        UnixStream::connect(short_path).await?
    };
    let (mut sender, connection) = client::handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(io::Error::other)
}

/// A path to the same file that fits into a socket address, and the open directory that it needs.
pub(super) fn short_path(path: &Path) -> io::Result<(PathBuf, Option<File>)> {
    if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return Ok((path.to_path_buf(), None));
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let directory = File::open(parent)?;
    let link = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string());
    Ok((link.join(name), Some(directory)))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use bytes::Bytes;
    use http_body_util::{BodyExt, Full};

    use super::*;
    use crate::runtime::Control;

    fn body(text: &'static str) -> impl Body<Data = Bytes, Error = io::Error> + Send {
        Full::new(Bytes::from_static(text.as_bytes())).map_err(|never| match never {})
    }

    #[test]
    fn a_unix_socket_of_any_path_length_answers_its_owner() {
        let control = Control::start().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let long = dir.path().join("x".repeat(120));
        std::fs::create_dir(&long).unwrap();
        for directory in [dir.path(), &long] {
            let path = directory.join("a.sock");
            std::fs::write(&path, "left by a process that was killed").unwrap();
            let listener = AdminListener::unix(&path, &control.handle()).unwrap();
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let handler = |request: Request<Incoming>| async move {
                assert_eq!(request.uri().path(), "/x");
                Response::new(body("answer"))
            };
            let _server = AdminServer::start(listener, &control.handle(), handler);
            let request = Request::post("/x").body(body("question")).unwrap();
            let answer = control.block_on(async {
                let response = ask_socket(&path, request).await.unwrap();
                response.into_body().collect().await.unwrap().to_bytes()
            });
            assert_eq!(answer, "answer");
        }
    }

    /// A body that never ends, and reports when it is dropped.
    struct Endless(mpsc::Sender<()>);

    impl Body for Endless {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<io::Result<http_body::Frame<Bytes>>>> {
            let piece = Bytes::from_static(&[b'x'; 4096]);
            std::task::Poll::Ready(Some(Ok(http_body::Frame::data(piece))))
        }
    }

    impl Drop for Endless {
        fn drop(&mut self) {
            // The receiver may be gone after a failed test.
            let _ = self.0.send(());
        }
    }

    #[test]
    fn stopping_closes_an_answer_that_nobody_reads() {
        let control = Control::start().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let listener = AdminListener::unix(&path, &control.handle()).unwrap();
        let (dropped, is_dropped) = mpsc::channel();
        let handler = move |_: Request<Incoming>| {
            let body = Endless(dropped.clone());
            async { Response::new(body) }
        };
        let server = AdminServer::start(listener, &control.handle(), handler);
        let request = Request::post("/x").body(body("")).unwrap();
        let unread = control.block_on(ask_socket(&path, request)).unwrap();
        AdminServer::stop([server], &control, Duration::from_millis(10));
        is_dropped.recv_timeout(Duration::from_secs(60)).unwrap();
        drop(unread);
        let request = Request::post("/x").body(body("")).unwrap();
        assert!(control.block_on(ask_socket(&path, request)).is_err());
    }

    /// Without a bound, a scanner that opens connections and sends nothing would take all
    /// descriptors.
    #[test]
    fn connections_are_bounded_and_one_that_ends_makes_room() {
        let control = Control::start().unwrap();
        let address = "127.0.0.1:0".parse().unwrap();
        let listener = AdminListener::tcp(address, &control.handle()).unwrap();
        let address = listener.local_addr().unwrap();
        let handler = |_: Request<Incoming>| async { Response::new(body("answer")) };
        let server = AdminServer::start(listener, &control.handle(), handler);
        let connect = || std::net::TcpStream::connect(address).unwrap();
        // Asks on a connection; false if it was closed instead.
        let is_served = |stream: &mut std::net::TcpStream| {
            let mut answer = [0; 12];
            let sent = stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
            sent.is_ok() && stream.read_exact(&mut answer).is_ok() && answer.ends_with(b" 200")
        };
        let mut open: Vec<_> = (0..ADMIN_CONNECTIONS_MAX).map(|_| connect()).collect();
        assert!(open.iter_mut().all(is_served));
        assert!(!is_served(&mut connect()));
        open.pop();
        // Its end is seen by the server, which makes room, a little later.
        while !is_served(&mut connect()) {
            std::thread::yield_now();
        }
        AdminServer::stop([server], &control, Duration::from_secs(1));
    }

    #[test]
    fn a_socket_without_a_listener_is_an_error() {
        let control = Control::start().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let request = Request::post("/x").body(body("")).unwrap();
        let answer = control.block_on(ask_socket(&dir.path().join("a.sock"), request));
        assert!(answer.is_err());
    }
}
