//! What a person typed, or a task reported, while the agent worked: `queue-operation` lines of a transcript.
//!
//! | operation | what becomes of it |
//! |---|---|
//! | `enqueue` | it waits |
//! | `dequeue` | it comes again as the user's line and begins a turn |
//! | `remove` | the turn that goes on takes it. From 2.1.101 it comes again as an attachment; before, it is nowhere else |
//! | `popAll` | the person takes it back into the input |
//!
//! The lines name no entry, so the oldest is meant; `remove` and `popAll` of later versions repeat its content. The
//! attachment may be written after its `remove`, so that is told only with the next line of the conversation that can
//! know of it. What a version that writes attachments removes without one was withdrawn, where no `reason` says else.

use std::collections::VecDeque;

use serde_json::Value;

use super::results::text_of_content;
use super::said::{Said, pieces};
use super::side_lines::{said_by_program, task_notification};
use super::transcript::{ClaudeTranscript, attachments};
use crate::emit::{Emitter, Place};
use crate::value::{str_of, text_of};

/// No queue is as long; what waits longer is forgotten.
const MAX_WAITING: usize = 1000;

/// What waits, and what was taken and not told yet.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Value>,
    taken: Vec<Taken>,
    /// Attachments whose `remove` did not come yet.
    attached: VecDeque<String>,
    /// The version is one that writes attachments.
    pub(crate) writes_attachments: bool,
}

/// An entry that a `remove` took.
#[derive(Debug)]
struct Taken {
    content: Value,
    line_no: u64,
    time_ms: i64,
    command: Option<String>,
    reason: Option<String>,
}

impl Queue {
    /// The entry that `content` repeats, else the oldest.
    fn next(&mut self, content: Option<&Value>) -> Option<Value> {
        let Some(content) = content else {
            return self.waiting.pop_front();
        };
        let at = self.waiting.iter().position(|waits| waits == content);
        at.and_then(|at| self.waiting.remove(at))
            .or_else(|| Some(content.clone()))
    }

    /// A turn takes `entry`; its attachment is told, or will be.
    fn take(&mut self, emitter: &Emitter, line: &Value, entry: Value, text: &str) {
        if let Some(at) = self.attached.iter().position(|told| told == text) {
            self.attached.remove(at);
        } else if self.taken.len() < MAX_WAITING {
            self.taken.push(Taken {
                content: entry,
                line_no: emitter.line_no,
                time_ms: emitter.time_ms,
                command: text_of(line, "commandUuid").map(str::to_owned),
                reason: text_of(line, "reason").map(str::to_owned),
            });
        }
    }
}

fn keep<T>(entries: &mut VecDeque<T>, entry: T) {
    if entries.len() == MAX_WAITING {
        entries.pop_front();
    }
    entries.push_back(entry);
}

/// What a prompt says beside its pictures.
fn words_of(prompt: &Value) -> String {
    let Some(blocks) = prompt.as_array() else {
        return text_of_content(prompt);
    };
    let said = blocks
        .iter()
        .filter(|block| str_of(block, "type") != Some("image"));
    text_of_content(&said.cloned().collect())
}

impl ClaudeTranscript {
    pub(super) fn queue_operation(&mut self, emitter: &mut Emitter, line: &Value) {
        let content = line.get("content").filter(|content| !content.is_null());
        let operation = str_of(line, "operation").unwrap_or("");
        match operation {
            "enqueue" => keep(
                &mut self.queue.waiting,
                content.cloned().unwrap_or(Value::Null),
            ),
            "dequeue" => {
                self.queue.next(content);
            }
            "remove" | "popAll" => {
                let entry = self.queue.next(content).unwrap_or_default();
                let text = text_of_content(&entry);
                if operation == "popAll" && !text.is_empty() {
                    self.withdrawn(emitter, &text);
                    return;
                }
                if operation == "remove" && !text.is_empty() {
                    self.queue.take(emitter, line, entry, &text);
                }
            }
            _ => {}
        }
        emitter.pass_over("queue-operation");
    }

    /// Tells what was taken and came in no attachment, where `is_due` by the time it was taken.
    pub(super) fn tell_taken(&mut self, emitter: &mut Emitter, is_due: impl Fn(i64) -> bool) {
        if self.queue.taken.is_empty() {
            return;
        }
        let (due, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.queue.taken)
            .into_iter()
            .partition(|taken| is_due(taken.time_ms));
        self.queue.taken = rest;
        let now = (emitter.line_no, emitter.time_ms);
        let line_id = emitter.line_id().to_owned();
        for taken in due {
            emitter.line_no = taken.line_no;
            emitter.time_ms = taken.time_ms;
            emitter.begin_line(None);
            let took_it = match taken.reason.as_deref() {
                Some(reason) => reason == "absorbed_mid_turn",
                None => !self.queue.writes_attachments,
            };
            let text = text_of_content(&taken.content);
            if took_it {
                let place = self.session.place(None, None);
                self.queued(emitter, &taken.content, &place);
            } else if let [Said::TaskNotification(text)] = &pieces(&text)[..] {
                self.task_ended(emitter, text);
            } else {
                self.withdrawn(emitter, &text);
            }
        }
        (emitter.line_no, emitter.time_ms) = now;
        emitter.begin_line(Some(&line_id));
    }

    /// The attachment that a turn takes an entry as.
    pub(super) fn queued_attachment(
        &mut self,
        emitter: &mut Emitter,
        attachment: &Value,
        place: &Place,
    ) {
        let prompt = attachment.get("prompt").unwrap_or(&Value::Null);
        let text = text_of_content(prompt);
        let command = text_of(attachment, "source_uuid");
        let of_this = |taken: &Taken| {
            (command.is_some() && taken.command.as_deref() == command)
                || text_of_content(&taken.content) == text
        };
        match self.queue.taken.iter().position(of_this) {
            Some(at) => {
                self.queue.taken.remove(at);
            }
            None => keep(&mut self.queue.attached, text),
        }
        self.queued(emitter, prompt, place);
    }

    fn withdrawn(&mut self, emitter: &mut Emitter, text: &str) {
        let place = self.session.place(None, None);
        emitter.notice("info", &place, "queue", format!("withdrawn: {text}"));
    }

    fn queued(&mut self, emitter: &mut Emitter, prompt: &Value, place: &Place) {
        let mut pictures = prompt.as_array().and_then(|blocks| attachments(blocks));
        let mut said = pieces(&words_of(prompt));
        if pictures.is_some() && !said.iter().any(Said::is_typed) {
            // A picture alone is a prompt.
            said.push(Said::Words(String::new()));
        }
        for (at, said) in said.into_iter().enumerate() {
            match said {
                Said::Words(text) | Said::Command(text) | Said::Shell(text) => {
                    self.session.need_turn(emitter);
                    let tag = format!("said{at}");
                    self.user_message(emitter, &tag, &text, pictures.take(), true);
                }
                Said::TaskNotification(text) => {
                    task_notification(emitter, place, &text);
                    self.task_ended(emitter, &text);
                }
                Said::Done(text) | Said::Output(text) | Said::Injected(text) => {
                    said_by_program(emitter, place, &text)
                }
                Said::Interrupt => self.session.interrupt(emitter, place, "user_cancel"),
            }
        }
    }
}
