//! `uwf top`: all threads on one screen, kept up to date.
//!
//! It looks by the verbs of the commands and acts by the commands themselves, as child processes. So it knows no more than they do,
//! and can do no more.

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
use uwf_call::Call;
use uwf_core::thread::ThreadId;
use uwf_engine::error::{AtPath, ErrorKind};
use uwf_engine::root::home::ROOT_VARIABLES;
use uwf_engine::thread::state::State;

use self::threads::Threads;
use crate::context::Context;
use crate::error::CommandError;
use crate::printer::{CommandResult, Printed};

/// Time between two looks at the threads.
const PACE: Duration = Duration::from_secs(1);

/// Time between two looks at whether a signal came.
const WAIT: Duration = Duration::from_millis(100);

/// How long after a signal that is to end it this may take to leave by itself.
const GRACE: Duration = Duration::from_secs(1);

/// Arguments of `uwf top`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf top
  uwf top --all                 finished threads too
  uwf top --filter solve-issue  only threads with that in their id, workflow, state or role

Keys: ↑ ↓ to move, Enter to read, l to follow, a to answer, p to pause or resume, K to kill, / to filter, t for finished threads, \
? for help, q to leave. For programs: `uwf thread list --format json`.")]
pub(crate) struct Args {
    /// Finished threads too.
    #[arg(long)]
    all: bool,
    /// Only threads with this in their id, workflow, state or role.
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    filter: String,
}

/// What the keys mean now.
enum Mode {
    /// They move in the list and do something to a thread.
    List,
    /// They are typed into the filter; what it was before comes back with Esc.
    Filter(String),
    /// Whether a thread is to be killed.
    Kill(ThreadId),
    /// They move in a text.
    Page(Page),
}

/// A text that covers the list.
struct Page {
    title: String,
    lines: Vec<String>,
    top: usize,
}

/// What is shown, and what came of the last key.
struct Top<'c> {
    context: &'c Context,
    threads: Threads<'c>,
    mode: Mode,
    message: String,
    /// Rows of a page at the last look.
    rows: usize,
}

/// What a key leads to beside a new screen.
enum Then {
    Stay,
    Leave,
    /// Another command has the terminal for a while.
    Lend(Vec<String>),
    Suspend,
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(
            CommandError::usage("`uwf top` needs a terminal").hint("for programs: uwf thread list --format json")
        );
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).at("listen to", "signals")?;
    }
    let threads = Threads::read(context, args.all, args.filter.clone())?;
    let mut top = Top { context, threads, mode: Mode::List, message: String::new(), rows: 0 };
    let mut screen = Some(open()?);
    leave_with_the_terminal(Arc::clone(&stop));
    let ended = top.run(&mut screen, &stop);
    close(&mut screen);
    ended.map(|()| Printed::nothing())
}

/// Takes the whole terminal; a panic gives it back.
fn open() -> Result<DefaultTerminal, CommandError> {
    Ok(ratatui::try_init().at("use", "the terminal")?)
}

/// Gives it back as it was.
fn close(screen: &mut Option<DefaultTerminal>) {
    if is_gone() {
        leave();
    }
    if screen.take().is_some() {
        ratatui::restore();
    }
}

/// Ends the process when its terminal is gone, or when it was told to end and does not. The library that reads keys reads a
/// closed terminal for ever, and a terminal in the middle of a key without a limit of time; no signal gets it out of there.
fn leave_with_the_terminal(stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut told: Option<Instant> = None;
        loop {
            std::thread::sleep(WAIT);
            if is_gone() {
                leave();
            }
            if stop.load(Ordering::SeqCst) && told.get_or_insert_with(Instant::now).elapsed() > GRACE {
                // Whether that succeeds makes no difference any more.
                let _ = ratatui::try_restore();
                leave();
            }
        }
    });
}

/// Whether nobody is at the terminal any more.
fn is_gone() -> bool {
    let stdin = io::stdin();
    let mut stdin = [PollFd::new(&stdin, PollFlags::empty())];
    matches!(poll(&mut stdin, Some(&Timespec::default())), Ok(1..)) && stdin[0].revents().contains(PollFlags::HUP)
}

/// Ends the process at once: what else would be done on the way out writes to the terminal, and panics when it can't.
#[expect(clippy::exit, reason = "nothing is left to be done, and nobody to tell")]
fn leave() -> ! {
    std::process::exit(i32::from(ErrorKind::Terminated.exit_code()))
}

impl Top<'_> {
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
                // What cannot be read now may be there the next time.
                if let Err(error) = self.threads.refresh() {
                    self.message = error.to_string();
                }
            }
            if std::mem::take(&mut is_stale) {
                let terminal = match screen {
                    Some(terminal) => terminal,
                    None => screen.insert(open()?),
                };
                terminal.draw(|frame| draw::screen(frame, self)).at("write", "the terminal")?;
            }
            if !event::poll(WAIT).at("read", "the terminal")? {
                continue;
            }
            is_stale = true;
            let Event::Key(key) = event::read().at("read", "the terminal")? else { continue };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            match self.key(key) {
                Then::Stay => {}
                Then::Leave => return Ok(()),
                Then::Suspend => {
                    close(screen);
                    // Goes on here when the shell says so.
                    kill_process(getpid(), Signal::TSTP).map_err(io::Error::from).at("stop", "uwf top")?;
                }
                Then::Lend(line) => {
                    close(screen);
                    self.lend(&line, stop);
                    looked = Instant::now();
                    self.message = self.threads.refresh().err().map(|error| error.to_string()).unwrap_or_default();
                }
            }
        }
    }

    fn key(&mut self, key: KeyEvent) -> Then {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Then::Leave,
                KeyCode::Char('z') => Then::Suspend,
                _ => Then::Stay,
            };
        }
        match std::mem::replace(&mut self.mode, Mode::List) {
            Mode::List => self.in_list(key.code),
            Mode::Filter(before) => {
                self.in_filter(key.code, before);
                Then::Stay
            }
            Mode::Kill(thread) => {
                self.message = match key.code {
                    KeyCode::Char('y' | 'Y') => self.act(&["thread", "kill", thread.as_str()], "killed"),
                    _ => "nothing was killed".to_owned(),
                };
                Then::Stay
            }
            Mode::Page(page) => {
                self.in_page(key.code, page);
                Then::Stay
            }
        }
    }

    fn in_list(&mut self, key: KeyCode) -> Then {
        self.message.clear();
        let step = self.rows.max(1);
        match key {
            KeyCode::Esc if !self.threads.filter().is_empty() => self.threads.set_filter(String::new()),
            KeyCode::Char('q') | KeyCode::Esc => return Then::Leave,
            KeyCode::Up | KeyCode::Char('k') => self.threads.move_up(1),
            KeyCode::Down | KeyCode::Char('j') => self.threads.move_down(1),
            KeyCode::PageUp => self.threads.move_up(step),
            KeyCode::PageDown => self.threads.move_down(step),
            KeyCode::Home | KeyCode::Char('g') => self.threads.move_up(usize::MAX),
            KeyCode::End | KeyCode::Char('G') => self.threads.move_down(usize::MAX),
            KeyCode::Char('/') => self.mode = Mode::Filter(self.threads.filter().to_owned()),
            KeyCode::Char('t') => {
                if let Err(error) = self.threads.toggle_finished() {
                    self.message = error.to_string();
                }
            }
            KeyCode::Char('?') => self.mode = Mode::Page(Page::of("keys", draw::HELP)),
            key => return self.on_thread(key),
        }
        Then::Stay
    }

    /// What a key does to the thread that is chosen.
    fn on_thread(&mut self, key: KeyCode) -> Then {
        let Some((id, state)) = self.threads.chosen() else { return Then::Stay };
        let words = |words: &[&str]| words.iter().copied().chain([id.as_str()]).map(str::to_owned).collect::<Vec<_>>();
        match key {
            KeyCode::Enter => match self.output(&["--format", "text", "thread", "read", "--no-pager", id.as_str()]) {
                Ok(text) => self.mode = Mode::Page(Page::of(id.as_str(), &text)),
                Err(why) => self.message = why,
            },
            KeyCode::Char('l') => return Then::Lend(words(&["live"])),
            KeyCode::Char('a') => return Then::Lend(words(&["thread", "answer"])),
            KeyCode::Char('p') => {
                let (verb, done) = if state == State::Paused { ("resume", "resumed") } else { ("pause", "paused") };
                self.message = self.act(&["thread", verb, id.as_str()], done);
            }
            KeyCode::Char('K') => self.mode = Mode::Kill(id),
            _ => {}
        }
        Then::Stay
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
        self.mode = Mode::Filter(before);
    }

    fn in_page(&mut self, key: KeyCode, mut page: Page) {
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
        self.mode = Mode::Page(page);
    }

    /// What a command prints, or why it failed, one line.
    fn output(&self, line: &[&str]) -> Result<String, String> {
        let Context { home, cwd, .. } = self.context;
        let call = Call::new(home.bin(), cwd, line).variable(ROOT_VARIABLES[0], home.root());
        let outcome = call.run(None).map_err(|error| error.to_string())?;
        if outcome.code() == Some(0) {
            return Ok(outcome.stdout);
        }
        let why = outcome.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed and said nothing");
        Err(why.to_owned())
    }

    /// Does something, and says what came of it.
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

    /// Gives the terminal to a command, until it has ended and the person has seen what it said.
    fn lend(&self, line: &[String], stop: &AtomicBool) {
        // Ctrl-C ends the command, not this.
        let heard = Arc::new(AtomicBool::new(false));
        let guard = signal_hook::flag::register(signal_hook::consts::SIGINT, heard);
        let Context { home, cwd, .. } = self.context;
        let mut command = Command::new(home.bin());
        command.args(line).current_dir(cwd).env(ROOT_VARIABLES[0], home.root());
        let said = match command.status() {
            Ok(_) => String::new(),
            Err(error) => format!("cannot run uwf: {error}\n"),
        };
        // Whoever closes the terminal needs no answer.
        let _ = write!(io::stderr(), "{said}Press Enter to go back to uwf top. ");
        let (send, pressed) = mpsc::channel();
        // A signal does not end the read, so it is waited for beside it. The thread ends with the process.
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

impl Page {
    fn of(title: &str, text: &str) -> Page {
        Page { title: title.to_owned(), lines: text.lines().map(str::to_owned).collect(), top: 0 }
    }
}
