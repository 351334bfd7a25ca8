//! Messages of Chat Completions: those of requests, which say again what was said before, and lists of messages alone.
//!
//! | message | events |
//! |---|---|
//! | `system`, `developer` | the session's instructions; behind the first prompt, a `notice` |
//! | `user` | a turn begins; images, sounds and files are attached |
//! | `assistant` | a response: its reasoning, its texts, its calls |
//! | `tool`, `function` | the result of the call that it names, or of the next that has no id |

use chat_event::Extra;
use chat_event::payload::AudioChunk;
use serde_json::{Map, Value};

use super::calls::{Given, args_of_text};
use super::chat::{FORMAT, OpenAiChat, yes};
use super::chat_prints::{args_of, calls_of};
use super::content::{given_of, said_of, texts_of, unread_of};
use super::session::{Key, Session};
use crate::emit::Emitter;
use crate::history::Request;
use crate::value::{list_of, str_of, text_of};

impl OpenAiChat {
    /// A request: of its messages those that are new.
    pub(super) fn request(&mut self, emitter: &mut Emitter, request: &Value) {
        self.went_on();
        let session = &mut self.session;
        session.about(emitter, text_of(request, "model"), Map::new());
        let names = list_of(request, "tools").iter().filter_map(|tool| {
            let function = tool.get("function").or_else(|| tool.get("custom"));
            text_of(function.unwrap_or(tool), "name").map(str::to_owned)
        });
        session.tools(emitter, names.collect());
        let messages = list_of(request, "messages");
        let prints: Vec<u64> = messages
            .iter()
            .map(|message| self.prints.of(message))
            .collect();
        let n_leading = messages.iter().take_while(|it| leads(it)).count();
        let behind = messages.iter().skip(n_leading);
        let is_prompt = |message: &&Value| role_of(message) != "assistant";
        let request = Request {
            prints: &prints,
            n_leading,
            n_prompts: behind.take_while(is_prompt).count(),
        };
        let n_said = self.session.history.request(request);
        self.broke_off(emitter, request.body());
        let mut news = messages.iter().skip(n_leading + n_said);
        let prompts = news.any(|message| role_of(message) == "user");
        self.session
            .request(emitter, n_said, prompts, request.body());
        for (at, (message, print)) in messages.iter().zip(&prints).enumerate() {
            if self.session.history.was_said(*print, leads(message)) {
                emitter.pass_over("a message that was said before");
                continue;
            }
            self.write(emitter, message, &format!("m{at}"));
        }
    }

    /// A message that stands by itself.
    pub(super) fn message(&mut self, emitter: &mut Emitter, message: &Value) {
        self.went_on();
        self.session.no_aside(emitter);
        let at = self.session.history.len();
        let print = self.prints.of(message);
        self.session.history.say(print, leads(message));
        self.write(emitter, message, &format!("m{at}"));
    }

    fn write(&mut self, emitter: &mut Emitter, message: &Value, stem: &str) {
        let session = &mut self.session;
        let stem = text_of(message, "id").unwrap_or(stem);
        let content = message.get("content").unwrap_or(&Value::Null);
        match role_of(message) {
            "user" => {
                let (text, attached) = said_of(content);
                session.user_said(emitter, stem, &text, attached);
                for part in unread_of(content) {
                    emitter.raw(&session.place(), FORMAT, "content part", part);
                }
            }
            "assistant" => {
                if let Some(turn) = &mut session.turn {
                    turn.over = None;
                }
                session.answer(emitter, stem);
                answer(session, emitter, stem, message);
                if !session.end_answer(emitter, stem) {
                    // The next message may belong to the same turn.
                    session.turn_over(emitter, "completed", true);
                }
            }
            "tool" | "function" => {
                let of_call = session.calls.of_result(text_of(message, "tool_call_id"));
                let given = Given::of(given_of(content));
                let place = session.place();
                let said =
                    of_call.is_some_and(|id| session.calls.result(emitter, &id, &place, &given));
                if !said {
                    emitter.raw(&place, FORMAT, "result of no open call", message);
                }
            }
            "system" | "developer" => instructions(session, emitter, &texts_of(content).join("\n")),
            role => emitter.raw(
                &session.place(),
                FORMAT,
                &format!("message of {role}"),
                message,
            ),
        }
    }
}

fn role_of(message: &Value) -> &str {
    str_of(message, "role").unwrap_or("")
}

/// Whether conversations may begin with a message that says nothing of what they are about.
fn leads(message: &Value) -> bool {
    matches!(role_of(message), "system" | "developer")
}

/// What the model is told of its work: kept with the session, or where the conversation has begun, told there.
pub(super) fn instructions(session: &mut Session, emitter: &mut Emitter, text: &str) {
    if text.is_empty() {
        return emitter.pass_over("instructions without text");
    }
    match &session.turn {
        Some(_) => {
            let place = session.place();
            emitter.notice("info", &place, "system", text);
        }
        None => {
            let mut rest = Map::new();
            rest.insert("instructions".to_owned(), Value::from(text));
            session.about(emitter, None, rest);
        }
    }
}

/// What a whole assistant message says, as the answer `native_id`.
pub(super) fn answer(
    session: &mut Session,
    emitter: &mut Emitter,
    native_id: &str,
    message: &Value,
) {
    let content = message.get("content").unwrap_or(&Value::Null);
    let mut thought = reasoning_of(message);
    for part in content.as_array().into_iter().flatten() {
        thought.push_str(&thinking_of_part(part));
    }
    if !thought.is_empty() {
        session.done(
            emitter,
            native_id,
            Key::thinking("reasoning"),
            &thought,
            &[],
        );
    }
    match content {
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => session.done(emitter, native_id, Key::text("content"), text, &[]),
        Value::Array(parts) => {
            for (at, part) in parts.iter().enumerate() {
                let about = &[("refusal", yes())];
                match (str_of(part, "text"), str_of(part, "refusal")) {
                    (Some(text), _) => {
                        session.done(
                            emitter,
                            native_id,
                            Key::text(format!("content{at:09}")),
                            text,
                            &[],
                        );
                    }
                    (None, Some(text)) => {
                        session.done(
                            emitter,
                            native_id,
                            Key::text(format!("content{at:09}")),
                            text,
                            about,
                        );
                    }
                    (None, None) if thinking_of_part(part).is_empty() => {
                        let place = session.answer(emitter, native_id).place.clone();
                        emitter.raw(&place, FORMAT, "assistant content", part);
                    }
                    (None, None) => {}
                }
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            let place = session.answer(emitter, native_id).place.clone();
            emitter.raw(&place, FORMAT, "assistant content", content);
        }
    }
    if let Some(refusal) = text_of(message, "refusal") {
        session.done(
            emitter,
            native_id,
            Key::text("refusal"),
            refusal,
            &[("refusal", yes())],
        );
    }
    if let Some(audio) = message.get("audio").filter(|audio| audio.is_object()) {
        let transcript = str_of(audio, "transcript").unwrap_or("");
        if !transcript.is_empty() {
            session.done(emitter, native_id, Key::text("transcript"), transcript, &[]);
        }
        let place = session.answer(emitter, native_id).place.clone();
        let sound = AudioChunk {
            data: text_of(audio, "data").map(str::to_owned),
            audio_ref: text_of(audio, "id").map(str::to_owned),
            seq: 0,
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{native_id}:audio"), &place, sound);
    }
    for (at, (call, function)) in calls_of(message).enumerate() {
        whole_call(session, emitter, native_id, at, call, function);
    }
}

fn whole_call(
    session: &mut Session,
    emitter: &mut Emitter,
    native_id: &str,
    at: usize,
    call: &Value,
    function: &Value,
) {
    let place = session.answer(emitter, native_id).place.clone();
    let response_id = place.response_id.as_deref().unwrap_or(native_id);
    let said_id = text_of(call, "id");
    let id = match said_id {
        Some(id) => id.to_owned(),
        None => format!("{response_id}:call{at}"),
    };
    let is_in_use = session.calls.get(&id).is_some();
    let answer = session.answer(emitter, native_id);
    answer.asks = true;
    if is_in_use {
        return emitter.raw(&place, FORMAT, "call with an id in use", call);
    }
    answer.calls.put(at as u64, &id);
    let args = match args_of(function) {
        Some(Value::String(text)) if call.get("custom").is_some() => Value::from(text.as_str()),
        Some(Value::String(text)) => args_of_text(text),
        Some(args) => args.clone(),
        None => Value::Object(Map::new()),
    };
    let name = str_of(function, "name").unwrap_or("");
    session.calls.open(&id, name, &place).made_up = said_id.is_none();
    session.calls.announce(emitter, &id, Some(args));
}

/// The reasoning of a message or a delta, in whichever member a server puts it.
pub(super) fn reasoning_of(message: &Value) -> String {
    let said = text_of(message, "reasoning_content").or_else(|| text_of(message, "reasoning"));
    if let Some(said) = said {
        return said.to_owned();
    }
    let details = list_of(message, "reasoning_details").iter();
    details
        .filter_map(|detail| text_of(detail, "text").or_else(|| text_of(detail, "summary")))
        .collect()
}

/// The text of a content's `thinking` part.
pub(super) fn thinking_of_part(part: &Value) -> String {
    match part.get("thinking") {
        Some(thinking) => texts_of(thinking).concat(),
        None => String::new(),
    }
}
