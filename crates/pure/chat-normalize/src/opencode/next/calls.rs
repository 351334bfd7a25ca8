//! Calls of tools, and commands that the user ran, as they go on.

use serde_json::{Value, json};

use super::{MAX_CALLS, Next, Told, part, words_of_error};
use crate::value::{list_of, str_of, text_of};

impl Next {
    pub(super) fn tool(
        &mut self,
        kind: &str,
        session: &str,
        answer: &str,
        call_id: &str,
        time: &Value,
        properties: &Value,
    ) -> Option<Told> {
        let key = format!("{session}\n{call_id}");
        let is_over = matches!(kind, "tool.success" | "tool.failed" | "tool.error");
        if self.calls.len() >= MAX_CALLS && !self.calls.contains_key(&key) {
            self.calls.pop_first();
        }
        let call = self.calls.entry(key.clone()).or_default();
        if let Some(tool) = ["tool", "name"]
            .iter()
            .find_map(|at| text_of(properties, at))
        {
            tool.clone_into(&mut call.tool);
        }
        let structured = properties.get("structured").cloned();
        let printed = printed_of(properties);
        let state = match kind {
            "tool.input.started" => json!({"status": "pending", "raw": ""}),
            // Pieces stay pieces: the text so far with each of them would cost its square.
            "tool.input.delta" => json!({"status": "pending", "delta": properties.get("delta")}),
            "tool.input.ended" => json!({"status": "pending", "raw": properties.get("text")}),
            "tool.called" => {
                call.input = properties.get("input").cloned().unwrap_or_default();
                call.began = time.clone();
                json!({"status": "running", "input": call.input, "time": {"start": time}})
            }
            "tool.progress" => {
                let mut metadata = structured.unwrap_or_default();
                if let (true, Some(printed)) = (metadata.is_object(), printed) {
                    metadata["output"] = json!(printed);
                }
                // What it was called with was told, and may be long.
                json!({"status": "running", "metadata": metadata, "time": {"start": call.began}})
            }
            "tool.success" => json!({"status": "completed", "input": call.input,
                "title": properties.get("title"), "metadata": structured.unwrap_or_default(),
                "output": printed.unwrap_or_default(), "attachments": files_of(properties),
                "time": {"start": call.began, "end": time}}),
            "tool.failed" | "tool.error" => json!({"status": "error", "input": call.input,
                "error": words_of_error(properties), "metadata": structured.unwrap_or_default(),
                "time": {"start": call.began, "end": time}}),
            _ => return None,
        };
        let held = json!({"id": call_id, "callID": call_id, "messageID": answer,
            "sessionID": session, "type": "tool", "tool": call.tool, "state": state});
        if is_over {
            self.calls.remove(&key);
        }
        Some(part(held))
    }

    /// A command that the user ran.
    pub(super) fn shell(
        &mut self,
        kind: &str,
        session: &str,
        time: &Value,
        properties: &Value,
    ) -> Option<Told> {
        let id = ["callID", "id", "messageID"]
            .iter()
            .find_map(|key| text_of(properties, key))?;
        let answer = format!("{id}.shell");
        let mut told = Vec::new();
        if kind == "shell.started" {
            told.extend(self.step_started(session, &answer, time, &Value::Null));
        }
        let tool = match kind {
            "shell.started" => "tool.called",
            _ => "tool.success",
        };
        let mut given = json!({"tool": "bash", "input": {"command": properties.get("command")},
            "output": properties.get("output"), "structured": {}});
        // Where it stands there and says nothing, the command was stopped.
        if let Some(code) = properties.get("exit") {
            given["structured"]["exit"] = code.clone();
        }
        told.extend(self.tool(tool, session, &answer, id, time, &given)?);
        if kind == "shell.ended" {
            let end = json!({"finish": "stop"});
            told.extend(self.step_ended(session, &answer, time, &end));
        }
        Some(told)
    }
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
