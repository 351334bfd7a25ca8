//! What answers used, and the whole session.

use chat_event::payload::Usage;
use serde_json::Value;

use super::Copilot;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, text_of};

/// The tokens that an answer says it wrote; where the whole figures follow, those are told.
#[derive(Debug)]
pub(super) struct Written {
    id: String,
    place: Place,
    usage: Usage,
    time_ms: i64,
}

impl Copilot {
    /// The tokens that an answer wrote: told with what comes next, which may be all of its figures.
    pub(super) fn wrote(&mut self, emitter: &Emitter, response: &str, data: &Value) {
        let Some(output_tokens) = count_of(data, "outputTokens").filter(|n| *n > 0) else {
            return;
        };
        let usage = Usage {
            scope: "response".to_owned(),
            output_tokens,
            model: text_of(data, "model").map(str::to_owned),
            ..Usage::default()
        };
        self.written = Some(Written {
            id: format!("{response}:usage"),
            place: self.track.place().in_response(response),
            usage,
            time_ms: emitter.time_ms,
        });
    }

    /// Tells them, where nothing more was said of them.
    pub(super) fn tell_written(&mut self, emitter: &mut Emitter) {
        if let Some(written) = self.written.take() {
            let now_ms = std::mem::replace(&mut emitter.time_ms, written.time_ms);
            emitter.add_as(&written.id, &written.place, written.usage);
            emitter.time_ms = now_ms;
        }
    }

    /// `assistant.usage` and the `usage` of a `session.usage_record`: the figures of one request to the model. A run prints the
    /// one and a file keeps the other, under the id of the request.
    pub(super) fn spent(&mut self, emitter: &mut Emitter, data: &Value) {
        let read = count_of(data, "cacheReadTokens");
        let written = count_of(data, "cacheWriteTokens");
        let in_cache = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
        let input = count_of(data, "inputTokens").unwrap_or(0);
        let usage = Usage {
            scope: "response".to_owned(),
            input_tokens: input.saturating_sub(in_cache),
            output_tokens: count_of(data, "outputTokens").unwrap_or(0),
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: count_of(data, "reasoningTokens"),
            model: text_of(data, "model").map(str::to_owned),
            ..Usage::default()
        };
        let request = text_of(data, "apiCallId");
        match (self.written.take(), request) {
            (Some(written), _) => emitter.add_as(&written.id, &written.place, usage),
            (None, Some(request)) => {
                let place = self.track.place().in_response(request);
                emitter.add_as(&format!("{request}:usage"), &place, usage)
            }
            (None, None) => emitter.add("usage", &self.track.place(), usage),
        };
    }

    /// What the whole session used, all models together: figures of a session stand for those before them.
    pub(super) fn used(&mut self, emitter: &mut Emitter, data: &Value) {
        let models = data.get("modelMetrics").and_then(Value::as_object);
        let plus = |one: Option<u64>, more: Option<u64>| {
            one.map_or(more, |one| Some(one.saturating_add(more.unwrap_or(0))))
        };
        let mut all: Option<Usage> = None;
        for (model, metrics) in models.into_iter().flatten() {
            let usage = metrics.get("usage").unwrap_or(&Value::Null);
            let Some(input) = count_of(usage, "inputTokens") else {
                continue;
            };
            let read = count_of(usage, "cacheReadTokens");
            let written = count_of(usage, "cacheWriteTokens");
            let in_cache = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
            let usage = Usage {
                scope: "session".to_owned(),
                cumulative: Some(true),
                input_tokens: input.saturating_sub(in_cache),
                output_tokens: count_of(usage, "outputTokens").unwrap_or(0),
                cache_read_tokens: read,
                cache_write_tokens: written,
                model: Some(model.clone()),
                ..Usage::default()
            };
            all = Some(match all {
                None => usage,
                Some(all) => Usage {
                    input_tokens: all.input_tokens.saturating_add(usage.input_tokens),
                    output_tokens: all.output_tokens.saturating_add(usage.output_tokens),
                    cache_read_tokens: plus(all.cache_read_tokens, usage.cache_read_tokens),
                    cache_write_tokens: plus(all.cache_write_tokens, usage.cache_write_tokens),
                    model: None,
                    ..all
                },
            });
        }
        if let Some(usage) = all {
            emitter.add("usage", &self.track.place(), usage);
        }
    }
}
