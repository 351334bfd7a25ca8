//! Whose event a line of `cline --json` is: sub-agents print theirs among those of the agent that called them.
//!
//! An event does not say it. The `hook_event` before it does, by `agentId`: one stands where an agent begins and ends, and
//! around each of its calls. An agent begins (`agent_start` with a `parentAgentId`) in the order of the calls that start
//! agents. Where several work at once, pieces of their texts come mixed without a name, and are left to the whole text.

use serde_json::Value;

use crate::value::{str_of, text_of};

/// More sub-agents than any program lets work at once; those beyond are taken for the one that leads.
const MOST: usize = 64;

/// A sub-agent at work.
#[derive(Debug)]
struct Helper {
    agent: String,
    /// The call that started it, as the program names it.
    call: String,
    n_responses: u64,
}

/// The sub-agents at work, and whose events come now.
#[derive(Debug, Default)]
pub(super) struct Helpers {
    at_work: Vec<Helper>,
    /// Calls that start an agent which has not begun, the oldest first.
    calls: Vec<String>,
    now: Option<usize>,
}

impl Helpers {
    /// A call that starts an agent.
    pub(super) fn expect(&mut self, call: &str) {
        let is_known = |known: &String| known == call;
        if self.calls.len() < MOST && !self.calls.iter().any(is_known) {
            self.calls.push(call.to_owned());
        }
    }

    /// A line that says whose events come.
    pub(super) fn hook(&mut self, line: &Value) {
        let Some(agent) = text_of(line, "agentId") else {
            return;
        };
        let begins = str_of(line, "hookEventName") == Some("agent_start")
            && text_of(line, "parentAgentId").is_some();
        self.now = self.at_work.iter().position(|it| it.agent == agent);
        if begins && self.now.is_none() && !self.calls.is_empty() && self.at_work.len() < MOST {
            self.now = Some(self.at_work.len());
            self.at_work.push(Helper {
                agent: agent.to_owned(),
                call: self.calls.remove(0),
                n_responses: 0,
            });
        }
    }

    /// The call within which events come now.
    pub(super) fn call(&self) -> Option<&str> {
        let helper = self.at_work.get(self.now?)?;
        Some(&helper.call)
    }

    /// The response that is open in it.
    pub(super) fn response(&self) -> Option<String> {
        let helper = self.at_work.get(self.now?)?;
        Some(format!("{}.r{}", helper.call, helper.n_responses))
    }

    /// The model is asked again.
    pub(super) fn next_response(&mut self) {
        if let Some(helper) = self.now.and_then(|now| self.at_work.get_mut(now)) {
            helper.n_responses += 1;
        }
    }

    /// Whether pieces of several come mixed.
    pub(super) fn are_many(&self) -> bool {
        self.at_work.len() > 1
    }

    /// The call has its result: who worked for it is done, and what comes is of the one that leads. Whether somebody did.
    pub(super) fn done(&mut self, call: &str) -> bool {
        self.calls.retain(|it| it != call);
        let n_before = self.at_work.len();
        self.at_work.retain(|it| it.call != call);
        let was_at_work = self.at_work.len() < n_before;
        if was_at_work {
            self.now = None;
        }
        was_at_work
    }

    /// The turn is over.
    pub(super) fn all_done(&mut self) {
        *self = Helpers::default();
    }
}
