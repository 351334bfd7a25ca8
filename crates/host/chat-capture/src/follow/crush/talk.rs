//! One session that is read on: rows as lines for its reader, and what of that is new.

use std::collections::{BTreeMap, HashSet};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect};
use serde_json::Value;

use super::mark::Mark;
use super::rows::{Message, Parts, Session};
use crate::follow::store::{Reading, Told};

/// What the events of a session's own row and of its end are marked by. No message is called so.
const OF_START: &str = "start";
const OF_USAGE: &str = "usage";
pub(super) const OF_END: &str = "end";
/// What the last message that was told is marked by: `ROWID ID`.
const OF_LAST: &str = "last";

/// Whether a mark is that of a message.
pub(super) fn is_of_message(id: &str) -> bool {
    ![OF_START, OF_USAGE, OF_END, OF_LAST].contains(&id)
}

/// Whether a message has the number of the last one that was told, and is another one: that was deleted, as is a summary that
/// was stopped, and this one is new.
pub(super) fn is_in_place_of_told(told: &Told, row: &Message) -> bool {
    let last = told.marks.get(OF_LAST).and_then(|it| it.split_once(' '));
    last.is_some_and(|(rowid, id)| rowid.parse() == Ok(row.rowid) && id != row.id)
}

/// Not more messages of a session and its agents are looked at while they grow: of more agents, those that began last.
const MOST_GROWING: usize = 64;

/// One session that is read on, with those that work for it.
#[derive(Debug)]
pub(in crate::follow) struct Talk {
    pub(super) reading: Reading,
    /// The session's own row and the messages that the reader knows.
    about: Option<u64>,
    fed: HashSet<String>,
    /// Of each session that takes part: the message that may grow, by the number of its row, and a print of what it was.
    growing: BTreeMap<String, (i64, String, u64)>,
}

impl AsMut<Reading> for Talk {
    fn as_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }
}

impl Talk {
    pub(super) fn new(told: Told, cwd: Option<String>) -> Talk {
        let context = Context {
            cwd,
            ..Context::default()
        };
        Talk {
            reading: Reading::new(context, Dialect::CrushRows, told),
            about: None,
            fed: HashSet::new(),
            growing: BTreeMap::new(),
        }
    }

    /// The rows that may have grown.
    pub(super) fn growing(&self) -> impl Iterator<Item = i64> {
        self.growing.values().map(|(rowid, ..)| *rowid)
    }

    /// Takes the session's own row, and adds what is new in it.
    pub(super) fn session(&mut self, row: &Session, out: &mut Vec<ChatEvent>) {
        let line = Value::Object(row.columns.clone()).to_string();
        let now = Some(print(&line));
        if self.about == now {
            return;
        }
        self.about = now;
        let mut events = self.reading.push(&format!("{line}\n"));
        let told = &mut self.reading.told;
        if told.about == now {
            return;
        }
        told.about = now;
        // Who begins anew is told all of it again, and much of it may be as it was.
        events.retain(|event| {
            let kind = match &event.payload {
                Payload::SessionStart(_) => OF_START,
                Payload::Usage(_) => OF_USAGE,
                _ => return true,
            };
            let before = told.marks.insert(kind.to_owned(), event.id.clone());
            before.as_ref() != Some(&event.id)
        });
        out.append(&mut events);
    }

    /// Takes a message as it is now, and adds the events that were not told before.
    pub(super) fn message(&mut self, row: &Message, out: &mut Vec<ChatEvent>) {
        let told = &self.reading.told;
        let last = told.seqs.get(&row.session).copied().unwrap_or(i64::MIN);
        let mark = told.marks.get(&row.id).and_then(|mark| Mark::read(mark));
        let is_new = row.rowid > last || is_in_place_of_told(told, row);
        let text = match &row.parts {
            Parts::Text(text) => text,
            Parts::Long(bytes) => {
                let grew = self.growing.get(&row.session);
                let grew = grew.is_some_and(|it| it.0 == row.rowid);
                if is_new || grew {
                    let what = format!("Row {} of messages", row.rowid);
                    let why = format!("its {bytes} bytes are more than 16 MiB");
                    let reading = &mut self.reading;
                    out.push(reading.unread(&row.session, row.rowid, &what, &why));
                    reading.told.marks.remove(&row.id);
                    self.note_row(row);
                }
                if grew {
                    self.growing.remove(&row.session);
                }
                return;
            }
        };
        let now = print(text);
        if self
            .growing
            .get(&row.session)
            .is_some_and(|it| (it.0, it.2) == (row.rowid, now))
        {
            return;
        }
        let mut columns = row.columns.clone();
        let mut line = |parts: Value| {
            columns.insert("parts".to_owned(), parts);
            format!("{}\n", Value::Object(columns.clone()))
        };
        let grows = row.role == "assistant";
        let parts = match grows {
            true => serde_json::from_str::<Vec<Value>>(text).ok(),
            false => None,
        };
        let is_known = !self.fed.insert(row.id.clone());
        if let (Some(mark), Some(parts), false) = (&mark, &parts, is_known) {
            let before = line(Value::Array(mark.cut(parts)));
            self.reading.push(&before);
        }
        let mut events = self.reading.push(&line(Value::from(text.as_str())));
        if is_new || mark.is_some() {
            self.leave_end(&mut events);
            if !events.is_empty() || is_new {
                self.reading.told.ended = false;
            }
            out.append(&mut events);
        }
        self.note_row(row);
        if let Some(parts) = parts {
            self.note_growth(row, now, &Mark::of(&parts), is_new || mark.is_some());
        }
    }

    fn note_row(&mut self, row: &Message) {
        let last = self.reading.told.seqs.entry(row.session.clone());
        let last = last.or_insert(row.rowid);
        *last = row.rowid.max(*last);
        let marks = &mut self.reading.told.marks;
        let before = marks.get(OF_LAST).and_then(|it| it.split_once(' '));
        let before = before.and_then(|(rowid, _)| rowid.parse::<i64>().ok());
        if before.is_none_or(|before| row.rowid >= before) {
            marks.insert(OF_LAST.to_owned(), format!("{} {}", row.rowid, row.id));
        }
    }

    /// What was marked and is no longer there is not looked for again.
    pub(super) fn forget_marks(&mut self) {
        let growing: HashSet<&str> = self.growing.values().map(|it| it.1.as_str()).collect();
        let marks = &mut self.reading.told.marks;
        marks.retain(|id, _| !is_of_message(id) || growing.contains(id.as_str()));
    }

    /// Only the last answer of a session grows, and may be stopped once it is whole.
    fn note_growth(&mut self, row: &Message, now: u64, mark: &Mark, is_told: bool) {
        let marks = &mut self.reading.told.marks;
        if let Some((_, before, _)) = self.growing.get(&row.session)
            && *before != row.id
        {
            marks.remove(before);
        }
        let is_main = !row.session.contains("$$");
        if !mark.is_open() && !mark.calls_more() && !is_main {
            self.growing.remove(&row.session);
            marks.remove(&row.id);
            return;
        }
        if self.growing.len() >= MOST_GROWING && !self.growing.contains_key(&row.session) {
            let agents = self.growing.iter().filter(|(id, _)| id.contains("$$"));
            let first = agents.min_by_key(|(_, it)| it.0);
            if let Some((first, it)) = first.map(|(id, it)| (id.clone(), it.1.clone())) {
                self.growing.remove(&first);
                marks.remove(&it);
            }
        }
        let growing = (row.rowid, row.id.clone(), now);
        self.growing.insert(row.session.clone(), growing);
        if is_told {
            marks.insert(row.id.clone(), mark.write());
        }
    }

    /// What was told as the session's end, before it went on, is not told again.
    fn leave_end(&self, events: &mut Vec<ChatEvent>) {
        if let Some(ids) = self.reading.told.marks.get(OF_END) {
            let ids: HashSet<&str> = ids.split(' ').collect();
            events.retain(|event| !ids.contains(event.id.as_str()));
        }
    }
}

fn print(text: &str) -> u64 {
    chat_event::stable_hash(text.as_bytes())
}
