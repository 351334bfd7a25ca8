//! The second round: writes the events of a session with labels in the place of what is to be masked.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::compaction::{Folded, refit};
use chat_event::{ChatEvent, Payload};

use super::answers::Answers;
use super::find::{Found, apart};
use super::known::Known;
use super::labels::Labels;
use super::line::{self, Text};
use super::parts::{Span, piece_of};
use super::plan::{Plan, Read, found_in, is_piece, read};
use super::preview;
use super::write::{changed_to_rest, replaced};

/// Masks the events of a session, in the order in which they were scanned.
#[derive(Debug)]
pub struct Masker {
    plan: Plan,
    labels: Labels,
    known: Known,
    /// The input of calls whose pieces say where they stand, though what stands before them is shorter now.
    moved: BTreeSet<u64>,
    n_events: u64,
    answers: Answers,
    masked: BTreeMap<(&'static str, String), u64>,
}

impl Masker {
    /// A masker of the session that was scanned for this plan.
    pub fn new(plan: Plan) -> Self {
        let is_masked = |ordinal: &u64| {
            let mut spans = plan.pieces.get(ordinal).into_iter().flatten();
            spans.any(|span| plan.masks(span.found.kind))
        };
        let moved = plan
            .wholes
            .iter()
            .filter(|whole| whole.iter().any(is_masked));
        let moved = moved.flatten().copied().collect();
        Masker {
            known: Known::new(&plan.labels, |kind| plan.masks(kind)),
            labels: plan.labels.clone(),
            moved,
            n_events: 0,
            answers: plan.answers.clone(),
            masked: BTreeMap::new(),
            plan,
        }
    }

    /// The line of the next event, without the checksum that it had in its log.
    pub fn line(&mut self, event: &ChatEvent) -> String {
        let ordinal = self.n_events;
        self.n_events += 1;
        self.answers.note(event);
        let mut event = self.answers.as_texts(event).into_owned();
        event.extra.remove("c");
        if self.moved.contains(&ordinal)
            && let Payload::ToolInputChunk(chunk) = &mut event.payload
        {
            chunk.offset = None;
        }
        let line = event.to_line();
        let piece = piece_of(&event);
        let is_scanned = piece.is_some_and(|(_, text)| self.plan.has_scanned(ordinal, text));
        let piece = piece.map(|(field, _)| field);
        let event_type = event.event_type().to_owned();
        let changed = line::change(&line, &mut |text| {
            // One that was not there when the session was scanned stands for itself.
            if is_scanned && is_piece(text, piece) {
                let spans = self.plan.pieces.get(&ordinal)?.clone();
                return self.piece(text.raw, &spans, &event_type);
            }
            self.string(text, &event_type)
        });
        let Some(changed) = changed else {
            return line;
        };
        // Of a compacted log the line says how long each piece of its text was, and of a diff how long it is.
        if Folded::of(&event).is_none() && !preview::is_whole(&event) {
            return changed;
        }
        let Ok(mut now) = ChatEvent::from_json(&changed) else {
            return changed;
        };
        refit(&mut now, &event);
        preview::fit_size(&mut now, &event);
        now.to_line()
    }

    /// A text that is told of the session elsewhere, as its title: what it would be in the session.
    pub fn text(&mut self, text: &str) -> String {
        let quoted = serde_json::Value::from(text).to_string();
        let raw = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        let place = Text {
            raw,
            is_number: false,
            is_key: false,
            path: &[],
            before: None,
        };
        let Some(masked) = self.string(&place, "") else {
            return text.to_owned();
        };
        serde_json::from_str(&format!("\"{masked}\"")).unwrap_or(masked)
    }

    /// How often something was masked, by its kind and the type of the event.
    pub fn masked(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.masked
            .iter()
            .map(|((kind, event_type), count)| (*kind, event_type.as_str(), *count))
    }

    fn string(&mut self, text: &Text<'_>, event_type: &str) -> Option<String> {
        changed_to_rest(text, &mut |now, read| {
            let context = (&self.labels, &self.answers);
            let mut all = found_in(now, read, Some(&self.known), context);
            all.retain(|found| self.plan.masks(found.kind));
            let all = apart(all);
            let spans: Vec<_> = all.iter().map(|found| (found, true)).collect();
            let is_id = now.is_id();
            (!all.is_empty()).then(|| self.replace(now.raw, read, &spans, is_id, event_type))
        })
    }

    fn piece(&mut self, raw: &str, spans: &[Span], event_type: &str) -> Option<String> {
        let read = read(raw);
        let founds: Vec<(Found, bool)> = spans
            .iter()
            .filter(|span| self.plan.masks(span.found.kind))
            .map(|span| {
                let mut found = span.found.clone();
                found.range = span.range.clone();
                (found, span.begins)
            })
            .collect();
        if founds.is_empty() {
            return None;
        }
        let spans: Vec<_> = founds
            .iter()
            .map(|(found, begins)| (found, *begins))
            .collect();
        Some(self.replace(raw, &read, &spans, false, event_type))
    }

    /// The string as it is written, with labels in the place of what was found.
    fn replace(
        &mut self,
        raw: &str,
        read: &Read<'_>,
        spans: &[(&Found, bool)],
        is_id: bool,
        event_type: &str,
    ) -> String {
        let mut stretches = Vec::with_capacity(spans.len());
        for (found, begins) in spans {
            if !begins {
                stretches.push((&found.range, String::new()));
                continue;
            }
            let label = self.labels.of(found);
            let labelled = self.labels.get(label);
            let text = labelled.map(|labelled| match is_id {
                true => labelled.id(),
                false => labelled.text(),
            });
            stretches.push((&found.range, text.unwrap_or_default()));
            *self
                .masked
                .entry((found.kind, event_type.to_owned()))
                .or_insert(0) += 1;
        }
        replaced(raw, read, stretches.into_iter())
    }
}
