//! The public listening sockets. They listen from the first moment on, and are handed over from
//! what answers while the catalog is opened to the workers: no client is refused in between.

use std::fs::Permissions;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};

use super::ControlHandle;
use super::admin_listener::{AdminListener, AdminServer, short_path};
use crate::config::ListenAddress;

/// Connections of one listener that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// Permissions of a Unix socket: its owner, and the group of the proxy.
const SOCKET_MODE: u32 = 0o660;

/// The address of the peers of a Unix socket, which have none. No TCP connection comes from it.
pub const LOCAL_PEER: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);

/// Returns true for the address of the peers of a Unix socket.
pub fn is_local_peer(peer: IpAddr) -> bool {
    peer == LOCAL_PEER.ip()
}

/// Sockets that listen on the public address.
#[derive(Debug)]
pub struct PublicListeners {
    address: ListenAddress,
    /// One for each worker. Those of a Unix socket bear the type of TCP ones: the calls for
    /// accepting, reading and writing are the same.
    sockets: Vec<TcpListener>,
    claim: AddressClaim,
}

/// Resource that a server holds as long as it listens.
#[derive(Debug)]
pub(super) enum AddressClaim {
    /// Nothing: a service manager holds the socket, or the port is any free one.
    None,
    /// Exclusive use of a TCP address among the servers of a machine.
    Tcp { _lock: Socket },
    /// The file of a Unix socket.
    Unix { _file: SocketFile },
}

impl PublicListeners {
    /// Listens on an address with a socket for each worker.
    ///
    /// Errors: another server listens there; the address is not one of this machine.
    pub fn bind(address: &ListenAddress, workers_count: usize) -> io::Result<Self> {
        match address {
            ListenAddress::Tcp(address) => Self::bind_tcp(*address, workers_count),
            ListenAddress::Unix(path) => Self::bind_unix(path, workers_count),
        }
    }

    /// One listener per worker on one address: the kernel spreads connections over them by a hash,
    /// and no worker waits for another in `accept`.
    fn bind_tcp(address: SocketAddr, workers_count: usize) -> io::Result<Self> {
        let claim = claim_address(address)?;
        if address.port() != 0 {
            // With SO_REUSEPORT a second server of the same user could share the port silently. A
            // socket without that option finds out.
            let probe = tcp_socket(address)?;
            probe.bind(&SockAddr::from(address))?;
        }
        let mut sockets: Vec<TcpListener> = Vec::new();
        for _ in 0..workers_count {
            let bound = sockets.first().map(TcpListener::local_addr);
            let address = bound.unwrap_or(Ok(address))?;
            let socket = tcp_socket(address)?;
            socket.set_reuse_port(true)?;
            // Inherited by accepted sockets: saves a system call for each.
            socket.set_tcp_nodelay(true)?;
            socket.set_nonblocking(true)?;
            socket.bind(&SockAddr::from(address))?;
            socket.listen(BACKLOG)?;
            sockets.push(socket.into());
        }
        let first = sockets.first().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self {
            address: first.local_addr()?.into(),
            sockets,
            claim,
        })
    }

    fn bind_unix(path: &Path, workers_count: usize) -> io::Result<Self> {
        remove_stale(path)?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        let (short, _directory) = short_path(path)?;
        // Clients must not connect before the permissions are set. They cannot while the socket
        // does not listen.
        socket.bind(&SockAddr::unix(short)?)?;
        let file = SocketFile::of(path)?;
        std::fs::set_permissions(path, Permissions::from_mode(SOCKET_MODE))?;
        socket.listen(BACKLOG)?;
        let listener = TcpListener::from(OwnedFd::from(socket));
        let address = ListenAddress::Unix(path.to_path_buf());
        let claim = AddressClaim::Unix { _file: file };
        Self::share(listener, address, claim, workers_count)
    }

    /// A socket that listens already. The workers accept from its one queue.
    ///
    /// Errors: it is neither TCP nor Unix; too few descriptors.
    pub fn inherited(listener: TcpListener, workers_count: usize) -> io::Result<Self> {
        let local = SockRef::from(&listener).local_addr()?;
        let address = match (local.as_socket(), local.as_pathname()) {
            (Some(address), _) => address.into(),
            (None, Some(path)) => ListenAddress::Unix(path.to_path_buf()),
            (None, None) => return Err(io::ErrorKind::Unsupported.into()),
        };
        if address.tcp().is_some() {
            SockRef::from(&listener).set_tcp_nodelay(true)?;
        }
        Self::share(listener, address, AddressClaim::None, workers_count)
    }

    fn share(
        listener: TcpListener,
        address: ListenAddress,
        claim: AddressClaim,
        workers_count: usize,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let mut sockets = Vec::new();
        for _ in 1..workers_count {
            sockets.push(listener.try_clone()?);
        }
        sockets.push(listener);
        Ok(Self {
            address,
            sockets,
            claim,
        })
    }

    /// The address, with its actual port.
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// Answers every request with `handler` until [`AdminServer::leave`] is called on each returned
    /// server.
    ///
    /// Errors: too few descriptors.
    pub fn answer_with<H, F, B>(
        &self,
        control: &ControlHandle,
        handler: &H,
    ) -> io::Result<Vec<AdminServer>>
    where
        H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body<Error = io::Error> + Send + 'static,
        B::Data: Send,
    {
        let mut servers = Vec::new();
        for socket in &self.sockets {
            let socket = socket.try_clone()?;
            let listener = match self.address {
                ListenAddress::Tcp(_) => AdminListener::inherited(socket, control)?,
                ListenAddress::Unix(_) => {
                    let socket = UnixListener::from(OwnedFd::from(socket));
                    AdminListener::inherited_unix(socket, control)?
                }
            };
            servers.push(AdminServer::start(listener, control, handler.clone()));
        }
        Ok(servers)
    }

    pub(super) fn into_parts(self) -> (ListenAddress, Vec<TcpListener>, AddressClaim) {
        (self.address, self.sockets, self.claim)
    }
}

/// The file of a Unix socket, which is removed at the end, unless another one has its name by then.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and number.
    identity: (u64, u64),
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_path_buf(),
            identity: identity_of(path)?,
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity_of(&self.path).is_ok_and(|identity| identity == self.identity) {
            // The next server replaces it anyway.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity_of(path: &Path) -> io::Result<(u64, u64)> {
    let found = path.symlink_metadata()?;
    Ok((found.dev(), found.ino()))
}

/// Removes a socket that no process listens on.
///
/// Errors: a process listens on it; the file is not a socket.
fn remove_stale(path: &Path) -> io::Result<()> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let (short, _directory) = short_path(path)?;
    match UnixStream::connect(short) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        // The queue of the listener may be full, or the socket is not ours: it is in use.
        Ok(_) | Err(_) => Err(io::ErrorKind::AddrInUse.into()),
    }
}

/// Exclusive use of an address among the servers of a machine: a name in the abstract namespace of
/// Unix sockets, which one socket has at a time and which ends with it. Between the look for
/// another server and the bind a second one could do the same, and both would share the port.
///
/// Errors: another server listens on the address, or is about to.
fn claim_address(address: SocketAddr) -> io::Result<AddressClaim> {
    if address.port() == 0 {
        // Each server gets a free port of its own.
        return Ok(AddressClaim::None);
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // The leading zero makes it a name of the abstract namespace.
    let name = SockAddr::unix(format!("\0subcat/listen/{address}"))?;
    socket.bind(&name)?;
    Ok(AddressClaim::Tcp { _lock: socket })
}

fn tcp_socket(address: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An address without a listener.
    fn free_address() -> ListenAddress {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().into()
    }

    /// Of two servers that start at the same moment one gets the address.
    #[test]
    fn an_address_has_one_server() {
        let address = free_address();
        let held = claim_address(address.tcp().unwrap()).unwrap();
        let refused = PublicListeners::bind(&address, 2).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        drop(held);
        let listeners = PublicListeners::bind(&address, 2).unwrap();
        assert!(PublicListeners::bind(&address, 2).is_err());
        drop(listeners);
        for _ in 0..50 {
            let address = free_address();
            let start = std::sync::Barrier::new(2);
            let bound = std::thread::scope(|scope| {
                let server = || {
                    start.wait();
                    PublicListeners::bind(&address, 1)
                };
                let servers = [scope.spawn(server), scope.spawn(server)];
                servers.map(|server| server.join().unwrap())
            });
            assert_eq!(bound.iter().filter(|bound| bound.is_ok()).count(), 1);
        }
    }

    #[test]
    fn a_unix_socket_has_one_server_and_what_is_left_of_one_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("subcat.sock");
        let address = ListenAddress::Unix(path.clone());
        let listeners = PublicListeners::bind(&address, 2).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        let refused = PublicListeners::bind(&address, 2).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        assert!(path.exists());
        drop(listeners);
        assert!(!path.exists(), "it is removed at the end");
        // One that was killed leaves it.
        drop(UnixListener::bind(&path).unwrap());
        let listeners = PublicListeners::bind(&address, 1).unwrap();
        // Another server has the name by then.
        std::fs::remove_file(&path).unwrap();
        let other = UnixListener::bind(&path).unwrap();
        drop(listeners);
        assert!(path.exists());
        drop(other);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "a file of somebody").unwrap();
        let refused = PublicListeners::bind(&address, 1).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert!(path.exists());
    }
}
