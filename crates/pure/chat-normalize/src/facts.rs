//! What is known about the session: said once, and again where something changed.

use chat_event::Json;
use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use crate::emit::{Emitter, Place};

/// The facts as they were said last.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    said: SessionStart,
    rest: Map<String, Value>,
    begun: bool,
}

impl Facts {
    /// The working directory.
    pub(crate) fn cwd(&self) -> Option<String> {
        self.said.cwd.clone()
    }

    /// Whether something was said.
    pub(crate) fn begun(&self) -> bool {
        self.begun
    }

    /// Writes `session_start` with those of `facts` and `rest` that are new; the first one says who speaks.
    pub(crate) fn say(
        &mut self,
        emitter: &mut Emitter,
        facts: SessionStart,
        rest: Map<String, Value>,
    ) {
        let mut news = SessionStart::default();
        let mut any = !self.begun;
        any |= renew(&mut self.said.agent, &mut news.agent, facts.agent);
        any |= renew(
            &mut self.said.native_id,
            &mut news.native_id,
            facts.native_id,
        );
        any |= renew(&mut self.said.model, &mut news.model, facts.model);
        any |= renew(&mut self.said.cwd, &mut news.cwd, facts.cwd);
        any |= renew(&mut self.said.title, &mut news.title, facts.title);
        any |= renew(
            &mut self.said.git_branch,
            &mut news.git_branch,
            // A tree that is on no branch is said to be on this.
            facts.git_branch.filter(|branch| branch != "HEAD"),
        );
        any |= renew(&mut self.said.provider, &mut news.provider, facts.provider);
        any |= renew(&mut self.said.tools, &mut news.tools, facts.tools);
        any |= renew(
            &mut self.said.timestamp_source,
            &mut news.timestamp_source,
            facts.timestamp_source,
        );
        for (name, value) in rest {
            if self.rest.get(&name) != Some(&value) {
                news.extra.insert(&name, Json::from(&value));
                self.rest.insert(name, value);
                any = true;
            }
        }
        if any {
            self.begun = true;
            // A reader that sees only this event should know whose it is.
            news.provider.clone_from(&self.said.provider);
            emitter.add("start", &Place::default(), news);
        }
    }
}

/// What says of a folder that the source did not tell it, where there is one: for [`Facts::say`], beside the folder.
pub(crate) fn guessed(cwd: Option<&String>) -> Map<String, Value> {
    let mark = cwd.map(|_| (SessionStart::CWD_GUESSED.to_owned(), Value::Bool(true)));
    mark.into_iter().collect()
}

fn renew<T: PartialEq + Clone>(
    said: &mut Option<T>,
    news: &mut Option<T>,
    fact: Option<T>,
) -> bool {
    if fact.is_none() || *said == fact {
        return false;
    }
    said.clone_from(&fact);
    *news = fact;
    true
}
