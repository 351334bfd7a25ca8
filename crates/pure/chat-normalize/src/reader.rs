//! The one door: bytes in any pieces in, ChatEvents out.
//!
//! Lines are held until their dialect and their session's id are known; each keeps the time at which its end arrived. A
//! source that goes on in another session, or carries several at once, gives the events of all.

mod beside;
mod context;
mod head;
mod held;
mod running;
mod torn;

use std::borrow::Cow;

use chat_event::ChatEvent;
use chat_event::jsonl::{LineContent, LineSplitter};

use crate::detect::{Detector, NotASession, foreign};
use crate::dialect::Dialect;
use crate::emit::Report;
use crate::parse::parse_document;
pub use context::Context;
use head::native_session_id;
use held::{Held, HeldLine};
use running::Running;

/// Makes ChatEvents of the bytes of one session.
///
/// ```
/// use chat_normalize::{Context, Dialect, SessionReader};
/// let mut reader = SessionReader::new(Context::default());
/// let mut events = Vec::new();
/// let line = br#"{"id":"e1","timestamp":1,"sessionId":"s1","type":"user_message","payload":{"text":"Hi"}}"#;
/// reader.push(line, 0, &mut events).unwrap();
/// reader.finish(0, &mut events).unwrap();
/// assert_eq!(reader.dialect(), Some(Dialect::ChatEvents));
/// assert_eq!(events[0].session_id, "s1");
/// ```
#[derive(Debug)]
pub struct SessionReader {
    splitter: LineSplitter,
    core: Core,
}

/// All but the splitter, which lends its lines.
#[derive(Debug)]
struct Core {
    context: Context,
    dialect: Option<Dialect>,
    detector: Detector,
    held: Vec<Held<'static>>,
    held_bytes: usize,
    named: Option<String>,
    /// What stands for it where nothing names it.
    called: Option<String>,
    running: Option<Running>,
    failed: Option<NotASession>,
    finished: bool,
    /// Whether the dialect was told from outside, and what the first lines speak for then.
    is_given: bool,
    looks_like: Option<Dialect>,
}

impl SessionReader {
    /// A reader that tells the dialect by itself.
    pub fn new(context: Context) -> Self {
        SessionReader {
            splitter: LineSplitter::new(),
            core: Core {
                context,
                dialect: None,
                detector: Detector::default(),
                held: Vec::new(),
                held_bytes: 0,
                named: None,
                called: None,
                running: None,
                failed: None,
                finished: false,
                is_given: false,
                looks_like: None,
            },
        }
    }

    /// A reader of one dialect.
    pub fn with_dialect(context: Context, dialect: Dialect) -> Self {
        let mut reader = Self::new(context);
        reader.core.dialect = Some(dialect);
        reader.core.is_given = true;
        reader
    }

    /// Takes the next bytes, which arrived at `arrival_ms` (Unix epoch, or [`AT_REST`]), and appends what they give to
    /// `out`.
    ///
    /// [`AT_REST`]: crate::AT_REST
    ///
    /// # Errors
    ///
    /// Where enough was seen to say that this is no session; the same error comes again from then on.
    pub fn push(
        &mut self,
        bytes: &[u8],
        arrival_ms: i64,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), NotASession> {
        if self.core.finished {
            return Ok(());
        }
        let core = &mut self.core;
        self.splitter
            .push(bytes, &mut |line| core.take(&line, arrival_ms));
        self.core.hand_over(out)
    }

    /// Takes the end of the source: what is open is closed.
    ///
    /// # Errors
    ///
    /// Where the whole source is no session.
    pub fn finish(&mut self, arrival_ms: i64, out: &mut Vec<ChatEvent>) -> Result<(), NotASession> {
        if self.core.finished {
            return Ok(());
        }
        let core = &mut self.core;
        self.splitter
            .finish(&mut |line| core.take(&line, arrival_ms));
        self.core.end(arrival_ms);
        self.core.hand_over(out)
    }

    /// Nothing came for a while: a session that is still busy, with no tool call running, is taken to be idle, at `now_ms`.
    /// What lies at rest ([`AT_REST`]), and what was recorded, is so since its last line.
    ///
    /// [`AT_REST`]: crate::AT_REST
    ///
    /// What waits for the next line to be understood is told then, too. How long a while is, is for the caller; it matters
    /// for sources that do not say when a turn ends, and is marked as a guess. Nothing happens a second time until something
    /// came, nor for sources that say when a turn ends.
    pub fn quiet(&mut self, now_ms: i64, out: &mut Vec<ChatEvent>) {
        if let Some(running) = &mut self.core.running
            && !self.core.finished
        {
            running.quiet(now_ms);
            out.append(&mut running.emitter.out);
        }
    }

    /// The dialect, once it is known.
    pub fn dialect(&self) -> Option<Dialect> {
        self.core.dialect
    }

    /// The session the events belong to, once it is known; the newest one where the source went on in another, and that
    /// of its last line where it carries several.
    pub fn session_id(&self) -> Option<&str> {
        self.core
            .running
            .as_ref()
            .map(|running| running.emitter.session_id.as_str())
    }

    /// What is to be told to who gave the dialect, where nothing so far was of it and the first lines speak for another.
    pub fn misread(&self) -> Option<String> {
        let running = self.core.running.as_ref()?;
        let given = self.core.dialect?.word();
        let other = self.core.looks_like?.word();
        let is_misread = given != other && !running.emitter.has_understood;
        is_misread.then(|| format!("nothing of this was {given}; it looks like {other}"))
    }

    /// What was read so far; empty as long as the dialect is not known.
    pub fn report(&self) -> Report {
        self.core
            .running
            .as_ref()
            .map(|running| running.emitter.report.clone())
            .unwrap_or_default()
    }
}

impl Core {
    fn take(&mut self, line: &chat_event::jsonl::Line<'_>, arrival_ms: i64) {
        if self.failed.is_some() {
            return;
        }
        let own = match line.content {
            LineContent::Bytes(bytes) => {
                if line.number == 1
                    && self.dialect.is_none()
                    && let Some(why) = foreign(bytes)
                {
                    self.failed = Some(why);
                    return;
                }
                // Nearly every line is UTF-8, which is checked faster than mended.
                let (text, lossy) = match std::str::from_utf8(bytes) {
                    Ok(text) => (Cow::Borrowed(text), false),
                    Err(_) => (String::from_utf8_lossy(bytes), true),
                };
                HeldLine::Text {
                    text,
                    lossy,
                    ended: line.ended,
                }
            }
            LineContent::Zeros => HeldLine::Zeros,
            LineContent::TooLong => HeldLine::TooLong,
        };
        let held = Held {
            line_no: line.number,
            arrival_ms,
            line: own,
        };
        match &mut self.running {
            Some(running) => running.line(&held),
            None => self.hold(held.into_owned()),
        }
    }

    fn end(&mut self, arrival_ms: i64) {
        self.finished = true;
        if self.failed.is_some() {
            return;
        }
        if self.running.is_none() {
            let dialect = self.dialect.or_else(|| self.detector.at_end());
            let Some(dialect) = dialect else {
                self.failed = Some(self.detector.not_a_session());
                return;
            };
            let is_document = self.dialect.is_none() || self.detector.is_printed();
            if let Some(document) = self.detector.document().filter(|_| is_document)
                && let values = parse_document(document).values
                && !values.is_empty()
            {
                // A document printed over several lines is read as the one line it could be.
                let text = document.to_owned();
                let named = self.named.take();
                self.named = named.or_else(|| values.iter().find_map(native_session_id));
                let is_lossy =
                    |held: &Held<'_>| matches!(held.line, HeldLine::Text { lossy: true, .. });
                let lossy = self.held.iter().any(is_lossy);
                // Lines that are no text are in no document: what is lost with them is told behind it.
                self.held
                    .retain(|held| !matches!(held.line, HeldLine::Text { .. }));
                let document = Held {
                    line_no: 1,
                    arrival_ms,
                    line: HeldLine::Text {
                        text: Cow::Owned(text),
                        lossy,
                        ended: true,
                    },
                };
                self.held.insert(0, document);
            }
            self.dialect = Some(dialect);
            self.start(dialect);
        }
        if let Some(running) = &mut self.running {
            running.finish(arrival_ms);
        }
    }

    fn hand_over(&mut self, out: &mut Vec<ChatEvent>) -> Result<(), NotASession> {
        if let Some(running) = &mut self.running {
            out.append(&mut running.emitter.out);
        }
        match &self.failed {
            Some(why) => Err(why.clone()),
            None => Ok(()),
        }
    }
}
