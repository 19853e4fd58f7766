//! A line that is typed without being shown.
//!
//! `rpassword` 7.5 can't replace this: with it, Ctrl-C and SIGTERM end the process while the terminal still hides typed text.

use std::io::Stdin;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use uwf_engine::error::{AtPath, ErrorKind};

use super::interrupted;
use crate::error::CommandError;

/// How often to check for a signal while the person types nothing.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Maximum size of a hidden line. The longest keys have some hundred bytes; a longer line is something else from the clipboard.
const MAX_BYTES: usize = 4096;

const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
const BACKSPACE: u8 = 0x08;
const CTRL_U: u8 = 0x15;
const DELETE: u8 = 0x7f;

/// Keeps signals from ending the process while the terminal hides typed text.
pub(super) struct HiddenInputGuard {
    /// Signals have their usual effect.
    usual: Arc<AtomicBool>,
    /// A signal arrived while they did not.
    stopped: Arc<AtomicBool>,
}

impl HiddenInputGuard {
    pub(super) fn new() -> Result<HiddenInputGuard, CommandError> {
        let guard = HiddenInputGuard { usual: Arc::new(AtomicBool::new(true)), stopped: Arc::default() };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&guard.usual))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&guard.stopped)))
                .path_context("listen to", "signals")?;
        }
        Ok(guard)
    }

    /// Reads one line; may be empty.
    pub(super) fn read(&self) -> Result<String, CommandError> {
        let terminal = NoEcho::begin(self)?;
        let mut line = Vec::new();
        loop {
            match terminal.next()? {
                None if self.stopped.load(Ordering::SeqCst) => {
                    return Err(CommandError { kind: ErrorKind::Terminated, ..interrupted() });
                }
                None => {}
                Some(b'\n' | b'\r') => break,
                Some(CTRL_C) => return Err(interrupted()),
                Some(CTRL_D) if line.is_empty() => return Err(interrupted()),
                Some(BACKSPACE | DELETE) => drop(line.pop()),
                Some(CTRL_U) => line.clear(),
                Some(byte) if line.len() < MAX_BYTES => line.push(byte),
                Some(_) => {
                    return Err(CommandError::usage(format!("the input has more than {MAX_BYTES} bytes"))
                        .hint("check that the clipboard has the key"));
                }
            }
        }
        let line = String::from_utf8(line).map_err(|_| CommandError::usage("the input is not UTF-8 text"))?;
        Ok(line.trim().to_owned())
    }
}

/// A terminal that hides typed text until this is dropped.
struct NoEcho<'g> {
    stdin: Stdin,
    before: Termios,
    guard: &'g HiddenInputGuard,
}

impl NoEcho<'_> {
    fn begin(guard: &HiddenInputGuard) -> Result<NoEcho<'_>, CommandError> {
        guard.usual.store(false, Ordering::SeqCst);
        let stdin = std::io::stdin();
        let before =
            tcgetattr(&stdin).map_err(std::io::Error::from).path_context("read", "the settings of the terminal");
        let before = before.inspect_err(|_| guard.usual.store(true, Ordering::SeqCst))?;
        let mut silent = before.clone();
        // Read Ctrl-C as a byte, so that the reader can restore the terminal first.
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        let terminal = NoEcho { stdin, before, guard };
        tcsetattr(&terminal.stdin, OptionalActions::Now, &silent)
            .map_err(std::io::Error::from)
            .path_context("set", "the terminal")?;
        Ok(terminal)
    }

    /// The next byte; `None` if there was none for a while.
    fn next(&self) -> Result<Option<u8>, CommandError> {
        let mut ready = [PollFd::from_borrowed_fd(self.stdin.as_fd(), PollFlags::IN)];
        match poll(&mut ready, Some(&LOOK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => {
                return Err(std::io::Error::from(error))
                    .path_context("read", "the terminal")
                    .map_err(CommandError::from);
            }
        }
        let mut byte = [0];
        match rustix::io::read(&self.stdin, &mut byte) {
            Ok(0) => Err(interrupted()),
            Ok(_) => Ok(Some(byte[0])),
            Err(rustix::io::Errno::INTR) => Ok(None),
            Err(error) => {
                Err(std::io::Error::from(error)).path_context("read", "the terminal").map_err(CommandError::from)
            }
        }
    }
}

impl Drop for NoEcho<'_> {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(&self.stdin, OptionalActions::Now, &self.before);
        self.guard.usual.store(true, Ordering::SeqCst);
    }
}
