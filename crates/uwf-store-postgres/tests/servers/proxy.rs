//! Stands between a store and its server, and loses an answer on request.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

type Then = Box<dyn FnOnce() + Send>;

/// A port that leads to another one.
pub(crate) struct Proxy {
    pub port: u16,
    /// What happens after the next answer was lost.
    armed: Arc<Mutex<Option<Then>>>,
}

impl Proxy {
    /// Leads to a port of this machine, as long as the test runs.
    pub(crate) fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy { port: listener.local_addr().unwrap().port(), armed: Arc::default() };
        let armed = proxy.armed.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, armed) = (client.unwrap(), armed.clone());
                let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || forward(from, to));
                thread::spawn(move || back(server, client, &armed));
            }
        });
        proxy
    }

    /// Loses the next answer with its connection, then does something.
    pub(crate) fn lose_an_answer(&self, then: impl FnOnce() + Send + 'static) {
        *self.armed.lock() = Some(Box::new(then));
    }

    /// Whether an answer was lost since.
    pub(crate) fn has_lost(&self) -> bool {
        self.armed.lock().is_none()
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

fn back(mut server: TcpStream, mut client: TcpStream, armed: &Mutex<Option<Then>>) {
    let mut piece = [0; 1 << 16];
    while let Ok(length @ 1..) = server.read(&mut piece) {
        if let Some(then) = armed.lock().take() {
            then();
            break;
        }
        if client.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}
