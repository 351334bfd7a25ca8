//! Prompts, answers, and the first and last lines of turns.

use chat_event::payload::{TurnEnd, Usage};

use super::SessionTrace;
use crate::projections::TokenCounts;
use crate::projections::summary::usage::UsageNote;
use crate::projections::trace::answer::Answer;
use crate::projections::trace::calls::TurnNth;
use crate::projections::trace::clean::{first_line, lines};
use crate::projections::trace::line::{LineKind, Severity, Stream, Verbosity};
use crate::projections::trace::turns::Turn;
use crate::projections::trace::words;
use crate::took::took_ms;
use crate::tool::ToolStatus;

impl SessionTrace {
    pub(super) fn prompt(&mut self, turn: Option<TurnNth>, parent: Option<&str>, text: &str) {
        if parent.is_some() {
            return self.open_text(parent, text, LineKind::Said, "› ");
        }
        let first = match turn.and_then(|nth| self.turns.get(nth)) {
            Some(turn) => turn.prompt(text),
            None => false,
        };
        self.tell_turn(turn);
        if !first && self.verbosity >= Verbosity::Normal {
            let tag = turn
                .and_then(|nth| self.turns.get(nth))
                .map(|turn| turn.tag());
            let tag = tag.map_or_else(String::new, |tag| format!("{tag} "));
            let text = format!("{tag}› {}", first_line(text));
            self.tell(LineKind::TurnStart, Severity::Info, text);
        }
        if text.trim().contains('\n') {
            self.open_text(None, text, LineKind::Said, "");
        }
    }

    pub(super) fn answer(
        &mut self,
        turn: Option<TurnNth>,
        parent: Option<&str>,
        add: impl FnOnce(&mut Answer),
    ) {
        // What a sub-agent says is told once it is whole; it is no answer to the user.
        if parent.is_some() {
            return;
        }
        let nth = match turn.or_else(|| self.turns.current().map(|turn| turn.nth)) {
            Some(nth) => nth,
            None => self.turns.begin(None, None),
        };
        let Some(turn) = self.turns.get(nth) else {
            return;
        };
        add(&mut turn.answer);
        let aside = turn.answer.take_aside();
        let full = turn.answer.is_full().then(|| turn.answer.take_full());
        for text in aside {
            self.open_text(None, &text, LineKind::Said, "");
        }
        if let Some(texts) = full {
            self.tell_turn(Some(nth));
            self.tell_result(&texts);
        }
    }

    pub(super) fn stop(&mut self, turn: Option<TurnNth>, how: &'static str, calls: ToolStatus) {
        self.settle(turn, calls);
        if let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) {
            turn.stopped = Some(how);
            turn.progress = None;
        }
    }

    pub(super) fn settle(&mut self, turn: Option<TurnNth>, how: ToolStatus) {
        if turn.is_none() {
            return;
        }
        for call in self.calls.settle(turn, how) {
            self.tell_call(&call);
        }
    }

    pub(super) fn end_turn(&mut self, nth: TurnNth, end: &TurnEnd, now_ms: Option<i64>) {
        let Some(turn) = self.turns.get(nth) else {
            return;
        };
        let how = match (end.outcome.as_deref(), turn.stopped) {
            (Some("interrupted"), _) | (None, Some("interrupted")) => Some("interrupted"),
            (Some("failed"), _) | (None, Some("failed")) => Some("failed"),
            _ => None,
        };
        let calls = match how {
            Some("interrupted") => ToolStatus::Interrupted,
            _ => ToolStatus::NoResult,
        };
        let texts = turn.answer.take();
        let empty = !turn.told && turn.label.is_none() && texts.is_empty() && how.is_none();
        if !empty {
            self.tell_turn(Some(nth));
        }
        self.settle(Some(nth), calls);
        let Some(turn) = self.turns.end(nth) else {
            return;
        };
        if turn.told && self.verbosity >= Verbosity::Normal {
            let (mark, severity) = match how {
                Some("failed") => ('✗', Severity::Failure),
                Some(_) => ('■', Severity::Warning),
                None => ('✓', Severity::Good),
            };
            let mut facts: Vec<String> = how.map(str::to_owned).into_iter().collect();
            facts.extend(time_of(&turn, end, now_ms));
            let spent = spent_in(&turn, end);
            if spent.is_empty() {
                self.turns.note_unpaid(&turn);
            }
            facts.extend(spent);
            let facts = match facts.is_empty() {
                true => String::new(),
                false => format!(" ({})", facts.join(", ")),
            };
            let text = format!("{} {mark} {}{facts}", turn.tag(), turn.name());
            self.tell(LineKind::TurnEnd, severity, text);
        }
        let usage = end.usage.as_ref().and_then(|usage| usage.parse::<Usage>());
        if let Some(mut usage) = usage {
            usage.cost_usd = usage.cost_usd.or(end.cost_usd);
            let text = format!("[USAGE] turn: {}", words::usage(&usage));
            self.verbose(LineKind::Usage, text);
        }
        self.tell_result(&texts);
    }

    /// A turn goes on no more, though its end was not told: where something of it ran, it was stopped.
    pub(super) fn cut_turn(&mut self, nth: TurnNth) {
        let runs = self.calls.running().any(|call| call.turn == Some(nth));
        if let Some(turn) = self.turns.get(nth).filter(|_| runs) {
            turn.stopped = turn.stopped.or(Some("interrupted"));
        }
        self.end_turn(nth, &TurnEnd::default(), None);
    }

    /// The log goes no further, and the turn was not over.
    pub(super) fn leave_turn(&mut self, nth: TurnNth, waits: bool) {
        self.tell_turn(Some(nth));
        self.settle(Some(nth), ToolStatus::Running);
        let Some(mut turn) = self.turns.end(nth) else {
            return;
        };
        let doing = match waits {
            true => "waiting for an answer",
            false => "running",
        };
        if self.verbosity >= Verbosity::Normal {
            let end = TurnEnd::default();
            let facts = time_of(&turn, &end, None)
                .into_iter()
                .chain(spent_in(&turn, &end));
            let facts: String = facts.map(|fact| format!(", {fact}")).collect();
            let text = format!("{} ⋯ {} ({doing}{facts})", turn.tag(), turn.name());
            self.tell(LineKind::TurnEnd, Severity::Warning, text);
        }
        self.tell_result(&turn.answer.take());
    }

    /// The first line of a turn, once it is known what it is called or something is told of it.
    pub(super) fn tell_turn(&mut self, turn: Option<TurnNth>) {
        let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) else {
            return;
        };
        if std::mem::replace(&mut turn.told, true) {
            return;
        }
        let text = format!("{} ▶ {}", turn.tag(), turn.name());
        if self.verbosity >= Verbosity::Normal {
            self.tell(LineKind::TurnStart, Severity::Info, text);
        }
    }

    /// A line of a turn; where several are open, it says of which.
    pub(super) fn of_turn(&mut self, turn: Option<TurnNth>, line: String) -> String {
        let several = self.turns.open().len() > 1;
        match turn.and_then(|nth| self.turns.get(nth)) {
            Some(turn) if several => format!("{} {line}", turn.tag()),
            _ => line,
        }
    }

    pub(super) fn tell_result(&mut self, texts: &[String]) {
        for (nth, text) in texts.iter().enumerate() {
            if nth > 0 {
                self.tell_to(
                    Stream::Result,
                    LineKind::Result,
                    Severity::Info,
                    String::new(),
                );
            }
            for line in lines(text) {
                self.tell_to(Stream::Result, LineKind::Result, Severity::Info, line);
            }
        }
    }
}

/// The time that a turn took, as far as it is known.
fn time_of(turn: &Turn, end: &TurnEnd, now_ms: Option<i64>) -> Option<String> {
    let took = took_ms(end.duration_ms, turn.started_ms, now_ms.or(turn.last_ms));
    words::told_duration(took)
}

/// What it used: tokens and cost, as far as they are known.
fn spent_in(turn: &Turn, end: &TurnEnd) -> Vec<String> {
    let said: Option<Usage> = end.usage.as_ref().and_then(|usage| usage.parse());
    let mut usage = turn.usage.clone();
    usage.take(&UsageNote::at_end(turn.nth, said.as_ref(), end.cost_usd));
    let (tokens, cost_usd) = usage.spent();
    words::spent(tokens.map_or(0, TokenCounts::fresh), cost_usd)
}
