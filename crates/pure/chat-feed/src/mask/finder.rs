//! Finds the secrets of a session that goes on, and writes its events with labels in their place.

use std::collections::BTreeMap;

use chat_event::ChatEvent;

use super::answers::Answers;
use super::find::{Found, Rank, apart, find};
use super::flow::{Look, label_of};
use super::known::Known;
use super::labels::Labels;
use super::line::{self, Text};
use super::plan::found_in;
use super::preview;
use super::write::{UNRESTING, changed_to_rest, replaced};

/// So many secrets of a session are looked for where nothing tells them; and as many texts that look random, which a log
/// of checksums may be full of.
const MOST_KNOWN: usize = 1_000;

/// What finds secrets, and knows those of the session.
#[derive(Debug, Default)]
pub(super) struct Finder {
    pub(super) answers: Answers,
    labels: Labels,
    known: Known,
    /// How many of those are only random texts.
    n_random: usize,
    pub(super) masked: BTreeMap<&'static str, u64>,
}

/// As ids are written, which have fewer characters. Two that are masked are still told from each other.
pub(super) fn id_label(found: &Found) -> String {
    let kind = found
        .kind
        .replace(|char: char| !char.is_ascii_alphanumeric(), "-");
    let hash = found.value.hash() & 0xffff_ffff;
    format!("masked-{kind}-{hash:08x}")
}

impl Finder {
    /// What an id holds.
    pub(super) fn in_id(&self, id: &str) -> Vec<Found> {
        let mut all = find(id);
        all.retain(|found| found.rank == Rank::Shape);
        apart(all)
    }

    /// The event with labels in its strings.
    pub(super) fn event(&mut self, event: ChatEvent) -> ChatEvent {
        let line = self.answers.as_texts(&event).to_line();
        let changed = line::change(&line, &mut |text| {
            let is_session = text.path.len() == 1 && text.path[0] == "sessionId";
            if is_session {
                return None;
            }
            self.string(text)
        });
        let Some(line) = changed else { return event };
        // With strings in the place of strings it is an event, if another one.
        let Ok(mut masked) = ChatEvent::from_json(&line) else {
            return unreadable(&event);
        };
        preview::fit_size(&mut masked, &event);
        masked
    }

    fn string(&mut self, text: &Text<'_>) -> Option<String> {
        changed_to_rest(text, &mut |now, read| {
            // An id is the same throughout, whatever is known by then.
            let all = match now.is_id() {
                true => self.in_id(read.text()),
                false => {
                    let context = (&self.labels, &self.answers);
                    let mut all = found_in(now, read, Some(&self.known), context);
                    all.retain(|found| found.rank > Rank::Personal);
                    apart(all)
                }
            };
            let label = |found: &Found| match now.is_id() {
                true => id_label(found),
                false => label_of(found.kind),
            };
            let stretches = all.iter().map(|found| (&found.range, label(found)));
            let replaced = (!all.is_empty()).then(|| replaced(now.raw, read, stretches));
            all.iter().for_each(|found| self.note(found));
            replaced
        })
    }
}

impl Look for Finder {
    fn find(&self, text: &str) -> Vec<Found> {
        let mut all = find(text);
        self.known.find(text, &self.labels, &mut all);
        all.retain(|found| found.rank > Rank::Personal);
        apart(all)
    }

    /// It is looked for from now on where nothing tells it.
    fn note(&mut self, found: &Found) {
        *self.masked.entry(found.kind).or_insert(0) += 1;
        let n_labels = self.labels.all().len();
        let is_random = found.rank == Rank::Random;
        let n_known = match is_random {
            true => self.n_random,
            false => n_labels - self.n_random,
        };
        if n_known >= MOST_KNOWN {
            return;
        }
        let label = self.labels.of(found);
        if let Some(labelled) = self.labels.get(label).filter(|_| label == n_labels) {
            self.n_random += usize::from(is_random);
            self.known.add(label, labelled, &self.labels);
        }
    }
}

/// What is stored of an event that is none any more once it is masked.
fn unreadable(event: &ChatEvent) -> ChatEvent {
    let payload = chat_event::payload::Raw {
        format: "masked".to_owned(),
        value: chat_event::Json::from(&serde_json::Value::from(UNRESTING)),
        ..chat_event::payload::Raw::default()
    };
    let mut stored = event.clone();
    stored.payload = payload.into();
    stored.extra = chat_event::Extra::default();
    stored
}
