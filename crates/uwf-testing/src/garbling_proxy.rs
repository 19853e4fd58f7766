//! A connection to PostgreSQL that changes an answer with a node, like a broken network card or proxy.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// The first bytes of a node, and the part of them that is changed.
const NODE: &[u8] = b"\xa3\x64type";
const KEY: &[u8] = b"\x67payload";

/// Where the hash of a node ends in its row, if its column precedes the node: after a count, a length and the hash.
const NAME_END: usize = 2 + 4 + 8;

/// The type of a message with a row.
const ROW: u8 = b'D';

/// The server's one-byte answer to a TLS request.
const NO_TLS: u8 = b'N';

/// A running proxy in front of a server on this machine.
pub struct GarblingProxy {
    port: u16,
    state: Arc<Mutex<GarblingProxyState>>,
}

/// The part of a row to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowPart {
    /// The content of its node.
    Node,
    /// The hash that the node has in the table.
    Name,
}

#[derive(Default)]
struct GarblingProxyState {
    /// The change, and the number of matching rows to pass first.
    next: Option<(RowPart, usize)>,
    changed: usize,
}

impl GarblingProxy {
    /// Starts a proxy in front of the server on this port.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn start(server: u16) -> GarblingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it has an address").port();
        let state = Arc::<Mutex<GarblingProxyState>>::default();
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = shared.clone();
                // A client whose connection breaks reconnects.
                thread::spawn(move || drop(serve(client, server, &state)));
            }
        });
        GarblingProxy { port, state }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes a part of a coming row that has it, after `before` others have passed.
    pub fn garble(&self, part: RowPart, before: usize) {
        self.state.lock().next = Some((part, before));
    }

    /// Number of rows changed so far.
    pub fn garbled(&self) -> usize {
        self.state.lock().changed
    }
}

fn serve(mut client: TcpStream, server: u16, state: &Mutex<GarblingProxyState>) -> io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", server))?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        to.shutdown(Shutdown::Write)
    });
    let ended = pass(&mut server, &mut client, state);
    client.shutdown(Shutdown::Both)?;
    ended
}

/// Passes on the server's messages until it ends.
fn pass(server: &mut TcpStream, client: &mut TcpStream, state: &Mutex<GarblingProxyState>) -> io::Result<()> {
    let mut is_first = true;
    loop {
        let mut kind = [0];
        server.read_exact(&mut kind)?;
        if std::mem::take(&mut is_first) && kind[0] == NO_TLS {
            client.write_all(&kind)?;
            continue;
        }
        let mut length = [0; 4];
        server.read_exact(&mut length)?;
        let mut body = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(length.len())];
        server.read_exact(&mut body)?;
        if kind[0] == ROW {
            garble(&mut body, &mut state.lock());
        }
        client.write_all(&[&kind[..], &length, &body].concat())?;
    }
}

fn garble(row: &mut [u8], state: &mut GarblingProxyState) {
    let find = |part: &[u8]| row.windows(part.len()).position(|bytes| bytes == part);
    let (Some(node), Some(payload), Some((part, before))) = (find(NODE), find(KEY), state.next) else { return };
    let at = match part {
        // These are still the bytes of a node, except for its content.
        RowPart::Node => payload + KEY.len() + 2,
        RowPart::Name if node == NAME_END + 4 => NAME_END - 1,
        RowPart::Name => return,
    };
    match before.checked_sub(1) {
        Some(before) => state.next = Some((part, before)),
        None => {
            row[at] ^= 1;
            *state = GarblingProxyState { next: None, changed: state.changed + 1 };
        }
    }
}
