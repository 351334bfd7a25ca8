//! Items: what a turn is made of, in any of the three spellings of their types and members.

use chat_event::Body;
use chat_event::payload::{
    AgentCallback, AgentMessage, Compaction, FileEdit, Plan, PlanEntry, ToolError, ToolOutputChunk,
    UserMessage,
};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::changes;
use super::collab::{agent_of_output, is_collab, output_words, own_name, without_head};
use super::content::{content_of, message_text, texts_of};
use super::outcome::{MAX_ERROR_BYTES, Outcome, outcome, summary, write_result};
use super::session::{Call, Ended, Scope, Session};
use super::texts::Part;
use super::tools::{Given, Spec, is_refusal};
use crate::edit::edits_summary;
use crate::emit::{Emitter, cut, hash};
use crate::value::{is_true, list_of, str_of, text_of};
use crate::words::one_line;

/// Raw thoughts are numbered from here, behind the parts of their summary.
pub(crate) const RAW_THOUGHTS: u32 = 1000;

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Started,
    Updated,
    Completed,
}

/// The type of an item in one spelling.
pub(crate) fn item_kind(item: &Value) -> String {
    let said = str_of(item, "type").unwrap_or("");
    said.chars()
        .filter(|c| *c != '_')
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// A member of an item, by its two spellings; `null` is none.
pub(crate) fn member<'a>(item: &'a Value, snake: &str, camel: &str) -> Option<&'a Value> {
    let found = item.get(snake).or_else(|| item.get(camel));
    found.filter(|value| !value.is_null())
}

impl Session {
    /// An item of `thread` began, changed or ended.
    pub(crate) fn item(
        &mut self,
        emitter: &mut Emitter,
        thread: &str,
        turn: Option<&str>,
        item: &Value,
        phase: Phase,
    ) {
        let kind = item_kind(item);
        if kind == "error" {
            // It can come before the turn.
            if phase != Phase::Started {
                let place = self.scope(thread, turn).place;
                emitter.notice(
                    "warning",
                    &place,
                    "codex",
                    str_of(item, "message").unwrap_or(""),
                );
            }
            return;
        }
        let scope = self.work_scope(emitter, thread, turn);
        let native =
            text_of(item, "id").map_or_else(|| emitter.line_id().to_owned(), str::to_owned);
        let id = self.id_of(&scope.turn, &native);
        let is_whole = phase == Phase::Completed;
        match kind.as_str() {
            "usermessage" if is_whole => {
                let (text, attachments) = content_of(item);
                self.user_message(emitter, &scope, &id, &text, attachments);
            }
            "agentmessage" | "plan" if is_whole => {
                let text = message_text(item);
                self.texts.done(emitter, &scope, part(&id, false, 0), &text);
            }
            "reasoning" if is_whole => self.reasoning(emitter, &scope, &id, item),
            "usermessage" | "agentmessage" | "plan" | "reasoning" => {}
            "todolist" => {
                let items = item.get("items").cloned().unwrap_or(Value::Null);
                // The end of the turn repeats what the last update said.
                if self.last_todo.as_ref() == Some(&items) {
                    emitter.pass_over("todo_list as before");
                    return;
                }
                let entry = |entry: &Value| PlanEntry {
                    content: str_of(entry, "text").unwrap_or("").to_owned(),
                    status: if is_true(entry, "completed") {
                        "completed"
                    } else {
                        "pending"
                    }
                    .to_owned(),
                    extra: Extra::default(),
                };
                let entries = list_of(item, "items").iter().map(entry).collect();
                self.last_todo = Some(items);
                self.plan(emitter, &scope, entries);
            }
            "contextcompaction" => {
                if is_whole {
                    self.compaction(emitter, &scope, &id, None);
                }
            }
            "enteredreviewmode" | "exitedreviewmode" | "hookprompt" if is_whole => {
                let text = text_of(item, "review").or_else(|| text_of(item, "text"));
                let words = if kind == "exitedreviewmode" {
                    "the review ended"
                } else {
                    "a review began"
                };
                emitter.notice("info", &scope.place, "codex", text.unwrap_or(words));
            }
            "enteredreviewmode" | "exitedreviewmode" | "hookprompt" => {}
            "subagentactivity" => {
                if is_whole {
                    self.sub_agent(emitter, &scope, &id, item);
                }
            }
            _ => match Spec::of_item(&kind, item) {
                Some(spec) => self.tool_item(emitter, &scope, &id, &kind, item, spec, phase),
                None => emitter.raw(&scope.place, self.format, &format!("item {kind}"), item),
            },
        }
    }

    /// A person wrote.
    pub(crate) fn user_message(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        id: &str,
        text: &str,
        attachments: Option<Json>,
    ) {
        let message = UserMessage {
            text: Body::from(text),
            attachments,
            extra: Extra::default(),
        };
        let n_asked = self.asked_in.entry(&scope.turn);
        *n_asked += 1;
        // Server and rollout name a message apart, but its turn the same.
        let id = match (scope.turn.as_str(), *n_asked) {
            ("", _) => format!("{id}:user"),
            (turn, 1) => format!("{turn}:user"),
            (turn, n) => format!("{turn}:user{n}"),
        };
        emitter.add_as(&id, &scope.place, message);
    }

    /// The agent's list of things to do.
    pub(crate) fn plan(&mut self, emitter: &mut Emitter, scope: &Scope, entries: Vec<PlanEntry>) {
        let plan = Plan {
            entries,
            extra: Extra::default(),
        };
        emitter.add("plan", &scope.place, plan);
    }

    /// The context was made shorter.
    pub(crate) fn compaction(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        id: &str,
        summary: Option<&str>,
    ) {
        // A turn in which nobody asked anything was begun to compact.
        let is_auto = self.asked_in.contains(&scope.turn);
        let compaction = Compaction {
            trigger: if is_auto { "auto" } else { "manual" }.to_owned(),
            summary: summary.map(str::to_owned),
            ..Compaction::default()
        };
        emitter.add_as(&format!("{id}:compaction"), &scope.place, compaction);
    }

    fn reasoning(&mut self, emitter: &mut Emitter, scope: &Scope, id: &str, item: &Value) {
        let mut n_parts = 0;
        let summary = member(item, "summary_text", "summary").or_else(|| item.get("text"));
        for (number, text) in (0u32..).zip(texts_of(summary)) {
            n_parts += 1;
            self.texts
                .done(emitter, scope, part(id, true, number), text);
        }
        let raw = member(item, "raw_content", "content");
        for (number, text) in (RAW_THOUGHTS..).zip(texts_of(raw)) {
            n_parts += 1;
            self.texts
                .done(emitter, scope, part(id, true, number), text);
        }
        if n_parts == 0 {
            emitter.pass_over("reasoning without text");
        }
    }

    /// A piece of a command's output.
    pub(crate) fn output(&mut self, emitter: &mut Emitter, scope: &Scope, id: &str, chunk: &str) {
        if self.ended(id) == Some(Ended::Told) {
            emitter.pass_over("output after the result");
            return;
        }
        self.asks.settle(emitter, id, Some(true));
        let (n, place) = match self.calls.get_mut(id) {
            Some(call) => {
                call.printed.push_str(chunk);
                call.n_chunks += 1;
                (call.n_chunks.to_string(), call.place.clone())
            }
            // It outlived its turn, or was never begun.
            None => (format!("late-{}", emitter.line_id()), scope.place.clone()),
        };
        let payload = ToolOutputChunk {
            tool_call_id: id.to_owned(),
            chunk: chunk.to_owned(),
            ..ToolOutputChunk::default()
        };
        emitter.add_as(&format!("{id}:o{n}"), &place, payload);
    }

    #[allow(clippy::too_many_arguments)]
    fn tool_item(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        id: &str,
        kind: &str,
        item: &Value,
        spec: Spec,
        phase: Phase,
    ) {
        if phase != Phase::Completed {
            match self.is_called(id) {
                true => {}
                false if spec.is_untold() => self.hold(scope, id, spec),
                false => self.call(emitter, scope, id, spec),
            }
            return;
        }
        self.tell_held(emitter, id, |held| held.learn(&spec));
        match self.ended(id) {
            // 0.77 ends a declined command twice, and the first end is the true one.
            Some(Ended::Told) => {
                emitter.pass_over("second end of an item");
                return;
            }
            Some(Ended::Closed) => {
                let code = member(item, "exit_code", "exitCode").and_then(Value::as_i64);
                let text = match code {
                    Some(code) => {
                        format!("a command that outlived its turn ended with exit code {code}")
                    }
                    None => "a call that outlived its turn ended".to_owned(),
                };
                emitter.notice("info", &scope.place, "codex", text);
                return;
            }
            None => {}
        }
        if !self.is_called(id) {
            self.call(emitter, scope, id, spec);
        }
        let Some(call) = self.take_call(id) else {
            return;
        };
        let mut outcome = outcome(kind, item, &call);
        self.asks.settle(emitter, id, Some(!outcome.declined));
        let mut edits = Vec::new();
        if kind == "filechange" && outcome.error.is_none() {
            let changes = changes::of_item(item.get("changes").unwrap_or(&Value::Null));
            edits = self.edits_of(id, &changes);
            outcome.summary = Some(edits_summary(&edits));
        }
        write_result(emitter, id, &call, outcome);
        self.edits(emitter, id, &call, edits);
        if kind.starts_with("collab") {
            self.collab(emitter, scope, id, item);
        }
    }

    /// What a call changed.
    fn edits_of(&mut self, id: &str, changes: &[changes::FileChange]) -> Vec<FileEdit> {
        let cwd = self.facts.cwd();
        let changes = changes.iter();
        changes
            .map(|change| self.files.edit(id, cwd.as_deref(), change))
            .collect()
    }

    /// Writes what a call changed.
    fn edits(&mut self, emitter: &mut Emitter, id: &str, call: &Call, edits: Vec<FileEdit>) {
        for (n, edit) in edits.into_iter().enumerate() {
            self.turn_diff.told(&edit);
            emitter.add_as(&format!("{id}:edit{n}"), &call.place, edit);
        }
    }

    /// A call's result as its text alone tells it, from a rollout's response items.
    pub(crate) fn result_text(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        given: Given,
        failed: bool,
    ) {
        self.tell_held(emitter, id, |held| match agent_of_output(&given.text) {
            Some(agent) => held.of_agent(&agent),
            None => held,
        });
        let mut given = given;
        let Some(call) = self.take_call(id) else {
            return;
        };
        if is_collab(&call.spec.name) {
            given.text = output_words(&given.text).unwrap_or(given.text);
        }
        let code = given.exit_code.filter(|code| *code != 0);
        let failed = failed || given.failed;
        let error = (failed || code.is_some()).then(|| ToolError {
            code: match (given.interrupted, code) {
                (true, _) => Some("interrupted".to_owned()),
                (false, Some(_)) => Some("exit_code".to_owned()),
                (false, None) => is_refusal(&given.text).then(|| "declined".to_owned()),
            },
            message: cut(given.text.trim(), MAX_ERROR_BYTES).to_owned(),
            extra: Extra::default(),
        });
        let mut outcome = Outcome {
            result: Json::string(&given.text),
            summary: summary(
                call.spec.kind,
                &given.text,
                given.exit_code,
                error.is_some(),
            ),
            text: given.text,
            error,
            exit_code: given.exit_code,
            duration_ms: given.duration_ms,
            declined: false,
        };
        if outcome.error.is_some() {
            write_result(emitter, id, &call, outcome);
            return;
        }
        let mut edits = Vec::new();
        if call.spec.name == "apply_patch" {
            let args = &call.spec.args;
            let patch = args
                .as_str()
                .or_else(|| str_of(args, "input"))
                .unwrap_or("");
            let cwd = self.facts.cwd();
            let patched = changes::of_patch_text(patch, cwd.as_deref()).unwrap_or_default();
            edits = self.edits_of(id, &patched);
            outcome.summary = Some(edits_summary(&edits));
            // That it went well is all that the code of a patch says.
            outcome.exit_code = outcome.exit_code.filter(|code| *code != 0);
        }
        write_result(emitter, id, &call, outcome);
        match call.spec.name.as_str() {
            "apply_patch" => self.edits(emitter, id, &call, edits),
            "update_plan" => {
                let entries = plan_entries(list_of(&call.spec.args, "plan"));
                let scope = Scope {
                    turn: String::new(),
                    place: call.place.clone(),
                };
                self.plan(emitter, &scope, entries);
            }
            _ => {}
        }
    }

    fn collab(&mut self, emitter: &mut Emitter, scope: &Scope, id: &str, item: &Value) {
        let receivers = member(item, "receiver_thread_ids", "receiverThreadIds");
        let receivers: Vec<&str> = receivers
            .and_then(Value::as_array)
            .map(|ids| ids.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        self.learn_names(item);
        if let Some(prompt) = text_of(item, "prompt") {
            for (n, receiver) in receivers.iter().enumerate() {
                self.spawned
                    .entry((*receiver).to_owned())
                    .or_insert_with(|| id.to_owned());
                let message = AgentMessage {
                    message_id: format!("{id}.{n}"),
                    target_agent_id: self.agent_name(receiver).to_owned(),
                    target_session_id: (*receiver).to_owned(),
                    message: Body::from(prompt),
                    wait: false,
                    extra: Extra::default(),
                };
                emitter.add_as(&format!("{id}:message{n}"), &scope.place, message);
            }
        }
        let states = member(item, "agents_states", "agentsStates").and_then(Value::as_object);
        for (thread, state) in states.into_iter().flatten() {
            let said = text_of(state, "message").or_else(|| text_of(state, "completed"));
            if let Some(said) = said {
                self.callback(
                    emitter,
                    scope,
                    &format!("{id}:callback-{thread}"),
                    thread,
                    said,
                );
            }
        }
    }

    /// A sub-agent's answer.
    pub(crate) fn callback(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        event_id: &str,
        from: &str,
        text: &str,
    ) {
        let text = without_head(text);
        // Closing an agent says again what waiting for it said.
        let said = hash(format!("{from}\n{text}").as_bytes());
        if !self.called_back.put(said, ()) {
            emitter.pass_over("answer of an agent that came before");
            return;
        }
        let message_id = self.spawned.get(from).map(|call| format!("{call}.0"));
        let callback = AgentCallback {
            message_id: message_id.unwrap_or_else(|| from.to_owned()),
            from_agent_id: self.agent_name(from).to_owned(),
            from_session_id: from.to_owned(),
            result: Body::from(text),
            extra: Extra::default(),
        };
        emitter.add_as(event_id, &scope.place, callback);
    }

    /// A sub-agent began or ended; the call that started it is shown where nothing else shows it.
    fn sub_agent(&mut self, emitter: &mut Emitter, scope: &Scope, id: &str, item: &Value) {
        let thread = member(item, "agent_thread_id", "agentThreadId")
            .and_then(Value::as_str)
            .unwrap_or("");
        let name = member(item, "agent_path", "agentPath").and_then(Value::as_str);
        match str_of(item, "kind") {
            Some("started") if !thread.is_empty() => {
                self.spawned.insert(thread.to_owned(), id.to_owned());
                if let Some(name) = name {
                    self.spawned.insert(name.to_owned(), id.to_owned());
                    self.names
                        .insert(thread.to_owned(), own_name(name).to_owned());
                    self.tell_held(emitter, id, |held| held.of_agent(name));
                }
                self.tell_held(emitter, id, |held| held);
                if !self.is_called(id) {
                    let args = serde_json::json!({});
                    let mut spec =
                        Spec::of_call("spawn_agent", args).of_agent(name.unwrap_or(thread));
                    spec.title = name.map(|name| one_line(own_name(name)));
                    self.call(emitter, scope, id, spec);
                }
                let asked = self
                    .calls
                    .get(id)
                    .and_then(|call| text_of(&call.spec.args, "message"));
                if let Some(asked) = asked {
                    let message = AgentMessage {
                        message_id: format!("{id}.0"),
                        target_agent_id: self.agent_name(thread).to_owned(),
                        target_session_id: thread.to_owned(),
                        message: Body::from(asked),
                        wait: false,
                        extra: Extra::default(),
                    };
                    emitter.add_as(&format!("{id}:message0"), &scope.place, message);
                }
            }
            Some("completed" | "failed" | "interrupted") => {
                let call_id = self.spawned.get(thread).cloned().unwrap_or_default();
                match self.take_call(&call_id) {
                    Some(call) => {
                        let outcome = Outcome {
                            result: Json::string(""),
                            summary: Some(one_line(str_of(item, "kind").unwrap_or("completed"))),
                            ..Outcome::default()
                        };
                        write_result(emitter, &call_id, &call, outcome);
                    }
                    None => emitter.pass_over("subAgentActivity"),
                }
            }
            Some(_) | None => emitter.pass_over("subAgentActivity"),
        }
    }
}

/// One text of the item `id`.
pub(crate) fn part(id: &str, is_thinking: bool, number: u32) -> Part {
    Part {
        item: id.to_owned(),
        is_thinking,
        number,
    }
}

/// Entries of `update_plan` and `turn/plan/updated`.
pub(crate) fn plan_entries(entries: &[Value]) -> Vec<PlanEntry> {
    let entry = |entry: &Value| PlanEntry {
        content: str_of(entry, "step").unwrap_or("").to_owned(),
        status: match str_of(entry, "status") {
            Some("inProgress" | "in_progress") => "in_progress",
            Some("completed") => "completed",
            Some(_) | None => "pending",
        }
        .to_owned(),
        extra: Extra::default(),
    };
    entries.iter().map(entry).collect()
}
