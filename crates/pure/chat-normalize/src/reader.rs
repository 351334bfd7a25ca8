//! The one door: bytes in any pieces in, ChatEvents out.
//!
//! Lines are held until their dialect and their session's id are known; each keeps the time at which its end arrived. A
//! source that goes on in another session, or carries several at once, gives the events of all.

mod beside;
mod held;
mod running;
mod torn;

use std::borrow::Cow;

use chat_event::ChatEvent;
use chat_event::jsonl::{LineContent, LineSplitter};
use serde_json::Value;

use crate::detect::{Detector, HEAD_BYTES, NotASession, foreign};
use crate::dialect::{Dialect, Naming, Origin, Sessions};
use crate::emit::{Emitter, Report, hash, short_hash};
use crate::parse::{event_data, parse_document, parse_line};
use crate::value::text_of;
use beside::Beside;
use held::{Held, HeldLine};
use running::Running;

/// How many lines are held at most for one that names the session, once the dialect is known.
const MAX_HELD_LINES: usize = 64;

/// What the reader is told from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The session the events shall belong to; without it, the source's own id, mapped where it does not fit.
    pub session_id: Option<String>,
    /// What the user asked, where the source does not say it (`claude -p`).
    pub prompt: Option<String>,
    /// What tells this run of the program from others of the same session, where it is read while it runs: ids that a
    /// source only counts bear it, for a session that goes on in another run counts anew. What is read from a file has none,
    /// and gives the same ids each time.
    pub run: Option<String>,
    /// Where the program runs, where the source does not say it.
    pub cwd: Option<String>,
    /// Which program it is, by its name for people, where that is known and several write the same format.
    pub agent: Option<String>,
    /// What the session is called, where the source does not say it (`follow`, Copilot CLI and Kimi Code).
    pub title: Option<String>,
    /// The source's own id of its session, where a folder is called so and the source does not say it (`follow`, Kimi Code).
    pub native_id: Option<String>,
    /// What the session used, where that stands beside its own file, as its program writes it there (`follow`, Droid).
    pub used: Option<String>,
}

impl Context {
    /// [`Context::run`], short enough to stand in many ids.
    pub(crate) fn run_mark(&self) -> Option<String> {
        self.run.as_deref().map(short_hash)
    }
}

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

    fn hold(&mut self, held: Held<'static>) {
        match &held.line {
            HeldLine::Text { text, .. } => {
                self.held_bytes += text.len() + 1;
                // Also where the dialect is given: its document may be printed over several lines.
                let told = self.detector.line(held.line_no, text);
                if self.is_given {
                    self.looks_like = self.looks_like.or(told);
                } else if self.dialect.is_none() {
                    self.dialect = told.or_else(|| self.detector.settled());
                }
                self.look_for_name(event_data(text).unwrap_or(text));
            }
            HeldLine::Zeros => self.detector.other(held.line_no, "nothing but zero bytes"),
            HeldLine::TooLong => self
                .detector
                .other(held.line_no, "a line of more than 16 MiB"),
        }
        self.held.push(held);
        let named = self.named.is_some() || self.context.session_id.is_some();
        let long = self.held.len() > MAX_HELD_LINES || self.held_bytes > HEAD_BYTES;
        let is_printed = self.detector.is_printed();
        match self.dialect {
            Some(_) if is_printed && self.detector.gave_up() => {
                self.failed = Some(self.detector.not_a_session());
            }
            Some(dialect) if (named || long) && !is_printed => self.start(dialect),
            Some(_) => {}
            None if self.detector.gave_up() => self.failed = Some(self.detector.not_a_session()),
            None => {}
        }
    }

    /// Takes note of the session that what stands in a text names, unless one is known.
    fn look_for_name(&mut self, text: &str) {
        if self.named.is_some() {
            return;
        }
        for value in &parse_line(text).values {
            match Dialect::ClaudeStream.naming(value) {
                Naming::Before(id) => self.called = Some(id.to_owned()),
                _ => self.named = self.named.take().or_else(|| native_session_id(value)),
            }
        }
    }

    fn start(&mut self, dialect: Dialect) {
        if self.named.is_none() {
            // A value over several lines may name it, too.
            let texts = self.held.iter().filter_map(|held| match &held.line {
                HeldLine::Text { text, .. } => Some(text.as_ref()),
                HeldLine::Zeros | HeldLine::TooLong => None,
            });
            let whole = texts.collect::<Vec<_>>().join("\n");
            self.look_for_name(&whole);
        }
        let native_id = self.named.clone().or_else(|| self.called.clone());
        let wanted = self.context.session_id.as_ref().or(native_id.as_ref());
        let session_id = match wanted {
            Some(id) => chat_event::session_id::from_native(id).into_owned(),
            None if matches!(dialect.profile().sessions, Sessions::NamedLate) => {
                let texts = self.held.iter().filter_map(|held| match &held.line {
                    HeldLine::Text { text, .. } => Some(text.as_ref()),
                    HeldLine::Zeros | HeldLine::TooLong => None,
                });
                let run = self.context.run.as_deref();
                let all: Vec<&str> = run.into_iter().chain(texts).collect();
                format!("s-{:016x}", hash(all.join("\n").as_bytes()))
            }
            None => {
                let first = self.held.iter().find_map(|held| match &held.line {
                    HeldLine::Text { text, .. } => Some(text.as_ref()),
                    HeldLine::Zeros | HeldLine::TooLong => None,
                });
                format!("s-{:016x}", hash(first.unwrap_or("").as_bytes()))
            }
        };
        let mut running = Running {
            emitter: Emitter::new(&session_id),
            normalizer: (dialect.profile().make)(&self.context),
            dialect,
            // Who wants all of it in one session gets that.
            native_id: native_id.filter(|_| self.context.session_id.is_none()),
            ahead: Vec::new(),
            ahead_bytes: 0,
            beside: match self.context.session_id {
                None => dialect
                    .router()
                    .map(|router| Beside::new(router, &session_id)),
                Some(_) => None,
            },
            torn: None,
        };
        if dialect.profile().origin == Origin::Run {
            running.emitter.run = self.context.run_mark();
        }
        running.emitter.untold_edits.is_off = dialect.profile().tells_edits_late;
        for held in std::mem::take(&mut self.held) {
            running.line(&held);
        }
        self.running = Some(running);
        if self.is_given {
            self.looks_like = self.looks_like.or_else(|| self.detector.at_end());
        }
        // What it keeps of a document is of no use any more.
        self.detector = Detector::default();
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
                self.held = vec![Held {
                    line_no: 1,
                    arrival_ms,
                    line: HeldLine::Text {
                        text: Cow::Owned(text),
                        lossy: false,
                        ended: true,
                    },
                }];
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

/// The id a source gives its session.
fn native_session_id(value: &Value) -> Option<String> {
    let id = text_of(value, "session_id").or_else(|| text_of(value, "sessionId"));
    id.map(str::to_owned)
        .or_else(|| Dialect::all().find_map(|dialect| (dialect.profile().session_of)(value)))
}
