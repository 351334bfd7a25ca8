//! Tool calls and their results: paired by id, or by tool and input where the worker gives no id.

use std::collections::{BTreeMap, HashMap, VecDeque};

use chat_event::payload::{ToolCall, ToolResult};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::FORMAT;
use super::events::place;
use crate::emit::{Emitter, hash};
use crate::tool;
use crate::value::{count_of, str_of, text_of};

/// Calls that have no result, and what is remembered of those that have.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// By their number.
    open: BTreeMap<u64, Open>,
    n_calls: u64,
    by_id: HashMap<String, u64>,
    /// Of calls without an id: by tool and input, and by tool alone.
    by_shape: HashMap<u64, VecDeque<u64>>,
    /// How often an id was used.
    uses: HashMap<u64, u32>,
}

#[derive(Debug)]
struct Open {
    /// The id its events bear.
    id: String,
    native: Option<String>,
}

impl Calls {
    /// `agent.tool_use`.
    pub(super) fn begun(&mut self, emitter: &mut Emitter, data: &Value) {
        let native = call_id_of(data);
        if let Some(native) = &native
            && self.by_id.contains_key(native)
        {
            return emitter.pass_over("a call begun again");
        }
        let (tool, args) = (tool_of(data), args_of(data));
        let order = self.open(emitter, native.as_deref(), &tool, &args);
        if native.is_none() {
            for shape in shapes(&tool, Some(&args)) {
                self.by_shape.entry(shape).or_default().push_back(order);
            }
        }
    }

    fn open(
        &mut self,
        emitter: &mut Emitter,
        native: Option<&str>,
        tool: &str,
        args: &Value,
    ) -> u64 {
        self.n_calls += 1;
        let order = self.n_calls;
        let stem = native.map_or_else(|| format!("call-{order}"), str::to_owned);
        let uses = self.uses.entry(hash(stem.as_bytes())).or_default();
        *uses += 1;
        let id = if *uses == 1 {
            stem
        } else {
            format!("{stem}~{uses}")
        };
        let call = ToolCall {
            tool_call_id: id.clone(),
            tool_name: tool.to_owned(),
            args: Json::from(args),
            title: tool::title(tool, args),
            kind: Some(tool::kind(tool).to_owned()),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{id}:call"), &place(), call);
        if let Some(native) = native {
            self.by_id.insert(native.to_owned(), order);
        }
        let native = native.map(str::to_owned);
        self.open.insert(order, Open { id, native });
        order
    }

    /// The call that a result belongs to, if one waits.
    fn waiting(&mut self, native: Option<&str>, tool: &str, args: Option<&Value>) -> Option<u64> {
        if let Some(native) = native {
            return self.by_id.get(native).copied();
        }
        let shape = *shapes(tool, args).last()?;
        let queue = self.by_shape.get_mut(&shape)?;
        while let Some(order) = queue.pop_front() {
            if self.open.contains_key(&order) {
                return Some(order);
            }
        }
        self.by_shape.remove(&shape);
        None
    }

    /// `agent.tool_completed` and `agent.tool_failed`.
    pub(super) fn ended(&mut self, emitter: &mut Emitter, data: &Value, failed: bool) {
        let (tool, args) = (tool_of(data), args_of(data));
        let native = call_id_of(data);
        let known = Some(&args).filter(|args| !args.is_null());
        let order = match self.waiting(native.as_deref(), &tool, known) {
            Some(order) => order,
            None => {
                let used = |id: &String| self.uses.contains_key(&hash(id.as_bytes()));
                if let Some(id) = native.as_ref().filter(|id| used(id)) {
                    let kind = "second result of a call";
                    let _ = id;
                    return emitter.raw(&place(), FORMAT, kind, data);
                }
                // Workers that report only what is done still show a call.
                self.open(emitter, native.as_deref(), &tool, &args)
            }
        };
        let Some(open) = self.open.remove(&order) else {
            return;
        };
        if let Some(native) = &open.native {
            self.by_id.remove(native);
        }
        let failed = failed || data.get("success") == Some(&Value::Bool(false));
        let message = text_of(data, "error_message")
            .or_else(|| text_of(data, "error"))
            .unwrap_or("the tool failed");
        let payload = ToolResult {
            tool_call_id: open.id.clone(),
            result: result_of(data).map_or_else(|| Json::string(""), Json::from),
            error: failed.then(|| tool::error(text_of(data, "error_code"), message)),
            summary: text_of(data, "result_summary").map(str::to_owned),
            duration_ms: count_of(data, "duration_ms"),
            exit_code: data.get("exit_code").and_then(Value::as_i64),
            ..ToolResult::default()
        };
        emitter.add_as(&format!("{}:result", open.id), &place(), payload);
    }

    /// The source ended; whether a call had no result.
    pub(super) fn end_all(&mut self, emitter: &mut Emitter) -> bool {
        let open = std::mem::take(&mut self.open);
        for call in open.values() {
            let result = tool::unanswered(&call.id, false);
            emitter.add_as(&format!("{}:closed", call.id), &place(), result);
        }
        !open.is_empty()
    }
}

/// What a result says: the response, or where it is cut shorter than the preview, that.
fn result_of(data: &Value) -> Option<&Value> {
    let given = |key: &str| data.get(key).filter(|value| !value.is_null());
    let (response, preview) = (given("tool_response"), given("result_preview"));
    let cut = match (response, preview) {
        (Some(Value::String(response)), Some(Value::String(preview))) => {
            preview.len() > response.len() && preview.starts_with(response.as_str())
        }
        _ => false,
    };
    if cut {
        return preview;
    }
    response.or(preview).or_else(|| given("result"))
}

/// What a call without an id is known by; the last is the narrowest that can be told.
fn shapes(tool: &str, args: Option<&Value>) -> Vec<u64> {
    let by_tool = hash(format!("tool:{tool}").as_bytes());
    match args {
        Some(args) => vec![by_tool, hash(format!("call:{tool}:{args}").as_bytes())],
        None => vec![by_tool],
    }
}

fn tool_of(data: &Value) -> String {
    text_of(data, "tool_name")
        .or_else(|| text_of(data, "tool"))
        .unwrap_or("")
        .to_owned()
}

fn args_of(data: &Value) -> Value {
    ["tool_args", "tool_input", "args"]
        .iter()
        .find_map(|key| data.get(*key))
        .cloned()
        .unwrap_or(Value::Null)
}

/// The id of the call that an event is about.
pub(super) fn call_id_of(data: &Value) -> Option<String> {
    ["tool_id", "tool_use_id", "tool_call_id"]
        .iter()
        .find_map(|key| str_of(data, key).filter(|id| !id.is_empty()))
        .map(str::to_owned)
}
