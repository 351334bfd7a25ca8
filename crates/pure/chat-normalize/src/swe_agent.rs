//! SWE-agent: `.traj` documents, one run each.
//!
//! | member | what it gives |
//! |---|---|
//! | `history`, the first prompt that is no demonstration | the turn and what was asked |
//! | `trajectory`, a step | its `thought` as a text, its `action` as a call, its `observation` as the result |
//! | `history`, the answer of the same action | the call's id, tool and arguments; its text is the step's, said once |
//! | `history` alone (demonstrations, runs that stopped early) | its answers and observations |
//! | `history`, an answer's `thinking_blocks` | thoughts |
//! | `trajectory`, an `edit` of the open file | how many lines it changed, and the edit itself where no patch tells it |
//! | `info` | the patch as edits, the cost, how it ended |
//! | `attempts` | a run each; which of them was chosen, whose copy the other members are |
//!
//! A document has no times, and a run no id. It is read as a whole, up to the reader's 16 MiB; a longer one is refused by
//! name. Of one that is cut off, the whole steps are read. Format: notes on formats, 10.4.

mod steps;
mod tools;
mod window;

use chat_event::payload::{ErrorEvent, SessionStart, Usage};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::patch::edits_of_patch;
use crate::track::{Said, Track, ended};
use crate::value::{amount_of, count_of, is_true, list_of, str_of, text_of, text_of_blocks};

pub(crate) static PROFILE: Profile = Profile {
    word: "swe-agent",
    name: "SWE-agent trajectory",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_of,
    session_of: |_| None,
    make: |_| Box::new(SweAgent::new()),
};

const FORMAT: &str = "swe-agent";

/// Whether a value is of this dialect.
fn is_of(value: &Value) -> Option<bool> {
    // While attempts are made there is nothing else.
    match list_of(value, "attempts").first() {
        Some(attempt) => is_run(attempt),
        None => is_run(value),
    }
}

/// Whether a value tells of one run.
fn is_run(value: &Value) -> Option<bool> {
    let is_step = |step: &Value| {
        str_of(step, "action").is_some() && step.get("observation").is_some()
            || step.get("role").is_some()
    };
    let list = |key: &str| value.get(key).and_then(Value::as_array);
    if let Some(steps) = list("trajectory") {
        let named = value.get("history").is_some() || value.get("environment").is_some();
        let fits = steps.first().is_none_or(is_step);
        return (named && fits).then_some(true);
    }
    // Demonstrations have no more than this.
    let first = list("history")?.first()?;
    let speaks = str_of(first, "role").is_some() && str_of(first, "content").is_some();
    let names_agent = first.get("agent").is_some() || first.get("message_type").is_some();
    (speaks && names_agent).then_some(true)
}

/// Reads them.
#[derive(Debug)]
pub(crate) struct SweAgent {
    track: Track,
    n_runs: u64,
}

impl SweAgent {
    pub(crate) fn new() -> Self {
        SweAgent {
            track: Track::new(),
            n_runs: 0,
        }
    }

    fn facts(&mut self, emitter: &mut Emitter, document: &Value) {
        let mut rest = Map::new();
        if let Some(name) = text_of(document, "environment") {
            rest.insert("environment".to_owned(), Value::from(name));
        }
        let facts = SessionStart {
            agent: Some("SWE-agent".to_owned()),
            provider: Some("swe-agent".to_owned()),
            timestamp_source: Some("arrival".to_owned()),
            ..SessionStart::default()
        };
        self.track.facts.say(emitter, facts, rest);
    }

    /// What was asked, and what else stands before the run.
    fn ask(&mut self, emitter: &mut Emitter, run: &str, history: &[Value]) {
        let mut asked = None;
        for item in history {
            if str_of(item, "role") == Some("assistant") && !is_true(item, "is_demo") {
                break;
            }
            match str_of(item, "role") {
                _ if is_true(item, "is_demo") => emitter.pass_over("demonstration"),
                Some("user") if asked.is_none() => asked = Some(item),
                role => emitter.pass_over(role.unwrap_or("history")),
            }
        }
        let trigger = if asked.is_some() { "user" } else { "system" };
        self.track.open_turn(emitter, run, trigger);
        if let Some(asked) = asked {
            let said = Said {
                text: text_of_blocks(asked.get("content")),
                attachments: Vec::new(),
            };
            self.track.user(emitter, &format!("{run}:user"), said);
        }
    }

    fn end(&mut self, emitter: &mut Emitter, run: &str, document: &Value, submitted_by: &str) {
        let info = document.get("info").unwrap_or(&Value::Null);
        let place = self.track.place();
        if let Some(patch) = text_of(info, "submission") {
            for edit in edits_of_patch(submitted_by, patch) {
                emitter.add_as(&format!("{run}:edit"), &place, edit);
            }
        }
        let stats = info.get("model_stats").unwrap_or(&Value::Null);
        let count = |key: &str| count_of(stats, key).unwrap_or(0);
        if count("tokens_sent") > 0 || count("tokens_received") > 0 {
            let mut extra = Extra::default();
            extra.insert("apiCalls", Json::from(Value::from(count("api_calls"))));
            let usage = Usage {
                scope: "turn".to_owned(),
                input_tokens: count("tokens_sent"),
                output_tokens: count("tokens_received"),
                cost_usd: amount_of(stats, "instance_cost"),
                extra,
                ..Usage::default()
            };
            emitter.add_as(&format!("{run}:usage"), &place, usage);
        }
        let status = text_of(info, "exit_status");
        let outcome = match status {
            Some(status) if status.starts_with("submitted") => "completed",
            Some(status) => {
                let error = ErrorEvent {
                    code: status.to_owned(),
                    message: format!("the run ended with {status}"),
                    extra: Extra::default(),
                };
                emitter.add_as(&format!("{run}:error"), &place, error);
                "failed"
            }
            // Cut off, or a demonstration.
            None => "interrupted",
        };
        self.track.close_turn(emitter, ended(outcome));
    }
}

impl Normalizer for SweAgent {
    fn line(&mut self, emitter: &mut Emitter, document: &Value) {
        if is_of(document).is_none() {
            let place = self.track.place();
            return emitter.raw(&place, FORMAT, "no trajectory", document);
        }
        let attempts = list_of(document, "attempts");
        if attempts.is_empty() {
            return self.run(emitter, document);
        }
        for attempt in attempts {
            match is_run(attempt) {
                Some(_) => self.run(emitter, attempt),
                None => emitter.raw(&self.track.place(), FORMAT, "no trajectory", attempt),
            }
        }
        let info = document.get("info").unwrap_or(&Value::Null);
        if let Some(chosen) = count_of(info, "best_attempt_idx") {
            let n = attempts.len();
            let text = format!("attempt {} of {n} was chosen", chosen.saturating_add(1));
            emitter.notice("info", &self.track.place(), FORMAT, text);
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.track.close_turn(emitter, ended("interrupted"));
    }
}

impl SweAgent {
    /// Tells one run.
    fn run(&mut self, emitter: &mut Emitter, document: &Value) {
        self.n_runs += 1;
        let run = match self.n_runs {
            1 => "run".to_owned(),
            n => format!("run{n}"),
        };
        self.facts(emitter, document);
        let history = list_of(document, "history");
        self.ask(emitter, &run, history);
        let trajectory = list_of(document, "trajectory");
        let info = document.get("info").unwrap_or(&Value::Null);
        // Told by the step and by the patch, each change would count twice.
        let tells_patch = text_of(info, "submission").is_some();
        let submitted_by = if trajectory.is_empty() {
            steps::of_history(&mut self.track, emitter, &run, history, tells_patch)
        } else {
            let both = (trajectory, history);
            steps::of_trajectory(&mut self.track, emitter, &run, both, tells_patch)
        };
        self.end(emitter, &run, document, &submitted_by);
    }
}
