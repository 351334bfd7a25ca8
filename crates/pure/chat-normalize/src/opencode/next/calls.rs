//! Calls of tools, and commands that the user ran, as they go on.

use serde_json::{Value, json};

use super::{Next, Said, Told, part};
use crate::value::{list_of, str_of};

/// Calls that are kept until their results come, at most.
const MAX_CALLS: usize = 10_000;

/// What later events of a call leave out.
#[derive(Debug, Default)]
pub(super) struct Call {
    tool: String,
    input: Value,
    began_ms: Option<i64>,
}

impl Next {
    /// The call's part at this step of it.
    pub(super) fn tool(
        &mut self,
        step: &str,
        said: &Said<'_>,
        answer: &str,
        call_id: &str,
    ) -> Option<Value> {
        let session = said.session;
        let key = format!("{session}\n{call_id}");
        if self.calls.len() >= MAX_CALLS && !self.calls.contains_key(&key) {
            self.calls.pop_first();
        }
        let call = self.calls.entry(key.clone()).or_default();
        if let Some(tool) = said.any_of(&["tool", "name"]) {
            tool.clone_into(&mut call.tool);
        }
        let state = call.state(step, said)?;
        let part = json!({"id": call_id, "callID": call_id, "messageID": answer,
            "sessionID": session, "type": "tool", "tool": call.tool, "state": state});
        if matches!(step, "success" | "failed" | "error") {
            self.calls.remove(&key);
        }
        Some(part)
    }

    /// A command that the user runs: an answer with a call.
    pub(super) fn shell_started(&mut self, said: &Said<'_>) -> Option<Told> {
        let (id, answer) = shell_ids(said)?;
        let nothing = Said {
            properties: &Value::Null,
            ..*said
        };
        let mut told = self.step_started(&nothing, &answer);
        told.extend(self.shell("called", said, &answer, id)?);
        Some(told)
    }

    /// Its end.
    pub(super) fn shell_ended(&mut self, said: &Said<'_>) -> Option<Told> {
        let (id, answer) = shell_ids(said)?;
        let mut told = self.shell("success", said, &answer, id)?;
        let stop = Said {
            properties: &json!({"finish": "stop"}),
            ..*said
        };
        told.extend(self.step_ended(&stop, &answer));
        Some(told)
    }

    fn shell(&mut self, step: &str, said: &Said<'_>, answer: &str, id: &str) -> Option<Told> {
        let command = said.properties.get("command");
        let mut given = json!({"tool": "bash", "input": {"command": command},
            "output": said.properties.get("output"), "structured": {}});
        // Where it stands there and says nothing, the command was stopped.
        if let Some(code) = said.properties.get("exit") {
            given["structured"]["exit"] = code.clone();
        }
        let given = Said {
            properties: &given,
            ..*said
        };
        self.tool(step, &given, answer, id).map(part)
    }
}

impl Call {
    fn state(&mut self, step: &str, said: &Said<'_>) -> Option<Value> {
        let member = |key| said.properties.get(key);
        let structured = member("structured").cloned().unwrap_or_default();
        let printed = printed_of(said.properties);
        let from_to = json!({"start": self.began_ms, "end": said.time_ms});
        Some(match step {
            "input.started" => json!({"status": "pending", "raw": ""}),
            // Pieces stay pieces: the text so far with each of them would cost its square.
            "input.delta" => json!({"status": "pending", "delta": member("delta")}),
            "input.ended" => json!({"status": "pending", "raw": member("text")}),
            "called" => {
                self.input = member("input").cloned().unwrap_or_default();
                self.began_ms = said.time_ms;
                json!({"status": "running", "input": self.input, "time": {"start": self.began_ms}})
            }
            "progress" => {
                let mut metadata = structured;
                if let (true, Some(printed)) = (metadata.is_object(), printed) {
                    metadata["output"] = json!(printed);
                }
                // What it was called with was told, and may be long.
                json!({"status": "running", "metadata": metadata, "time": {"start": self.began_ms}})
            }
            "success" => json!({"status": "completed", "input": self.input,
                "title": member("title"), "metadata": structured,
                "output": printed.unwrap_or_default(), "attachments": files_of(said.properties),
                "time": from_to}),
            "failed" | "error" => json!({"status": "error", "input": self.input,
                "error": said.words_of_error(), "metadata": structured, "time": from_to}),
            _ => return None,
        })
    }
}

/// What a command of the user's is called, and the answer that stands for it.
fn shell_ids<'s>(said: &'s Said<'_>) -> Option<(&'s str, String)> {
    let id = said.any_of(&["callID", "id", "messageID"])?;
    Some((id, format!("{id}.shell")))
}

/// What a call gave, as text.
fn printed_of(properties: &Value) -> Option<String> {
    if let Some(output) = str_of(properties, "output") {
        return Some(output.to_owned());
    }
    let content = properties.get("content")?.as_array()?;
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|held| str_of(held, "text"))
        .collect();
    Some(texts.join("\n"))
}

/// The files that a call gave.
fn files_of(properties: &Value) -> Vec<Value> {
    let of_content = list_of(properties, "content").iter();
    let files = of_content.filter(|held| str_of(held, "type") == Some("file"));
    let files = files.chain(list_of(properties, "attachments"));
    let made = files.map(|file| {
        json!({"type": "file", "mime": file.get("mime"), "filename": file.get("name"),
            "url": file.get("uri").or_else(|| file.get("url"))})
    });
    made.collect()
}
