//! Events that are told in a line or two of their own.

use chat_event::ChatEvent;
use chat_event::payload::{
    AgentCallback, AgentMessage, ErrorEvent, Interrupt, LogGap, PermissionRequest,
    PermissionResolved, SessionStatus,
};

use super::SessionTrace;
use super::asks::Name;
use crate::projections::trace::calls::{TurnNth, target_of};
use crate::projections::trace::clean::{first_line, one_line};
use crate::projections::trace::line::{LineKind, Severity};
use crate::retries::{Retries, is_retry};
use crate::tool::ToolStatus;

impl SessionTrace {
    pub(super) fn interrupt(
        &mut self,
        event: &ChatEvent,
        turn: Option<TurnNth>,
        interrupt: &Interrupt,
    ) {
        // A sub-agent that is stopped stops nothing beside it; that it was is told with its call.
        if event.parent_tool_call_id.is_some() {
            return;
        }
        self.stop(turn, "interrupted", ToolStatus::Interrupted);
        // What is written of a turn behind its end changes nothing.
        if turn.is_none() && !self.is_late(event) {
            let why = one_line(&interrupt.reason);
            self.tell(LineKind::Error, Severity::Warning, format!("[STOP] {why}"));
        }
    }

    pub(super) fn error_event(
        &mut self,
        event: &ChatEvent,
        turn: Option<TurnNth>,
        error: &ErrorEvent,
    ) {
        // A sub-agent that fails ends nothing beside it; what ran in it is told with the turn's end.
        match (turn, &event.parent_tool_call_id) {
            (Some(_), None) => self.stop(turn, "failed", ToolStatus::NoResult),
            (None, None) => self.settle(turn, ToolStatus::NoResult),
            (_, Some(_)) => {}
        }
        self.error(turn, &error.code, &error.message);
    }

    pub(super) fn agent_message(&mut self, turn: Option<TurnNth>, message: &AgentMessage) {
        let target = one_line(&message.target_agent_id);
        let said = first_line(&message.message.preview());
        self.notable(
            turn,
            LineKind::Agent,
            format!("[AGENT] to {target}: {said}"),
        );
    }

    pub(super) fn agent_callback(&mut self, turn: Option<TurnNth>, callback: &AgentCallback) {
        let from = one_line(&callback.from_agent_id);
        let said = first_line(&callback.result.preview());
        self.notable(
            turn,
            LineKind::Agent,
            format!("[AGENT] from {from}: {said}"),
        );
    }

    pub(super) fn permission_request(
        &mut self,
        event: &ChatEvent,
        turn: Option<TurnNth>,
        request: &PermissionRequest,
    ) {
        let tool = one_line(&request.tool_name.to_lowercase());
        let title = request.title.as_deref().map(first_line);
        // Where it says no more than the tool's name, what it is asked for does.
        let title = title.filter(|title| !title.is_empty() && *title != request.tool_name);
        let title = title.or_else(|| {
            let args = request.args.as_ref()?;
            let target = target_of(&request.tool_name, args, self.cwd.as_deref());
            (!target.is_empty()).then_some(target)
        });
        let what = match title {
            Some(title) => format!("{tool}: {title}"),
            None => tool,
        };
        let call_id = request.tool_call_id.as_deref();
        let name = Name::of(event, &request.request_id);
        self.ask(turn, name, what, call_id);
    }

    pub(super) fn permission_resolved(
        &mut self,
        event: &ChatEvent,
        turn: Option<TurnNth>,
        resolved: &PermissionResolved,
    ) {
        let decision = match &*resolved.decision {
            "allow" => "allowed".to_owned(),
            "deny" => "denied".to_owned(),
            "cancel" => "cancelled".to_owned(),
            other => one_line(other),
        };
        let by = resolved.by.as_deref().map(one_line);
        let by = by.map_or_else(String::new, |by| format!(" by {by}"));
        self.answered(
            event,
            turn,
            &resolved.request_id,
            &format!("{decision}{by}"),
        );
    }

    pub(super) fn session_status(
        &mut self,
        event: &ChatEvent,
        turn: Option<TurnNth>,
        status: &SessionStatus,
    ) {
        let told = status.message.as_deref().map(one_line);
        let retries = is_retry(status);
        self.status = retries.then(|| told.unwrap_or_else(|| "retrying".to_owned()));
        if retries {
            let (_, retries) = self.retries.get_or_insert((turn, Retries::default()));
            retries.note(status, event.timestamp);
        }
    }

    pub(super) fn log_gap(&mut self, gap: &LogGap) {
        let why = one_line(&gap.why);
        let text = if gap.n_missing() > 0 {
            let (from, to) = (gap.from, gap.to);
            format!("[WARN] events {from} to {to} are missing: {why}")
        } else {
            format!("[WARN] a write was cut off, no event is missing: {why}")
        };
        self.tell(LineKind::Notice, Severity::Warning, text);
    }
}
