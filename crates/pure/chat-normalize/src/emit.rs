//! Events on their way out: ids, times, places and the counts of the report.
//!
//! What the events say is for the dialects; that no id stands twice in a session is seen to here.

use std::collections::{BTreeMap, HashSet};

use chat_event::payload::{Notice, Raw, SessionEnd};
pub(crate) use chat_event::stable_hash as hash;
use chat_event::{ChatEvent, Extra, Json, Payload, in_millis};
use serde_json::Value;

use crate::busy::Busy;
use crate::error_words;
use crate::open_calls::OpenCalls;
use crate::recent::{LATE_LARGE, Recent};
use crate::untold_edits::UntoldEdits;

/// The longest text of an unreadable line that its notice keeps.
const KEPT_TEXT_BYTES: usize = 4096;

/// How many bytes an event id has at most, after `design/protocol.md` 5.1.
const MAX_ID_BYTES: usize = 128;

/// The arrival of what lies at rest: when it is read says nothing of when it happened. What has no time of its own has
/// that of what stands before it, else none.
pub const AT_REST: i64 = i64::MIN;

/// A stream whose own times lie so far before its arrival was recorded: it does not go on now.
const RECORDED_MS: i64 = 60_000;

/// What was read so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Lines taken, blank ones not counted.
    pub lines: u64,
    /// Events made.
    pub events: u64,
    /// Lines, and parts of them, that could not be read; each gave a `notice`.
    pub unreadable: u64,
    /// Lines and parts that no rule knows, by their kind; each gave a `raw`.
    pub raw: BTreeMap<String, u64>,
    /// Lines that a rule passes over, by their kind.
    pub passed_over: BTreeMap<String, u64>,
    /// Lines that came before, word for word the same id.
    pub repeated: u64,
}

/// Where an event stands: the envelope's linking ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) turn_id: Option<String>,
    pub(crate) response_id: Option<String>,
    pub(crate) agent_id: Option<String>,
    pub(crate) parent_tool_call_id: Option<String>,
}

impl Place {
    /// The same place, within another response.
    pub(crate) fn in_response(&self, response_id: &str) -> Place {
        Place {
            response_id: Some(response_id.to_owned()).filter(|id| !id.is_empty()),
            ..self.clone()
        }
    }
}

/// A line that events are of: where it stands, what it is called, when it was.
#[derive(Debug)]
pub(crate) struct Line {
    no: u64,
    id: String,
    n_of_line: u32,
    time_ms: i64,
}

/// Collects the events of one session.
#[derive(Debug)]
pub(crate) struct Emitter {
    /// The session all events belong to.
    pub(crate) session_id: String,
    /// The line that is read now, from 1.
    pub(crate) line_no: u64,
    /// The time that the next events bear, Unix epoch in milliseconds; [`AT_REST`] where none is known.
    pub(crate) time_ms: i64,
    /// Whether what is read lies at rest.
    pub(crate) at_rest: bool,
    /// When what is read now arrived, and the last event's time with how long after it that arrived.
    arrival_ms: i64,
    last: Option<(i64, i64)>,
    /// The newest time that an event bears; [`AT_REST`] where none bears one.
    pub(crate) newest_ms: i64,
    /// When the turn began that did so the latest, by the source's times; [`AT_REST`] where none tells it.
    began_ms: i64,
    /// What was made and not yet taken.
    pub(crate) out: Vec<ChatEvent>,
    /// Counts.
    pub(crate) report: Report,
    line_id: String,
    /// What tells this run of the program from others, in ids that name lines by their numbers.
    pub(crate) run: Option<String>,
    n_of_line: u32,
    /// Hashes of all ids of the session: what grows with it, by eight bytes an event.
    used_ids: HashSet<u64>,
    /// The last number put behind an id that came more than once, of those that came last.
    repeats: Recent<u32>,
    /// The ids of the events of lines that a later line may take back, of the last lines.
    kept_ids: Recent<Vec<String>, LATE_LARGE>,
    keeps_ids: bool,
    /// The end of the session was said.
    pub(crate) has_ended: bool,
    /// Something was told beside what frames a session of any content.
    pub(crate) has_understood: bool,
    pub(crate) busy: Busy,
    pub(crate) open_calls: OpenCalls,
    pub(crate) untold_edits: UntoldEdits,
}

impl Emitter {
    pub(crate) fn new(session_id: &str) -> Self {
        Emitter {
            session_id: session_id.to_owned(),
            line_no: 0,
            time_ms: AT_REST,
            at_rest: false,
            arrival_ms: AT_REST,
            last: None,
            newest_ms: AT_REST,
            began_ms: AT_REST,
            out: Vec::new(),
            report: Report::default(),
            line_id: "0".to_owned(),
            run: None,
            n_of_line: 0,
            used_ids: HashSet::new(),
            repeats: Recent::default(),
            kept_ids: Recent::default(),
            keeps_ids: false,
            has_ended: false,
            has_understood: false,
            busy: Busy::default(),
            open_calls: OpenCalls::default(),
            untold_edits: UntoldEdits::default(),
        }
    }

    /// That of another session of the same source.
    pub(crate) fn beside(&self, session_id: &str) -> Emitter {
        let mut other = Emitter::new(session_id);
        other.run.clone_from(&self.run);
        other.untold_edits.is_off = self.untold_edits.is_off;
        other
    }

    /// The source goes on in the session of `other`.
    pub(crate) fn hand_on(&mut self, other: &mut Emitter) {
        other.line_no = self.line_no;
        other.time_ms = self.time_ms;
        other.at_rest = self.at_rest;
        other.arrival_ms = self.arrival_ms;
        other.out = std::mem::take(&mut self.out);
        other.report = std::mem::take(&mut self.report);
        other.has_understood = self.has_understood;
    }

    /// The session is at its end, and the source goes on in this one.
    pub(crate) fn go_on_in(&mut self, session_id: &str) {
        let mut other = self.beside(session_id);
        self.hand_on(&mut other);
        other.last = self.last;
        *self = other;
    }

    /// Whether something of this session was told.
    pub(crate) fn has_told(&self) -> bool {
        !self.used_ids.is_empty()
    }

    /// What is read now arrived at this time.
    pub(crate) fn arrive(&mut self, arrival_ms: i64) {
        self.at_rest = arrival_ms == AT_REST;
        self.arrival_ms = arrival_ms;
        if !self.at_rest {
            self.time_ms = arrival_ms;
        }
    }

    /// The end arrived at this time. What was recorded ended when it last said something.
    pub(crate) fn arrive_at_end(&mut self, arrival_ms: i64) {
        match self.last {
            Some((last_ms, after_ms)) if after_ms > RECORDED_MS => {
                self.arrive(AT_REST);
                self.time_ms = last_ms;
            }
            _ => self.arrive(arrival_ms),
        }
    }

    /// How long ago that was, where both times are known.
    pub(crate) fn since(&self, before_ms: i64) -> Option<u64> {
        let known = before_ms != AT_REST && self.time_ms != AT_REST;
        let passed_ms = known.then(|| self.time_ms.saturating_sub(before_ms))?;
        u64::try_from(passed_ms).ok()
    }

    /// Begins a line; `native_id` is the id its source gave it.
    pub(crate) fn begin_line(&mut self, native_id: Option<&str>) {
        self.line_id = match native_id {
            Some(id) if !id.is_empty() => clean_id(id),
            _ => match &self.run {
                Some(run) => format!("l{}.{run}", self.line_no),
                None => format!("l{}", self.line_no),
            },
        };
        self.n_of_line = 0;
    }

    /// The id of the line that is read now.
    pub(crate) fn line_id(&self) -> &str {
        &self.line_id
    }

    /// The line that is read now, for what is said of it later.
    pub(crate) fn this_line(&self) -> Line {
        Line {
            no: self.line_no,
            id: self.line_id.clone(),
            n_of_line: self.n_of_line,
            time_ms: self.time_ms,
        }
    }

    /// What is added now is of `line`; gives the line that was read.
    pub(crate) fn go_to(&mut self, line: Line) -> Line {
        let current = self.this_line();
        self.line_no = line.no;
        self.line_id = line.id;
        self.n_of_line = line.n_of_line;
        self.time_ms = line.time_ms;
        current
    }

    /// Whether the ids of what is added are kept by the line that is read now.
    pub(crate) fn keep_ids(&mut self, keep: bool) {
        self.keeps_ids = keep;
    }

    /// The ids kept by the line `uuid`.
    pub(crate) fn ids_of(&self, uuid: &str) -> Vec<String> {
        self.kept_ids
            .get(&clean_id(uuid))
            .cloned()
            .unwrap_or_default()
    }

    /// Adds an event whose id is that of the line and `tag`.
    pub(crate) fn add(
        &mut self,
        tag: &str,
        place: &Place,
        payload: impl Into<Payload>,
    ) -> &mut ChatEvent {
        let id = if tag.is_empty() {
            self.line_id.clone()
        } else {
            format!("{}:{tag}", self.line_id)
        };
        self.add_as(&id, place, payload)
    }

    /// Adds an event with an id of its own; where it was used before, a number is put behind it.
    pub(crate) fn add_as(
        &mut self,
        id: &str,
        place: &Place,
        payload: impl Into<Payload>,
    ) -> &mut ChatEvent {
        let mut payload = payload.into();
        if let Payload::ErrorEvent(error) = &mut payload {
            error_words::put_in_words(error);
        }
        if let Payload::ToolResult(result) = &mut payload {
            self.open_calls.fail_by_exit_code(result);
        }
        self.note_edits(&payload, place);
        if let Some(status) = self.busy.before(&payload, place) {
            let line_id = format!("{}:status", self.line_id);
            self.say_busy(status, &line_id, place);
        }
        let after = self.busy.after(&payload, place);
        self.open_calls.note(&payload, place);
        let id = self.unused(id);
        let mut event = ChatEvent::new(id, self.time_ms, self.session_id.clone(), payload);
        event.timestamp = known_time(self.time_ms);
        event.turn_id.clone_from(&place.turn_id);
        event.response_id.clone_from(&place.response_id);
        event.agent_id.clone_from(&place.agent_id);
        event
            .parent_tool_call_id
            .clone_from(&place.parent_tool_call_id);
        self.note_order(&mut event);
        let at = self.out.len();
        self.push(event);
        if let Some(status) = after {
            let turn = place.turn_id.clone().unwrap_or_default();
            self.say_busy(status, &turn, place);
        }
        &mut self.out[at]
    }

    /// Of one source it is known that a turn came behind those before it, whatever its clock said.
    fn note_order(&mut self, event: &mut ChatEvent) {
        let is_main = event.parent_tool_call_id.is_none();
        let Some(at_ms) = event.timestamp.filter(|_| is_main) else {
            return;
        };
        match event.payload {
            Payload::TurnStart(_) | Payload::SessionStart(_) | Payload::SessionEnd(_)
                if at_ms < self.began_ms =>
            {
                let after_ms = Json::from(&serde_json::json!(self.began_ms));
                event.extra.insert(ChatEvent::AFTER_MS, after_ms);
            }
            Payload::TurnStart(_) => self.began_ms = at_ms,
            _ => {}
        }
    }

    /// `id`, or where it was used before, `id` with a number behind it.
    fn unused(&mut self, id: &str) -> String {
        let mut id = clean_id(id);
        if !self.used_ids.insert(hash(id.as_bytes())) {
            // The number is kept: a source that says one id all the time must not be counted through each time.
            let n = self.repeats.entry(&id);
            *n = (*n).max(1);
            let stem = id;
            loop {
                *n += 1;
                id = clean_id(&format!("{stem}:n{n}"));
                if self.used_ids.insert(hash(id.as_bytes())) {
                    break;
                }
            }
        }
        if self.keeps_ids {
            self.kept_ids.entry(&self.line_id).push(id.clone());
        }
        id
    }

    /// Adds an event as it is.
    pub(crate) fn push(&mut self, event: ChatEvent) -> &mut ChatEvent {
        self.report.events += 1;
        self.has_ended |= matches!(event.payload, Payload::SessionEnd(_));
        self.has_understood |= !matches!(
            event.payload,
            Payload::Raw(_)
                | Payload::Notice(_)
                | Payload::SessionStart(_)
                | Payload::SessionStatus(_)
                | Payload::SessionEnd(_)
                | Payload::TurnStart(_)
                | Payload::TurnEnd(_)
        );
        self.newest_ms = event
            .timestamp
            .map_or(self.newest_ms, |time_ms| self.newest_ms.max(time_ms));
        if self.at_rest {
            self.time_ms = event.timestamp.unwrap_or(self.time_ms);
        } else if let Some(time_ms) = event.timestamp {
            self.last = Some((time_ms, self.arrival_ms.saturating_sub(time_ms)));
        }
        let at = self.out.len();
        self.out.push(event);
        &mut self.out[at]
    }

    /// Adds a notice about the line that is read now.
    pub(crate) fn notice(
        &mut self,
        level: &str,
        place: &Place,
        source: &str,
        text: impl Into<String>,
    ) -> &mut ChatEvent {
        let tag = self.next_tag("notice");
        let notice = Notice {
            level: level.to_owned(),
            text: text.into(),
            source: Some(source.to_owned()),
            line: Some(self.line_no),
            extra: Extra::default(),
        };
        self.add(&tag, place, notice)
    }

    /// Adds the notice for a line that could not be read; what stands there is kept with it.
    pub(crate) fn unreadable(&mut self, reason: &str, text: &str) {
        self.report.unreadable += 1;
        let tag = self.next_tag("unreadable");
        let notice = unreadable_notice(self.line_no, reason, text);
        self.add(&tag, &Place::default(), notice);
    }

    /// Keeps what no rule knows.
    pub(crate) fn raw(&mut self, place: &Place, format: &str, kind: &str, value: &Value) {
        count_kind(&mut self.report.raw, kind);
        let tag = self.next_tag("raw");
        let raw = Raw {
            format: format.to_owned(),
            value: Json::from(value),
            extra: Extra::default(),
        };
        self.add(&tag, place, raw);
    }

    /// The output of the program that works on the session is at its end; `cut_off`, in the middle of a turn.
    pub(crate) fn end_of_stream(&mut self, cut_off: bool) {
        self.end_of_session(if cut_off {
            "the stream stopped before the turn was over"
        } else {
            "end of stream"
        });
    }

    /// What the program wrote down of the session is at its end.
    pub(crate) fn end_of_file(&mut self) {
        self.end_of_session("end of file");
    }

    /// The session goes on no more.
    fn end_of_session(&mut self, reason: &str) {
        let end = SessionEnd {
            reason: reason.to_owned(),
            extra: Extra::default(),
        };
        self.add("session-end", &Place::default(), end);
    }

    /// Counts a line that a rule passes over on purpose.
    pub(crate) fn pass_over(&mut self, kind: &str) {
        count_kind(&mut self.report.passed_over, kind);
    }

    fn next_tag(&mut self, stem: &str) -> String {
        self.n_of_line += 1;
        numbered(stem, self.n_of_line)
    }
}

/// What tells the events of a line apart that are called alike: from the second on, its number.
pub(crate) fn numbered(stem: &str, nth: u32) -> String {
    match nth {
        1 => stem.to_owned(),
        nth => format!("{stem}{nth}"),
    }
}

/// A time, where it is known, as it is read back.
pub(crate) fn known_time(time_ms: i64) -> Option<i64> {
    (time_ms != AT_REST).then(|| in_millis(time_ms))
}

/// What is said of a line that could not be read; what stands there is kept with it.
pub(crate) fn unreadable_notice(line_no: u64, reason: &str, text: &str) -> Notice {
    let mut extra = Extra::default();
    let kept = cut(text, KEPT_TEXT_BYTES);
    if !kept.is_empty() {
        extra.insert("found", Json::string(kept));
    }
    if kept.len() < text.len() {
        extra.insert("bytes", Json::from(Value::from(text.len())));
    }
    Notice {
        level: "warning".to_owned(),
        text: format!("Line {line_no} could not be read: {reason}"),
        source: Some("reader".to_owned()),
        line: Some(line_no),
        extra,
    }
}

/// Kinds that are counted by their name; further ones are counted together.
const MAX_KINDS: usize = 1000;

/// Counts a kind. Kinds come from the source, so their length and their number are bounded.
pub(crate) fn count_kind(counts: &mut BTreeMap<String, u64>, kind: &str) {
    let kind = cut(kind, 80);
    if let Some(count) = counts.get_mut(kind) {
        *count += 1;
    } else if counts.len() < MAX_KINDS {
        counts.insert(kind.to_owned(), 1);
    } else {
        *counts.entry("other kinds".to_owned()).or_default() += 1;
    }
}

/// The first `max_bytes` of `text`, cut on a character.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// `id` in the characters and length an event id may have; an id that must be changed gets a hash of the old one.
pub(crate) fn clean_id(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
    if !id.is_empty() && id.len() <= MAX_ID_BYTES && id.chars().all(fits) {
        return id.to_owned();
    }
    let clean: String = id
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .take(MAX_ID_BYTES - 20)
        .collect();
    format!("{clean}-{:016x}", hash(id.as_bytes()))
}

/// Whether an event's id names a line by its number, which says nothing outside its source.
pub(crate) fn is_line_number(id: &str) -> bool {
    let head = id.split(':').next().unwrap_or_default();
    let head = head.strip_prefix("end.").unwrap_or(head);
    head.strip_prefix('l')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// What tells one text from others: short, for it stands in many ids.
pub(crate) fn short_hash(text: &str) -> String {
    format!("{:08x}", hash(text.as_bytes()) >> 32)
}
