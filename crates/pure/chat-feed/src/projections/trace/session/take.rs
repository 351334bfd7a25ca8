//! What each event is to the trace.

use chat_event::{ChatEvent, Payload, Took};

use super::SessionTrace;
use crate::projections::trace::calls::{CallPlace, CallStep, TurnNth};
use crate::projections::trace::clean::one_line;
use crate::projections::trace::line::LineKind;
use crate::projections::trace::words;
use crate::renderer::hash;
use crate::retries::Retries;

impl SessionTrace {
    /// Tells what an event says; `took` is what it was to how the session stands.
    pub(super) fn take(&mut self, event: &ChatEvent, turn: Option<TurnNth>, took: Took) {
        let parent = event.parent_tool_call_id.as_deref();
        let response = event.response_id.as_deref();
        if Retries::end_with(&event.payload) {
            self.tell_retries(event.timestamp);
        }
        match &event.payload {
            Payload::TurnStart(start) => {
                if let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) {
                    turn.introduce(start);
                    let labelled = turn.label.is_some().then_some(turn.nth);
                    self.tell_turn(labelled);
                }
            }
            Payload::TurnEnd(end) => {
                if let Some(nth) = turn {
                    self.end_turn(nth, end, event.timestamp);
                }
            }
            Payload::UserMessage(message) => self.prompt(turn, parent, &message.text.preview()),
            Payload::UserAudio(audio) => self.prompt(turn, parent, &audio.transcription),
            // What was said is told, though its turn was taken to be over before.
            Payload::AssistantChunk(_) if self.is_late(event) => {}
            Payload::AssistantDone(done) if self.is_late(event) && parent.is_none() => {
                self.tell_result(std::slice::from_ref(&done.text));
            }
            Payload::AssistantChunk(chunk) => {
                self.answer(turn, parent, |answer| {
                    answer.chunk(&event.id, response, chunk.part, &chunk.text);
                });
            }
            Payload::AssistantDone(done) if parent.is_some() => {
                self.open_text(parent, &done.text, LineKind::Said, "");
            }
            Payload::AssistantDone(done) => {
                self.answer(turn, parent, |answer| {
                    answer.done(response, done.part, &done.text);
                });
            }
            // A thought is told once it is whole.
            Payload::ThinkingChunk(_) => {}
            Payload::ThinkingDone(done) if done.redacted == Some(true) => {
                self.open_text(
                    parent,
                    "(withheld by the provider)",
                    LineKind::Thinking,
                    "∴ ",
                );
            }
            Payload::ThinkingDone(done) => {
                self.tell_turn(turn);
                self.open_text(parent, &done.text, LineKind::Thinking, "∴ ");
            }
            Payload::ToolCall(call) => self.tool_call(event, turn, call),
            Payload::ToolInputChunk(chunk) => {
                let cwd = self.cwd.take();
                let place = place_of(event, turn, cwd.as_deref());
                self.calls
                    .prepares(&chunk.tool_call_id, &chunk.tool_name, place);
                self.cwd = cwd;
            }
            Payload::ToolOutputChunk(chunk) => {
                self.calls.printed(&chunk.tool_call_id, &chunk.chunk);
            }
            Payload::ToolResult(result) => {
                if parent.is_none() {
                    self.result_came(turn);
                }
                let step = self.calls.finished(result, place_of(event, turn, None));
                if let CallStep::Done(call) = step {
                    self.tell_call(&call);
                }
            }
            Payload::FileEdit(edit) => self.file_edit(turn, edit),
            Payload::Progress(progress) => self.progress(turn, progress),
            Payload::Plan(plan) => self.plan(turn, plan),
            Payload::Usage(usage) => self.usage(event, turn, usage),
            Payload::Interrupt(interrupt) => self.interrupt(event, turn, interrupt),
            Payload::ErrorEvent(error) => self.error_event(event, turn, error),
            Payload::AgentMessage(message) => self.agent_message(turn, message),
            Payload::AgentCallback(callback) => self.agent_callback(turn, callback),
            Payload::AgentSwitch(switch) => {
                let to = one_line(&switch.to_agent_id);
                self.notable(turn, LineKind::Agent, format!("[AGENT] {to} takes over"));
            }
            Payload::PermissionRequest(request) => self.permission_request(event, turn, request),
            Payload::PermissionResolved(resolved) => {
                self.permission_resolved(event, turn, resolved)
            }
            Payload::QuestionRequest(request) => self.question(event, turn, request),
            Payload::QuestionResolved(resolved) => {
                let outcome = one_line(&resolved.outcome);
                self.answered(event, turn, &resolved.request_id, &outcome);
            }
            Payload::SessionStart(start) => self.session_start(start),
            Payload::SessionEnd(end) => {
                // The end of an earlier run, or of a sub-agent's session, ends nothing of this one.
                if !took.is_past && parent.is_none() {
                    self.finish(true);
                }
                let why = one_line(&end.reason);
                self.verbose(LineKind::Session, format!("[SESSION] ended: {why}"));
            }
            Payload::SessionStatus(status) => self.session_status(event, turn, status),
            Payload::Compaction(_) if std::mem::take(&mut self.is_compacted_anew) => {}
            Payload::Compaction(told) => {
                self.newest_compaction = Some(hash(&event.id));
                let how = one_line(&told.trigger);
                self.notable(
                    turn,
                    LineKind::Notice,
                    format!("[INFO] context made shorter ({how})"),
                );
            }
            Payload::Notice(notice) => self.notice(notice),
            Payload::Retract(retract) => {
                if let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) {
                    turn.answer.take_back(&retract.event_ids);
                }
                let mut ids = retract.event_ids.iter();
                self.is_compacted_anew |= ids.any(|id| self.newest_compaction == Some(hash(id)));
                let n = retract.event_ids.len();
                self.verbose(LineKind::Notice, format!("[INFO] {n} events taken back"));
            }
            Payload::LogGap(gap) => self.log_gap(gap),
            Payload::AudioChunk(_) => {}
            Payload::AudioDone(done) => {
                let length = done.duration_ms.map_or_else(String::new, words::duration);
                self.verbose(LineKind::Said, format!("[AUDIO] {length}"));
            }
            Payload::Raw(raw) => {
                self.unknown(&format!("a line of {}", raw.format), &raw.value.as_text())
            }
            Payload::Unknown { event_type, value } => {
                self.unknown(&format!("event {event_type}"), &value.as_text());
            }
            Payload::Malformed {
                event_type,
                value,
                reason,
            } => self.unknown(
                &format!("malformed {event_type}, {reason}"),
                &value.as_text(),
            ),
            Payload::LogStart(_) | Payload::LogEpoch(_) | Payload::LogEnd(_) => {}
        }
    }
}

pub(super) fn place_of<'a>(
    event: &'a ChatEvent,
    turn: Option<TurnNth>,
    cwd: Option<&'a str>,
) -> CallPlace<'a> {
    CallPlace {
        turn,
        parent: event.parent_tool_call_id.as_deref(),
        cwd,
        now_ms: event.timestamp,
    }
}
