//! Kimi Code: the wire log of a session, `{type, time, …}` a line.
//!
//! | line | what it gives |
//! |---|---|
//! | `metadata`, `config.update`, `profile.bind`, `llm.request`, … | `session_start` (`asides`) |
//! | `turn.prompt`, `turn.steer`, `turn.cancel`, `turn.ended` | `turns` |
//! | `context.append_loop_event`: `step.*` | an answer begins, ends with its tokens; where nothing else says it, one that wants no tools ends the turn |
//! | … `content.part`, `tool.call`, `tool.result` | a whole thought or text; a call, its result (`calls`) |
//! | `context.append_message` | what no other line says: the user's own commands, words of hooks (`said`) |
//! | `subagent.*`, `task.*` | which agent a call started; how what went on in the background ended (`tasks`) |
//! | `permission.record_approval_result`, `interaction.*` | what was asked, and the answer (`asks`) |
//! | `context.undo`, `context.clear` | a notice that names the turns that were left |
//! | `context.apply_compaction` | a compaction |
//! | `usage.record` | tokens that no answer has; those of answers are passed over |
//! | `agent.*` | the same once more: passed over |
//!
//! The log of a sub-agent is a file of its own, whose lines bear the agent's name: what it calls its calls another agent's log
//! may call one, too. The log names neither its session, which is the name of a folder, nor its title. Seen: 2.1.0, protocol
//! 1.5, and protocol 1.4 in public fixtures; what these lack after the program's source. What `kimi -p` prints is in `stream`.

mod asides;
mod asks;
mod calls;
mod said;
mod steps;
mod stream;
mod tasks;
mod turns;

use std::collections::BTreeSet;

use chat_event::payload::{Compaction, SessionStart};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::reader::Context;
use crate::title::title_line;
use crate::track::Track;
use crate::value::{count_of, millis, str_of, text_of};
use asides::Named;
use asks::Asks;
use steps::usage;
pub(crate) use stream::PROFILE as STREAM;
use tasks::Tasks;
use turns::Turns;

pub(crate) static PROFILE: Profile = Profile {
    word: "kimi",
    name: "Kimi Code wire log",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_of,
    session_of: |_| None,
    make: |context| Box::new(Kimi::new(context)),
};

const FORMAT: &str = "kimi";

/// Whether a line is of this dialect.
fn is_of(value: &Value) -> Option<bool> {
    let is = match str_of(value, "type")? {
        "metadata" => {
            text_of(value, "protocol_version").is_some()
                && value.get("created_at").is_some_and(Value::is_number)
        }
        "turn.prompt" => value.get("input").is_some_and(Value::is_array),
        "context.append_loop_event" => value.get("event").is_some_and(Value::is_object),
        _ => false,
    };
    is.then_some(true)
}

/// Reads it.
#[derive(Debug)]
pub(crate) struct Kimi {
    track: Track,
    turns: Turns,
    /// The answer that is open, and how many texts and thoughts it had.
    step: (String, u32, u32),
    asks: Asks,
    tasks: Tasks,
    named: Named,
    /// The sub-agent whose log it is.
    agent: Option<String>,
    /// A command of the user's own that runs.
    command: Option<String>,
    /// Files that are not there and are written next.
    new_files: BTreeSet<String>,
    /// Who asked for the compaction that runs.
    compacted_by: Option<String>,
    last_ms: Option<i64>,
    /// What the session is called, as is noted beside the log, until that is said.
    title: Option<String>,
    native_id: Option<String>,
}

impl Kimi {
    pub(crate) fn new(context: &Context) -> Self {
        Kimi {
            track: Track::new(),
            turns: Turns::default(),
            step: (String::new(), 0, 0),
            asks: Asks::default(),
            tasks: Tasks::default(),
            named: Named::default(),
            agent: None,
            command: None,
            new_files: BTreeSet::new(),
            compacted_by: None,
            last_ms: None,
            title: context.title.clone(),
            native_id: context.native_id.clone(),
        }
    }

    /// What an id of this log is in the session, where the logs of several agents are one.
    fn own(&self, id: &str) -> String {
        match &self.agent {
            Some(agent) => format!("{agent}.{id}"),
            None => id.to_owned(),
        }
    }

    /// An id for what has none: its time, or its line.
    fn stem(&self, emitter: &Emitter, line: &Value) -> String {
        match line.get("time").and_then(Value::as_i64) {
            Some(time_ms) => self.own(&format!("t{time_ms}")),
            None => format!("t-{}", emitter.line_id()),
        }
    }

    /// Takes note of when a line was written, and by which agent. A log is written anew with other numbers of lines, as when a
    /// newer program goes on with it; the times stay.
    fn begin(&mut self, emitter: &mut Emitter, line: &Value) {
        match text_of(line, "agentId") {
            Some("main") => self.agent = None,
            Some(agent) => self.agent = Some(agent.to_owned()),
            None => {}
        }
        let time = line.get("time").or_else(|| line.get("created_at"));
        let time_ms = time.and_then(millis);
        if let Some(time_ms) = time_ms {
            let id = self.own(&format!("w{time_ms}"));
            emitter.begin_line(Some(&id));
        }
        self.last_ms = time_ms.or(self.last_ms);
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
    }

    fn compacted(&mut self, emitter: &mut Emitter, line: &Value) {
        let mut extra = Extra::default();
        if let Some(tokens) = count_of(line, "tokensAfter") {
            extra.insert("tokensAfter", Json::from(Value::from(tokens)));
        }
        let payload = Compaction {
            trigger: self.compacted_by.take().unwrap_or_default(),
            summary: text_of(line, "summary").map(str::to_owned),
            tokens_before: count_of(line, "tokensBefore"),
            extra,
        };
        let id = format!("{}:compaction", self.stem(emitter, line));
        emitter.add_as(&id, &self.track.place(), payload);
    }

    /// Says what the session is called, in an event of its own: who follows the log says it so, too, once that changes.
    fn say_title(&mut self, emitter: &mut Emitter) {
        if let Some(title) = self.title.take() {
            let id = title_line(&title);
            let facts = SessionStart {
                title: Some(title),
                ..SessionStart::default()
            };
            emitter.begin_line(Some(&id));
            self.track.facts.say(emitter, facts, Map::new());
        }
    }
}

/// What the source calls a turn.
fn id_of_turn(holder: &Value) -> String {
    match holder.get("turnId") {
        Some(Value::String(id)) => id.clone(),
        Some(id) => id.to_string(),
        None => String::new(),
    }
}

impl Normalizer for Kimi {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        self.begin(emitter, line);
        let kind = str_of(line, "type").unwrap_or("");
        match kind {
            "turn.prompt" => self.prompt(emitter, line),
            "turn.steer" => self.steer(emitter, line),
            "prompt.steered" => self.steered(emitter, line),
            "turn.cancel" => self.cancel(emitter),
            "turn.ended" => self.ended(emitter, line),
            "turn.step.retrying" => self.tries_again(emitter, line),
            "context.append_loop_event" => match line.get("event") {
                Some(event) => self.event(emitter, line, event),
                None => emitter.raw(&self.track.place(), FORMAT, kind, line),
            },
            "context.append_message" => self.appended(emitter, line),
            "context.undo" => self.undo(emitter, line),
            "subagent.spawned" => self.spawned(emitter, line),
            "task.started" => self.task_began(emitter, line),
            "task.terminated" => self.task_ended(emitter, line),
            "file_history.tracked" => self.tracked(emitter, line),
            "permission.record_approval_result" => self.approval(emitter, line),
            "interaction.request" => self.asked(emitter, line),
            "interaction.resolved" => self.answered_by_user(emitter, line),
            "full_compaction.begin" => {
                self.compacted_by = text_of(line, "source").map(str::to_owned);
                emitter.pass_over(kind);
            }
            "context.apply_compaction" => self.compacted(emitter, line),
            "usage.record" if str_of(line, "usageScope") == Some("session") => {
                if let Some(usage) = usage(line, None) {
                    emitter.add("usage", &self.track.place(), usage);
                }
            }
            _ => self.aside(emitter, kind, line),
        }
        if self.track.facts.begun() {
            self.say_title(emitter);
        }
    }

    fn rest(&mut self, emitter: &mut Emitter) {
        self.rest_of_turn(emitter);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        self.close(emitter);
        self.forget_tasks(emitter);
    }
}
