//! Word from the agent process to its keeper that the result is on record and that it has nothing left to do but end. The
//! keeper need not wait for that before it moves the head; where no word arrives, it does.
//!
//! As with `sd_notify` it is a datagram to a Unix socket; its name is made of the attempt's and stands in no directory, so
//! that nothing is left behind by whoever is killed. What somebody else may send there is only a reason to read the record.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Where a keeper hears that its attempt has a result.
pub(crate) struct Notices(UnixDatagram);

impl Notices {
    /// Begins to listen; `None` where that cannot be done.
    pub(crate) fn listen(attempt: &str) -> Option<Notices> {
        let socket = UnixDatagram::bind_addr(&address(attempt)?).ok()?;
        socket.set_nonblocking(true).ok().map(|()| Notices(socket))
    }

    /// Takes a notice that has come.
    pub(crate) fn take(&self) {
        // The notice itself says nothing.
        let _ = self.0.recv(&mut [0]);
    }
}

impl AsFd for Notices {
    /// Readable when a notice has come.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Tells the keeper of an attempt that its result is durably on record, and that no other will follow. There may be no keeper, or none that listens.
pub fn notify(attempt: &str) {
    let send = || {
        let socket = UnixDatagram::unbound().ok()?;
        // Nobody waits for a keeper that does not take its notices.
        socket.set_nonblocking(true).ok()?;
        socket.send_to_addr(b"\n", &address(attempt)?).ok()
    };
    let _ = send();
}

#[cfg(target_os = "linux")]
fn address(attempt: &str) -> Option<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    SocketAddr::from_abstract_name(format!("uwf-attempt-{attempt}")).ok()
}

#[cfg(not(target_os = "linux"))]
fn address(_attempt: &str) -> Option<SocketAddr> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_reaches_the_keeper_of_its_attempt_alone() {
        let id = crate::ids::new_ulid().to_string();
        notify(&id);
        let notices = Notices::listen(&id).expect("this system has such sockets");
        assert!(Notices::listen(&id).is_none(), "an attempt has one keeper");
        let others = crate::ids::new_ulid().to_string();
        notify(&others);
        assert!(notices.0.recv(&mut [0]).is_err(), "what was sent before, or to others");
        notify(&id);
        assert_eq!(notices.0.recv(&mut [0]).ok(), Some(1));
    }

    #[test]
    fn a_keeper_that_takes_none_holds_nobody_up() {
        let id = crate::ids::new_ulid().to_string();
        let notices = Notices::listen(&id).expect("this system has such sockets");
        (0..10_000).for_each(|_| notify(&id));
        notices.take();
    }
}
