//! One input, and what becomes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chat_capture::context_of;
use chat_event::ChatEvent;
use chat_normalize::{AT_REST, Dialect, SessionReader, tell_apart};

use super::bodies::Bodies;
use super::forms::Form;
use super::inputs::{Input, Origin};
use super::joined::JoinedReading;
use super::merged::Merged;
use super::output::{Outputs, Sheet};
use super::progress::Progress;
use super::reading::{Reading, Session, open};
use super::timed::Timed;
use super::{Args, Stop, Tally, forms, merged, stop};
use crate::stderr;

/// What is done with the inputs, one after another.
pub(super) struct Work<'a> {
    pub(super) args: &'a Args,
    pub(super) outputs: &'a mut Outputs,
    pub(super) progress: &'a mut Progress,
    pub(super) tally: &'a mut Tally,
    /// Agents' files beside sessions, which may be of any of those.
    pub(super) unclaimed: BTreeMap<PathBuf, Input>,
    /// Those of them that are of one.
    pub(super) claimed: BTreeSet<PathBuf>,
}

impl Work<'_> {
    pub(super) fn convert(&mut self, input: &Input) -> Result<(), Stop> {
        let Some(opened) = self.open(input) else {
            return Ok(());
        };
        self.progress.begin(&input.name(), opened.length);
        let mut session = Timed::new(opened.session, opened.written_ms);
        let is_read = self.write(input, &mut session, Bodies::beside([input]))?;
        let unread = session.unread();
        for agent in input.flat_agents() {
            let Some(path) = agent.path.clone() else {
                continue;
            };
            if is_read && !unread.contains(&path) {
                self.claimed.insert(path.clone());
            }
            self.unclaimed.insert(path, agent);
        }
        Ok(())
    }

    /// All inputs as one session, which has the name of the first.
    pub(super) fn merge(&mut self, inputs: &[Input]) -> Result<(), Stop> {
        if inputs.len() > merged::MAX_SOURCES {
            let (n, most) = (inputs.len(), merged::MAX_SOURCES);
            return Err(Stop::Why(format!("{n} sources of one run, at most {most}")));
        }
        let Some(first) = inputs.first() else {
            return Ok(());
        };
        let mut sources = Vec::new();
        let mut sum = Some(0);
        let mut written_ms = i64::MAX;
        for input in inputs {
            // Without one of its sources it would not be the run.
            let Some(opened) = self.open(input) else {
                return Ok(());
            };
            sum = sum.zip(opened.length).map(|(sum, length)| sum + length);
            written_ms = written_ms.min(opened.written_ms);
            sources.push((input, opened.session));
        }
        self.progress.begin(&first.name(), sum);
        let named = Input {
            origin: Origin::Named,
            ..first.clone()
        };
        // A source without times has those of the others.
        let mut session = Timed::new(Box::new(Merged::new(sources)), written_ms);
        self.write(&named, &mut session, Bodies::beside(inputs))?;
        Ok(())
    }

    /// Opens an input; `None`, and a word, where it cannot be opened.
    pub(super) fn open(&mut self, input: &Input) -> Option<Opened> {
        open_untimed(input, self.args.from)
            .map_err(|why| {
                self.progress.clear();
                stderr::say(
                    "convert",
                    format_args!("could not open: {why}: {}", input.name()),
                );
                self.tally.n_refused += 1;
            })
            .ok()
    }

    /// Reads a session, with the bodies that lie beside it, and writes what is made of it; says whether it was read to its end.
    pub(super) fn write(
        &mut self,
        input: &Input,
        session: &mut dyn Session,
        mut bodies: Bodies,
    ) -> Result<bool, Stop> {
        let mut projection = forms::projection(self.args.to);
        let mut sheet: Option<Sheet> = None;
        let mut events: Vec<ChatEvent> = Vec::new();
        let mut first: Option<String> = None;
        let read = loop {
            let more = session.read(&mut events);
            if let Some(event) = events.first() {
                let first = first.get_or_insert_with(|| event.session_id.clone());
                if self.args.to.is_of_one_session() {
                    tell_apart(&mut events, first);
                }
                let sheet = match &mut sheet {
                    Some(sheet) => sheet,
                    None => sheet.insert(self.outputs.begin(input).map_err(Stop::Why)?),
                };
                // A transcript tells when it was to who reads it, and not which file it was made of.
                let is_untold = self.args.to == Form::Markdown && session.is_untimed();
                for mut event in events.drain(..) {
                    event.timestamp = event.timestamp.filter(|_| !is_untold);
                    // One by one: all of a piece at once may be more than there is memory for.
                    bodies.put_back(&mut event);
                    projection.push(&event, sheet);
                }
                sheet.check().map_err(|why| stop(&why, self.outputs))?;
            }
            self.progress.step(session.n_bytes(), session.n_events());
            match more {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(why) => break Err(why),
            }
        };
        // What was read in part takes no name: it would pass for the whole.
        if let Some(mut sheet) = sheet.filter(|_| read.is_ok()) {
            projection.finish(&mut sheet);
            sheet.end().map_err(|why| stop(&why, self.outputs))?;
        }
        self.progress.clear();
        let is_read = read.is_ok();
        self.tally.note(input, session, bodies, read);
        Ok(is_read)
    }
}

/// An input that was opened.
pub(super) struct Opened {
    pub(super) session: Box<dyn Session>,
    pub(super) length: Option<u64>,
    /// When it was written.
    pub(super) written_ms: i64,
}

/// Opens an input, each of whose events has a time.
///
/// # Errors
///
/// Where it refuses.
pub(crate) fn open_input(input: &Input, from: Option<Dialect>) -> std::io::Result<Timed> {
    let opened = open_untimed(input, from)?;
    Ok(Timed::new(opened.session, opened.written_ms))
}

fn open_untimed(input: &Input, from: Option<Dialect>) -> std::io::Result<Opened> {
    if let Some(joined) = &input.joined {
        let (reading, length) = JoinedReading::open(joined, from)?;
        return Ok(Opened {
            written_ms: reading.written_ms(),
            session: Box::new(reading),
            length,
        });
    }
    let (bytes, length, written_ms) = open(input.path.as_deref())?;
    let context = input.path.as_deref().map(context_of);
    let context = context.unwrap_or_default();
    let reader = match from {
        Some(dialect) => SessionReader::with_dialect(context, dialect),
        None => SessionReader::new(context),
    };
    Ok(Opened {
        session: Box::new(Reading::new(reader, bytes, AT_REST)),
        length,
        written_ms,
    })
}
