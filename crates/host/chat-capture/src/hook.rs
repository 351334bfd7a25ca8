//! A hook of Claude Code that asks: it waits for the answer that is given on the page, and is the agent's own way to it.
//!
//! Where there is nothing to ask, or nobody to ask, it says nothing: then the agent asks where it runs, as without us.

mod agent;
mod call;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chat_event::payload::{PermissionResolved, QuestionResolved, SessionStart};
use chat_event::{ChatEvent, Json, Payload, session_id};
use serde::Deserialize;
use serde_json::Value;

use self::agent::Agent;
use self::call::{Call, Outcome};
use crate::client::{Client, Error};
use crate::pipe::{FindEndpoint, found, locked, now_ms};
use crate::shallow::line_of;
use crate::sources::FOLLOWING;
use crate::spool::{Batch, Spool, is_held};

/// So long a request may take that the agent stands still for.
const LONGEST: Duration = Duration::from_secs(4);
/// So long the server holds one question for the answer; then it is asked again. One that hangs is found out with it.
const WAIT: &str = "5s";
/// So long an answer to that takes at most: behind it the server is looked for again, which may have come back elsewhere.
const LONGEST_ANSWER: Duration = Duration::from_secs(7);
/// So long the server may be away, or hang, before nobody is waited for.
const LONGEST_AWAY: Duration = Duration::from_secs(10);
/// So long a server that was away may take to say that it is back: at its address may be somebody else, who says nothing, and
/// only behind that it is looked for again.
const LONGEST_TRY: Duration = Duration::from_secs(2);
/// Between two tries, whatever comes of them: the server holds a question for longer.
const PAUSE: Duration = Duration::from_secs(1);
/// How often it is looked whether the agent waits on.
const TICK: Duration = Duration::from_millis(500);
/// So long a call may be asked about that its agent has not written down; it does that at once, but together with others.
const LONGEST_UNWRITTEN: Duration = Duration::from_millis(600);
/// How often it is looked for then.
const GLANCE: Duration = Duration::from_millis(20);
/// What was written takes so long to come to the server, by way of who follows the log.
const ON_ITS_WAY: Duration = Duration::from_millis(200);
/// Who follows agents' logs looks for new ones once a second; so long it may take to tell of one.
const LONGEST_UNTOLD: Duration = Duration::from_secs(3);
/// An agent that is gone without our noticing is not asked for any longer than this.
const LONGEST_ASKED: Duration = Duration::from_secs(24 * 3600);

/// What the agent hands its hook, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Input {
    session_id: String,
    #[serde(default)]
    transcript_path: Option<PathBuf>,
    #[serde(default)]
    cwd: Option<String>,
    /// Of a sub-agent.
    #[serde(default)]
    agent_id: Option<String>,
    hook_event_name: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Option<Value>,
}

/// A request that was asked and waits.
pub struct Asked {
    client: Client,
    find_endpoint: FindEndpoint,
    /// Takes the request back for us where we are killed while it is asked: it is held as long, and left behind then.
    kept: Spool,
    input: Input,
    session_id: String,
    request_id: String,
    /// Whether it was answered or taken back: the first of both counts. Held until that is told.
    is_over: Mutex<bool>,
    /// What the agent's own log says of the call.
    call: Mutex<Call>,
    agent: Agent,
    rewrite: Option<RewriteAll>,
}

/// What is told, and kept, of events: themselves without their secrets.
pub type RewriteAll = Box<dyn Fn(Vec<ChatEvent>) -> Vec<ChatEvent> + Send + Sync>;

impl Asked {
    /// Asks what a hook is asked; `None` where it is told of something else. What the server cannot be told is kept in
    /// `spool_dir`. Both as `rewrite` has it.
    ///
    /// # Errors
    ///
    /// Where the input is no hook's, or the server does not take it.
    pub fn ask(
        input: &str,
        find_endpoint: FindEndpoint,
        spool_dir: &Path,
        rewrite: Option<RewriteAll>,
    ) -> Result<Option<Asked>, String> {
        let agent = Agent::find();
        let input: Input = serde_json::from_str(input)
            .map_err(|why| format!("expected what Claude Code hands a hook: {why}"))?;
        if input.hook_event_name != "PermissionRequest" {
            return Ok(None);
        }
        let asked = Asked {
            client: Client::within(LONGEST),
            find_endpoint,
            kept: Spool::new(spool_dir.to_owned()),
            session_id: session_id::from_native(&input.session_id).into_owned(),
            request_id: format!("hook-{}", random()),
            is_over: Mutex::new(false),
            call: Mutex::new(Call::of(&input)),
            agent,
            rewrite,
            input,
        };
        // Before it is asked: it may be answered where the agent runs at once.
        if asked.let_it_be_written().is_some() {
            return Ok(None);
        }
        let mut events = Vec::new();
        if !asked.let_log_begin().map_err(|why| why.to_string())? {
            let start = SessionStart {
                agent: Some("Claude Code".to_owned()),
                cwd: asked.input.cwd.clone(),
                native_id: Some(asked.input.session_id.clone()),
                provider: Some("claude-code".to_owned()),
                ..SessionStart::default()
            };
            events.push(asked.event("start", start.into()));
        }
        let Input {
            tool_name,
            tool_input,
            agent_id,
            ..
        } = &asked.input;
        let mut request = words::request(&asked.request_id, tool_name, tool_input.as_ref());
        if let Payload::PermissionRequest(request) = &mut request {
            request.tool_call_id = locked(&asked.call).id().map(str::to_owned);
        }
        let mut ask = asked.event("ask", request);
        ask.agent_id.clone_from(agent_id);
        events.push(ask);
        let events = asked.rewritten(events);
        // With the request: we may be killed before it comes to the server. Where nothing can be kept it is asked all the same.
        let taken_back = [&*events, &[asked.resolved(None)]].concat();
        let kept = asked.kept.append(None, &taken_back);
        match asked.post(&events) {
            Ok(()) => Ok(Some(asked)),
            Err(why) => {
                match why {
                    // It may have come to where we hear no answer from: then it is taken back there.
                    Error::Later { status: None, .. } => kept.map_err(|why| why.to_string())?,
                    _ => asked.forget(),
                }
                Err(why.to_string())
            }
        }
    }

    /// The agent writes down what leads to a request while it asks; where somebody follows its log, that comes first then. What
    /// became of the call, where it is over meanwhile.
    fn let_it_be_written(&self) -> Option<Outcome> {
        let mut call = locked(&self.call);
        call.begin();
        if !call.has_log() {
            return None;
        }
        let begun = Instant::now();
        while !call.is_written() && begun.elapsed() < LONGEST_UNWRITTEN {
            std::thread::sleep(GLANCE);
            if let Some(outcome) = call.look() {
                return Some(outcome);
            }
        }
        std::thread::sleep(ON_ITS_WAY);
        None
    }

    /// Whether the session is known. Where somebody follows its log, and nobody told of it yet, that is waited for: its prompt
    /// stands before what is asked in its turn.
    fn let_log_begin(&self) -> Result<bool, Error> {
        let mark = self.kept.dir().join(FOLLOWING);
        let begun = Instant::now();
        loop {
            let is_known = self.is_known()?;
            let comes = locked(&self.call).has_log() && is_held(&mark);
            if is_known || !comes || begun.elapsed() >= LONGEST_UNTOLD {
                return Ok(is_known);
            }
            std::thread::sleep(GLANCE);
        }
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
            input,
            ..
        } = self;
        let kind = match words::is_question(&input.tool_name) {
            true => "questions",
            false => "permissions",
        };
        let path = format!("sessions/{session_id}/{kind}/{request_id}");
        let patient = Client::within(LONGEST_ANSWER);
        // Since when nothing comes of it: an address that is taken by somebody else meanwhile may say nothing at all.
        let mut away: Option<Instant> = None;
        loop {
            let asked = Instant::now();
            let endpoint = found(&self.find_endpoint);
            let tried = endpoint.as_ref().ok().cloned();
            let answer = endpoint.and_then(|endpoint| match away {
                None => patient.get(&endpoint, &format!("{path}?wait={WAIT}")),
                // One that is back says so at once, and one that hangs on has what is left of the time.
                Some(since) => {
                    let left = LONGEST_AWAY.saturating_sub(since.elapsed());
                    Client::within(left.clamp(TICK, LONGEST_TRY)).get(&endpoint, &path)
                }
            });
            let mut is_over = locked(&self.is_over);
            if *is_over {
                return Ok(None);
            }
            match answer {
                Ok(answer) if answer["status"] == "resolved" => {
                    *is_over = true;
                    self.forget();
                    let input = &self.input;
                    let told = words::told(
                        &answer["outcome"],
                        &input.tool_name,
                        input.tool_input.as_ref(),
                    );
                    return Ok(Some(told));
                }
                Ok(answer) if answer["status"] == "pending" => away = None,
                // It has begun elsewhere meanwhile.
                _ if found(&self.find_endpoint).is_ok_and(|is| Some(is) != tried) => away = None,
                other => {
                    // One that hangs is away since it was asked; one that was restarted went just now.
                    let hangs = asked.elapsed() >= LONGEST_ANSWER;
                    let went = if hangs { asked } else { Instant::now() };
                    let since = *away.get_or_insert(went);
                    if since.elapsed() >= LONGEST_AWAY {
                        return Err(other.err().unwrap_or_else(no_answer));
                    }
                }
            }
            drop(is_over);
            std::thread::sleep(PAUSE.saturating_sub(asked.elapsed()));
        }
    }

    /// Waits until the agent waits no longer, for it was answered where it runs, or it is gone; and takes the request back.
    ///
    /// # Errors
    ///
    /// As [`Asked::take_back`].
    pub fn take_back_when_over(&self) -> Result<(), Error> {
        let asked = Instant::now();
        loop {
            let outcome = locked(&self.call).look().or_else(|| self.runs());
            if outcome.is_some() || self.agent.is_gone() || asked.elapsed() >= LONGEST_ASKED {
                return self.end(outcome.as_ref());
            }
            std::thread::sleep(TICK);
        }
    }

    /// The log has nothing of a call before its result, but a command that runs was allowed.
    fn runs(&self) -> Option<Outcome> {
        let input = self.input.tool_input.as_ref()?;
        let command = input["command"].as_str()?;
        if self.input.tool_name != "Bash" || command.trim().is_empty() {
            return None;
        }
        let allowed = Outcome {
            ran: true,
            answers: None,
        };
        self.agent.runs(command).then_some(allowed)
    }

    /// The agent waits no longer: it was answered where it runs, or stopped. Where the server is away, that is kept, and
    /// taken in when it starts, or sent by the next pipe.
    ///
    /// # Errors
    ///
    /// Where the server refuses it, or it cannot be kept.
    pub fn take_back(&self) -> Result<(), Error> {
        self.end(None)
    }

    /// It has this outcome where the agent runs, as far as that is known.
    fn end(&self, outcome: Option<&Outcome>) -> Result<(), Error> {
        let mut is_over = locked(&self.is_over);
        if std::mem::replace(&mut *is_over, true) {
            return Ok(());
        }
        let events = self.rewritten(vec![self.resolved(outcome)]);
        let told = match self.post(&events) {
            // In the place of what was kept: it has its outcome, and its time.
            Err(Error::Later { .. } | Error::NoServer { .. }) => {
                Spool::new(self.kept.dir().to_owned()).append(None, &events)?;
                Ok(())
            }
            // A token that may only send tells of no leave: that it is asked no longer it does tell.
            Err(Error::Refused { .. }) if outcome.is_some() => self.post(&[self.resolved(None)]),
            // What it refuses now it refuses later.
            taken => taken,
        };
        self.forget();
        told
    }

    /// Nobody has to take it back any more. Where that is refused it is taken back once more, which changes nothing.
    fn forget(&self) {
        let _ = self.kept.remove();
    }

    fn rewritten(&self, events: Vec<ChatEvent>) -> Vec<ChatEvent> {
        match &self.rewrite {
            Some(rewrite) => rewrite(events),
            None => events,
        }
    }

    fn resolved(&self, outcome: Option<&Outcome>) -> ChatEvent {
        let request_id = self.request_id.clone();
        let ran = outcome.is_some_and(|outcome| outcome.ran);
        let resolved = if words::is_question(&self.input.tool_name) {
            let answers = outcome.and_then(|outcome| outcome.answers.as_ref());
            Payload::from(QuestionResolved {
                request_id,
                answers: answers.map(Json::from),
                outcome: if ran { "answered" } else { "expired" }.to_owned(),
                ..QuestionResolved::default()
            })
        } else {
            Payload::from(PermissionResolved {
                request_id,
                decision: if ran { "allow" } else { "cancel" }.to_owned(),
                ..PermissionResolved::default()
            })
        };
        let mut event = self.event("answer", resolved);
        event.agent_id.clone_from(&self.input.agent_id);
        event
    }

    fn is_known(&self) -> Result<bool, Error> {
        // The cheapest that says it, however long the log is: the agent waits.
        let path = format!("sessions/{}/events?limit=1&max_bytes=1", self.session_id);
        match self.get(&self.client, &path) {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. } | Error::Refused { .. }) => Ok(false),
            Err(why) => Err(why),
        }
    }

    fn event(&self, what: &str, payload: Payload) -> ChatEvent {
        let id = format!("{}:{what}", self.request_id);
        ChatEvent::new(id, now_ms(), &self.session_id, payload)
    }

    fn get(&self, client: &Client, path: &str) -> Result<Value, Error> {
        client.get(&found(&self.find_endpoint)?, path)
    }

    fn post(&self, events: &[ChatEvent]) -> Result<(), Error> {
        let batch = Batch {
            session_id: self.session_id.clone(),
            lines: events.iter().map(line_of).collect(),
            end: 0,
        };
        let taken = self.client.post(&found(&self.find_endpoint)?, &batch)?;
        match taken.refused.into_iter().next() {
            None => Ok(()),
            Some((_, why)) => Err(Error::Refused { why }),
        }
    }
}

/// Somebody else is at the server's address, and says nothing of the request.
fn no_answer() -> Error {
    Error::NoServer {
        why: "what answers at the server's address is no Turnreel server; start the server again"
            .to_owned(),
    }
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
