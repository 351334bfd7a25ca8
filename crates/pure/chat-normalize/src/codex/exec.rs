//! `codex exec --json`: items as they begin and end, without times, texts as a whole, and without what the user asked.
//!
//! | line | what it gives |
//! |---|---|
//! | `thread.started` | `session_start` |
//! | `turn.started`, `turn.completed`, `turn.failed` | the turn; `usage` counts from the thread's beginning |
//! | `item.started`, `item.updated`, `item.completed` | `items` |
//! | `error` | a retry where it says `Reconnecting...`, else the error that `turn.failed` repeats |
//!
//! Where the program is stopped the stream just ends.
//!
//! Turns and items have no ids but their numbers, and these begin anew with each run, though `codex exec resume` goes on
//! with the thread. So they bear what tells the run from others, where the reader is told that ([`Context::run`]). Of a
//! stream that was recorded nothing is known but what it says: there the ids of a run's turns bear a hash of what was
//! asked, or where that is not known, of what came first; those of its items a hash of both. Without what was asked, a
//! turn is told when its first item comes.
//!
//! `usage` tells the sum of all the thread's runs. It is what the turn used where that before it is known: of the stream's
//! later turns, and of a thread that was made as the stream began.

use chat_event::Json;
use chat_event::payload::{SessionStart, TurnEnd};
use serde_json::Value;

use super::items::{Phase, item_kind};
use super::session::{Session, ended};
use super::tokens;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, short_hash};
use crate::facts::guessed;
use crate::reader::Context;
use crate::value::{fingerprint, str_of, text_of};

/// Whether a line is of this dialect.
pub(crate) fn is_exec_line(value: &Value) -> bool {
    let has_object = |key: &str| value.get(key).is_some_and(Value::is_object);
    if value.get("properties").is_some() || value.get("payload").is_some() {
        return false;
    }
    match str_of(value, "type") {
        Some("thread.started") => value.get("thread_id").is_some(),
        Some("turn.started") => true,
        Some("turn.completed") => has_object("usage"),
        Some("turn.failed") => has_object("error"),
        Some("item.started" | "item.updated" | "item.completed") => has_object("item"),
        Some(_) | None => false,
    }
}

/// Whether a turn or an item has its id from this dialect: a number, and what tells the run from others. No other source
/// has that id.
pub(crate) fn is_numbered(id: &str) -> bool {
    let is_mark = |mark: &str| mark.len() == 8 && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut parts = id.split(['.', '~']);
    let head = parts.next().unwrap_or_default();
    head.strip_prefix("turn-").is_some_and(is_mark) || parts.next().is_some_and(is_mark)
}

/// Reads it.
#[derive(Debug)]
pub(crate) struct CodexExec {
    session: Session,
    prompt: Option<String>,
    /// What tells this run of the program from others, where that is known; and how many threads it began.
    mark: Option<String>,
    n_begun: u64,
    /// Where the program runs, which the stream does not say.
    cwd: Option<String>,
    is_begun: bool,
    /// A turn began that is not told yet.
    waits: bool,
    thread: Option<String>,
    /// What the thread used so far, where that is known; `null` is nothing.
    spent: Option<Value>,
}

impl CodexExec {
    pub(crate) fn new(context: &Context) -> Self {
        let mut exec = CodexExec {
            session: Session::new("codex-exec"),
            prompt: context.prompt.clone(),
            mark: context.run_mark(),
            n_begun: 0,
            cwd: context.cwd.clone(),
            is_begun: false,
            waits: false,
            thread: None,
            spent: None,
        };
        exec.begin_run();
        exec
    }

    /// What tells the turns and items that follow from those of other runs.
    fn begin_run(&mut self) {
        self.n_begun += 1;
        let run = match (&self.mark, self.n_begun) {
            (Some(mark), ..=2) => Some(mark.clone()),
            (Some(mark), n) => Some(format!("{mark}.{}", n - 1)),
            (None, _) => None,
        };
        self.session.item_run.clone_from(&run);
        self.session.run = run.or_else(|| self.prompt.as_deref().map(short_hash));
    }

    /// What the turn used, of what the thread did.
    fn turn_end(&mut self, tokens: Option<&Value>) -> TurnEnd {
        let mut end = ended("completed");
        let before = std::mem::replace(&mut self.spent, tokens.cloned());
        if let (Some(tokens), Some(before)) = (tokens, before) {
            let usage = tokens::between(&before, tokens);
            let told = usage.input_tokens > 0 || usage.output_tokens > 0;
            let usage = serde_json::to_value(usage).ok().filter(|_| told);
            end.usage = usage.map(Json::from);
        }
        end
    }

    /// Tells the run from others by the first line that says something.
    fn tell_run(&mut self, emitter: &mut Emitter, kind: &str, line: &Value) {
        let item = line.get("item").unwrap_or(&Value::Null);
        // The same warnings come in each run.
        let says_something = match kind {
            "item.started" | "item.updated" | "item.completed" => item_kind(item) != "error",
            "turn.completed" | "turn.failed" => true,
            _ => false,
        };
        if says_something && self.session.item_run.is_none() {
            let before = self.session.run.as_deref().unwrap_or("");
            let first = format!("{before}{:016x}", fingerprint(line));
            let run = short_hash(&first);
            self.session.run.get_or_insert_with(|| run.clone());
            self.session.item_run = Some(run);
        }
        if kind == "error" && self.waits {
            // Other runs may have failed in these words, so only the turn is named by them.
            self.session.run = str_of(line, "message").map(short_hash);
        }
        if self.waits && self.session.run.is_some() {
            self.waits = false;
            self.number_line(emitter);
            self.session.open_turn(emitter, "", None, true);
            self.ask(emitter);
        }
        self.number_line(emitter);
    }

    /// The numbers of lines begin anew with each run, too.
    fn number_line(&self, emitter: &mut Emitter) {
        if let Some(run) = self.session.item_run.as_ref().or(self.session.run.as_ref()) {
            let id = format!("l{}.{run}", emitter.line_no);
            emitter.begin_line(Some(&id));
        }
    }

    fn item(&mut self, emitter: &mut Emitter, line: &Value, phase: Phase) {
        match line.get("item").filter(|item| item.is_object()) {
            Some(item) => self.session.item(emitter, "", None, item, phase),
            None => {
                let place = self.session.scope("", None).place;
                emitter.raw(&place, self.session.format, "item without an item", line);
            }
        }
    }

    fn ask(&mut self, emitter: &mut Emitter) {
        if let Some(prompt) = self.prompt.take() {
            let scope = self.session.scope("", None);
            let id = format!("{}:prompt", scope.turn);
            self.session
                .user_message(emitter, &scope, &id, &prompt, None);
        }
    }

    fn close(&mut self, emitter: &mut Emitter) {
        if self.session.turn("").is_some() {
            self.spent = None;
            self.session.close_turn(emitter, "", ended("interrupted"));
        }
    }
}

impl Normalizer for CodexExec {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let kind = str_of(line, "type").unwrap_or("");
        self.tell_run(emitter, kind, line);
        if !self.is_begun {
            self.is_begun = true;
            let facts = SessionStart {
                agent: Some("Codex".to_owned()),
                native_id: text_of(line, "thread_id").map(str::to_owned),
                cwd: self.cwd.take(),
                provider: Some("codex".to_owned()),
                timestamp_source: Some("arrival".to_owned()),
                ..SessionStart::default()
            };
            let guessed = guessed(facts.cwd.as_ref());
            self.session.facts.say(emitter, facts, guessed);
        }
        match kind {
            // A program that goes on with the thread says it again.
            "thread.started" => {
                self.close(emitter);
                self.waits = false;
                self.begin_run();
                let thread = str_of(line, "thread_id").unwrap_or("");
                if self.thread.as_deref() != Some(thread) {
                    self.spent = is_made_now(thread, emitter).then_some(Value::Null);
                    self.thread = Some(thread.to_owned());
                }
            }
            "turn.started" if self.session.run.is_none() => self.waits = true,
            "turn.started" => {
                self.session.open_turn(emitter, "", None, true);
                self.ask(emitter);
            }
            "turn.completed" => {
                let scope = self.session.scope("", None);
                let total = line.get("usage").filter(|usage| usage.is_object());
                if let Some(tokens) = total
                    && self.session.tokens.is_news(Some(tokens))
                {
                    let mut usage = tokens::usage("session", tokens, None);
                    usage.cumulative = Some(true);
                    emitter.add("usage", &scope.place, usage);
                }
                let end = self.turn_end(total);
                self.session.close_turn(emitter, "", end);
            }
            "turn.failed" => {
                self.spent = None;
                let message = line.get("error").and_then(|error| str_of(error, "message"));
                self.session.error(
                    emitter,
                    "",
                    "turn_failed",
                    message.unwrap_or("the turn failed"),
                );
                self.session.close_turn(emitter, "", ended("failed"));
            }
            "item.started" => self.item(emitter, line, Phase::Started),
            "item.updated" => self.item(emitter, line, Phase::Updated),
            "item.completed" => self.item(emitter, line, Phase::Completed),
            "error" => {
                let message = str_of(line, "message").unwrap_or("");
                if message.starts_with("Reconnecting...") {
                    self.session.retrying(emitter, "", message.to_owned());
                } else {
                    self.session.error(emitter, "", "error", message);
                }
            }
            _ => {
                let place = self.session.scope("", None).place;
                emitter.raw(&place, self.session.format, kind, line);
            }
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if std::mem::take(&mut self.waits) {
            self.session.open_turn(emitter, "", None, true);
        }
        let cut_off = self.session.turn("").is_some();
        self.session.close_all(emitter);
        emitter.end_of_stream(cut_off);
    }
}

/// How long after a thread was made its stream begins at most.
const MADE_NOW_MS: u64 = 1_500;

/// Whether the thread was made as the stream began: the ids of threads begin with the time at which they were made
/// (UUID, version 7).
fn is_made_now(thread: &str, emitter: &Emitter) -> bool {
    let digits: String = thread.chars().filter(|c| *c != '-').collect();
    let is_dated = digits.len() == 32 && digits.as_bytes().get(12) == Some(&b'7');
    let made_ms = digits
        .get(..12)
        .and_then(|digits| i64::from_str_radix(digits, 16).ok());
    let passed_ms = made_ms.and_then(|made_ms| emitter.since(made_ms));
    is_dated && passed_ms.is_some_and(|passed_ms| passed_ms < MADE_NOW_MS)
}
