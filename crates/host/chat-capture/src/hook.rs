//! A hook of Claude Code that asks: it waits for the answer that is given on the page, and is the agent's own way to it.
//!
//! Where there is nothing to ask, or nobody to ask, it says nothing: then the agent asks where it runs, as without us.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chat_event::payload::{PermissionOption, PermissionRequest, PermissionResolved, SessionStart};
use chat_event::{ChatEvent, Json, Payload, session_id};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{Client, Endpoint, Error};
use crate::spool::{Batch, Spool};

/// So long the server holds one question for the answer; then it is asked again.
const WAIT: &str = "30s";
/// So often in a row it may fail to answer before nobody is waited for.
const MOST_FAILURES: u32 = 10;
/// Between two such tries.
const PAUSE: Duration = Duration::from_secs(1);

/// What the agent hands its hook, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Input {
    session_id: String,
    #[serde(default)]
    cwd: Option<String>,
    hook_event_name: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Option<Value>,
}

/// A request that was asked and waits.
#[derive(Debug)]
pub struct Asked {
    client: Client,
    endpoint: Endpoint,
    session_id: String,
    request_id: String,
    /// It is taken back: what becomes of it is no answer.
    is_over: AtomicBool,
}

impl Asked {
    /// Asks what a hook is asked; `None` where it is told of something else.
    ///
    /// # Errors
    ///
    /// Where the input is no hook's, or the server does not take it.
    pub fn ask(input: &str, endpoint: Endpoint) -> Result<Option<Asked>, String> {
        let input: Input = serde_json::from_str(input)
            .map_err(|why| format!("expected what Claude Code hands a hook: {why}"))?;
        // Questions with answers of their own are no yes or no.
        if input.hook_event_name != "PermissionRequest" || input.tool_name == "AskUserQuestion" {
            return Ok(None);
        }
        let asked = Asked {
            client: Client::new(),
            endpoint,
            session_id: session_id::from_native(&input.session_id).into_owned(),
            request_id: format!("hook-{}", random()),
            is_over: AtomicBool::new(false),
        };
        let mut events = Vec::new();
        if !asked.is_known().map_err(|why| why.to_string())? {
            let start = SessionStart {
                agent: Some("Claude Code".to_owned()),
                cwd: input.cwd,
                native_id: Some(input.session_id),
                provider: Some("claude-code".to_owned()),
                ..SessionStart::default()
            };
            events.push(asked.event("start", start.into()));
        }
        let request = PermissionRequest {
            request_id: asked.request_id.clone(),
            tool_name: input.tool_name,
            args: input.tool_input.as_ref().map(Json::from),
            options: vec![
                PermissionOption::new("allow", "Allow", "allow_once"),
                PermissionOption::new("reject", "Deny", "reject_once"),
            ],
            ..PermissionRequest::default()
        };
        events.push(asked.event("ask", request.into()));
        asked.post(&events).map_err(|why| why.to_string())?;
        Ok(Some(asked))
    }

    /// Waits for the answer; what the agent is told of it. `None` where it was taken back.
    ///
    /// # Errors
    ///
    /// Where the server went away and does not come back.
    pub fn wait(&self) -> Result<Option<String>, Error> {
        let Asked {
            session_id,
            request_id,
            ..
        } = self;
        let path = format!("sessions/{session_id}/permissions/{request_id}?wait={WAIT}");
        let mut n_failures = 0;
        loop {
            let answer = self.client.get(&self.endpoint, &path);
            if self.is_over.load(Ordering::SeqCst) {
                return Ok(None);
            }
            match answer {
                Ok(answer) if answer["status"] == "resolved" => {
                    return Ok(Some(told(&answer["outcome"])));
                }
                Ok(_) => n_failures = 0,
                Err(why) if n_failures + 1 == MOST_FAILURES => return Err(why),
                Err(_) => {
                    n_failures += 1;
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// The agent waits no longer: it was answered where it runs, or stopped. Where the server is away, that is kept in
    /// `spool_dir`, and taken in when it starts, or sent by the next pipe.
    ///
    /// # Errors
    ///
    /// Where the server refuses it, or it cannot be kept.
    pub fn take_back(&self, spool_dir: &Path) -> Result<(), Error> {
        self.is_over.store(true, Ordering::SeqCst);
        let resolved = PermissionResolved {
            request_id: self.request_id.clone(),
            decision: "cancel".to_owned(),
            ..PermissionResolved::default()
        };
        let events = [self.event("answer", resolved.into())];
        match self.post(&events) {
            Err(Error::Later { .. }) => Spool::new(spool_dir.to_owned()).append(&events),
            // What it refuses now it refuses later.
            taken => taken,
        }
    }

    fn is_known(&self) -> Result<bool, Error> {
        let path = format!("sessions/{}/summary", self.session_id);
        match self.client.get(&self.endpoint, &path) {
            Ok(_) => Ok(true),
            Err(Error::Refused { .. }) => Ok(false),
            Err(why) => Err(why),
        }
    }

    fn event(&self, what: &str, payload: Payload) -> ChatEvent {
        let id = format!("{}:{what}", self.request_id);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
        ChatEvent::new(id, now_ms, &self.session_id, payload)
    }

    fn post(&self, events: &[ChatEvent]) -> Result<(), Error> {
        let batch = Batch {
            session_id: self.session_id.clone(),
            lines: events.iter().map(ChatEvent::to_line).collect(),
            end: 0,
        };
        let taken = self.client.post(&self.endpoint, &batch)?;
        match taken.refused.into_iter().next() {
            None => Ok(()),
            Some((_, why)) => Err(Error::Refused { why }),
        }
    }
}

/// An answer in the agent's words.
fn told(outcome: &Value) -> String {
    let mut decision = match outcome["decision"].as_str() {
        Some("allow") => json!({"behavior": "allow"}),
        Some("cancel") => json!({"behavior": "deny", "interrupt": true}),
        _ => json!({"behavior": "deny"}),
    };
    if let ("deny", Some(message)) = (
        decision["behavior"].as_str().unwrap_or_default(),
        outcome["message"].as_str(),
    ) {
        decision["message"] = json!(message);
    }
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
        .to_string()
}

fn random() -> String {
    let mut bytes = [0; 8];
    // Without randomness the time tells one from the other.
    if getrandom::fill(&mut bytes).is_err() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = now.map_or(0, |now| now.as_nanos());
        return format!("{nanos:x}");
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_in_the_agents_words() {
        let of = |outcome: Value| {
            let told: Value = serde_json::from_str(&told(&outcome)).unwrap_or_default();
            told["hookSpecificOutput"]["decision"].clone()
        };
        assert_eq!(
            of(json!({"decision": "allow", "message": "x"})),
            json!({"behavior": "allow"})
        );
        assert_eq!(
            of(json!({"decision": "deny", "message": "not that one"})),
            json!({"behavior": "deny", "message": "not that one"})
        );
        assert_eq!(
            of(json!({"decision": "cancel"})),
            json!({"behavior": "deny", "interrupt": true})
        );
        // What is not understood allows nothing.
        assert_eq!(of(json!({})), json!({"behavior": "deny"}));
    }
}
