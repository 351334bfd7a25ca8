//! Entries of a history: prompts, texts, thoughts; effects are read in `effects`.
//!
//! | entry | what it gives |
//! |---|---|
//! | `message` of the user, of another turn | that turn begins; the one before is over, however it seems |
//! | … of this turn | a word to the agent at work |
//! | `message` of the assistant, `reasoning` | a whole text, a whole thought |
//! | `effect` | a call, and its result once it has one |
//! | `callback` | what a person is asked, and the answer |
//! | `checkpoint` | the context was made shorter, or what the program says of the history |
//! | `notice` | a title, a word of the program or of a hook |
//!
//! Reasoning and text of one answer of the model share its id, which their own begin or end with. Calls do not name it: they
//! are of the answer before them.

use std::collections::BTreeMap;

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use super::asks::Asks;
use super::content::said;
use super::effects::Processes;
use super::{FORMAT, envelope};
use crate::emit::{Emitter, Place, clean_id, hash};
use crate::recent::{LATE_SMALL, Recent};
use crate::run_track::RunTrack;
use crate::track::{Said, ended, text_in, thought_in};
use crate::value::{list_of, millis, str_of, text_of};

/// So many answers of a turn, and texts that are being written, are known.
const MOST_OPEN: usize = 1000;

/// What a turn did last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Worked,
    Answered,
    Cancelled,
}

/// Where an entry stands.
enum Stands {
    /// In the turn that is open.
    Here,
    /// In one that is over.
    Late(Place),
}

/// The turns, calls and asks of a session.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) run: RunTrack,
    pub(super) asks: Asks,
    pub(super) processes: Processes,
    /// What was told of a message, by the hash of its words.
    told: Recent<u64, LATE_SMALL>,
    /// Calls that have their results.
    pub(super) over: Recent<(), LATE_SMALL>,
    /// Turns that were begun, and the one that is open.
    turns: Recent<(), LATE_SMALL>,
    open: Option<String>,
    /// The answers of the open turn, each with its time.
    answers: Vec<(i64, String)>,
    last: Last,
    /// When something was told last.
    pub(super) worked_ms: Option<i64>,
    /// Texts that are being written.
    unfinished: BTreeMap<String, Value>,
    pub(super) used: Option<envelope::Used>,
}

impl Talk {
    pub(super) fn new(run: RunTrack) -> Self {
        Talk {
            run,
            asks: Asks::default(),
            processes: Processes::default(),
            told: Recent::default(),
            over: Recent::default(),
            turns: Recent::default(),
            open: None,
            answers: Vec::new(),
            last: Last::Worked,
            worked_ms: None,
            unfinished: BTreeMap::new(),
            used: None,
        }
    }

    pub(super) fn place(&self) -> Place {
        self.run.track.place()
    }

    /// An entry as it is now.
    pub(super) fn entry(&mut self, emitter: &mut Emitter, entry: &Value) {
        let id = str_of(entry, "id").unwrap_or("");
        emitter.begin_line(Some(id));
        let kind = str_of(entry, "type").unwrap_or("");
        let is_over = str_of(entry, "generationStatus") != Some("in_progress");
        let time_ms = match kind {
            "reasoning" => updated_ms(entry),
            _ => created_ms(entry),
        };
        if !self.run.track.facts.begun() {
            self.run.at(emitter, created_ms(entry));
            self.begin(emitter, text_of(entry, "sessionId"));
        }
        match kind {
            "message" | "reasoning" if !is_over => self.is_written(emitter, id, entry),
            "message" | "reasoning" => {
                self.unfinished.remove(id);
                self.run.at(emitter, time_ms);
                self.says(emitter, id, entry);
            }
            "effect" => {
                self.run.at(emitter, time_ms);
                self.effect(emitter, id, entry);
            }
            "callback" => self.callback(emitter, entry),
            "checkpoint" => self.checkpoint(emitter, entry),
            "notice" => self.notice(emitter, entry),
            _ => emitter.raw(&self.place(), FORMAT, &format!("entry {kind}"), entry),
        }
        self.worked_ms = self.worked_ms.max(updated_ms(entry));
    }

    fn begin(&mut self, emitter: &mut Emitter, session: Option<&str>) {
        let facts = SessionStart {
            agent: Some("Mistral Vibe".to_owned()),
            native_id: session.map(str::to_owned),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        };
        self.run.facts(emitter, facts, Map::new());
    }

    /// A text that is not whole: it is told when it is, or when its turn is over.
    fn is_written(&mut self, emitter: &mut Emitter, id: &str, entry: &Value) {
        if self.unfinished.len() < MOST_OPEN || self.unfinished.contains_key(id) {
            self.unfinished.insert(id.to_owned(), entry.clone());
        }
        emitter.pass_over("a text that is being written");
    }

    fn says(&mut self, emitter: &mut Emitter, id: &str, entry: &Value) {
        let is_thought = str_of(entry, "type") == Some("reasoning");
        let (mut said, others) = said(list_of(entry, "content"));
        if is_thought {
            said.text = thought_of(entry);
        }
        let print = format!("{} {}", said.text, Value::from(said.attachments.clone()));
        let print = hash(print.as_bytes());
        if self.told.get(id) == Some(&print) {
            emitter.report.repeated += 1;
            return;
        }
        let is_changed = !self.told.insert(id, print);
        match str_of(entry, "role") {
            _ if is_thought => self.answers(emitter, id, entry, said, true),
            Some("assistant") => self.answers(emitter, id, entry, said, false),
            // Told once more it would look like another word to the agent.
            Some("user") if is_changed => {
                return emitter.raw(&self.place(), FORMAT, "a prompt in other words", entry);
            }
            Some("user") => self.prompt(emitter, id, entry, said),
            _ => return emitter.pass_over("what the program tells the model"),
        }
        for block in others {
            let kind = str_of(block, "type").unwrap_or("block");
            emitter.raw(&self.place(), FORMAT, kind, block);
        }
    }

    fn prompt(&mut self, emitter: &mut Emitter, id: &str, entry: &Value, said: Said) {
        let turn = text_of(entry, "turnId");
        let is_new = turn.is_some_and(|turn| !self.turns.contains(turn));
        // Words to the model that nobody wrote.
        if str_of(entry, "source") == Some("harness") {
            let place = match self.stand(emitter, turn) {
                Stands::Here => self.place(),
                Stands::Late(place) => place,
            };
            emitter.notice("info", &place, FORMAT, said.text);
            return;
        }
        match turn {
            Some(turn) if is_new => {
                self.close_for_next(emitter, entry);
                self.begin_turn(turn);
                self.run.ask(emitter, Some(turn), said);
            }
            _ => match self.stand(emitter, turn) {
                Stands::Here => {
                    self.run.response(emitter, None);
                    self.run.track.steer(emitter, &format!("{id}:user"), said);
                }
                Stands::Late(place) => {
                    emitter.raw(&place, FORMAT, "a prompt of a turn that is over", entry);
                }
            },
        }
        self.last = Last::Worked;
    }

    /// A text or a thought of the model.
    fn answers(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        entry: &Value,
        said: Said,
        is_thought: bool,
    ) {
        let (answer, part) = answer_of(id, is_thought);
        let place = match self.stand(emitter, text_of(entry, "turnId")) {
            Stands::Here => {
                let answer = self.run.response(emitter, Some(answer));
                if self.answers.last().is_none_or(|(_, last)| *last != answer) {
                    let excess = (self.answers.len() + 1).saturating_sub(MOST_OPEN);
                    self.answers.drain(..excess);
                    let at_ms = created_ms(entry).unwrap_or_default();
                    self.answers.push((at_ms, answer));
                }
                self.last = match is_thought {
                    true => Last::Worked,
                    false => Last::Answered,
                };
                self.place()
            }
            Stands::Late(place) => place,
        };
        let place = place.in_response(&clean_id(answer));
        if said.text.is_empty() {
            return;
        }
        match is_thought {
            true => thought_in(emitter, &place, part, &said.text, false),
            false => text_in(emitter, &place, part, &said.text),
        };
    }

    /// The answer that a call at this time is of.
    pub(super) fn answer_at(&mut self, emitter: &mut Emitter, at_ms: Option<i64>) -> String {
        let is_before = |at: &i64| at_ms.is_none_or(|at_ms| *at <= at_ms);
        let answer = self.answers.iter().rfind(|(at, _)| is_before(at));
        let answer = answer.map(|(_, answer)| answer.clone());
        self.run.response(emitter, answer.as_deref())
    }

    pub(super) fn worked(&mut self, is_cancelled: bool) {
        self.last = match is_cancelled {
            true => Last::Cancelled,
            false => Last::Worked,
        };
    }

    /// Whether what comes next is of the turn that is open; one that is new begins.
    fn stand(&mut self, emitter: &mut Emitter, turn: Option<&str>) -> Stands {
        let Some(turn) = turn else {
            return Stands::Here;
        };
        if self.open.as_deref() == Some(turn) && self.run.track.turn_id().is_some() {
            return Stands::Here;
        }
        if self.turns.contains(turn) {
            return Stands::Late(Place {
                turn_id: Some(clean_id(turn)),
                ..Place::default()
            });
        }
        let time_ms = emitter.time_ms;
        self.close_as_it_seems(emitter);
        emitter.time_ms = time_ms;
        self.begin_turn(turn);
        self.run.open_turn(emitter, Some(turn), "system");
        Stands::Here
    }

    /// Whether an effect is of the turn that is open, or of one that begins with it.
    pub(super) fn is_here(&mut self, emitter: &mut Emitter, turn: Option<&str>) -> bool {
        matches!(self.stand(emitter, turn), Stands::Here)
    }

    fn begin_turn(&mut self, turn: &str) {
        self.turns.insert(turn, ());
        self.open = Some(turn.to_owned());
        self.answers.clear();
        self.last = Last::Worked;
        self.worked_ms = None;
    }

    /// Whether this turn was begun.
    pub(super) fn knows(&self, turn: &str) -> bool {
        self.turns.contains(turn)
    }

    /// Whether this turn is open.
    pub(super) fn has_open(&self, turn: &str) -> bool {
        self.open.as_deref() == Some(turn) && self.run.track.turn_id().is_some()
    }

    /// Whether the last that was said is an answer.
    pub(super) fn has_answered(&self) -> bool {
        self.last == Last::Answered
    }

    fn close_for_next(&mut self, emitter: &mut Emitter, entry: &Value) {
        self.close_as_it_seems(emitter);
        self.run.at(emitter, created_ms(entry));
    }

    /// The turn is over, and nothing says how.
    pub(super) fn close_as_it_seems(&mut self, emitter: &mut Emitter) {
        let outcome = match self.last {
            Last::Answered => "completed",
            Last::Worked | Last::Cancelled => "interrupted",
        };
        if let Some(worked_ms) = self.worked_ms {
            self.run.at(emitter, Some(worked_ms));
        }
        self.close(emitter, outcome);
    }

    /// The turn is over.
    pub(super) fn close(&mut self, emitter: &mut Emitter, outcome: &str) {
        if self.run.track.turn_id().is_some() {
            let time_ms = emitter.time_ms;
            for (id, entry) in std::mem::take(&mut self.unfinished) {
                self.says(emitter, &id, &entry);
            }
            emitter.time_ms = time_ms;
        }
        self.asks.expire(emitter);
        self.run.close(emitter, ended(outcome));
        self.last = Last::Worked;
    }

    /// The source is at its end.
    pub(super) fn finish(&mut self, emitter: &mut Emitter) {
        self.run.at(emitter, self.worked_ms);
        self.close_as_it_seems(emitter);
    }
}

pub(super) fn created_ms(entry: &Value) -> Option<i64> {
    entry.get("createdAt").and_then(millis)
}

pub(super) fn updated_ms(entry: &Value) -> Option<i64> {
    let told = entry.get("updatedAt").and_then(millis);
    told.or_else(|| created_ms(entry))
}

/// The answer of the model that an entry is of, and which part of it: `assistant-ID`, `reasoning-ID-0`.
fn answer_of(id: &str, is_thought: bool) -> (&str, u32) {
    let prefix = if is_thought {
        "reasoning-"
    } else {
        "assistant-"
    };
    let Some(answer) = id.strip_prefix(prefix) else {
        return (id, 0);
    };
    let part = answer.rsplit_once('-').filter(|_| is_thought);
    let part = part.and_then(|(answer, part)| Some((answer, part.parse().ok()?)));
    part.unwrap_or((answer, 0))
}

/// A thought, or where it is withheld what it was about.
fn thought_of(entry: &Value) -> String {
    if let Some(text) = text_of(entry, "text") {
        return text.to_owned();
    }
    let summary = list_of(entry, "summary").iter().filter_map(Value::as_str);
    summary.collect::<Vec<_>>().join("\n\n")
}
