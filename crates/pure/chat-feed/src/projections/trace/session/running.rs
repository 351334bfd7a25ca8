//! What goes on now, for the last lines of a terminal.

use chat_event::Status;

use super::{SessionTrace, Told};
use crate::projections::trace::Running;
use crate::projections::trace::line::{LineKind, Severity, Stream};

impl SessionTrace {
    /// What goes on now, one line a call; else what the turns are at.
    pub(in crate::projections::trace) fn running(&self) -> Vec<Running<Told>> {
        // What is told late of a session that is over goes on in no terminal.
        if self.is_finished || self.standing.status() == Status::Ended {
            return Vec::new();
        }
        let line = |kind, text: String, since_ms| Running {
            line: Told {
                stream: Stream::Trace,
                kind,
                severity: Severity::Info,
                text,
            },
            since_ms,
        };
        let mut running: Vec<_> = self
            .calls
            .running()
            .map(|call| {
                let since_ms = call.block.runs_since_ms();
                line(LineKind::ToolRunning, call.line(), since_ms)
            })
            .collect();
        // What is open in a session that rests waits for somebody to go on with it.
        let open = self.turns.open().iter();
        for turn in open.filter(|turn| self.standing.works() && !turn.gave_way) {
            let busy = self.calls.running().any(|call| call.turn == Some(turn.nth));
            let doing = match (&turn.progress, busy) {
                (Some(progress), _) => progress.clone(),
                (None, true) => continue,
                (None, false) => turn.name(),
            };
            let text = format!("{} ⋯ {doing}", turn.tag());
            running.push(line(LineKind::Progress, text, turn.last_ms));
        }
        if let Some(status) = self.status.as_ref().filter(|_| self.standing.works()) {
            running.push(line(LineKind::Progress, format!("⋯ {status}"), None));
        }
        // It goes on in a turn that was told to be over, or in none.
        if running.is_empty() && self.standing.works() {
            let status = self.standing.status().as_str();
            running.push(line(LineKind::Progress, format!("⋯ {status}"), None));
        }
        running
    }
}
