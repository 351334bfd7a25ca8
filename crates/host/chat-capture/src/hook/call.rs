//! The call that is asked about, in the agent's own log: once it has its result there, it was answered where the agent runs.
//!
//! A hook is told no id of the call, so it is the oldest one without a result that has its name and its input.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Input;

/// So much of what was written before is looked at: the call was written just now.
const TAIL_BYTES: u64 = 4 * 1024 * 1024;

/// What became of the call.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    /// It was let run, which a call that failed does not show.
    pub(super) ran: bool,
    /// What was answered, where it is a question.
    pub(super) answers: Option<Value>,
}

/// The log, and what is looked for in it.
#[derive(Debug)]
pub(super) struct Call {
    /// Where the log may be: the first that is there.
    paths: Vec<PathBuf>,
    tool_name: String,
    input: Value,
    log: Option<BufReader<File>>,
    /// A line that is not written to its end yet.
    half: Vec<u8>,
    /// The calls like it that have no result, in their order.
    open: Vec<String>,
}

impl Call {
    /// The call of `input`.
    pub(super) fn of(input: &Input) -> Call {
        Call {
            paths: input
                .transcript_path
                .as_deref()
                .map_or_else(Vec::new, |path| paths_of(path, input.agent_id.as_deref())),
            tool_name: input.tool_name.clone(),
            input: input.tool_input.clone().unwrap_or_default(),
            log: None,
            half: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Whether the log is there.
    pub(super) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// Whether a call like it is written down, and has no result.
    pub(super) fn is_written(&self) -> bool {
        !self.open.is_empty()
    }

    /// The id of the call that is asked about, once it is written.
    pub(super) fn id(&self) -> Option<&str> {
        self.open.first().map(String::as_str)
    }

    /// What became of it, once that is written.
    pub(super) fn look(&mut self) -> Option<Outcome> {
        if self.log.is_none() {
            self.begin();
        }
        while let Some(line) = self.next_line() {
            if line["type"] == "assistant" {
                self.take_calls(&line);
                continue;
            }
            for result in results(&line) {
                let id = result["tool_use_id"].as_str().unwrap_or_default();
                if self.open.first().is_some_and(|oldest| oldest == id) {
                    return Some(outcome(result, &line));
                }
                self.open.retain(|open| open != id);
            }
        }
        None
    }

    /// Opens the log, and reads what is in it: none of that is about what is asked now but a call that is open.
    pub(super) fn begin(&mut self) {
        let Some(mut file) = self.paths.iter().find_map(|path| File::open(path).ok()) else {
            return;
        };
        let len = file.metadata().map_or(0, |about| about.len());
        let start = len.saturating_sub(TAIL_BYTES);
        if file.seek(SeekFrom::Start(start)).is_err() {
            return;
        }
        self.log = Some(BufReader::new(file));
        if start > 0 {
            // Half a line.
            self.next_line();
        }
        while let Some(line) = self.next_line() {
            if line["type"] == "assistant" {
                self.take_calls(&line);
            } else if results(&line).next().is_none() && line["isMeta"] != true {
                // Behind a prompt nothing before it is open, whether it has a result or not.
                self.open.clear();
            }
            for result in results(&line) {
                self.open
                    .retain(|open| result["tool_use_id"] != open.as_str());
            }
        }
    }

    /// The next line of the agent's or the user's that is written to its end.
    fn next_line(&mut self) -> Option<Value> {
        let log = self.log.as_mut()?;
        loop {
            log.read_until(b'\n', &mut self.half).ok()?;
            self.half.pop_if(|last| *last == b'\n')?;
            let line = serde_json::from_slice::<Value>(&std::mem::take(&mut self.half));
            let line = line.unwrap_or_default();
            if line["type"] == "assistant" || line["type"] == "user" {
                return Some(line);
            }
        }
    }

    fn take_calls(&mut self, line: &Value) {
        for part in content(line) {
            let is_like = part["type"] == "tool_use"
                && part["name"] == self.tool_name.as_str()
                && agree(&part["input"], &self.input);
            let id = part["id"].as_str().filter(|_| is_like);
            if let Some(id) = id.filter(|id| !self.open.iter().any(|open| open == id)) {
                self.open.push(id.to_owned());
            }
        }
    }
}

/// A sub-agent has a log of its own: beside the session's before 2.1, in its folder since.
fn paths_of(path: &Path, agent_id: Option<&str>) -> Vec<PathBuf> {
    let Some(agent_id) = agent_id else {
        return vec![path.to_owned()];
    };
    let name = format!("agent-{agent_id}.jsonl");
    let folder = path.with_extension("").join("subagents");
    vec![folder.join(&name), path.with_file_name(&name)]
}

fn content(line: &Value) -> impl Iterator<Item = &Value> {
    line["message"]["content"].as_array().into_iter().flatten()
}

fn results(line: &Value) -> impl Iterator<Item = &Value> {
    content(line).filter(|part| part["type"] == "tool_result")
}

/// Whether nothing in one contradicts the other: a hook is handed the input with what is not said set to its default, and
/// without what the tool does not know.
fn agree(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => one
            .iter()
            .all(|(name, value)| other.get(name).is_none_or(|other| agree(value, other))),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| agree(one, other))
        }
        _ => one == other,
    }
}

fn outcome(result: &Value, line: &Value) -> Outcome {
    let text = result["content"].as_str().unwrap_or_default();
    let answers = &line["toolUseResult"]["answers"];
    Outcome {
        ran: result["is_error"] != true || text.starts_with("Exit code "),
        answers: (!answers.is_null()).then(|| answers.clone()),
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use std::io::Write;

    use serde_json::json;

    use super::*;

    fn call(id: &str, command: &str) -> Value {
        json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command, "unknown": 1}}]}})
    }

    fn result(id: &str) -> Value {
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": "x"}]}})
    }

    /// The number of the line after which it is over, of those that come while it waits.
    fn over_after(before: &[Value], after: &[Value]) -> Option<usize> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let mut log = File::create(&path).unwrap();
        for line in before {
            writeln!(log, "{line}").unwrap();
        }
        let input = json!({"session_id": "s", "hook_event_name": "PermissionRequest", "transcript_path": path,
            "tool_name": "Bash", "tool_input": {"command": "ls", "run_in_background": false}});
        let mut call = Call::of(&serde_json::from_value(input).unwrap());
        call.begin();
        after.iter().position(|line| {
            let text = format!("{line}\n");
            let (first, second) = text.split_at(text.len() / 2);
            log.write_all(first.as_bytes()).unwrap();
            assert_eq!(call.look(), None, "half a line");
            log.write_all(second.as_bytes()).unwrap();
            call.look().is_some()
        })
    }

    #[test]
    fn a_call_is_over_with_its_own_result() {
        let before = [call("t1", "ls"), result("t1"), call("t2", "ls")];
        let after = [call("t3", "pwd"), result("t3"), result("t2")];
        assert_eq!(over_after(&before, &after), Some(2));
        // It may be written after the hook was started.
        let after = [call("t2", "ls"), result("t2")];
        assert_eq!(over_after(&before[..2], &after), Some(1));
    }

    #[test]
    fn a_call_is_written_once_it_stands_there_without_a_result() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let input = json!({"session_id": "s", "hook_event_name": "PermissionRequest", "transcript_path": path,
            "tool_name": "Bash", "tool_input": {"command": "ls"}});
        let mut asked = Call::of(&serde_json::from_value(input).unwrap());
        asked.begin();
        assert!(!asked.has_log());
        let mut log = File::create(&path).unwrap();
        let before = [call("t1", "ls"), result("t1"), call("t2", "pwd")];
        for line in before {
            writeln!(log, "{line}").unwrap();
        }
        asked.begin();
        assert!(asked.has_log() && !asked.is_written());
        writeln!(log, "{}", call("t3", "ls")).unwrap();
        assert_eq!(asked.look(), None);
        assert!(asked.is_written());
    }

    #[test]
    fn of_calls_that_are_alike_the_oldest_is_asked_about() {
        let alike = [call("t1", "ls"), call("t2", "ls")];
        assert_eq!(over_after(&alike, &[result("t1")]), Some(0));
        assert_eq!(over_after(&alike, &[result("t2")]), None);
        // One that was cut off is not waited for.
        let prompt = json!({"type": "user", "message": {"content": "Go on"}});
        let before = [call("t1", "ls"), prompt, call("t2", "ls")];
        assert_eq!(over_after(&before, &[result("t2")]), Some(0));
    }

    #[test]
    fn a_sub_agent_has_a_log_of_its_own() {
        let paths = paths_of(Path::new("/p/s1.jsonl"), Some("a1"));
        let expected = ["/p/s1/subagents/agent-a1.jsonl", "/p/agent-a1.jsonl"];
        assert_eq!(paths, expected.map(PathBuf::from));
    }
}
