//! Calls that wait for what they give: the next request to the model quotes it, or what follows shows it.
//!
//! | what comes behind a call | what it says |
//! |---|---|
//! | a request that quotes its result | what it gave, that it failed, that a person refused it |
//! | output, an answer of a server | that it runs, so that it was allowed; what it printed |
//! | an error, a diff that does not apply | that it failed |
//! | a person's words, where nothing is quoted and the call is not marked as answered | that it was refused |
//! | anything else | that it is done |

use chat_event::Json;
use chat_event::payload::{ToolOutputChunk, ToolResult};
use serde_json::Value;

use super::lines::Message;
use super::requests::{Quoted, Verdict, of_command, verdict};
use super::tools::{self, Use};
use super::{asks, edits};
use crate::ask::Ask;
use crate::emit::Emitter;
use crate::tool::{attached, todo_list, unanswered};
use crate::track::{NewCall, Track, tool_error};
use crate::value::{is_true, list_of, text_of};
use crate::words::printed;

/// A call that has no result yet.
#[derive(Debug)]
struct Waiting {
    /// What it waits under.
    native: String,
    used: Use,
    /// It had to be allowed.
    asked: bool,
    /// The program says that it was.
    allowed: bool,
    /// A person said something before it was.
    spoken: bool,
    /// The message grew when it was written last: it may not have come to run.
    grows: bool,
    /// The agent said something behind it: it is not at work on it any more.
    is_behind: bool,
    /// The request for leave, where it was told.
    leave: Option<Ask>,
    printed: String,
    attachments: Vec<Value>,
    failure: Option<String>,
}

/// The calls of a response, as they came.
#[derive(Debug, Default)]
pub(super) struct Calls {
    waiting: Vec<Waiting>,
    /// Which of them is the newest that runs a command.
    newest_command: Option<usize>,
    /// The call that printed last, and what it printed under which time.
    printing: Option<(String, i64, String)>,
}

impl Calls {
    /// A message is about a call; whether it is. `asks_a_person` is whether what asks for leave does ask a person.
    pub(super) fn call(
        &mut self,
        emitter: &mut Emitter,
        track: &mut Track,
        response: &str,
        message: &Message<'_>,
        asks_a_person: bool,
    ) -> bool {
        let Some(used) = tools::of(message) else {
            return false;
        };
        // Several may have come within a millisecond, and some without a time: a call that waits is another one.
        let mut native = format!("c{}", message.ts);
        if track.waiting(&native).is_some() {
            native = format!("c{}.{}", message.ts, self.waiting.len());
        }
        let new = NewCall {
            id: &native,
            response_id: response,
            name: &used.name,
            args: &used.args,
            title: used.title.clone(),
            kind: used.kind,
        };
        let call_id = track.call(emitter, new);
        if used.kind == "plan" {
            let plan = todo_list(list_of(&used.args, "todos"), "content");
            let place = track.place().in_response(response);
            emitter.add_as(&format!("{call_id}:plan"), &place, plan);
        }
        let call = track.waiting(&native);
        let leave = call
            .filter(|_| message.is_ask && asks_a_person && !message.grows)
            .map(|call| asks::ask_leave(emitter, call, used.kind, used.title.as_deref()));
        if used.kind == "execute" {
            self.newest_command = Some(self.waiting.len());
        }
        self.waiting.push(Waiting {
            native,
            used,
            asked: message.is_ask,
            allowed: is_true(message.value, "isAnswered"),
            spoken: false,
            grows: message.grows,
            is_behind: false,
            leave,
            printed: String::new(),
            attachments: Vec::new(),
            failure: None,
        });
        true
    }

    /// A call waits for a person who is asked for leave, where nothing shows that it runs.
    pub(super) fn ask(&mut self, emitter: &mut Emitter, track: &Track, ts: i64) {
        let native = format!("c{ts}");
        let Some(last) = self.waiting.last_mut().filter(|it| it.native == native) else {
            return;
        };
        let is_told = last.leave.is_some() || last.allowed || last.failure.is_some();
        if last.asked && !is_told && last.printed.is_empty() {
            let (kind, title) = (last.used.kind, last.used.title.as_deref());
            let call = track.waiting(&native);
            last.leave = call.map(|call| asks::ask_leave(emitter, call, kind, title));
        }
    }

    /// The program says that a call was allowed.
    pub(super) fn allow(&mut self, emitter: &mut Emitter, ts: i64) {
        let native = format!("c{ts}");
        let call = self.waiting.iter_mut().rev().find(|it| it.native == native);
        let Some(call) = call else {
            return emitter.pass_over("leave for a call that is over");
        };
        call.allowed = true;
        if let Some(leave) = call.leave.take() {
            asks::answer_leave(emitter, &leave, "allow");
            call.asked = false;
        }
    }

    /// A person wrote something.
    pub(super) fn person_speaks(&mut self) {
        if let Some(last) = self.waiting.last_mut() {
            last.spoken = true;
        }
    }

    /// The agent says something: the calls before it are done.
    pub(super) fn agent_speaks(&mut self) {
        // Those before one that is behind are so, too: they are not looked at for each text.
        for call in self.waiting.iter_mut().rev() {
            if std::mem::replace(&mut call.is_behind, true) {
                break;
            }
        }
    }

    /// Something went wrong; whether a call waits to which that happened.
    pub(super) fn fail(&mut self, why: &str) -> bool {
        let Some(last) = self.waiting.last_mut() else {
            return false;
        };
        last.failure.get_or_insert_with(|| why.to_owned());
        true
    }

    /// The newest call, or the one that printed last, prints something.
    pub(super) fn print(&mut self, emitter: &mut Emitter, track: &Track, message: &Message<'_>) {
        let newest = self.newest_command;
        let call = newest.and_then(|at| self.waiting.get_mut(at));
        let id = match &call {
            Some(call) => track.waiting(&call.native).map(|call| call.id.clone()),
            None => self.printing.as_ref().map(|(id, ..)| id.clone()),
        };
        let Some(id) = id else {
            let place = track.place();
            emitter.notice("info", &place, "command_output", message.text);
            return;
        };
        let before = match &self.printing {
            Some((of, ts, before)) if *of == id && *ts == message.ts => before.as_str(),
            _ => "",
        };
        // One that grows says what it said before again.
        let mut piece = message
            .text
            .strip_prefix(before)
            .unwrap_or(message.text)
            .to_owned();
        self.printing = Some((id.clone(), message.ts, message.text.to_owned()));
        if piece.is_empty() {
            return;
        }
        if !message.grows && !piece.ends_with('\n') {
            piece.push('\n');
        }
        if let Some(call) = call {
            if let Some(leave) = call.leave.take() {
                asks::answer_leave(emitter, &leave, "allow");
                call.asked = false;
            }
            call.printed.push_str(&piece);
        }
        let chunk = ToolOutputChunk {
            tool_call_id: id.clone(),
            chunk: piece,
            ..ToolOutputChunk::default()
        };
        emitter.add_as(&format!("{id}:output"), &track.place(), chunk);
    }

    /// The newest call gave this.
    pub(super) fn gave(&mut self, text: &str, attachments: Vec<Value>, failed: bool) -> bool {
        let Some(last) = self.waiting.last_mut() else {
            return false;
        };
        last.used.given = Some(text.to_owned());
        last.attachments.extend(attachments);
        if failed {
            let words = text.strip_prefix("Error:\n").unwrap_or(text);
            last.failure = Some(words.to_owned());
        }
        last.asked = false;
        true
    }

    /// The calls have what they gave: as `request` quotes it, where there is one. Where work was stopped, the last call may not
    /// be done.
    pub(super) fn answer(
        &mut self,
        emitter: &mut Emitter,
        track: &mut Track,
        request: Option<&str>,
        stopped: bool,
    ) {
        let mut quoted = Quoted::new(request.unwrap_or(""));
        let n_waiting = self.waiting.len();
        self.newest_command = None;
        for (at, call) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            let about = ["path", "command"]
                .iter()
                .find_map(|key| text_of(&call.used.args, key));
            let told = quoted.take(call.used.quoted_as, about);
            let shows = told.is_some() || call.failure.is_some() || call.used.given.is_some();
            let may_run = (stopped && at + 1 == n_waiting && !call.is_behind) || call.grows;
            if may_run && !shows {
                give_up(emitter, track, call);
            } else {
                answer(emitter, track, call, told);
            }
        }
    }
}

/// The call got no result.
fn give_up(emitter: &mut Emitter, track: &mut Track, call: Waiting) {
    if let Some(leave) = call.leave {
        leave.expire(emitter);
    } else if call.asked
        && !call.allowed
        && !call.grows
        && let Some(waiting) = track.waiting(&call.native)
    {
        let title = call.used.title.as_deref();
        asks::ask_leave(emitter, waiting, call.used.kind, title).expire(emitter);
    }
    if let Some(waiting) = track.waiting(&call.native) {
        let result = ToolResult {
            result: Json::string(&call.printed),
            ..unanswered(&waiting.id, true)
        };
        track.result(emitter, &call.native, result);
    }
}

fn answer(emitter: &mut Emitter, track: &mut Track, call: Waiting, told: Option<&str>) {
    let verdict = match (told, &call.failure) {
        (Some(told), _) => verdict(told),
        (None, Some(_)) => Verdict::Failed,
        (None, None) if call.asked && call.spoken && !call.allowed => Verdict::Denied,
        (None, None) => Verdict::Done,
    };
    let decision = if verdict == Verdict::Denied {
        "deny"
    } else {
        "allow"
    };
    let leave = call.leave.or_else(|| {
        // That a person was asked shows in what was answered.
        let is_known = verdict == Verdict::Denied || (call.asked && call.spoken);
        let waiting = track.waiting(&call.native).filter(|_| is_known)?;
        let title = call.used.title.as_deref();
        Some(asks::ask_leave(emitter, waiting, call.used.kind, title))
    });
    if let Some(leave) = leave {
        asks::answer_leave(emitter, &leave, decision);
    }
    let (text, exit_code) = match (told, call.used.kind) {
        (Some(told), "execute") => of_command(told),
        (told, _) => (told.unwrap_or(""), None),
    };
    let own = call.used.given.as_deref().unwrap_or(&call.printed);
    let why = call.failure.as_deref().unwrap_or(own);
    let text = if text.is_empty() { own } else { text };
    let why = if why.is_empty() { text } else { why };
    let error = match verdict {
        Verdict::Done => None,
        Verdict::Failed => Some(tool_error("error", why)),
        Verdict::Denied => Some(tool_error("rejected", "the user refused it")),
    };
    let result = ToolResult {
        result: Json::string(text),
        summary: printed(text).filter(|_| error.is_none()),
        error,
        exit_code,
        extra: attached(call.attachments),
        ..ToolResult::default()
    };
    let cwd = track.facts.cwd();
    let Some(done) = track.result(emitter, &call.native, result) else {
        return;
    };
    if verdict == Verdict::Done && call.used.kind == "edit" {
        for edit in edits::of(&done.id, &done.name, &done.args, cwd.as_deref()) {
            track.edit(emitter, &done, edit);
        }
    }
}
