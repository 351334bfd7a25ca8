//! Answers in their three forms, of Chat Completions, of the Responses API and as bare text, and what texts alone say.

use chat_event::payload::Usage;
use serde_json::{Value, json};

use super::between;
use crate::value::{amount_of, count_of, list_of, str_of, text_of, text_of_blocks};

/// What an answer says.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) id: Option<String>,
    pub(super) thoughts: Vec<String>,
    pub(super) text: String,
    /// Commands, with the calls' ids where they have any: `{command}`.
    pub(super) calls: Vec<(Option<String>, Value)>,
    pub(super) usage: Option<Usage>,
}

impl Answer {
    /// The answer that a message is; or what stands for one, where the message itself was left out: `{response}` or
    /// `{model_response}`.
    pub(super) fn of(message: &Value) -> Answer {
        let extra = message.get("extra").unwrap_or(message);
        let response = extra.get("response").unwrap_or(&Value::Null);
        let mut answer = match str_of(message, "object").or_else(|| str_of(response, "object")) {
            Some("response") => {
                let is_own = str_of(message, "object").is_some();
                of_responses(if is_own { message } else { response })
            }
            _ => {
                let is_own = str_of(message, "role").is_some();
                let first = list_of(response, "choices").first();
                let choice = first.and_then(|choice| choice.get("message"));
                of_chat(if is_own {
                    message
                } else {
                    choice.unwrap_or(&Value::Null)
                })
            }
        };
        answer.id = answer
            .id
            .or_else(|| text_of(response, "id").map(str::to_owned));
        answer.usage = answer.usage.or_else(|| usage_of(response));
        if let Some(usage) = &mut answer.usage {
            usage.cost_usd = amount_of(extra, "cost").filter(|cost| *cost > 0.0);
        }
        if let Some(text) = text_of(extra, "model_response").filter(|_| answer.text.is_empty()) {
            text.clone_into(&mut answer.text);
        }
        let actions = list_of(extra, "actions");
        if !actions.is_empty() {
            let id = |action: &Value| text_of(action, "tool_call_id").map(str::to_owned);
            answer.calls = actions.iter().map(|it| (id(it), it.clone())).collect();
        }
        answer.without_block()
    }

    /// A command stands in the text as a block, where it is not called otherwise: it is no text then.
    fn without_block(mut self) -> Answer {
        if self.calls.iter().any(|(id, _)| id.is_some()) {
            return self;
        }
        for fence in ["```mswea_bash_command\n", "```bash\n"] {
            let Some((before, rest)) = self.text.split_once(fence) else {
                continue;
            };
            let Some((command, after)) = rest.split_once("\n```") else {
                continue;
            };
            if self.calls.is_empty() {
                self.calls.push((None, json!({"command": command})));
            }
            self.text = [before.trim(), after.trim()].join("\n\n").trim().to_owned();
            break;
        }
        self
    }
}

fn of_chat(message: &Value) -> Answer {
    let thought = text_of(message, "reasoning_content").map(str::to_owned);
    let blocks = || {
        let blocks = list_of(message, "thinking_blocks").iter();
        blocks.filter_map(|block| text_of(block, "thinking").map(str::to_owned))
    };
    let calls = list_of(message, "tool_calls").iter().map(|call| {
        let args = call.get("function").and_then(|it| str_of(it, "arguments"));
        let args = args.and_then(|args| serde_json::from_str(args).ok());
        let id = text_of(call, "id").map(str::to_owned);
        (id, args.unwrap_or(Value::Null))
    });
    Answer {
        thoughts: thought.map_or_else(|| blocks().collect(), |thought| vec![thought]),
        text: text_of_blocks(message.get("content")),
        calls: calls.collect(),
        ..Answer::default()
    }
}

fn of_responses(message: &Value) -> Answer {
    let mut answer = Answer {
        id: text_of(message, "id").map(str::to_owned),
        usage: usage_of(message),
        ..Answer::default()
    };
    for item in list_of(message, "output") {
        match str_of(item, "type") {
            Some("reasoning") => {
                let thought = text_of_blocks(item.get("summary"));
                answer
                    .thoughts
                    .extend(Some(thought).filter(|it| !it.is_empty()));
            }
            Some("message") => {
                let text = text_of_blocks(item.get("content"));
                let texts = [answer.text.as_str(), &text];
                answer.text = texts.join("\n\n").trim().to_owned();
            }
            Some("function_call") => {
                let args = str_of(item, "arguments").and_then(|it| serde_json::from_str(it).ok());
                let id = text_of(item, "call_id").map(str::to_owned);
                answer.calls.push((id, args.unwrap_or(Value::Null)));
            }
            _ => {}
        }
    }
    answer
}

fn usage_of(response: &Value) -> Option<Usage> {
    let usage = response.get("usage").filter(|usage| usage.is_object())?;
    let of = |names: [&str; 2]| names.iter().find_map(|name| count_of(usage, name));
    let details = |names: [&str; 2]| names.iter().find_map(|name| usage.get(name));
    let read = details(["prompt_tokens_details", "input_tokens_details"]);
    let read = read.and_then(|it| count_of(it, "cached_tokens"));
    let read = read.or_else(|| count_of(usage, "cache_read_input_tokens"));
    let written = count_of(usage, "cache_creation_input_tokens");
    let thought = details(["completion_tokens_details", "output_tokens_details"]);
    let input = of(["prompt_tokens", "input_tokens"]).unwrap_or(0);
    let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    Some(Usage {
        scope: "response".to_owned(),
        input_tokens: input.saturating_sub(cached),
        output_tokens: of(["completion_tokens", "output_tokens"]).unwrap_or(0),
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: thought.and_then(|it| count_of(it, "reasoning_tokens")),
        context_used: count_of(usage, "total_tokens"),
        model: text_of(response, "model").map(str::to_owned),
        ..Usage::default()
    })
}

/// When a message came, Unix epoch in milliseconds; it is told in seconds.
pub(super) fn time_of(message: &Value) -> Option<i64> {
    let of = |holder: &Value| holder.get("timestamp").and_then(Value::as_f64);
    let seconds = message.get("extra").and_then(of).or_else(|| of(message))?;
    #[allow(
        clippy::cast_possible_truncation,
        reason = "what is no time is far away from all"
    )]
    let time_ms = (seconds * 1000.0).round() as i64;
    (time_ms > 0).then_some(time_ms)
}

/// The task in the first prompt, which the program's words stand around: those of its template.
pub(super) fn task_in<'t>(prompt: &'t str, info: &Value) -> Option<&'t str> {
    let agent = info.get("config").and_then(|config| config.get("agent"))?;
    let template = text_of(agent, "instance_template")?;
    let (before, after) = template.split_once("{{task}}")?;
    let rest = prompt.strip_prefix(before)?;
    // Up to what is put in as well.
    let after = after.split(['{', '\n']).find(|it| !it.trim().is_empty());
    let task = match after {
        Some(after) => rest.split_once(after)?.0,
        None => rest,
    };
    Some(task.trim()).filter(|task| !task.is_empty())
}

/// The code and the output of a command, as a text tells them: `<returncode>2</returncode>\n<output>…</output>`.
pub(super) fn result_in(content: &str) -> Option<(i64, String)> {
    let code = between(content, "<returncode>", "</returncode>")?;
    let output = content
        .split_once("<output>")
        .map_or("", |(_, output)| output);
    let output = output.rsplit_once("</output>").map_or(output, |(it, _)| it);
    let output = output.strip_prefix('\n').unwrap_or(output);
    Some((code.trim().parse().ok()?, output.to_owned()))
}
