//! What stands beside the calls: notices, errors, questions, usage, the session's own words.

use chat_event::payload::{Notice, QuestionRequest, SessionStart, Usage};
use chat_event::{ChatEvent, SetBack};

use super::SessionTrace;
use super::asks::{Asked, Name};
use crate::projections::summary::usage::UsageNote;
use crate::projections::trace::calls::TurnNth;
use crate::projections::trace::clean::{first_line, one_line};
use crate::projections::trace::line::{LineKind, Severity, Verbosity};
use crate::projections::trace::words;
use crate::renderer::hash;

impl SessionTrace {
    pub(super) fn session_start(&mut self, start: &SessionStart) {
        if start.tells_cwd(self.cwd.as_deref(), &mut self.is_cwd_guessed) {
            self.cwd.clone_from(&start.cwd);
        }
        let facts = [&start.agent, &start.model, &start.cwd, &start.git_branch];
        let facts: Vec<_> = facts
            .into_iter()
            .flatten()
            .map(|fact| one_line(fact))
            .collect();
        if !facts.is_empty() {
            let text = format!("[SESSION] {}", facts.join(", "));
            self.verbose(LineKind::Session, text);
        }
    }

    pub(super) fn usage(&mut self, event: &ChatEvent, turn: Option<TurnNth>, usage: &Usage) {
        let scope = one_line(&usage.scope);
        let text = format!("[USAGE] {scope}: {}", words::usage(usage));
        self.verbose(LineKind::Usage, text);
        // Hooks say that a turn is over before its stream says what it used.
        let late = event
            .turn_id
            .as_deref()
            .filter(|_| usage.scope == "turn" && event.parent_tool_call_id.is_none());
        if let Some(tag) = late.and_then(|id| self.turns.pay(id)) {
            let spent = words::spent(usage.fresh_tokens(), usage.cost_usd);
            if !spent.is_empty() && self.verbosity == Verbosity::Normal {
                let text = format!("{tag} used {}", spent.join(", "));
                self.tell(LineKind::Usage, Severity::Detail, text);
            }
        }
        if let Some(turn) = turn.and_then(|nth| self.turns.get(nth)) {
            let response = event.response_id.as_deref().map(hash);
            let nested = event.parent_tool_call_id.is_some();
            let note = UsageNote::of(turn.nth, response, nested, usage, event.timestamp);
            turn.usage.take(&note);
        }
    }

    pub(super) fn notice(&mut self, notice: &Notice) {
        let line = notice
            .line
            .map_or_else(String::new, |line| format!(" (line {line})"));
        let text = first_line(&notice.text);
        // Who reads on is told that what stands before was left.
        let sets_back = notice.source.as_deref() == Some(SetBack::SOURCE);
        for id in SetBack::undone_by(notice) {
            if let Some(nth) = self.turns.by_id(&id) {
                self.cut_turn(nth);
            }
        }
        if notice.level == "info" && sets_back {
            self.notable(None, LineKind::Notice, format!("[INFO] {text}"));
        } else if notice.level == "info" {
            self.verbose(LineKind::Notice, format!("[INFO] {text}{line}"));
        } else if self.verbosity >= Verbosity::Normal {
            let text = format!("[WARN] {text}{line}");
            self.tell(LineKind::Notice, Severity::Warning, text);
        }
    }

    pub(super) fn unknown(&mut self, what: &str, value: &str) {
        self.n_unknown += 1;
        let text = format!("[RAW] {}: {}", one_line(what), one_line(value));
        self.verbose(LineKind::Notice, text);
    }

    pub(super) fn error(&mut self, turn: Option<TurnNth>, code: &str, message: &str) {
        self.tell_turn(turn);
        let code = one_line(code);
        let code = if code.is_empty() {
            code
        } else {
            format!("{code}: ")
        };
        let text = format!("[ERROR] {code}{}", first_line(message));
        let text = self.of_turn(turn, text);
        self.tell(LineKind::Error, Severity::Failure, text);
        if message.trim().contains('\n') {
            self.open_text(None, message, LineKind::Opened, "");
        }
    }

    pub(super) fn question(
        &mut self,
        event: &ChatEvent,
        turn: Option<TurnNth>,
        request: &QuestionRequest,
    ) {
        let texts: Vec<_> = request
            .questions
            .iter()
            .map(|question| first_line(&question.text))
            .collect();
        let what = format!("question: {}", one_line(&texts.join(" · ")));
        let call_id = request.tool_call_id.as_deref();
        let name = Name::of(event, &request.request_id);
        self.ask(turn, name, what, call_id);
    }

    pub(super) fn ask(
        &mut self,
        turn: Option<TurnNth>,
        name: Name,
        what: String,
        call_id: Option<&str>,
    ) {
        self.notable(turn, LineKind::Ask, format!("[ASK] {what}"));
        if let Some(call_id) = call_id {
            self.calls.waits(call_id);
        }
        let call_id = call_id.map(str::to_owned);
        self.asks.add(Asked {
            name,
            what,
            turn,
            call_id,
        });
    }

    /// Another source tells of what was asked, and may know for which call.
    pub(super) fn asked_before(&mut self, name: Name, call_id: Option<&str>) {
        if let Some(asked) = self.asks.get_mut(name)
            && let Some(call_id) = call_id
        {
            self.calls.waits(call_id);
            asked.call_id = Some(call_id.to_owned());
        }
    }

    pub(super) fn answered(
        &mut self,
        event: &ChatEvent,
        turn: Option<TurnNth>,
        request_id: &str,
        answer: &str,
    ) {
        let asked = self.asks.take(Name::of(event, request_id));
        if let Some(asked) = &asked
            && let Some(call_id) = &asked.call_id
        {
            self.calls.answered(call_id, asked.turn, event.timestamp);
        }
        let what = asked.map_or_else(|| one_line(request_id), |asked| asked.what);
        self.notable(turn, LineKind::Ask, format!("[ASK] {what} → {answer}"));
    }
}
