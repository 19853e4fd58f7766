//! The progress of a run on stderr: on a terminal a line that changes, and everywhere a line for each branch that begins or ends.

use std::io::IsTerminal;

use uwf_core::thread::ThreadId;
use uwf_engine::thread::load::Thread;
use uwf_engine::views::live::{LiveStart, LiveThread};

use super::branch_lines::BranchLines;
use super::live_line::LiveLine;
use crate::context::CommandContext;

/// The progress of one thread.
pub(super) struct RunProgress<'c> {
    context: &'c CommandContext,
    /// Events of the thread; `None` if there is nothing to show.
    live: Option<LiveThread>,
    /// `None` without a terminal.
    line: Option<LiveLine<'c>>,
    branches: BranchLines<'c>,
}

impl<'c> RunProgress<'c> {
    /// The progress of a thread from now on.
    pub(super) fn from_now(context: &'c CommandContext, thread: &ThreadId) -> RunProgress<'c> {
        let line = std::io::stderr().is_terminal().then(|| LiveLine::new(context));
        let is_shown = line.is_some() || has_groups(context, thread);
        let mut live = is_shown.then(|| LiveThread::watch(thread.clone(), LiveStart::Newest(0), None));
        // The past of the thread, with the branches of an attempt that failed. If it is unreadable, the step reports that.
        if let Some(live) = &mut live {
            let _ = live.poll(&context.home);
        }
        RunProgress { context, live, line, branches: BranchLines::new(context) }
    }

    /// Starts a step.
    pub(super) fn begin(&mut self) {
        self.line.iter_mut().for_each(LiveLine::begin);
    }

    /// Shows what happened since the last call.
    pub(super) fn show(&mut self) {
        // A temporary failure; the next poll tries again.
        let Some(Ok(events)) = self.live.as_mut().map(|live| live.poll(&self.context.home)) else { return };
        for event in &events {
            if let Some(text) = self.branches.line(event) {
                self.line.iter_mut().for_each(LiveLine::clear);
                self.context.printer.talk(&text);
            }
            self.line.iter_mut().for_each(|line| line.take(event));
        }
        self.line.iter_mut().for_each(LiveLine::show);
    }

    /// Ends a step.
    pub(super) fn end(&mut self) {
        self.show();
        self.line.iter_mut().for_each(LiveLine::clear);
    }
}

/// Whether a thread may play groups. If its workflow is unreadable, the step reports that.
fn has_groups(context: &CommandContext, thread: &ThreadId) -> bool {
    let workflow = Thread::active(&context.home, thread).and_then(|(thread, _)| thread.workflow());
    workflow.is_ok_and(|workflow| workflow.roles.values().any(|role| role.more.play.is_some()))
}
