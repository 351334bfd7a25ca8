//! Turns of hooks: they go by prompts, and begin and end by hooks of their own.

use chat_event::payload::{ErrorEvent, TurnEnd, UserMessage};
use chat_event::{Body, Extra, Json, Payload};
use serde_json::Value;

use super::ClaudeHooks;
use crate::claude::said::{Said, piece_tag, pieces};
use crate::claude::side_lines;
use crate::claude::task_end::TaskEnd;
use crate::emit::{Emitter, Place, hash};
use crate::value::{list_of, str_of, text_of};

impl ClaudeHooks {
    /// What turns go by: the prompt, else the line that shows one.
    fn prompt_of(emitter: &Emitter, line: &Value) -> String {
        let prompt = text_of(line, "prompt_id").map(str::to_owned);
        prompt.unwrap_or_else(|| format!("t-{}", emitter.line_id()))
    }

    /// The id of a prompt's turn, while it is open.
    fn open_turn_of(&self, prompt: &str) -> Option<String> {
        let (newest, id) = self.newest.as_ref()?;
        (self.session.in_turn() && newest == prompt).then(|| id.clone())
    }

    /// The id of a prompt's next turn: the prompt's own; with a number where a turn of it ended before.
    fn next_turn_id(&mut self, prompt: &str) -> String {
        let number = self.turn_numbers.entry(prompt.to_owned()).or_default();
        loop {
            *number = number.saturating_add(1);
            let id = turn_id(prompt, *number);
            // Another prompt can be called so.
            if self.begun.insert(hash(id.as_bytes())) {
                return id;
            }
        }
    }

    pub(super) fn open_turn(
        &mut self,
        emitter: &mut Emitter,
        line: &Value,
        trigger: &str,
    ) -> String {
        let line_id = emitter.line_id().to_owned();
        let prompt = Self::prompt_of(emitter, line);
        let id = self.next_turn_id(&prompt);
        emitter.begin_line(Some(&id));
        let at = emitter.out.len();
        self.session.open_turn(emitter, &id, trigger);
        self.newest = Some((prompt, id.clone()));
        if let Some(prompt) = text_of(line, "prompt_id")
            && let Some(event) = emitter.out.get_mut(at)
            && let Payload::TurnStart(start) = &mut event.payload
        {
            start.extra.insert("promptId", Json::string(prompt));
        }
        emitter.begin_line(Some(&line_id));
        self.last_shown = None;
        id
    }

    fn end_turn(&mut self, emitter: &mut Emitter, outcome: &str) {
        self.session.close_asked(emitter);
        let end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        self.session.close_turn_leaving_calls(emitter, end);
    }

    pub(super) fn prompt(&mut self, emitter: &mut Emitter, line: &Value) {
        let text = str_of(line, "prompt").unwrap_or("");
        let said = pieces(text);
        let by_person = said
            .iter()
            .any(|said| matches!(said, Said::Words(_) | Said::Command(_) | Said::Shell(_)));
        // Without `Stop` the turn before was stopped by the user, which no hook tells.
        let prompt = Self::prompt_of(emitter, line);
        let id = match self.open_turn_of(&prompt) {
            Some(id) => id,
            None => {
                // What a sub-agent does in the background goes on.
                self.close_shown(emitter);
                self.session.close_turns(emitter, |turn| match turn.failed {
                    true => "failed",
                    false => "interrupted",
                });
                let trigger = if by_person { "user" } else { "system" };
                self.open_turn(emitter, line, trigger)
            }
        };
        emitter.begin_line(Some(&id));
        let place = self.session.place(None, None);
        for (at, said) in said.into_iter().enumerate() {
            match said {
                Said::Words(text) | Said::Command(text) | Said::Shell(text) => {
                    let message = UserMessage {
                        text: Body::from(text),
                        ..UserMessage::default()
                    };
                    emitter.add(&piece_tag(at), &place, message);
                }
                Said::TaskNotification(text) => {
                    side_lines::task_notification(emitter, &place, &text);
                    if let Some(end) = TaskEnd::of_notification(&text) {
                        self.session.task_ended(emitter, &end);
                    }
                }
                Said::Done(text) | Said::Output(text) => {
                    side_lines::printed(emitter, &place, &text);
                }
                Said::Injected(text) => side_lines::said_by_program(emitter, &place, &text),
                Said::Interrupt => self.session.interrupt(emitter, &place, "user_cancel"),
            }
        }
    }

    /// Where the end of a turn is told: in the open one, or in the one that `SessionEnd` ended just before.
    fn stop_place(&mut self, emitter: &mut Emitter, line: &Value) -> Place {
        let number = text_of(line, "prompt_id").and_then(|prompt| {
            let number = self.turn_numbers.get(prompt)?;
            Some((prompt, *number))
        });
        if let Some((prompt, number)) = number.filter(|_| !self.session.in_turn()) {
            let mut place = self.place(line);
            place.turn_id = Some(turn_id(prompt, number));
            return place;
        }
        self.work_place(emitter, line)
    }

    pub(super) fn stop(&mut self, emitter: &mut Emitter, line: &Value) {
        let place = self.stop_place(emitter, line);
        self.close_shown(emitter);
        self.answer(emitter, line, &place);
        self.end_unnamed_tasks(emitter, line);
        emitter.in_background(!list_of(line, "background_tasks").is_empty());
        self.end_turn(emitter, "completed");
    }

    pub(super) fn stop_failure(&mut self, emitter: &mut Emitter, line: &Value) {
        let place = self.stop_place(emitter, line);
        self.close_shown(emitter);
        let message = text_of(line, "last_assistant_message")
            .or_else(|| text_of(line, "error_details"))
            .unwrap_or("the turn failed");
        let payload = ErrorEvent {
            code: text_of(line, "error").unwrap_or("api_error").to_owned(),
            message: message.to_owned(),
            extra: Extra::default(),
        };
        emitter.add("error", &place, payload);
        self.end_turn(emitter, "failed");
    }

    /// What ran in the background and is not among what still does is over; how it ended is not told.
    fn end_unnamed_tasks(&mut self, emitter: &mut Emitter, line: &Value) {
        let Some(running) = line.get("background_tasks").and_then(Value::as_array) else {
            return;
        };
        let runs = |task: &str| running.iter().any(|it| str_of(it, "id") == Some(task));
        let known = self.session.tasks_in_background();
        let over: Vec<String> = known
            .filter(|task| !runs(task))
            .map(str::to_owned)
            .collect();
        for task in over {
            let end = TaskEnd {
                task_id: Some(task),
                status: "completed".to_owned(),
                ..TaskEnd::default()
            };
            self.session.task_ended(emitter, &end);
        }
    }
}

fn turn_id(prompt: &str, number: u32) -> String {
    match number {
        1 => prompt.to_owned(),
        n => format!("{prompt}~{n}"),
    }
}
