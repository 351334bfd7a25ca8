//! Tool calls, the files they change, and how far they are.

use chat_event::ChatEvent;
use chat_event::payload::{FileEdit, Plan, Progress, ToolCall};

use super::{SessionTrace, place_of};
use crate::projections::trace::calls::{CallStep, OpenCall, TurnNth};
use crate::projections::trace::clean::one_line;
use crate::projections::trace::line::{LineKind, Severity, Verbosity};
use crate::projections::trace::opened;
use crate::tool::ToolStatus;

impl SessionTrace {
    pub(super) fn tool_call(&mut self, event: &ChatEvent, turn: Option<TurnNth>, call: &ToolCall) {
        self.tell_turn(turn);
        self.set_aside(event, turn);
        let cwd = self.cwd.take();
        let place = place_of(event, turn, cwd.as_deref());
        let step = self.calls.called(call, place);
        self.cwd = cwd;
        match step {
            CallStep::Nothing => {}
            CallStep::Done(call) => self.tell_call(&call),
            CallStep::Began(nth) if self.verbosity == Verbosity::Verbose => {
                let Some(open) = self.calls.get(nth) else {
                    return;
                };
                let (line, depth, turn) = (open.line(), open.depth, open.turn);
                let args = opened::args(&call.args, open.target());
                let line = self.of_turn(turn, line);
                self.tell(LineKind::ToolRunning, Severity::Info, line);
                self.tell_opened(depth, args);
            }
            CallStep::Began(_) => {}
        }
    }

    /// What was said before a call is no answer to the prompt.
    fn set_aside(&mut self, event: &ChatEvent, turn: Option<TurnNth>) {
        if event.parent_tool_call_id.is_none()
            && let Some(turn) = turn.and_then(|nth| self.turns.get(nth))
        {
            for text in turn.answer.take() {
                self.open_text(None, &text, LineKind::Said, "");
            }
        }
    }

    /// What was said before a result is none either, if more is said.
    pub(super) fn result_came(&mut self, turn: Option<TurnNth>) {
        let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) else {
            return;
        };
        turn.answer.result_came();
        for text in turn.answer.take_aside() {
            self.open_text(None, &text, LineKind::Said, "");
        }
    }

    pub(super) fn tell_call(&mut self, call: &OpenCall) {
        let severity = match call.block.status {
            ToolStatus::Failed => Severity::Failure,
            ToolStatus::Denied | ToolStatus::Interrupted | ToolStatus::NoResult => {
                Severity::Warning
            }
            ToolStatus::Preparing | ToolStatus::Running | ToolStatus::Succeeded => Severity::Good,
        };
        if self.verbosity == Verbosity::Quiet {
            return;
        }
        let line = self.of_turn(call.turn, call.line());
        self.tell(LineKind::Tool, severity, line);
        if self.verbosity == Verbosity::Verbose {
            let given = call.block.result.as_ref().map(opened::result);
            let opened = match given.filter(|given| !given.is_empty()) {
                Some(given) => given,
                None => opened::text(&call.output, LineKind::Opened),
            };
            self.tell_opened(call.depth, opened);
        }
    }

    pub(super) fn file_edit(&mut self, turn: Option<TurnNth>, edit: &FileEdit) {
        // In a line a call, the call that changed it is told.
        let shown = self.verbosity == Verbosity::Verbose
            || (edit.tool_call_id.is_empty() && self.verbosity == Verbosity::Normal);
        if !shown {
            return;
        }
        self.tell_turn(turn);
        let file = opened::file(edit, self.cwd.as_deref());
        let line = self.of_turn(turn, format!("📝 {file}"));
        self.tell(LineKind::File, Severity::Info, line);
        if self.verbosity == Verbosity::Verbose {
            self.tell_opened(0, opened::diff(edit));
        }
    }

    pub(super) fn progress(&mut self, turn: Option<TurnNth>, progress: &Progress) {
        if let Some(nth) = self.calls.progressed(progress) {
            if self.verbosity == Verbosity::Verbose
                && let Some(open) = self.calls.get(nth)
            {
                let (line, turn) = (open.line(), open.turn);
                let line = self.of_turn(turn, line);
                self.tell(LineKind::ToolRunning, Severity::Info, line);
            }
            return;
        }
        let message = one_line(&progress.message);
        let message = match progress.percent {
            Some(percent) => format!("{message} {percent:.0} %"),
            None => message,
        };
        self.step(turn, message);
    }

    pub(super) fn plan(&mut self, turn: Option<TurnNth>, plan: &Plan) {
        let n_done = plan
            .entries
            .iter()
            .filter(|entry| entry.status == "completed");
        let now = plan
            .entries
            .iter()
            .find(|entry| entry.status == "in_progress");
        let now = now.map_or_else(String::new, |entry| {
            format!(": {}", one_line(&entry.content))
        });
        let step = format!("plan {}/{}{now}", n_done.count(), plan.entries.len());
        self.step(turn, step);
    }

    /// What a turn is at; a line of its own only where all is told.
    pub(super) fn step(&mut self, turn: Option<TurnNth>, step: String) {
        if self.verbosity == Verbosity::Verbose {
            self.tell_turn(turn);
            let tag = turn
                .and_then(|nth| self.turns.get(nth))
                .map(|turn| turn.tag());
            let tag = tag.map_or_else(String::new, |tag| format!("{tag} "));
            self.tell(LineKind::Progress, Severity::Info, format!("{tag}⋯ {step}"));
        }
        match turn.and_then(|nth| self.turns.get(nth)) {
            Some(turn) => turn.progress = Some(step),
            None => self.status = Some(step),
        }
    }
}
