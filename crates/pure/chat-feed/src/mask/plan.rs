//! The first round: what there is to mask in a session.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::{ChatEvent, stable_hash};

use super::answers::Answers;
use super::context;
use super::find::{Found, Rank, apart, find};
use super::known::Known;
use super::labels::Labels;
use super::line::{self, Text};
use super::parts::{Looked, Parts, Span, piece_of};
use super::value::Value;
use super::views;

/// Of so many of a kind the first place is shown.
const SHOWN_PLACES: usize = 5;

/// Looks through a session, event by event.
#[derive(Debug, Default)]
pub struct Scan {
    n_events: u64,
    parts: Parts,
    plan: Plan,
    /// Of the events with pieces that wait: what they are.
    types: BTreeMap<u64, String>,
    answers: Answers,
    /// What is known by now, where it is looked for.
    again: Option<Known>,
}

/// What there is to mask in a session, and what is to be left as it is.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub(super) labels: Labels,
    pub(super) pieces: BTreeMap<u64, Vec<Span>>,
    /// The pieces' events, by what they are pieces of.
    pub(super) wholes: Vec<Vec<u64>>,
    /// What was asked and is secret.
    pub(super) answers: Answers,
    /// What each piece says, as a hash: a session may be another one when it is masked.
    said: HashMap<u64, u64>,
    found: Vec<KindFound>,
    kept: BTreeSet<String>,
}

/// What was found of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindFound {
    /// What it is called: `github token`.
    pub kind: &'static str,
    /// In how many places it stands.
    pub n_places: u64,
    /// How many different ones there are.
    pub n_values: u64,
    /// The first place of each, of the first few.
    pub places: Vec<Place>,
}

/// A place where something was found first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which of all that was found it is.
    nth: usize,
    /// In how many places it stands.
    pub n_places: u64,
    /// The number of the event, from 1.
    pub event: u64,
    /// Its type.
    pub event_type: String,
    /// What was found, as far as it may be shown.
    pub shown: String,
}

impl Scan {
    /// A scan of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A scan of the same events again, where the plan asks for one ([`Plan::asks_again`]).
    pub fn again(mut plan: Plan) -> Self {
        let known = Known::new(&plan.labels, |_| true);
        plan.pieces.clear();
        plan.wholes.clear();
        plan.said.clear();
        for kind in &mut plan.found {
            kind.n_places = 0;
            kind.places.iter_mut().for_each(|place| place.n_places = 0);
        }
        Scan {
            parts: Parts::knowing(known.clone(), plan.labels.clone()),
            answers: plan.answers.clone(),
            plan,
            again: Some(known),
            ..Scan::default()
        }
    }

    /// Looks through the next event.
    pub fn push(&mut self, event: &ChatEvent) {
        let ordinal = self.n_events;
        self.n_events += 1;
        let piece = piece_of(event);
        if let Some((_, text)) = piece {
            self.types.insert(ordinal, event.event_type().to_owned());
            self.plan.said.insert(ordinal, stable_hash(text.as_bytes()));
        }
        let piece = piece.map(|(field, _)| field);
        let event_type = event.event_type();
        self.answers.note(event);
        let (plan, known, answers) = (&mut self.plan, &self.again, &self.answers);
        line::change(&answers.as_texts(event).to_line(), &mut |text| {
            if is_piece(text, piece) {
                return None;
            }
            for found in apart(found_in(
                text,
                &read(text.raw),
                known.as_ref(),
                (&plan.labels, answers),
            )) {
                plan.note(&found, ordinal, event_type);
            }
            None
        });
        if let Some(looked) = self.parts.push(ordinal, event) {
            self.take(looked);
        }
    }

    /// The session is at its end.
    pub fn finish(mut self) -> Plan {
        for looked in self.parts.finish() {
            self.take(looked);
        }
        self.plan.answers = self.answers;
        self.plan
    }

    fn take(&mut self, looked: Looked) {
        for (&ordinal, spans) in &looked.spans {
            let event_type = self.types.get(&ordinal).cloned().unwrap_or_default();
            for span in spans.iter().filter(|span| span.begins) {
                self.plan.note(&span.found, ordinal, &event_type);
            }
        }
        for ordinal in &looked.ordinals {
            self.types.remove(ordinal);
        }
        self.plan.pieces.extend(looked.spans);
        self.plan.wholes.push(looked.ordinals);
    }
}

impl Plan {
    /// Whether the session is to be looked through once more: what only its name told, or what was found whole, may stand
    /// elsewhere, and in texts that came in pieces; and a question may say behind its answer that this is secret.
    pub fn asks_again(&self) -> bool {
        !self.answers.is_empty() || !Known::new(&self.labels, |_| true).is_empty()
    }

    /// What was found, by kind, in the order in which it was.
    pub fn found(&self) -> &[KindFound] {
        &self.found
    }

    /// Leaves a kind as it is, or not any more.
    pub fn keep(&mut self, kind: &str, kept: bool) {
        if kept {
            self.kept.insert(kind.to_owned());
        } else {
            self.kept.remove(kind);
        }
    }

    /// Whether what is of a kind is masked.
    pub fn masks(&self, kind: &str) -> bool {
        !self.kept.contains(kind)
    }

    /// Whether this piece was looked through as a part of its text.
    pub(super) fn has_scanned(&self, ordinal: u64, text: &str) -> bool {
        self.said.get(&ordinal) == Some(&stable_hash(text.as_bytes()))
    }

    fn note(&mut self, found: &Found, ordinal: u64, event_type: &str) {
        let n_known = self.labels.all().len();
        let nth = self.labels.of(found);
        let is_new = nth == n_known;
        let at = self.found.iter().position(|known| known.kind == found.kind);
        let at = at.unwrap_or_else(|| {
            self.found.push(KindFound {
                kind: found.kind,
                n_places: 0,
                n_values: 0,
                places: Vec::new(),
            });
            self.found.len() - 1
        });
        let kind = &mut self.found[at];
        kind.n_places += 1;
        kind.n_values += u64::from(is_new);
        if let Some(place) = kind.places.iter_mut().find(|place| place.nth == nth) {
            place.n_places += 1;
        }
        if kind.places.len() < SHOWN_PLACES && is_new {
            kind.places.push(Place {
                nth,
                n_places: 1,
                event: ordinal + 1,
                event_type: event_type.to_owned(),
                shown: shown(found),
            });
        }
    }
}

/// What may be shown of something that is to be masked, to the one who masks it.
fn shown(found: &Found) -> String {
    let value = found.value.text().trim();
    if found.rank == Rank::Personal {
        return value.chars().take(80).collect();
    }
    let begins: String = value.chars().take(4).collect();
    format!("{begins}… ({} characters)", found.value.n_chars())
}

/// A string as it reads.
pub(super) fn read(raw: &str) -> Read<'_> {
    match views::unescaped(raw) {
        Some(view) => Read::View(view),
        None => Read::Raw(raw),
    }
}

/// A string as it reads, and what it was read from.
pub(super) enum Read<'a> {
    /// It has no escapes.
    Raw(&'a str),
    View(views::View),
}

impl Read<'_> {
    pub(super) fn text(&self) -> &str {
        match self {
            Read::Raw(raw) => raw,
            Read::View(view) => &view.text,
        }
    }
}

/// Whether a string is the piece of text that its event brings.
pub(super) fn is_piece(text: &Text<'_>, field: Option<&'static str>) -> bool {
    let Some(field) = field else { return false };
    matches!(text.path, [outer, inner] if outer == "payload" && inner == field) && !text.is_key
}

/// What is found in a string of an event, and what is known by now.
pub(super) fn found_in(
    text: &Text<'_>,
    read: &Read<'_>,
    known: Option<&Known>,
    (labels, answers): (&Labels, &Answers),
) -> Vec<Found> {
    if text.is_number {
        return number_in(text).into_iter().collect();
    }
    let mut all = told_in(text, read);
    answers.find(text, read.text(), &mut all);
    if let Some(known) = known {
        let n_told = all.len();
        known.find(read.text(), labels, &mut all);
        if text.is_id() {
            let mut nth = 0;
            all.retain(|found| {
                nth += 1;
                nth <= n_told || found.rank >= Rank::Named
            });
        }
    }
    all
}

fn told_in(text: &Text<'_>, read: &Read<'_>) -> Vec<Found> {
    let value = read.text();
    let mut all = find(value);
    if text.is_id() {
        all.retain(|found| found.rank == Rank::Shape);
        return all;
    }
    if !text.is_key
        && let Some(key) = name_of(text)
        && let Some(kind) = context::of_key(key, value)
    {
        all.push(Found::named(0, value, kind));
    }
    all.extend(cut_end(text, value));
    all
}

/// What a value is called: by the option before it, else by its key.
fn name_of<'t>(text: &'t Text<'_>) -> Option<&'t str> {
    let option = text.before.and_then(|before| before.strip_prefix('-'));
    option.or(text.key())
}

/// A number is a secret only where its name says that it is a password.
fn number_in(text: &Text<'_>) -> Option<Found> {
    let kind = context::of_number(name_of(text)?, text.raw)?;
    Some(Found::named(0, text.raw, kind))
}

/// Of a body that is elsewhere there is the beginning and the end: a word that was cut there may be half a secret, which
/// nothing tells.
fn cut_end(text: &Text<'_>, value: &str) -> Option<Found> {
    let [.., outer, key] = text.path else {
        return None;
    };
    if outer != "$body" || text.is_key {
        return None;
    }
    let range = match key.as_str() {
        "preview" if value.len() + 4 > chat_event::PREVIEW_BYTES => {
            let word = value.trim_end_matches(|char: char| !char.is_whitespace());
            word.len()..value.len()
        }
        "tail" => {
            let rest = value.trim_start_matches(|char: char| !char.is_whitespace());
            0..value.len() - rest.len()
        }
        _ => return None,
    };
    (range.len() >= 4 && !value[range.clone()].contains("[masked")).then(|| Found {
        value: Value::of(&value[range.clone()]),
        range,
        kind: "cut word",
        rank: Rank::Personal,
    })
}
