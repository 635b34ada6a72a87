//! A connection that a test cuts.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// A way in which a network fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Connections are closed, and new ones at once.
    Closed,
    /// Nothing arrives any more, and everything when the network is back.
    Silent,
}

/// Connections of one program to one address.
pub struct Proxy {
    address: String,
    wires: Arc<Wires>,
}

#[derive(Default)]
struct Wires {
    cut: Mutex<Option<Cut>>,
    repaired: Condvar,
    streams: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Connections go to this address of an IP address and a port.
    pub fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let wires = Arc::<Wires>::default();
        let its_wires = Arc::clone(&wires);
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                if *its_wires.cut.lock().unwrap() == Some(Cut::Closed) {
                    continue;
                }
                if let Ok(far) = TcpStream::connect(&target) {
                    its_wires.join(&near, &far);
                    its_wires.join(&far, &near);
                }
            }
        });
        Self { address, wires }
    }

    /// Address of this end.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn cut(&self, cut: Cut) {
        *self.wires.cut.lock().unwrap() = Some(cut);
        if cut == Cut::Closed {
            for stream in self.wires.streams.lock().unwrap().drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    pub fn repair(&self) {
        *self.wires.cut.lock().unwrap() = None;
        self.wires.repaired.notify_all();
    }
}

impl Wires {
    /// Passes on what comes from one end to the other.
    fn join(self: &Arc<Self>, from: &TcpStream, to: &TcpStream) {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        self.streams.lock().unwrap().push(from.try_clone().unwrap());
        let wires = Arc::clone(self);
        std::thread::spawn(move || {
            let mut bytes = vec![0; 64 << 10];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                let cut = wires.cut.lock().unwrap();
                let is_silent = |cut: &mut Option<Cut>| *cut == Some(Cut::Silent);
                drop(wires.repaired.wait_while(cut, is_silent).unwrap());
                if to.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}
