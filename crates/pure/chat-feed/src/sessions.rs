//! The list of sessions: in which section each stands and in what order, which of them a filter shows, what is unread,
//! and which of thousands of rows are on the screen.
//!
//! Rows come as the server tells them; how they look is for the page.

mod arranged;
mod filter;
mod rows;
mod seen;
mod settled;
mod stack;

use chat_event::payload::{PermissionOption, QuestionOption};
use serde::Deserialize;

pub use arranged::Arranged;
pub use filter::{Facet, Filter, haystack_of};
pub use rows::Rows;
pub use seen::Seen;
pub use stack::{Stack, Stacks};

/// A session that runs and of which nothing came for so long is quiet; one that rests for so long is as if it were over.
const QUIET_MS: i64 = 5 * 60_000;
/// What comes so long after it happened was read from a file. An agent's clock that is wrong is so by less.
const LATE_MS: i64 = 10 * 60_000;

/// So much of a made id tells it from others.
const SHORT_ID: usize = 8;
/// No number that people write is as long: a date with a time has fourteen digits, but that is made, too.
const LONG_NUMBER: usize = 12;

/// One session, as the server tells it; what it does not tell is not shown.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// The agent's name and version.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The branch.
    pub git_branch: Option<String>,
    /// `busy`, `idle`, `retrying` or `ended`.
    pub status: String,
    /// Since when it works, where it does.
    pub works_since_ms: Option<i64>,
    /// How many requests wait for an answer.
    pub asks: u32,
    /// The one that waits longest.
    pub ask: Option<Ask>,
    /// What it is doing now.
    pub doing: Option<Doing>,
    /// How its newest turn ended: `completed`, `interrupted` or `failed`.
    pub outcome: Option<String>,
    /// What it failed of.
    pub failure: Option<String>,
    /// Turns that began.
    pub turns: u64,
    /// Tool calls.
    pub steps: u64,
    /// Tokens read and written.
    pub tokens: Option<u64>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
    /// Tokens in the context window.
    pub context_used: Option<u64>,
    /// Size of the context window.
    pub context_size: Option<u64>,
    /// How much came lately.
    pub pace: Pace,
    /// Whether it came with the program.
    pub sample: bool,
    /// Whether its log was packed away, and is fetched when it is opened.
    pub packed: bool,
    /// When its last event was stored.
    pub last_activity_ms: Option<i64>,
    /// When its first event happened.
    pub started_ms: Option<i64>,
    /// When its last event happened.
    pub last_event_ms: Option<i64>,
    /// How many events it has.
    pub events: u64,
}

/// A request that waits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ask {
    /// `permission` or `question`.
    pub kind: String,
    /// The tool that a permission is asked for.
    pub tool: String,
    /// The command, path or question.
    pub text: String,
    /// Since when it waits.
    pub since_ms: Option<i64>,
    /// `false` where it is answered where the agent runs, and nowhere else.
    pub answerable: Option<bool>,
    /// What it can be answered by, where `text` is all that is asked.
    pub whole: Option<Whole>,
}

/// How a request is answered of which a row tells all.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Whole {
    /// Its id.
    pub request_id: String,
    /// The answers to a permission, as its source told them.
    pub permit: Vec<PermissionOption>,
    /// The answers to a question, one of which is chosen.
    pub choose: Vec<QuestionOption>,
}

/// A tool call that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Doing {
    /// The tool.
    pub tool: String,
    /// The command, path or pattern.
    pub object: String,
    /// Since when it runs.
    pub since_ms: Option<i64>,
}

/// Events by half minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pace {
    /// When the newest half minute began.
    pub newest_ms: i64,
    /// Events in each, the oldest first.
    pub counts: Vec<u32>,
}

impl Pace {
    /// How many bars ten minutes have.
    pub const BARS: usize = 20;
    const BAR_MS: i64 = 30_000;

    /// The bars of the last ten minutes, the newest last; time that passed since without an event is empty.
    pub fn bars(&self, now_ms: i64) -> [u32; Pace::BARS] {
        let mut bars = [0; Pace::BARS];
        let past = now_ms.saturating_sub(self.newest_ms).max(0) / Pace::BAR_MS;
        let past = usize::try_from(past).unwrap_or(Pace::BARS);
        for (back, count) in self.counts.iter().rev().enumerate() {
            let at = back.saturating_add(past);
            if at >= Pace::BARS {
                break;
            }
            bars[Pace::BARS - 1 - at] = *count;
        }
        bars
    }
}

/// How a session stands; each has a glyph and a word of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It stands still until somebody answers.
    NeedsYou,
    /// It works.
    Running,
    /// It should work, and nothing comes.
    Quiet,
    /// It has not ended and does nothing: it is between two turns, or no turn of it is known to be done.
    Idle,
    /// Its newest turn failed.
    Failed,
    /// Its newest turn is done.
    Done,
    /// Its newest turn was stopped.
    Cancelled,
}

impl State {
    /// The word beside the glyph.
    pub fn word(self) -> &'static str {
        match self {
            State::NeedsYou => "Needs you",
            State::Running => "Running",
            State::Quiet => "Quiet",
            State::Idle => "Idle",
            State::Failed => "Failed",
            State::Done => "Done",
            State::Cancelled => "Cancelled",
        }
    }
}

impl Row {
    /// How it stands.
    pub fn state(&self, now_ms: i64) -> State {
        let works = self.works();
        match self.outcome.as_deref() {
            // An end settles what was asked before it: who asks behind it goes on, and waits.
            _ if self.asks > 0 && !self.sample => State::NeedsYou,
            _ if works && now_ms.saturating_sub(self.changed_ms()) >= QUIET_MS => State::Quiet,
            _ if works => State::Running,
            Some("failed") => State::Failed,
            Some("interrupted") => State::Cancelled,
            _ if self.rests(now_ms) => State::Idle,
            // Nobody said that anything of it was done.
            None if self.status != "ended" => State::Idle,
            _ => State::Done,
        }
    }

    /// Whether it was at work in the last minutes and may go on: by the times of its events too, because what an agent
    /// wrote long ago may have come just now.
    fn rests(&self, now_ms: i64) -> bool {
        let at_ms = self.changed_ms();
        let at_ms = self
            .last_event_ms
            .map_or(at_ms, |last_ms| last_ms.min(at_ms));
        self.status == "idle" && now_ms.saturating_sub(at_ms) < QUIET_MS
    }

    fn works(&self) -> bool {
        matches!(self.status.as_str(), "busy" | "retrying")
    }

    /// Whether it works or waits for an answer.
    fn is_live(&self) -> bool {
        self.works() || self.asks > 0
    }

    /// The time that it stands in its section by: of its last change. One that works stands by when it began to: each of
    /// its events is a change, and rows that move at each cannot be pointed at.
    pub fn order_ms(&self) -> i64 {
        let since_ms = self.works_since_ms.filter(|_| self.works());
        since_ms.unwrap_or_else(|| self.at_ms())
    }

    /// The time that it stands by in this section. Those that run, and rest between their turns, hold still through all of
    /// them: they stand by when they began.
    pub fn place_ms(&self, section: Section) -> i64 {
        let begun_ms = self.started_ms.filter(|_| section == Section::Running);
        begun_ms.unwrap_or_else(|| self.order_ms())
    }

    /// What it is called: see [`called`].
    pub fn name(&self, told: &dyn Fn(i64) -> String) -> String {
        let title = self.title.as_deref();
        let at_ms = self.started_ms.or(self.last_activity_ms);
        let by = (self.agent_name(), at_ms);
        called(title, self.cwd.as_deref(), &self.id, by, told)
    }

    /// When it last changed here.
    pub fn changed_ms(&self) -> i64 {
        self.last_activity_ms
            .or(self.started_ms)
            .unwrap_or(i64::MIN)
    }

    /// When the last of it was: see [`last_ms`].
    pub fn at_ms(&self) -> i64 {
        last_ms(self.changed_ms(), self.last_event_ms)
    }

    /// How long it goes on, or went on: by the times of its events, which may have come long after they happened.
    pub fn lasted_ms(&self, now_ms: i64) -> Option<u64> {
        let lasted_ms = self.last_event_ms?.checked_sub(self.started_ms?)?;
        let since_ms = match self.state(now_ms) {
            State::NeedsYou | State::Running | State::Quiet => now_ms.saturating_sub(self.at_ms()),
            State::Idle | State::Failed | State::Done | State::Cancelled => 0,
        };
        u64::try_from(lasted_ms.saturating_add(since_ms.max(0))).ok()
    }

    /// The folder it works in, by its last name.
    pub fn project(&self) -> Option<&str> {
        folder_of(self.cwd.as_deref()?)
    }

    /// The agent's name without its version.
    pub fn agent_name(&self) -> Option<&str> {
        let name = agent_name(self.agent.as_deref()?);
        (!name.is_empty()).then_some(name)
    }

    /// The share of the context window that is used, in percent.
    pub fn context_percent(&self) -> Option<u64> {
        let (used, size) = self.context_used.zip(self.context_size)?;
        (size > 0).then(|| (used.saturating_mul(100) / size).min(100))
    }
}

/// When the last of a session was: when it changed, and where its last event came late, when that happened.
pub fn last_ms(changed_ms: i64, event_ms: Option<i64>) -> i64 {
    let is_late = |event_ms: &i64| changed_ms.saturating_sub(*event_ms) >= LATE_MS;
    event_ms.filter(is_late).unwrap_or(changed_ms)
}

/// A folder's last name: what a project is called.
pub fn folder_of(cwd: &str) -> Option<&str> {
    cwd.rsplit(['/', '\\']).find(|part| !part.is_empty())
}

/// What a session is called, everywhere: by its title, else by the folder it works in, else by its id. An id that a program
/// made says nothing: its agent and when it began stand for it, a time that `told` writes as the reader reads it.
pub fn called(
    title: Option<&str>,
    cwd: Option<&str>,
    id: &str,
    (agent, at_ms): (Option<&str>, Option<i64>),
    told: &dyn Fn(i64) -> String,
) -> String {
    let title = title.map(str::trim).filter(|title| !title.is_empty());
    match (title, cwd.and_then(folder_of)) {
        (Some(title), _) => return title.to_owned(),
        (None, Some(folder)) => return format!("Session in {folder}"),
        (None, None) if !is_made(id) => return id.to_owned(),
        (None, None) => {}
    }
    let what = match agent {
        Some(agent) => format!("{agent} session"),
        None => "Session".to_owned(),
    };
    match at_ms {
        Some(at_ms) => format!("{what} of {}", told(at_ms)),
        None => format!("{what} {}", id.chars().take(SHORT_ID).collect::<String>()),
    }
}

/// Whether a program made an id, and nobody chose it: a part of it is long and of letters and digits, or of digits only.
fn is_made(id: &str) -> bool {
    id.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
        let n_digits = part.bytes().filter(u8::is_ascii_digit).count();
        let is_mixed = n_digits >= 2 && n_digits < part.len();
        (is_mixed && part.len() >= SHORT_ID) || n_digits >= LONG_NUMBER
    })
}

/// An agent's name without its version.
pub fn agent_name(agent: &str) -> &str {
    let agent = agent.trim();
    match agent.rsplit_once(' ') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => agent,
    }
}

/// What stands between the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// Those that wait for an answer.
    NeedsYou,
    /// Those that work, or did until a moment ago and have not ended.
    Running,
    /// Those that should.
    Quiet,
    /// Of today.
    EarlierToday,
    /// Of the day before.
    Yesterday,
    /// All before.
    Older,
    /// What came with the program.
    Examples,
}

impl Section {
    /// All, in their order.
    pub const ALL: [Section; 7] = [
        Section::NeedsYou,
        Section::Running,
        Section::Quiet,
        Section::EarlierToday,
        Section::Yesterday,
        Section::Older,
        Section::Examples,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::NeedsYou => "Needs you",
            Section::Running => "Running",
            Section::Quiet => "Quiet",
            Section::EarlierToday => "Earlier today",
            Section::Yesterday => "Yesterday",
            Section::Older => "Older",
            Section::Examples => "Examples",
        }
    }

    /// Where a session stands.
    pub fn of(row: &Row, clock: Clock) -> Section {
        if row.sample {
            return Section::Examples;
        }
        match row.state(clock.now_ms) {
            State::NeedsYou => Section::NeedsYou,
            State::Running => Section::Running,
            State::Idle if row.rests(clock.now_ms) => Section::Running,
            State::Quiet => Section::Quiet,
            State::Idle | State::Failed | State::Done | State::Cancelled => match row.at_ms() {
                at_ms if at_ms >= clock.today_ms => Section::EarlierToday,
                at_ms if at_ms >= clock.yesterday_ms => Section::Yesterday,
                _ => Section::Older,
            },
        }
    }
}

/// The time, and when days began where the reader is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Now.
    pub now_ms: i64,
    /// When today began.
    pub today_ms: i64,
    /// When yesterday began.
    pub yesterday_ms: i64,
}
