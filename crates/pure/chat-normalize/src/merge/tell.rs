//! Telling what is new of each kind of fact, and leaving out the rest.
//!
//! What an event says is for `facts`, and which turn and which call it is of, for `turns` and `calls`.

use chat_event::payload::Retract;
use chat_event::{ChatEvent, Extra, Payload};

use super::facts::{self, Part, Worth};
use super::{Chunks, Compacted, Edited, Merge, Strength, is_end, is_guessed};
use crate::emit::hash;

impl Merge {
    /// A fact that stands once: a sure one ends the waiting of a guess, and comes after one that was told.
    pub(super) fn tell_once(
        &mut self,
        key: u64,
        strength: Strength,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        // What is told behind the session's end wants another one.
        let again = self.log.is_some() && is_end(&event) && !self.over;
        if !again && self.once.get(&key).is_some_and(|told| *told >= strength) {
            self.dropped += 1;
            return self.tell_rest_of_end(source, event, out);
        }
        // What stands in a log waits for nobody.
        if strength == Strength::Guess && self.log != Some(source) && !self.alone(source) {
            if let std::collections::hash_map::Entry::Vacant(entry) = self.waiting_of.entry(key) {
                self.n_waiting += 1;
                entry.insert(self.n_waiting);
                self.waiting.insert(self.n_waiting, (source, event));
            } else {
                self.dropped += 1;
            }
            return;
        }
        if let Some(at) = self.waiting_of.remove(&key) {
            self.waiting.remove(&at);
            self.dropped += 1;
        }
        self.once.insert(key, strength);
        self.chunks.remove(&key);
        let ended = matches!(event.payload, Payload::TurnEnd(_));
        if ended {
            self.turns.end(event.turn_id.as_deref());
            if let Some(usage) = facts::usage_of_end(&event) {
                self.once.insert(usage.0, Strength::Sure);
            }
        }
        self.write(source, event, out);
        if ended
            && !self.turns.any_open()
            && let Some((source, idle)) = self.idle.take()
        {
            self.tell_status(source, idle, out);
        }
    }

    /// A file that was edited; what tells less of it is taken back where one tells more.
    pub(super) fn tell_edit(
        &mut self,
        key: u64,
        worth: Worth,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        // Those that tell as much are counted: others were taken back for them, or are left out.
        let more = self.count(hash(format!("{key} {worth:?}").as_bytes()), source);
        let (less, same) = match self.edits.remove(&key) {
            Some(before) if before.worth < worth => (before.ids, None),
            before => (Vec::new(), before),
        };
        let Some(mut edited) = same else {
            if !less.is_empty() && self.log != Some(source) {
                self.take_back(less, &event, source, out);
            }
            let ids = vec![self.write(source, event, out)];
            let by = source;
            self.edits.insert(key, Edited { worth, by, ids });
            return;
        };
        // A call may edit a file more than once. Another source may tell that as one edit, or cut it otherwise, and is left out.
        // What is in a log came from any of them: who goes on with it may be who began, and loses nothing. That there was an edit
        // is told once.
        let by_one = edited.by == source || self.log == Some(edited.by);
        if more && by_one && worth == edited.worth && worth > Worth::File {
            let id = self.write(source, event, out);
            if worth < Worth::Diff {
                edited.ids.push(id);
            }
        } else {
            self.dropped += 1;
        }
        self.edits.insert(key, edited);
    }

    /// Takes back events for which `event` stands.
    fn take_back(
        &mut self,
        event_ids: Vec<String>,
        event: &ChatEvent,
        source: usize,
        out: &mut Vec<ChatEvent>,
    ) {
        let payload = Retract {
            event_ids,
            extra: Extra::default(),
        };
        let id = format!("{}:same", event.id);
        let mut retract = ChatEvent::new(id, 0, event.session_id.clone(), payload);
        retract.timestamp = event.timestamp;
        retract.turn_id.clone_from(&event.turn_id);
        self.write(source, retract, out);
    }

    /// What a turn used, where its end was told by one who does not know that.
    fn tell_rest_of_end(&mut self, source: usize, event: ChatEvent, out: &mut Vec<ChatEvent>) {
        if let Some((key, usage)) = facts::usage_of_end(&event) {
            let payload = Payload::Usage(usage);
            let id = format!("{}.usage", event.id);
            let usage = ChatEvent {
                id,
                payload,
                ..event
            };
            self.tell_once(key, Strength::Sure, source, usage, out);
        }
    }

    /// The whole text of a part.
    pub(super) fn tell_whole(
        &mut self,
        part: Option<Part>,
        words: u64,
        guess: bool,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        let fresh = self.count(words, source);
        let strength = if guess {
            Strength::Guess
        } else {
            Strength::Sure
        };
        let Some(Part(part)) = part else {
            if fresh {
                self.write(source, event, out);
            } else {
                self.dropped += 1;
            }
            return;
        };
        let before = self.once.get(&part).copied();
        if before.is_some_and(|before| before >= strength) {
            // Who told it corrects it; what another one says of it is another wording.
            let told = self.wholes.get_mut(&part).filter(|_| !guess);
            match told.filter(|(by, now)| *by == source && *now != words) {
                Some((_, now)) => {
                    *now = words;
                    self.write(source, event, out);
                }
                None => self.dropped += 1,
            }
            return;
        }
        self.once.insert(part, strength);
        let chunks = self.chunks.remove(&part);
        if fresh || before.is_some() {
            self.wholes.insert(part, (source, words));
            self.write(source, event, out);
            return;
        }
        self.dropped += 1;
        // The words stand in a message that another source names otherwise: the pieces of this one go.
        if let Some(chunks) = chunks.filter(|chunks| !chunks.ids.is_empty()) {
            self.take_back(chunks.ids, &event, source, out);
        }
    }

    pub(super) fn tell_chunk(
        &mut self,
        part: Part,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        let Part(part) = part;
        if self.once.contains_key(&part) {
            self.dropped += 1;
            return;
        }
        let chunks = self.chunks.entry(part).or_insert(Chunks {
            by: source,
            ids: Vec::new(),
        });
        if chunks.by != source {
            self.dropped += 1;
            return;
        }
        let keeps = matches!(
            event.payload,
            Payload::AssistantChunk(_) | Payload::ThinkingChunk(_)
        );
        let id = self.write(source, event, out);
        if keeps && let Some(chunks) = self.chunks.get_mut(&part) {
            chunks.ids.push(id);
        }
    }

    /// Facts of the session: those that were not told as often as this source tells them.
    pub(super) fn tell_facts(
        &mut self,
        source: usize,
        mut event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        let wording = self.wording;
        let mut count = |key: u64| self.count(key, source);
        if facts::keep_new(&mut event.payload, wording, &mut count) {
            self.write(source, event, out);
        } else {
            self.dropped += 1;
        }
    }

    /// The context was made shorter; who tells no figures gives way to who does.
    pub(super) fn tell_compaction(
        &mut self,
        has_figures: bool,
        source: usize,
        mut event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        let Payload::Compaction(told) = &mut event.payload else {
            return;
        };
        let is_of_log = self.log == Some(source);
        let summary = told.summary.clone().filter(|_| !has_figures);
        let key = hash(b"compaction");
        // What the log has in place of one that it takes back is no other one.
        let taken_back = self.taken_back.take_if(|_| is_of_log);
        let (n, fresh) = match taken_back.filter(|_| has_figures) {
            Some(n) => (n, false),
            None => {
                let fresh = self.count(key, source);
                (self.count_of(key, source), fresh)
            }
        };
        let bare = self.compacted.get_mut(&n).filter(|bare| !bare.is_replaced);
        match bare.filter(|_| has_figures) {
            Some(bare) => {
                bare.is_replaced = true;
                let id = bare.id.clone();
                told.summary = told.summary.take().or_else(|| bare.summary.take());
                if !is_of_log {
                    self.take_back(vec![id], &event, source, out);
                }
            }
            None if !fresh => {
                self.dropped += 1;
                return;
            }
            None => {}
        }
        let id = self.write(source, event, out);
        if !has_figures {
            let bare = Compacted {
                id,
                summary,
                is_replaced: false,
            };
            self.compacted.insert(n, bare);
        }
    }

    /// Busy and idle: idle is told when no turn is open, or nobody else can know better whether one is; and nothing is told
    /// twice in a row.
    pub(super) fn tell_status(
        &mut self,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        let Payload::SessionStatus(status) = &event.payload else {
            return;
        };
        // Who works on rests no more.
        if status.status != "idle" {
            self.idle.take_if(|(by, _)| *by == source);
        }
        let is_known = is_guessed(&event) && self.alone(source);
        if status.status == "idle" && self.turns.any_open() && !is_known {
            self.idle = Some((source, event));
            return;
        }
        // Who comes later than another tells of what is past.
        let at = (event.turn_id.clone(), event.timestamp);
        let times = at.1.zip(self.status_at.1);
        let is_older =
            at.0 == self.status_at.0 && times.is_some_and(|(time_ms, told_ms)| time_ms < told_ms);
        let is_past =
            status.status != "idle" && (is_older || self.turns.is_over(event.turn_id.as_deref()));
        // Each words why the provider failed in its own way.
        let nth_try = status.message.as_deref().and_then(nth_try);
        let turn = at.0.as_deref().unwrap_or_default();
        let nth_try = nth_try.map(|nth| hash(["try", turn, nth].join("\0").as_bytes()));
        let now = Some((status.status.clone(), status.message.clone()));
        let is_told = nth_try.is_some_and(|key| !self.count(key, source));
        if self.status == now || is_past || is_told {
            self.dropped += 1;
            return;
        }
        self.status = now;
        self.status_at = at;
        self.idle = None;
        self.write(source, event, out);
    }
}

/// Which of how many times the provider is asked: `attempt 2 of 10: overloaded`, `Reconnecting... 1/2 (overloaded)`.
fn nth_try(message: &str) -> Option<&str> {
    let claude = message
        .strip_prefix("attempt ")
        .and_then(|rest| rest.split_once(':'));
    let codex = message.strip_prefix("Reconnecting... ");
    let codex = codex.and_then(|rest| rest.split(' ').next());
    claude.map(|(nth, _)| nth).or(codex)
}
