//! Tool calls: what kinds there are, where a call stands, and the one line that is shown of it.

use chat_event::Json;
use chat_event::payload::ToolError;
use chat_event::shell::{script_of, script_of_words};

use crate::block::ToolCallBlock;
use crate::long_text;

/// A line that is shown of a call is cut to this many characters; the component cuts it further to its width.
const LINE_CHARS: usize = 200;

/// What sort of tool a call uses, alike for all providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// Reads a file.
    Read,
    /// Changes a file.
    Edit,
    /// Searches files.
    Search,
    /// Runs a command.
    Execute,
    /// Fetches from the net.
    Fetch,
    /// Thinks.
    Think,
    /// Starts another agent.
    Agent,
    /// Keeps the plan.
    Plan,
    /// Anything else.
    Other,
}
chat_event::pack_variants!(ToolKind { 0 => Read, 1 => Edit, 2 => Search, 3 => Execute, 4 => Fetch, 5 => Think, 6 => Agent, 7 => Plan, 8 => Other });

impl ToolKind {
    /// The kind the event says, else the one its tool's name is known for.
    pub fn of(kind: Option<&str>, tool_name: &str) -> ToolKind {
        match kind {
            Some("read") => ToolKind::Read,
            Some("edit") => ToolKind::Edit,
            Some("search") => ToolKind::Search,
            Some("execute") => ToolKind::Execute,
            Some("fetch") => ToolKind::Fetch,
            Some("think") => ToolKind::Think,
            Some("agent") => ToolKind::Agent,
            Some("plan") => ToolKind::Plan,
            Some(_) => ToolKind::Other,
            None => match tool_name.to_ascii_lowercase().as_str() {
                "read" | "read_file" | "notebookread" | "ls" => ToolKind::Read,
                "write" | "edit" | "multiedit" | "notebookedit" | "apply_patch" | "write_file" => {
                    ToolKind::Edit
                }
                "grep" | "glob" | "search" => ToolKind::Search,
                "bash" | "shell" | "exec" | "exec_command" | "terminal" => ToolKind::Execute,
                "webfetch" | "websearch" | "fetch" => ToolKind::Fetch,
                "task" | "agent" => ToolKind::Agent,
                "todowrite" | "taskcreate" | "taskupdate" | "update_plan" => ToolKind::Plan,
                _ => ToolKind::Other,
            },
        }
    }

    /// The kind's name, as the event has it.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolKind::Read => "read",
            ToolKind::Edit => "edit",
            ToolKind::Search => "search",
            ToolKind::Execute => "execute",
            ToolKind::Fetch => "fetch",
            ToolKind::Think => "think",
            ToolKind::Agent => "agent",
            ToolKind::Plan => "plan",
            ToolKind::Other => "other",
        }
    }
}

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStatus {
    /// Its arguments are still being written.
    Preparing,
    /// It was called and has no result yet.
    Running,
    /// It gave a result.
    Succeeded,
    /// It gave an error.
    Failed,
    /// The turn was stopped before a result came.
    Interrupted,
    /// The turn ended without a result.
    NoResult,
}
chat_event::pack_variants!(ToolStatus { 0 => Preparing, 1 => Running, 2 => Succeeded, 3 => Failed, 4 => Interrupted, 5 => NoResult });

impl ToolStatus {
    /// Whether something is still to come.
    pub fn runs(self) -> bool {
        matches!(self, ToolStatus::Preparing | ToolStatus::Running)
    }

    /// Where a call stands that gave this error, or none. Sources, and those who read them, say also of a call without a
    /// result that it failed.
    pub(crate) fn of_result(error: Option<&ToolError>, interrupted: bool) -> ToolStatus {
        match error.map(|error| error.code.as_deref()) {
            None => ToolStatus::Succeeded,
            Some(Some("interrupted")) => ToolStatus::Interrupted,
            Some(Some("no_result")) if interrupted => ToolStatus::Interrupted,
            Some(Some("no_result")) => ToolStatus::NoResult,
            Some(_) => ToolStatus::Failed,
        }
    }

    /// The word that is shown for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolStatus::Preparing => "preparing",
            ToolStatus::Running => "running",
            ToolStatus::Succeeded => "done",
            ToolStatus::Failed => "failed",
            ToolStatus::Interrupted => "interrupted",
            ToolStatus::NoResult => "no result",
        }
    }
}

/// The one line that is shown of a call: verb, object … outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headline {
    /// What is done: `Read`, `$`, `Searched` …
    pub verb: String,
    /// To what: a path, a command, a pattern.
    pub object: String,
    /// How it ended: `exit 1`, `14 lines` … Empty while it runs.
    pub outcome: String,
}

impl ToolCallBlock {
    /// A call of which nothing but its id is known.
    pub(crate) fn unknown(tool_call_id: &str) -> Self {
        ToolCallBlock {
            tool_call_id: tool_call_id.into(),
            tool_name: "".into(),
            kind: ToolKind::Other,
            title: None,
            args: Json::default(),
            args_event: None,
            input: None,
            output: None,
            result: None,
            result_is_large: false,
            result_event: None,
            attachments: None,
            error: None,
            summary: None,
            exit_code: None,
            progress: None,
            status: ToolStatus::Running,
            waits: false,
            called_ms: None,
            allowed_ms: None,
            duration_ms: None,
            settled_event: None,
            steps: 0,
            orphan: false,
            conflicts: 0,
        }
    }

    /// What its arguments plan, where that is a list of things to do: how many there are, how many of them are done, and what
    /// is done now.
    pub(crate) fn plan(&self) -> Option<(usize, usize, Option<String>)> {
        let list = PLANS.iter().find_map(|name| self.args.get(name));
        let entries = list?.parse::<Vec<serde_json::Value>>()?;
        let is = |entry: &serde_json::Value, status: &str| {
            entry.get("status").and_then(serde_json::Value::as_str) == Some(status)
        };
        if !entries.iter().all(|entry| entry.get("status").is_some()) {
            return None;
        }
        let now = entries.iter().find(|entry| is(entry, "in_progress"));
        let now = now.and_then(|entry| {
            let mut words = ["content", "step", "title"].iter();
            words.find_map(|name| entry.get(*name)?.as_str().map(str::to_owned))
        });
        let n_done = entries.iter().filter(|entry| is(entry, "completed"));
        Some((entries.len(), n_done.count(), now))
    }

    /// Whether it asks for leave to do as it plans, in words.
    pub(crate) fn proposes_plan(&self) -> bool {
        self.kind == ToolKind::Plan
            && self.plan().is_none()
            && text_of(&self.args, "plan").is_some()
    }

    /// Why it failed; that it has no result, or was interrupted, is no failure.
    pub fn failure(&self) -> Option<&ToolError> {
        let failed = self.status == ToolStatus::Failed;
        self.error.as_ref().filter(|_| failed)
    }

    /// The one line that is shown of this call.
    pub fn headline(&self) -> Headline {
        let (verb, object) = self.what();
        let says_all = self.status == ToolStatus::Succeeded && verb.starts_with("Plan ");
        let outcome = match says_all {
            true => String::new(),
            false => one_line(&self.outcome()),
        };
        Headline {
            verb,
            object,
            outcome,
        }
    }

    /// Verb and object of the headline: what is done, without what came of it, for which the result is read.
    pub fn what(&self) -> (String, String) {
        let (verb, object) = self.verb_and_object(Quotes::Around);
        (verb, one_line(&object))
    }

    /// What the call works on: the headline's object in a terminal's spelling, with patterns as they were given.
    pub fn target(&self) -> String {
        self.verb_and_object(Quotes::None).1
    }

    /// The headline's outcome and, of what was read, its size: `890 lines, 35KB`.
    pub fn figures(&self) -> String {
        let outcome = self.outcome();
        let read = self.kind == ToolKind::Read && self.status == ToolStatus::Succeeded;
        let n_bytes = match &self.result {
            Some(result) if read && self.summary.is_some() => match result.body_ref() {
                Some(body) => body.bytes,
                None => result.as_str().map_or(0, |text| text.len() as u64),
            },
            _ => 0,
        };
        if n_bytes == 0 {
            return outcome;
        }
        format!("{outcome}, {}", short_size(n_bytes))
    }

    /// The file it works on.
    pub(crate) fn path(&self) -> Option<String> {
        self.told(&PATHS)
    }

    /// Names of the arguments that the headline says whole, so that an opened call need not say them again.
    ///
    /// What it cuts off, or says in other words, is not among them. Tools of other kinds have names of their own for what
    /// they are given: there each is news.
    pub fn told_by_headline(&self) -> Vec<&'static str> {
        let (_, object) = self.what();
        if object.chars().count() > LINE_CHARS {
            return Vec::new();
        }
        let named = match self.kind {
            ToolKind::Read | ToolKind::Edit => vec![self.first_of(&PATHS)],
            ToolKind::Search => vec![self.first_of(&SEARCHED), self.first_of(&PLACES)],
            ToolKind::Fetch => vec![self.first_of(&FETCHED)],
            ToolKind::Execute
            | ToolKind::Agent
            | ToolKind::Think
            | ToolKind::Plan
            | ToolKind::Other => Vec::new(),
        };
        let mut told: Vec<&'static str> = Vec::new();
        let mut rest = object.as_str();
        // In the order in which they stand there, so that none is told by another.
        for name in named.into_iter().flatten() {
            let value = self.args.get(name);
            let value = value.as_ref().and_then(Json::as_str);
            let value = value.filter(|value| is_said_as_it_is(value));
            if let Some(value) = value
                && let Some((_, behind)) = rest.split_once(&*value)
            {
                told.push(name);
                rest = behind;
            }
        }
        if self.kind == ToolKind::Read && !told.is_empty() {
            let is_number = |name: &&&str| {
                let value = self.args.get(name);
                value.and_then(|value| value.parse::<u64>()).is_some()
            };
            told.extend(LINES.iter().filter(is_number).copied());
        }
        told
    }

    /// The first of these arguments that is a text.
    fn first_of(&self, names: &[&'static str]) -> Option<&'static str> {
        let mut names = names.iter();
        names
            .find(|name| text_of(&self.args, name).is_some())
            .copied()
    }

    /// Where a command runs, where its call says so.
    pub fn working_directory(&self) -> Option<String> {
        self.told(&["workdir", "cwd", "dir_path"])
    }

    /// The agent it starts, by its kind or name.
    pub(crate) fn agent(&self) -> Option<String> {
        let known = self.kind == ToolKind::Agent;
        known
            .then(|| self.told(&["subagent_type", "agent", "agentType"]))
            .flatten()
    }

    fn told(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| text_of(&self.args, key))
    }

    fn verb_and_object(&self, quotes: Quotes) -> (String, String) {
        let name = self.tool_name.to_string();
        let told = |keys: &[&str]| self.told(keys);
        let path = || self.path();
        // What is not done yet is not told as if it were.
        let tense = |[done, doing]: [&str; 2]| match self.status {
            ToolStatus::Succeeded => done.to_owned(),
            ToolStatus::Preparing
            | ToolStatus::Running
            | ToolStatus::Failed
            | ToolStatus::Interrupted
            | ToolStatus::NoResult => doing.to_owned(),
        };
        let known = match self.kind {
            ToolKind::Execute => told(&["command", "cmd"])
                .map(|command| ("$".to_owned(), script_of(&command).into_owned())),
            ToolKind::Read => path().map(|path| ("Read".to_owned(), with_lines(path, &self.args))),
            ToolKind::Edit => path().map(|path| (tense(edit_verbs(&name)), path)),
            ToolKind::Search => told(&SEARCHED).map(|pattern| {
                (
                    tense(["Searched", "Search"]),
                    searched(&pattern, told(&PLACES), quotes),
                )
            }),
            ToolKind::Fetch if self.first_of(&FETCHED) == Some("query") => {
                told(&["query"]).map(|query| {
                    (
                        tense(["Searched", "Search"]),
                        searched(&query, None, quotes),
                    )
                })
            }
            ToolKind::Fetch => told(&FETCHED).map(|what| (tense(["Fetched", "Fetch"]), what)),
            ToolKind::Agent => {
                let kind = self.agent();
                told(&["description", "title", "prompt", "message"])
                    .map(|what| (kind.unwrap_or_else(|| name.clone()), what))
            }
            ToolKind::Other if quotes == Quotes::Around => {
                server_tool(&name).map(|name| (name, format!("({})", first_arg(&self.args))))
            }
            ToolKind::Plan if quotes == Quotes::Around => {
                let counted = self.plan().map(|(n_entries, n_done, now)| {
                    let now = now.map_or_else(String::new, |now| format!("— now: {now}"));
                    (format!("Plan {n_done}/{n_entries}"), now)
                });
                let proposed = || {
                    let plan = text_of(&self.args, "plan")?;
                    let line = first_line(&plan).trim_start_matches(['#', ' ']);
                    Some(("Plan".to_owned(), line.to_owned()))
                };
                counted.or_else(proposed)
            }
            ToolKind::Plan | ToolKind::Think | ToolKind::Other => None,
        };
        match known {
            Some(known) => known,
            None if self.title.is_some() => (name, self.title.clone().unwrap_or_default()),
            None if name.is_empty() => ("Tool call".to_owned(), self.tool_call_id.to_string()),
            None => {
                let args = first_text(&self.args).unwrap_or_default();
                (name, args)
            }
        }
    }

    fn outcome(&self) -> String {
        if let Some(progress) = self.progress.as_ref().filter(|_| self.status.runs()) {
            return match progress.percent {
                // In whole numbers: what prints others is large, and is needed for nothing else that is shown at first.
                #[allow(clippy::cast_possible_truncation)]
                Some(percent) => {
                    format!(
                        "{} {} %",
                        progress.message,
                        percent.round_ties_even() as i64
                    )
                }
                None => progress.message.clone(),
            };
        }
        match (self.status, self.exit_code, &self.summary, &self.error) {
            (ToolStatus::Preparing | ToolStatus::Running, ..) => String::new(),
            (ToolStatus::Interrupted, ..) => "interrupted".to_owned(),
            (ToolStatus::NoResult, ..) => "no result".to_owned(),
            (_, Some(exit_code), ..) => format!("exit {exit_code}"),
            (_, None, Some(summary), _) => match summary.starts_with(['<', '{', '[']) {
                true => self.told_plainly(summary),
                false => summary.clone(),
            },
            (_, None, None, Some(error)) => {
                first_line(long_text::untagged(&error.message)).to_owned()
            }
            (_, None, None, None) => self.result.as_ref().map_or_else(String::new, size_of),
        }
    }
}

impl ToolCallBlock {
    /// A summary that is the first of what the tool gave, where that is written for programs: what of it is words, else
    /// how much there is.
    fn told_plainly(&self, summary: &str) -> String {
        let size = || self.result.as_ref().map_or_else(String::new, size_of);
        if summary.starts_with('<') {
            let words = without_tags(first_line(summary));
            let words = words.trim();
            return match words.is_empty() {
                true => size(),
                false => words.to_owned(),
            };
        }
        // The summary is cut; all of it may be in the result.
        let result = self.result.as_ref();
        let members = result.and_then(|result| match result.as_str() {
            Some(text) => serde_json::from_str(&text).ok(),
            None => result.parse::<serde_json::Map<String, serde_json::Value>>(),
        });
        let told = members.and_then(|members| {
            let mut words = TOLD.iter().filter_map(|name| members.get(*name)?.as_str());
            words.next().map(|words| first_line(words).to_owned())
        });
        told.unwrap_or_else(size)
    }
}

/// What programs call the part of their answer that is for people.
const TOLD: [&str; 5] = ["message", "summary", "error", "status", "title"];

/// A line without its tags: `<status>running</status>`.
fn without_tags(line: &str) -> String {
    let mut words = String::new();
    let mut rest = line;
    while let Some((before, tag)) = rest.split_once('<') {
        words.push_str(before);
        match tag.split_once('>') {
            Some((_, behind)) => rest = behind,
            None => break,
        }
    }
    words + rest
}

/// What arguments are called that are a list of things to do.
const PLANS: [&str; 4] = ["todos", "plan", "entries", "items"];

/// What arguments are called that name a file, what is looked for and where, what is fetched, and the lines that are read.
const PATHS: [&str; 5] = ["file_path", "filePath", "path", "notebook_path", "filename"];
const SEARCHED: [&str; 4] = ["pattern", "query", "regex", "glob"];
const PLACES: [&str; 2] = ["path", "glob"];
const FETCHED: [&str; 2] = ["url", "query"];
const LINES: [&str; 2] = ["offset", "limit"];

/// Whether a page shows a text in a line as it is: there spaces fall together, and control characters become spaces.
fn is_said_as_it_is(text: &str) -> bool {
    let is_plain = !text.contains("  ") && !text.chars().any(char::is_control);
    is_plain && !text.is_empty() && text.trim() == text
}

/// What is said of an edit that was done, and of one that was not.
fn edit_verbs(tool_name: &str) -> [&'static str; 2] {
    match tool_name.to_ascii_lowercase().as_str() {
        "write" | "write_file" => ["Wrote", "Write"],
        _ => ["Edited", "Edit"],
    }
}

/// The path with the lines that were asked for.
fn with_lines(path: String, args: &Json) -> String {
    let number = |key: &str| args.get(key).and_then(|value| value.parse::<u64>());
    let [offset, limit] = LINES.map(number);
    match (offset, limit) {
        (Some(first), Some(n_lines)) => {
            let last = first.saturating_add(n_lines).saturating_sub(1);
            format!("{path} {first}–{last}")
        }
        (Some(first), None) => format!("{path} {first}–"),
        (None, Some(n_lines)) => format!("{path} 1–{n_lines}"),
        (None, None) => path,
    }
}

/// Whether a pattern stands in quotes: in a sentence it does, behind a tool's name it does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Around,
    None,
}

fn searched(pattern: &str, place: Option<String>, quotes: Quotes) -> String {
    let quoted = match quotes {
        Quotes::Around => format!("\"{pattern}\""),
        Quotes::None => pattern.to_owned(),
    };
    match place.filter(|place| place != pattern) {
        Some(place) => format!("{quoted} in {place}"),
        None => quoted,
    }
}

/// A size as a terminal's line has it, without a space: `640B`, `35KB`, `2.5MB`.
fn short_size(n_bytes: u64) -> String {
    match n_bytes {
        0..=999 => format!("{n_bytes}B"),
        1_000..=999_499 => format!("{}KB", (n_bytes + 500) / 1_000),
        _ => format!("{}.{}MB", n_bytes / 1_000_000, n_bytes / 100_000 % 10),
    }
}

/// How much a result is, in a word or two.
fn size_of(result: &Json) -> String {
    let Some(body) = result.to_body() else {
        return String::new();
    };
    let excerpt = body.excerpt();
    match excerpt.lines {
        None => format!("{} KB", excerpt.bytes.div_ceil(1024)),
        Some(0) => "empty".to_owned(),
        Some(1) => "1 line".to_owned(),
        Some(n_lines) => format!("{n_lines} lines"),
    }
}

fn text_of(args: &Json, key: &str) -> Option<String> {
    let value = args.get(key)?;
    // Some agents give a command as a list of words.
    if let Some(words) = value.parse::<Vec<Json>>() {
        let words: Vec<String> = words.iter().map(beginning).collect::<Option<_>>()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        return Some(script_of_words(&words).map_or_else(|| words.join(" "), str::to_owned));
    }
    beginning(&value)
}

/// `server.tool`, of a tool that a server offers by the Model Context Protocol; agents name them `mcp__server__tool`.
fn server_tool(name: &str) -> Option<String> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then(|| format!("{server}.{tool}"))
}

/// The first argument, and that there are more.
fn first_arg(args: &Json) -> String {
    let members = args.parse::<serde_json::Map<String, serde_json::Value>>();
    let mut values = members.iter().flat_map(|members| members.values());
    let Some(first) = values.next() else {
        return String::new();
    };
    let first = Json::from(first);
    let first = beginning(&first).unwrap_or_else(|| first.as_text().to_string());
    match values.next() {
        Some(_) => format!("{first}, …"),
        None => first,
    }
}

/// The first argument that is a text: what a reader would recognise the call by.
fn first_text(args: &Json) -> Option<String> {
    let members = args.parse::<serde_json::Map<String, serde_json::Value>>()?;
    members.values().find_map(|value| match value.as_str() {
        Some(text) => Some(text.to_owned()),
        None => Json::from(value).body_ref().map(|body| body.preview),
    })
}

/// The beginning of a text: as much as a line could show, the same whether it is here or elsewhere.
fn beginning(value: &Json) -> Option<String> {
    value.to_body().map(|body| body.head().into_string())
}

fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
}

/// One line, without line breaks and other controls, cut to what a row could ever show.
fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(LINE_CHARS)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(LINE_CHARS).is_some() {
        line.push('…');
    }
    line
}
