//! `uwf top`: all threads on one screen, kept up to date.
//!
//! It reads threads with the same functions as the commands, and changes them only by running the commands as child processes. So it never
//! shows or does anything that the commands don't.

mod draw;
mod threads;

use std::io::{self, IsTerminal, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGHUP, SIGTERM};
use uwf_call::UwfCall;
use uwf_core::thread::ThreadId;
use uwf_engine::error::{AtPath, ErrorKind};
use uwf_engine::root::home::ROOT_VARIABLES;
use uwf_engine::thread::state::ThreadState;

use self::threads::TopThreadList;
use crate::commands::thread::args::which::HereArg;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Time between two reads of the threads.
const PACE: Duration = Duration::from_secs(1);

/// Time between two checks for a signal.
const WAIT: Duration = Duration::from_millis(100);

/// How long `uwf top` may take to exit by itself after SIGTERM or SIGHUP.
const GRACE: Duration = Duration::from_secs(1);

/// Arguments of `uwf top`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf top
  uwf top --all                 include finished threads
  uwf top --here                only threads of the project that you are in
  uwf top --filter solve-issue  only threads with that in their id, workflow, state or role

Keys: ↑ ↓ to move, Enter to read, l to follow, a to answer, s to step, r to run, R to retry, p to pause or resume, K to kill, / to filter, t for finished threads, b for branches of groups, \
? for help, q to leave. For programs: `uwf thread list --format json`.")]
pub(crate) struct Args {
    /// Include finished threads.
    #[arg(long)]
    all: bool,
    /// Only threads with this in their id, workflow, state or role.
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    filter: String,
    #[command(flatten)]
    here: HereArg,
}

/// The current effect of the keys.
enum TopMode {
    /// Move in the list, and act on a thread.
    List,
    /// Type into the filter; Esc restores the given previous filter.
    Filter(String),
    /// Confirm or cancel killing a thread.
    Kill(ThreadId),
    /// Scroll a text.
    Page(TopTextPage),
}

/// A text that covers the list.
struct TopTextPage {
    title: String,
    lines: Vec<String>,
    top: usize,
}

/// The state of the screen: the list, and the result of the last key.
struct TopScreen<'c> {
    context: &'c CommandContext,
    threads: TopThreadList<'c>,
    mode: TopMode,
    message: String,
    /// Rows of a page when it was last drawn.
    rows: usize,
}

/// The reaction to a key, besides drawing the screen.
enum KeyEffect {
    Stay,
    Leave,
    /// Lend the terminal to another command.
    Lend(Vec<String>),
    Suspend,
}

/// Runs `uwf top`.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(
            CommandError::usage("`uwf top` needs a terminal").hint("for programs: uwf thread list --format json")
        );
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).path_context("listen to", "signals")?;
    }
    let project = context.selected_project(args.here.here)?;
    let threads = TopThreadList::read(context, project, args.all, args.filter.clone())?;
    let mut top = TopScreen { context, threads, mode: TopMode::List, message: String::new(), rows: 0 };
    let mut screen = Some(open()?);
    leave_with_the_terminal(Arc::clone(&stop));
    let ended = top.run(&mut screen, &stop);
    close(&mut screen);
    ended.map(|()| PrintableReport::nothing())
}

/// Takes over the whole terminal; a panic restores it.
fn open() -> Result<DefaultTerminal, CommandError> {
    Ok(ratatui::try_init().path_context("use", "the terminal")?)
}

/// Restores the terminal.
fn close(screen: &mut Option<DefaultTerminal>) {
    if is_gone() {
        leave();
    }
    if screen.take().is_some() {
        ratatui::restore();
    }
}

/// Exits if the terminal is gone, or if a signal did not end the process in time. No signal gets the library that reads keys out of a read:
/// on a closed terminal, and in the middle of a key, it reads forever.
fn leave_with_the_terminal(stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut told: Option<Instant> = None;
        loop {
            std::thread::sleep(WAIT);
            if is_gone() {
                leave();
            }
            if stop.load(Ordering::SeqCst) && told.get_or_insert_with(Instant::now).elapsed() > GRACE {
                // The process exits even if the terminal can't be restored.
                let _ = ratatui::try_restore();
                leave();
            }
        }
    });
}

/// Whether the terminal was closed.
fn is_gone() -> bool {
    let stdin = io::stdin();
    let mut stdin = [PollFd::new(&stdin, PollFlags::empty())];
    matches!(poll(&mut stdin, Some(&Timespec::default())), Ok(1..)) && stdin[0].revents().contains(PollFlags::HUP)
}

/// Exits at once. A regular exit would write to the terminal, and panic if that fails.
#[expect(clippy::exit, reason = "the terminal is gone, and the work is done")]
fn leave() -> ! {
    std::process::exit(i32::from(ErrorKind::Terminated.exit_code()))
}

impl TopScreen<'_> {
    fn run(&mut self, screen: &mut Option<DefaultTerminal>, stop: &AtomicBool) -> Result<(), CommandError> {
        let mut looked = Instant::now();
        let mut is_stale = true;
        loop {
            if stop.load(Ordering::SeqCst) {
                return Err(CommandError::new(ErrorKind::Terminated, "terminated on request"));
            }
            if looked.elapsed() >= PACE {
                looked = Instant::now();
                is_stale = true;
                // A temporary failure; the next refresh tries again.
                if let Err(error) = self.threads.refresh() {
                    self.message = error.to_string();
                }
            }
            if std::mem::take(&mut is_stale) {
                let terminal = match screen {
                    Some(terminal) => terminal,
                    None => screen.insert(open()?),
                };
                terminal.draw(|frame| draw::screen(frame, self)).path_context("write", "the terminal")?;
            }
            if !event::poll(WAIT).path_context("read", "the terminal")? {
                continue;
            }
            is_stale = true;
            let Event::Key(key) = event::read().path_context("read", "the terminal")? else { continue };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            match self.key(key) {
                KeyEffect::Stay => {}
                KeyEffect::Leave => return Ok(()),
                KeyEffect::Suspend => {
                    close(screen);
                    // The process continues here after `fg`.
                    kill_process(getpid(), Signal::TSTP).map_err(io::Error::from).path_context("stop", "uwf top")?;
                }
                KeyEffect::Lend(line) => {
                    close(screen);
                    self.lend(&line, stop);
                    looked = Instant::now();
                    self.message = self.threads.refresh().err().map(|error| error.to_string()).unwrap_or_default();
                }
            }
        }
    }

    fn key(&mut self, key: KeyEvent) -> KeyEffect {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => KeyEffect::Leave,
                KeyCode::Char('z') => KeyEffect::Suspend,
                _ => KeyEffect::Stay,
            };
        }
        match std::mem::replace(&mut self.mode, TopMode::List) {
            TopMode::List => self.in_list(key.code),
            TopMode::Filter(before) => {
                self.in_filter(key.code, before);
                KeyEffect::Stay
            }
            TopMode::Kill(thread) => {
                self.message = match key.code {
                    KeyCode::Char('y' | 'Y') => self.act(&["thread", "kill", thread.as_str()], "killed"),
                    _ => "nothing was killed".to_owned(),
                };
                KeyEffect::Stay
            }
            TopMode::Page(page) => {
                self.in_page(key.code, page);
                KeyEffect::Stay
            }
        }
    }

    fn in_list(&mut self, key: KeyCode) -> KeyEffect {
        self.message.clear();
        let step = self.rows.max(1);
        match key {
            KeyCode::Esc if !self.threads.filter().is_empty() => self.threads.set_filter(String::new()),
            KeyCode::Char('q') | KeyCode::Esc => return KeyEffect::Leave,
            KeyCode::Up | KeyCode::Char('k') => self.threads.move_up(1),
            KeyCode::Down | KeyCode::Char('j') => self.threads.move_down(1),
            KeyCode::PageUp => self.threads.move_up(step),
            KeyCode::PageDown => self.threads.move_down(step),
            KeyCode::Home | KeyCode::Char('g') => self.threads.move_up(usize::MAX),
            KeyCode::End | KeyCode::Char('G') => self.threads.move_down(usize::MAX),
            KeyCode::Char('/') => self.mode = TopMode::Filter(self.threads.filter().to_owned()),
            KeyCode::Char(key @ ('t' | 'b')) => {
                let toggled = if key == 't' { self.threads.toggle_finished() } else { self.threads.toggle_branches() };
                self.message = toggled.err().map(|error| error.to_string()).unwrap_or_default();
            }
            KeyCode::Char('?') => self.mode = TopMode::Page(TopTextPage::from_title_and_text("keys", draw::HELP)),
            key => return self.on_thread(key),
        }
        KeyEffect::Stay
    }

    /// Acts on the selected thread.
    fn on_thread(&mut self, key: KeyCode) -> KeyEffect {
        let Some((id, state)) = self.threads.chosen() else { return KeyEffect::Stay };
        let words = |words: &[&str]| words.iter().copied().chain([id.as_str()]).map(str::to_owned).collect::<Vec<_>>();
        match key {
            KeyCode::Enter => match self.output(&["--format", "text", "thread", "read", "--no-pager", id.as_str()]) {
                Ok(text) => self.mode = TopMode::Page(TopTextPage::from_title_and_text(id.as_str(), &text)),
                Err(why) => self.message = why,
            },
            KeyCode::Char('l') => return KeyEffect::Lend(words(&["live"])),
            KeyCode::Char('s') => return KeyEffect::Lend(words(&["thread", "step"])),
            KeyCode::Char('r') => return KeyEffect::Lend(words(&["run"])),
            KeyCode::Char('R') => return KeyEffect::Lend(words(&["thread", "retry"])),
            KeyCode::Char('a') => return KeyEffect::Lend(words(&["thread", "answer"])),
            KeyCode::Char('p') => {
                let (verb, done) =
                    if state == ThreadState::Paused { ("resume", "resumed") } else { ("pause", "paused") };
                self.message = self.act(&["thread", verb, id.as_str()], done);
            }
            KeyCode::Char('K') => self.mode = TopMode::Kill(id),
            _ => {}
        }
        KeyEffect::Stay
    }

    fn in_filter(&mut self, key: KeyCode, before: String) {
        let mut filter = self.threads.filter().to_owned();
        match key {
            KeyCode::Enter => return,
            KeyCode::Esc => {
                self.threads.set_filter(before);
                return;
            }
            KeyCode::Backspace => drop(filter.pop()),
            KeyCode::Char(letter) => filter.push(letter),
            _ => {}
        }
        self.threads.set_filter(filter);
        self.mode = TopMode::Filter(before);
    }

    fn in_page(&mut self, key: KeyCode, mut page: TopTextPage) {
        let last = page.lines.len().saturating_sub(self.rows);
        page.top = match key {
            KeyCode::Up | KeyCode::Char('k') => page.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => page.top + 1,
            KeyCode::PageUp => page.top.saturating_sub(self.rows),
            KeyCode::PageDown | KeyCode::Char(' ') => page.top + self.rows,
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            KeyCode::Char('q') | KeyCode::Esc | KeyCode::Enter => return,
            _ => page.top,
        };
        page.top = page.top.min(last);
        self.mode = TopMode::Page(page);
    }

    /// Output of a command, or one line that says why the command failed.
    fn output(&self, line: &[&str]) -> Result<String, String> {
        let CommandContext { home, cwd, .. } = self.context;
        let call = UwfCall::new(home.bin(), cwd, line).variable(ROOT_VARIABLES[0], home.root());
        let outcome = call.run(None).map_err(|error| error.to_string())?;
        if outcome.code() == Some(0) {
            return Ok(outcome.stdout);
        }
        let why = outcome.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed and said nothing");
        Err(why.to_owned())
    }

    /// Runs a command, and returns a line about its result.
    fn act(&mut self, line: &[&str], done: &str) -> String {
        let said = match self.output(line) {
            Ok(_) => format!("{done} {}", line.last().unwrap_or(&"")),
            Err(why) => why,
        };
        match self.threads.refresh() {
            Ok(()) => said,
            Err(error) => error.to_string(),
        }
    }

    /// Lends the terminal to a command, until the command has ended and the person has pressed Enter.
    fn lend(&self, line: &[String], stop: &AtomicBool) {
        // Ctrl-C ends the command, not `uwf top`.
        let heard = Arc::new(AtomicBool::new(false));
        let guard = signal_hook::flag::register(signal_hook::consts::SIGINT, heard);
        let CommandContext { home, cwd, .. } = self.context;
        let mut command = Command::new(home.bin());
        command.args(line).current_dir(cwd).env(ROOT_VARIABLES[0], home.root());
        let said = match command.status() {
            Ok(_) => String::new(),
            Err(error) => format!("cannot run uwf: {error}\n"),
        };
        // The terminal may be closed.
        let _ = write!(io::stderr(), "{said}Press Enter to go back to uwf top. ");
        let (send, pressed) = mpsc::channel();
        // A signal does not interrupt the read, so another thread reads, and this one checks for signals. The reading thread ends with the
        // process.
        std::thread::spawn(move || {
            let _ = io::stdin().read_line(&mut String::new());
            let _ = send.send(());
        });
        while !stop.load(Ordering::SeqCst) && pressed.recv_timeout(WAIT) == Err(RecvTimeoutError::Timeout) {}
        if let Ok(guard) = guard {
            signal_hook::low_level::unregister(guard);
        }
    }
}

impl TopTextPage {
    fn from_title_and_text(title: &str, text: &str) -> TopTextPage {
        TopTextPage { title: title.to_owned(), lines: text.lines().map(str::to_owned).collect(), top: 0 }
    }
}
