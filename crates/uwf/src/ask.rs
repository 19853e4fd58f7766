//! Questions to a person at a terminal, on stderr; stdout is for the report.

mod hidden;

use std::cell::OnceCell;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use uwf_engine::error::{AtPath, ErrorKind};

use crate::error::CommandError;
use crate::printer::CommandPrinter;
use crate::style;
use crate::table;

/// Columns of a typed line in a quote.
const QUOTED: usize = 60;

/// Time between two looks whether a question is still open.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// How many options of a list are shown at once.
const SHOWN: usize = 20;

/// Asks questions at the terminal.
pub(crate) struct TerminalAsker {
    printer: CommandPrinter,
    /// Set from the first hidden line on.
    hidden: OnceCell<hidden::HiddenInputGuard>,
}

/// While it lives, Ctrl-C, SIGTERM and SIGHUP end this process at once, even if it handles signals otherwise: it waits for a person and has
/// nothing to lose.
pub(crate) struct InterruptibleWait {
    usual: Arc<AtomicBool>,
    actions: Vec<SigId>,
}

impl InterruptibleWait {
    /// Starts now.
    ///
    /// # Errors
    /// `Io` if the handlers cannot be installed.
    pub(crate) fn begin() -> Result<InterruptibleWait, CommandError> {
        let usual = Arc::new(AtomicBool::new(true));
        let register = |signal| signal_hook::flag::register_conditional_default(signal, Arc::clone(&usual));
        let actions = [SIGINT, SIGTERM, SIGHUP].into_iter().map(register).collect::<Result<_, _>>();
        Ok(InterruptibleWait { actions: actions.path_context("listen to", "signals")?, usual })
    }
}

impl Drop for InterruptibleWait {
    fn drop(&mut self) {
        self.usual.store(false, Ordering::SeqCst);
        for action in self.actions.drain(..) {
            signal_hook::low_level::unregister(action);
        }
    }
}

/// One of several options.
pub(crate) struct MenuChoice<'c> {
    /// The word to type, besides its number.
    pub(crate) name: &'c str,
    /// The text that is shown.
    pub(crate) title: &'c str,
}

impl TerminalAsker {
    /// Whether a person can be asked: stdin and stderr are terminals.
    pub(crate) fn has_person() -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// An asker that uses this printer.
    pub(crate) fn new(printer: CommandPrinter) -> TerminalAsker {
        TerminalAsker { printer, hidden: OnceCell::new() }
    }

    /// Prints why the edited text is invalid, and asks whether to edit it again; `false` without a terminal.
    pub(crate) fn wants_again(printer: CommandPrinter, misfit: &CommandError) -> bool {
        if !TerminalAsker::has_person() {
            return false;
        }
        printer.explain(misfit);
        TerminalAsker::new(printer).unless_no("edit it again?").unwrap_or(false)
    }

    /// Prints a line.
    pub(crate) fn print_line(&self, text: &str) {
        self.printer.talk(text);
    }

    /// Asks for one line; an empty line means the default in brackets. Without a default, asks again until the line is not empty.
    ///
    /// # Errors
    /// `Interrupted` at the end of input.
    pub(crate) fn line(&self, question: &str, otherwise: Option<&str>) -> Result<String, CommandError> {
        loop {
            let shown = otherwise.map(|text| format!(" [{text}]")).unwrap_or_default();
            let typed = self.typed(&format!("{}{shown}: ", style::bold(question)))?;
            match (typed.is_empty(), otherwise) {
                (false, _) => return Ok(typed),
                (true, Some(text)) => return Ok(text.to_owned()),
                (true, None) => {}
            }
        }
    }

    /// Asks yes or no, with no as the default.
    pub(crate) fn yes(&self, question: &str) -> Result<bool, CommandError> {
        let typed = self.typed(&format!("{} [y/N]: ", style::bold(question)))?;
        Ok(is_yes(&typed))
    }

    /// Asks yes or no, with yes as the default.
    pub(crate) fn unless_no(&self, question: &str) -> Result<bool, CommandError> {
        let typed = self.typed(&format!("{} [Y/n]: ", style::bold(question)))?;
        Ok(!matches!(typed.to_ascii_lowercase().as_str(), "n" | "no"))
    }

    /// Asks for one line without showing it; the line may be empty.
    ///
    /// # Errors
    /// `Interrupted` on Ctrl-C, `Terminated`, `Io`; the terminal is restored.
    pub(crate) fn hidden(&self, question: &str) -> Result<String, CommandError> {
        let guard = match self.hidden.get() {
            Some(guard) => guard,
            None => {
                let guard = hidden::HiddenInputGuard::new()?;
                self.hidden.get_or_init(|| guard)
            }
        };
        forget_typed();
        self.printer.talk_raw(&format!("{} (not shown): ", style::bold(question)));
        let typed = guard.read();
        self.printer.talk("");
        typed
    }

    /// Asks for one of a few options, by number or name; the default is the first.
    pub(crate) fn choose(&self, question: &str, choices: &[MenuChoice<'_>]) -> Result<usize, CommandError> {
        self.print_line(&style::bold(question));
        for (index, choice) in choices.iter().enumerate() {
            self.print_line(&format!("  {:>2}  {}", index + 1, choice.title));
        }
        loop {
            let typed = self.line("number or name", Some("1"))?;
            let by_number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let found = by_number.filter(|index| *index < choices.len());
            let found = found.or_else(|| choices.iter().position(|choice| choice.name.eq_ignore_ascii_case(&typed)));
            match found {
                Some(index) => return Ok(index),
                None => self.print_line(&format!("`{typed}` is not in the list")),
            }
        }
    }

    /// Asks for one of many names. Typing part of a name narrows the list; a number, or the only name left, chooses.
    pub(crate) fn find(&self, wanted: &str, names: &[String], otherwise: Option<&str>) -> Result<String, CommandError> {
        let mut shown: Vec<&String> = names.iter().collect();
        loop {
            self.list(&shown);
            let typed = self.line(&format!("{wanted}: number, name, or part of a name"), otherwise)?;
            let by_number = typed.parse::<usize>().ok().and_then(|number| shown.get(number.checked_sub(1)?).copied());
            if let Some(found) = by_number.or_else(|| names.iter().find(|name| **name == typed)) {
                return Ok(found.clone());
            }
            let fitting = containing(names, &typed);
            match fitting.as_slice() {
                [] if self.yes(&format!("no name contains `{typed}`; use it anyway?"))? => return Ok(typed),
                [] => {}
                [only] => return Ok((*only).clone()),
                _ => shown = fitting,
            }
        }
    }

    fn list(&self, names: &[&String]) {
        for (index, name) in names.iter().take(SHOWN).enumerate() {
            self.print_line(&format!("  {:>2}  {name}", index + 1));
        }
        let more = names.len().saturating_sub(SHOWN);
        if more > 0 {
            self.print_line(&style::dim(&format!("      and {more} more; type a part of a name to see others")));
        }
    }

    /// One typed line after a prompt, trimmed; may be empty.
    fn typed(&self, prompt: &str) -> Result<String, CommandError> {
        self.as_typed(prompt).map(|line| line.trim().to_owned())
    }

    /// One line after a prompt, as typed; may be empty. Asks back if the line seems to be pasted for the shell.
    pub(crate) fn as_typed(&self, prompt: &str) -> Result<String, CommandError> {
        self.confirmed(prompt, None)?.ok_or_else(interrupted)
    }

    /// Like [`TerminalAsker::as_typed`], but only while the question is open; `None` if it is closed before the line is complete.
    pub(crate) fn as_typed_while(
        &self,
        prompt: &str,
        is_open: &dyn Fn() -> bool,
    ) -> Result<Option<String>, CommandError> {
        self.confirmed(prompt, Some(is_open))
    }

    fn confirmed(&self, prompt: &str, is_open: Option<&dyn Fn() -> bool>) -> Result<Option<String>, CommandError> {
        loop {
            let Some(typed) = self.read(prompt, is_open)? else { return Ok(None) };
            let Some(doubt) = doubt(typed.trim(), has_more_lines()) else { return Ok(Some(typed)) };
            let quoted = table::excerpt(&typed, QUOTED);
            let back = format!("`{quoted}` {doubt}. {} [y/N]: ", style::bold("Is it your answer?"));
            let Some(meant) = self.read(&back, is_open)? else { return Ok(None) };
            if is_yes(meant.trim()) {
                return Ok(Some(typed));
            }
        }
    }

    /// One line typed after the prompt, without its newline; `None` if the question is closed first.
    fn read(&self, prompt: &str, is_open: Option<&dyn Fn() -> bool>) -> Result<Option<String>, CommandError> {
        forget_typed();
        self.printer.talk_raw(prompt);
        if let Some(is_open) = is_open
            && !has_line_while(is_open)
        {
            // Half a line must not reach the shell.
            forget_typed();
            self.printer.talk("");
            return Ok(None);
        }
        let mut line = String::new();
        match std::io::stdin().read_line(&mut line).path_context("read", "the terminal")? {
            0 => Err(interrupted()),
            _ => Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned())),
        }
    }
}

/// Waits for a typed line, or for the end of input. Returns `false` if the question is closed first.
fn has_line_while(is_open: &dyn Fn() -> bool) -> bool {
    while !has_input(LOOK) {
        if !is_open() {
            return false;
        }
    }
    true
}

fn is_yes(typed: &str) -> bool {
    matches!(typed.to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Drops typed lines that no process has read. If a person pastes several commands into a shell, the rest waits in the terminal, and its
/// next line must not answer a question that the person has not seen.
fn forget_typed() {
    // Without a terminal there is nothing to drop.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}

/// Whether another line is already waiting; a person does not type that fast.
fn has_more_lines() -> bool {
    let stdin = std::io::stdin();
    let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
    matches!(poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1..))
        && ready[0].revents().contains(PollFlags::IN)
}

/// Waits a moment for a typed line, or for the end of input. Returns whether reading would not block.
fn has_input(wait: Timespec) -> bool {
    let stdin = std::io::stdin();
    let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
    matches!(poll(&mut ready, Some(&wait)), Ok(1..))
}

/// Why a line may not be intended as an answer.
fn doubt(typed: &str, has_more_lines: bool) -> Option<&'static str> {
    let command = typed.strip_prefix("$ ").unwrap_or(typed);
    let is_command = command == "uwf" || command.starts_with("uwf ");
    match (is_command, has_more_lines) {
        (true, _) => Some("looks like a command for the shell"),
        (false, true) => Some("came with more lines, which are not read"),
        (false, false) => None,
    }
}

/// Names that contain every typed word.
fn containing<'n>(names: &'n [String], typed: &str) -> Vec<&'n String> {
    let words: Vec<String> = typed.split_whitespace().map(str::to_lowercase).collect();
    let fits = |name: &&String| words.iter().all(|word| name.to_lowercase().contains(word));
    names.iter().filter(fits).collect()
}

/// The error for input that ended without an answer.
fn interrupted() -> CommandError {
    CommandError::new(ErrorKind::Interrupted, "stopped; nothing was written".to_owned())
}
