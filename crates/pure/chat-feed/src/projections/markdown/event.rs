//! Events that are entries by themselves, as blocks of the transcript.

use chat_event::payload::{
    PermissionRequest, PermissionResolved, Plan, PlanEntry, Question, QuestionRequest,
    QuestionResolved, Usage, UserMessage,
};
use chat_event::{ChatEvent, Json, Payload};

use super::RAW_BYTES;
use super::call::{write_cut, write_edit};
use super::times::duration;
use super::transcript::Transcript;
use super::writer::{LINE_CHARS, Writer, code, words};
use crate::answers::told_answers;
use crate::media::Attachment;
use crate::projections::TextSink;
use crate::projections::TokenCounts;
use crate::projections::conversation::Entry;
use crate::projections::plain::{body_text, json_text};
use crate::projections::summary::usage::UsageNote;
use crate::took::took_ms;
use crate::units::grouped;

/// So many questions may wait for their answers.
const MOST_ASKED: usize = 256;

impl Transcript {
    /// What stops the work of a turn; the failure of a sub-agent does not.
    fn note_stopped(&mut self, entry: &Entry, how: &'static str) {
        let turn = self.turns.get_mut(&entry.turn);
        if let Some(turn) = turn.filter(|_| entry.parent.is_none()) {
            turn.stopped = Some(how);
        }
    }

    /// An event that is an entry by itself.
    pub(super) fn event<S: TextSink>(
        &mut self,
        entry: &Entry,
        event: &ChatEvent,
        out: &mut Writer<'_, S>,
    ) {
        match &event.payload {
            Payload::UserMessage(message) => {
                self.assistant_speaks = false;
                user_message(message, event.parent_tool_call_id.is_some(), out);
            }
            Payload::UserAudio(audio) => {
                self.assistant_speaks = false;
                out.block("**User**, spoken");
                out.quoted(|out| out.prose(&audio.transcription));
            }
            Payload::AgentCallback(callback) => {
                self.assistant_speaks = false;
                out.block(&format!(
                    "**Callback from** {}",
                    code(&callback.from_agent_id)
                ));
                out.quoted(|out| out.prose(&body_text(&callback.result)));
            }
            Payload::AgentSwitch(switch) => {
                self.assistant_speaks = false;
                out.block(&format!(
                    "**Agent** {} takes over",
                    code(&switch.to_agent_id)
                ));
            }
            Payload::FileEdit(edit) => write_edit(out, edit),
            Payload::TurnEnd(end) => {
                let turn = self.turns.get(&entry.turn);
                let turn = turn.filter(|_| entry.parent.is_none());
                let began_ms = turn.and_then(|turn| turn.began_ms);
                let stopped = turn.and_then(|turn| turn.stopped);
                // Sources without times of their own have the same one everywhere.
                let took = took_ms(end.duration_ms, began_ms, event.timestamp);
                let told = end.usage.as_ref().and_then(|usage| usage.parse::<Usage>());
                let mut used = self.used.remove(&entry.turn).unwrap_or_default();
                used.take(&UsageNote::at_end(entry.turn, told.as_ref(), end.cost_usd));
                let outcome = end.outcome.as_deref().or(stopped).unwrap_or("completed");
                turn_end(outcome, took.filter(|&took| took > 0), used.spent(), out);
            }
            Payload::Interrupt(interrupt) => {
                self.note_stopped(entry, "interrupted");
                out.block(format!("**Interrupted** {}", code(&interrupt.reason)).trim_end());
            }
            Payload::ErrorEvent(error) => {
                self.note_stopped(entry, "failed");
                out.block(format!("**Error** {}", code(&error.code)).trim_end());
                write_cut(out, "text", &error.message, RAW_BYTES);
            }
            Payload::Plan(told) => plan(told, out),
            Payload::PermissionRequest(request) => permission_request(request, out),
            Payload::PermissionResolved(resolved) => permission_resolved(resolved, out),
            Payload::QuestionRequest(request) => {
                question_request(request, out);
                let asked = (request.request_id.clone(), request.questions.clone());
                self.asked.push_back(asked);
                if self.asked.len() > MOST_ASKED {
                    self.asked.pop_front();
                }
            }
            Payload::QuestionResolved(resolved) => {
                let asked = |(id, _): &(String, _)| *id == resolved.request_id;
                let nth = self.asked.iter().position(asked);
                let asked = nth.and_then(|nth| self.asked.remove(nth));
                let questions = asked.map_or_else(Vec::new, |(_, questions)| questions);
                question_resolved(resolved, &questions, out);
            }
            Payload::Compaction(told) => {
                out.block(format!("**Context compacted** {}", words(&told.trigger)).trim_end());
                if let Some(summary) = &told.summary {
                    out.quoted(|out| out.prose(summary));
                }
            }
            Payload::Notice(notice) => {
                let level = if notice.level == "warning" {
                    "Warning"
                } else {
                    "Note"
                };
                if notice.text.len() > LINE_CHARS {
                    out.block(&format!("*{level}*"));
                    out.quoted(|out| out.prose(&notice.text));
                } else {
                    out.block(&format!("*{level}:* {}", words(&notice.text)));
                }
            }
            Payload::AudioDone(done) => {
                let length = done.duration_ms.map(duration).unwrap_or_default();
                out.block(format!("*Spoken answer* {length}").trim_end());
            }
            Payload::SessionEnd(end) => {
                out.block(format!("*End of the session* {}", words(&end.reason)).trim_end());
            }
            Payload::LogGap(gap) => {
                let (from, to) = (gap.from, gap.to);
                let what = if gap.n_missing() > 0 {
                    format!("**Events {from} to {to} are lost:**")
                } else {
                    "**A write was cut off, no event is lost:**".to_owned()
                };
                out.block(&format!("{what} {}", words(&gap.why)));
            }
            Payload::Raw(raw) => unread(&raw.format, &raw.value, out),
            Payload::Unknown { event_type, value } => unread(event_type, value, out),
            Payload::Malformed {
                event_type, value, ..
            } => unread(event_type, value, out),
            // Said by the heading, by the entry they are part of, or nothing to be read.
            Payload::TurnStart(_)
            | Payload::AssistantChunk(_)
            | Payload::AssistantDone(_)
            | Payload::ThinkingChunk(_)
            | Payload::ThinkingDone(_)
            | Payload::ToolCall(_)
            | Payload::ToolInputChunk(_)
            | Payload::ToolOutputChunk(_)
            | Payload::ToolResult(_)
            | Payload::AgentMessage(_)
            | Payload::AudioChunk(_)
            | Payload::SessionStart(_)
            | Payload::SessionStatus(_)
            | Payload::Progress(_)
            | Payload::Usage(_)
            | Payload::Retract(_)
            | Payload::LogStart(_)
            | Payload::LogEpoch(_)
            | Payload::LogEnd(_) => {}
        }
    }
}

fn user_message<S: TextSink>(message: &UserMessage, nested: bool, out: &mut Writer<'_, S>) {
    out.block(if nested { "**Prompt**" } else { "**User**" });
    out.quoted(|out| {
        out.prose(&body_text(&message.text));
        for attachment in Attachment::list(message.attachments.as_ref()) {
            out.block(&words(&attachment.note()));
        }
    });
}

/// What came of a turn, how long it took, and what it used.
fn turn_end<S: TextSink>(
    outcome: &str,
    took_ms: Option<u64>,
    (tokens, cost_usd): (Option<TokenCounts>, Option<f64>),
    out: &mut Writer<'_, S>,
) {
    let mut facts = vec![words(outcome)];
    facts.extend(took_ms.map(duration));
    if let Some(tokens) = tokens {
        let (read, written) = (grouped(tokens.input_tokens), grouped(tokens.output_tokens));
        facts.push(format!("{read} tokens in, {written} out"));
    }
    // Who is asked at no cost, or at one that is not known, says 0.
    let cost_usd = cost_usd.filter(|&cost_usd| cost_usd > 0.0);
    facts.extend(cost_usd.map(|cost| format!("${cost:.4}")));
    out.block(&format!("*Turn {}*", facts.join(", ")));
}

fn plan<S: TextSink>(plan: &Plan, out: &mut Writer<'_, S>) {
    let line = |entry: &PlanEntry| {
        let mark = if entry.status == "completed" {
            'x'
        } else {
            ' '
        };
        let now = if entry.status == "in_progress" {
            " *(now)*"
        } else {
            ""
        };
        format!("- [{mark}] {}{now}", words(&entry.content))
    };
    out.block("**Plan**");
    if !plan.entries.is_empty() {
        out.block(&plan.entries.iter().map(line).collect::<Vec<_>>().join("\n"));
    }
}

fn permission_request<S: TextSink>(request: &PermissionRequest, out: &mut Writer<'_, S>) {
    let title = request.title.as_deref().map(code).unwrap_or_default();
    let tool = code(&request.tool_name);
    out.block(format!("**Permission asked** {tool} {title}").trim_end());
    if let Some(reason) = &request.reason {
        out.quoted(|out| out.prose(reason));
    }
}

fn permission_resolved<S: TextSink>(resolved: &PermissionResolved, out: &mut Writer<'_, S>) {
    let by = resolved.by.as_deref().map(words);
    let by = by.map_or_else(String::new, |by| format!(", by {by}"));
    let decision = words(&resolved.decision);
    out.block(&format!("**Permission** {decision}{by}"));
    if let Some(message) = &resolved.message {
        out.quoted(|out| out.prose(message));
    }
}

fn question_request<S: TextSink>(request: &QuestionRequest, out: &mut Writer<'_, S>) {
    for question in &request.questions {
        out.block("**Question**");
        out.quoted(|out| {
            out.prose(&question.text);
            let options = question.options.iter();
            let options: Vec<_> = options
                .map(|option| format!("- {}", words(&option.label)))
                .collect();
            if !options.is_empty() {
                out.block(&options.join("\n"));
            }
        });
    }
}

fn question_resolved<S: TextSink>(
    resolved: &QuestionResolved,
    questions: &[Question],
    out: &mut Writer<'_, S>,
) {
    out.block(format!("**Question** {}", words(&resolved.outcome)).trim_end());
    let answers = resolved.answers.as_ref();
    let Some(answers) = answers.filter(|answers| !answers.is_null()) else {
        return;
    };
    let mut told = told_answers(questions, answers);
    // Where they do not say to what they are, there is one line for all.
    if told.len() > questions.len() {
        told.drain(..questions.len());
    }
    for (nth, said) in told.iter().enumerate() {
        let asked = questions.get(nth).filter(|_| told.len() > 1);
        let asked = asked.map_or_else(String::new, |asked| format!("{}: ", words(&asked.text)));
        if said.contains('\n') || said.len() > RAW_BYTES {
            out.block(asked.trim_end());
            write_cut(out, "text", said, RAW_BYTES);
        } else {
            out.quoted(|out| out.block(&format!("{asked}{}", words(said))));
        }
    }
}

fn unread<S: TextSink>(format: &str, value: &Json, out: &mut Writer<'_, S>) {
    out.block(format!("**Line that no rule knows** {}", code(format)).trim_end());
    write_cut(out, "json", &json_text(value), RAW_BYTES);
}
