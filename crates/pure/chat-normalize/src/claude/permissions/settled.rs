//! What the result of a call tells of the answer: whether it was let run, who refused it, and in which words.

use serde_json::Value;

use super::Asks;
use super::asks::Ask;
use crate::claude::results::is_refusal;
use crate::claude::session::{Call, Turn};
use crate::emit::{Emitter, cut};
use crate::value::{is_true, str_of, text_of};

impl Asks {
    /// What the result of `call` tells of the answer; whether the call was stopped, in truth, while it ran.
    pub(crate) fn settle(
        &mut self,
        emitter: &mut Emitter,
        call: &Call,
        failed: bool,
        text: &str,
        details: Option<&Value>,
        meta: &Value,
    ) -> bool {
        self.begun(emitter, call);
        let decision = meta.get("permission_decision").unwrap_or(&Value::Null);
        let rejected = str_of(decision, "decision") == Some("reject");
        let not_run = text_of(meta, "non_execution_kind");
        let words = said_with_refusal(text).filter(|_| failed);
        // What was interrupted, or did not run because nobody answered, was refused by nobody.
        let answered = text_of(meta, "unanswered").is_none();
        let refused_kind = not_run
            .or(words.map(|_| "user-rejected"))
            .filter(|kind| rejected || matches!(*kind, "user-rejected" | "permission-rule"))
            .filter(|_| answered);
        let by = refused_by(decision, refused_kind);
        if let Some((request_id, ask)) = self.of_call(&call.id) {
            self.open.remove(&request_id);
            // A question whose input does not fit is shown to nobody.
            let unseen = ask.question && failed && text.contains("<tool_use_error>");
            if unseen || (not_run.is_some() && refused_kind.is_none()) {
                self.cancel(emitter, &request_id, &ask);
                return false;
            }
            let untold = failed && decision.is_null() && refused_kind.is_none() && !ran(text);
            let says_so = ask.question || says_refused(text);
            if untold && !says_so && self.told_at_end {
                // Who refuses may say so in any words.
                let failed_with = Some(cut(text, 500).to_owned());
                self.open.insert(request_id, Ask { failed_with, ..ask });
                return false;
            }
            let refused = refused_kind.is_some() || rejected || (untold && says_so);
            let answers = details.and_then(|details| details.get("answers"));
            let message = refused.then(|| cut(words.unwrap_or(text), 500));
            let by = if ask.question { "user" } else { by };
            self.resolve(
                emitter,
                &request_id,
                &ask,
                !refused,
                None,
                by,
                message,
                answers,
            );
        } else if refused_kind.is_some() && !self.denied.contains(&call.id) {
            // The program calls it a rejection also where a user interrupts a call that was let run.
            let may_have_run = words.is_none() && !is_true(meta, "before_run");
            if refused_kind == Some("user-rejected") && decision.is_null() && may_have_run {
                return true;
            }
            self.refuse(
                emitter,
                &call.id,
                &call.name,
                Some(&call.args),
                &call.place,
                by,
                Some(cut(words.unwrap_or(text), 500)),
            );
        }
        false
    }

    /// A turn is over, and told which calls were refused: of those that are in no turn of `open`, who failed for another
    /// reason was let run.
    pub(crate) fn turn_told(&mut self, emitter: &mut Emitter, open: &[Turn]) {
        let is_open = |ask: &Ask| {
            let mut open = open.iter();
            open.any(|turn| Some(&turn.id) == ask.place.turn_id.as_ref())
        };
        for (request_id, ask) in self.take_failed(|ask| !is_open(ask)) {
            self.resolve(emitter, &request_id, &ask, true, None, "user", None, None);
        }
    }

    /// No turn will tell any more which calls were refused.
    pub(crate) fn never_told(&mut self, emitter: &mut Emitter) {
        for (request_id, ask) in self.take_failed(|_| true) {
            self.cancel(emitter, &request_id, &ask);
        }
    }

    fn take_failed(&mut self, is_meant: impl Fn(&Ask) -> bool) -> Vec<(String, Ask)> {
        let open = &mut self.open;
        let failed = open.extract_if(.., |_, ask| ask.failed_with.is_some() && is_meant(ask));
        failed.collect()
    }
}

/// Who refused a call, or let it run. Transcripts write the names in another way than streams.
fn refused_by(decision: &Value, refused_kind: Option<&str>) -> &'static str {
    let reason = text_of(decision, "reason_type").or_else(|| text_of(decision, "reasonType"));
    match (str_of(decision, "source"), reason) {
        (Some("hook"), _) => "hook",
        (Some("config"), Some("mode")) => "mode",
        // Nobody was asked.
        (Some("config"), _) => "rule",
        (None, _) if refused_kind == Some("permission-rule") => "rule",
        _ => "user",
    }
}

/// What a person said with the refusal, without what the program puts around it for the model.
fn said_with_refusal(text: &str) -> Option<&str> {
    let (_, said) = text
        .split_once("the user said:\n")
        .filter(|_| is_refusal(text))?;
    let said = said.split_once("\n\nNote: ").map_or(said, |(said, _)| said);
    Some(said.trim()).filter(|said| !said.is_empty())
}

/// Whether the text of a failure is the program's own for what was not let run.
fn says_refused(text: &str) -> bool {
    let by_rule = text.starts_with("Permission to use ") && text.contains(" has been denied");
    by_rule || is_refusal(text)
}

/// Whether the text of a failure shows that the tool ran.
fn ran(text: &str) -> bool {
    ["Exit code ", "Error: Exit code ", "<tool_use_error>"]
        .iter()
        .any(|start| text.starts_with(start))
}
