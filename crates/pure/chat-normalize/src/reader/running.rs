//! A source whose dialect and session are known: its lines are read one by one. Where another session begins in it, this
//! one is at its end, unless the source carries several side by side: those are for `beside`.

use chat_event::broken;
use serde_json::Value;

use super::Context;
use super::beside::Beside;
use super::head::MAX_HELD_LINES;
use super::held::{Held, HeldLine};
use super::torn::Torn;
use crate::detect::HEAD_BYTES;
use crate::dialect::{Dialect, Form, Naming, Normalizer, Origin};
use crate::emit::{Emitter, Place};
use crate::parse::{event_data, is_event_field, parse_document, parse_line, records_behind};
use crate::value::text_of;

/// The normalizer of a source, and the events it makes.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) emitter: Emitter,
    pub(super) normalizer: Box<dyn Normalizer>,
    pub(super) dialect: Dialect,
    /// What the source calls its session, where it may go on in another.
    pub(super) native_id: Option<String>,
    /// What may be of a session that is to begin, and how long the lines of that are.
    pub(super) ahead: Vec<Ahead>,
    pub(super) ahead_bytes: usize,
    /// The sessions beside this one, where the source may carry several at once.
    pub(super) beside: Option<Beside>,
    /// A value that is printed over several lines and not whole.
    pub(super) torn: Option<Torn>,
}

/// A value that waits for the one behind it, which says whose it is.
#[derive(Debug)]
pub(super) struct Ahead {
    line_no: u64,
    arrival_ms: i64,
    value: Value,
}

impl Running {
    /// Takes the next line.
    pub(super) fn line(&mut self, held: &Held<'_>) {
        self.emitter.report.lines += 1;
        if !self.is_of_several(held) {
            self.read_alone(held);
        }
        self.emitter.make_untold_edit();
    }

    pub(super) fn read_alone(&mut self, held: &Held<'_>) {
        let emitter = &mut self.emitter;
        emitter.line_no = held.line_no;
        emitter.arrive(held.arrival_ms);
        emitter.begin_line(None);
        let (text, lossy, ended) = match &held.line {
            HeldLine::Text { text, lossy, ended } => (text, *lossy, *ended),
            HeldLine::Zeros => return emitter.unreadable("it holds nothing but zero bytes", ""),
            HeldLine::TooLong => return emitter.unreadable("it is longer than 16 MiB", ""),
        };
        if text.trim().is_empty() {
            return;
        }
        let replaced = || {
            format!(
                "Line {} is not UTF-8; what was not is replaced",
                held.line_no
            )
        };
        if self.normalizer.text(emitter, text) {
            if lossy {
                emitter.notice("warning", &Place::default(), "reader", replaced());
            }
            return;
        }
        let data = event_data(text);
        if data.is_none() && is_event_field(text) {
            return emitter.pass_over("a field of the event stream");
        }
        let whole = text;
        let text = data.unwrap_or(text);
        if !text.trim_start().starts_with(['{', '[']) {
            // The program's own words on its standard output, or what a shell put between the lines.
            emitter.notice("warning", &Place::default(), "stdout", text.trim_end());
            return;
        }
        let parsed = match self.dialect.form() {
            Form::Document => parse_document(text),
            // Of a list that is cut off the whole items are read as well.
            Form::Lines if text.trim_start().starts_with('[') => parse_document(text),
            Form::Lines => parse_line(text),
        };
        if lossy {
            emitter.notice("warning", &Place::default(), "reader", replaced());
        }
        for mended in &parsed.mended {
            let told = format!("Line {} has {mended}", held.line_no);
            emitter.notice("warning", &Place::default(), "reader", told);
        }
        for value in &parsed.values {
            let n_ahead = self.ahead.len();
            self.value(value, held.arrival_ms);
            if self.ahead.len() > n_ahead {
                self.ahead_bytes += text.len();
            }
        }
        if let Some((reason, at)) = parsed.rest {
            let n_before = whole.len() - text.len();
            let place = place_in(whole, n_before + parsed.read_to, held.line_no);
            let told = format!("{reason}, at {place}");
            let recognise = self.dialect.profile().recognise;
            let behind = match (parsed.cut_off, self.dialect.form()) {
                (false, Form::Lines) => records_behind(text, at, recognise),
                _ => None,
            };
            if let Some((begins, values)) = behind {
                self.emitter.begin_line(None);
                let broken = text.get(at..begins).unwrap_or(text);
                self.emitter.unreadable(&told, broken.trim());
                for value in &values {
                    self.value(value, held.arrival_ms);
                }
                return;
            }
            let reason = match (parsed.cut_off, self.dialect.form()) {
                // It has all lines of the file; what broke off is further down.
                (true, Form::Document) => {
                    let left = text.get(at..).unwrap_or_default();
                    let begins = left.trim_start_matches([',', ' ', '\t', '\r', '\n']);
                    let before = &text[..text.len() - begins.len()];
                    let n_before = before.matches('\n').count();
                    let line_no = held.line_no + n_before as u64;
                    format!("it ends too early, in what begins in line {line_no}")
                }
                (true, Form::Lines) if !ended => "it ends in the middle of a record".to_owned(),
                _ => told,
            };
            self.emitter.begin_line(None);
            self.emitter
                .unreadable(&reason, text.get(at..).unwrap_or(text).trim_start());
        }
    }

    pub(super) fn value(&mut self, value: &Value, arrival_ms: i64) {
        let is_long = self.ahead.len() > MAX_HELD_LINES || self.ahead_bytes > HEAD_BYTES;
        let is_other = |id: &str| self.native_id.as_deref().is_some_and(|known| known != id);
        match self.dialect.naming(value) {
            Naming::Before(id) if is_other(id) && !is_long => {
                self.ahead.push(Ahead {
                    line_no: self.emitter.line_no,
                    arrival_ms,
                    value: value.clone(),
                });
                return;
            }
            Naming::Begins(id) if is_other(id) => self.begin_session(id, arrival_ms),
            Naming::Begins(_) | Naming::Before(_) | Naming::Untold => {}
        }
        self.tell_ahead();
        if self.find_session(value, arrival_ms) {
            self.tell(value, arrival_ms);
        }
    }

    /// This session is at its end, and the one of that id begins.
    fn begin_session(&mut self, native_id: &str, arrival_ms: i64) {
        self.close(arrival_ms);
        let session_id = chat_event::session_id::from_native(native_id);
        self.emitter.go_on_in(&session_id);
        // What was asked, was asked in the session before.
        self.normalizer = (self.dialect.profile().make)(&Context::default());
        self.native_id = Some(native_id.to_owned());
    }

    fn tell_ahead(&mut self) {
        let line_no = self.emitter.line_no;
        self.ahead_bytes = 0;
        for ahead in std::mem::take(&mut self.ahead) {
            self.emitter.line_no = ahead.line_no;
            self.tell(&ahead.value, ahead.arrival_ms);
        }
        self.emitter.line_no = line_no;
    }

    pub(super) fn tell(&mut self, value: &Value, arrival_ms: i64) {
        let emitter = &mut self.emitter;
        if !value.is_object() {
            emitter.raw(&Place::default(), "json", "no object", value);
            return;
        }
        emitter.arrive(arrival_ms);
        emitter.begin_line(text_of(value, "uuid"));
        self.normalizer.line(emitter, value);
    }

    /// The source is at its end.
    pub(super) fn finish(&mut self, arrival_ms: i64) {
        self.let_go();
        self.tell_ahead();
        self.each_session(|running| running.close(arrival_ms));
    }

    /// Nothing came for a while, at this time.
    pub(super) fn quiet(&mut self, now_ms: i64) {
        let tells_turn_end = self.dialect.tells_turn_end();
        self.each_session(|running| {
            let emitter = &mut running.emitter;
            running.normalizer.rest(emitter);
            if !tells_turn_end {
                emitter.arrive_at_end(now_ms);
                emitter.quiet();
            }
        });
    }

    fn close(&mut self, arrival_ms: i64) {
        let emitter = &mut self.emitter;
        emitter.arrive_at_end(arrival_ms);
        // A session that is resumed ends more than once; the last line makes the ends different.
        let last = format!("end.{}", emitter.line_id());
        emitter.begin_line(Some(&last));
        let (in_turn, arrival_ms) = (emitter.busy.in_turn(), emitter.time_ms);
        self.normalizer.finish(emitter);
        emitter.close_open_calls();
        emitter.make_untold_edit();
        emitter.rest_at_end();
        // What came of the source goes on no more, also where its format has no words for that.
        if emitter.has_told() && !emitter.has_ended {
            emitter.time_ms = emitter.newest_ms.max(arrival_ms);
            match self.dialect.profile().origin {
                Origin::File => emitter.end_of_file(),
                Origin::Run | Origin::Server => emitter.end_of_stream(in_turn),
                Origin::Log => {}
            }
        }
    }
}

/// Where what was read of a text ends that begins in line `line_no` of its source: `column 412`, `line 7, column 3`.
fn place_in(text: &str, read_to: usize, line_no: u64) -> String {
    match broken::line_and_column(text, read_to) {
        (0, column) => format!("column {column}"),
        (n_before, column) => format!("line {}, column {column}", line_no + n_before as u64),
    }
}
