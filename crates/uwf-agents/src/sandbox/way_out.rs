//! The way out of a sandbox with a network of its own: a port there, connected to the socket of the proxy.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Variables by which programs find a proxy.
const VARIABLES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// Variables with hosts that programs reach without a proxy, which is impossible here.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Makes `fetch` of Node.js use the variables.
const NODE_VARIABLE: &str = "NODE_USE_ENV_PROXY";

/// Added by a shell to the number of the signal that ended a program.
const SIGNALS: i32 = 128;

/// A port connected to the proxy, until this process ends.
pub(super) struct WayOut {
    port: SocketAddr,
}

impl WayOut {
    /// Opens a port and connects it to a socket.
    pub(super) fn open(socket: &Path) -> io::Result<WayOut> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?;
        let socket = socket.to_owned();
        std::thread::Builder::new().spawn(move || {
            for stream in listener.incoming().flatten() {
                let socket = socket.clone();
                // Without another thread, the program sees the end of its connection.
                let _ = std::thread::Builder::new().spawn(move || join(&stream, &socket));
            }
        })?;
        Ok(WayOut { port })
    }

    /// Runs the program to its end, with the variables of the proxy. Returns its exit code, as a shell reports it.
    pub(super) fn run(&self, command: &mut Command) -> io::Result<u8> {
        // A stop signal is for the program. This process ends with it.
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        let address = format!("http://{}", self.port);
        command.envs(VARIABLES.map(|name| (name, &address))).env(NODE_VARIABLE, "1");
        for name in EXCEPTIONS {
            command.env_remove(name);
        }
        let status = command.spawn()?.wait()?;
        let code = status.code().or_else(|| status.signal().map(|signal| SIGNALS + signal));
        Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
    }
}

/// Copies both directions between a connection of the program and the proxy.
fn join(stream: &TcpStream, socket: &PathBuf) {
    let Ok(proxy) = UnixStream::connect(socket) else { return };
    let (Ok(from_proxy), Ok(to_program)) = (proxy.try_clone(), stream.try_clone()) else { return };
    let back = std::thread::Builder::new().spawn(move || {
        // An error ends the direction, as the end of the data does.
        let _ = io::copy(&mut &from_proxy, &mut &to_program);
        let _ = to_program.shutdown(Shutdown::Write);
    });
    let _ = io::copy(&mut &*stream, &mut &proxy);
    let _ = proxy.shutdown(Shutdown::Write);
    let _ = back.map(std::thread::JoinHandle::join);
}
