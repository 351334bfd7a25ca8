//! A tool call: one line with kind, object, outcome and duration; opened, its arguments and what it gave.

use chat_event::Json;
use chat_feed::units;
use chat_feed::{Block, Feed, ToolCallBlock, ToolKind, ToolStatus};
use leptos::html::{div, span};
use leptos::prelude::*;

use super::icon::{Icon, icon_with};
use super::line::{Line, failure_chip, verb_and_object};
use super::{Ctx, elapsed, output, raw};

/// A tool call.
pub(crate) fn view(ctx: Ctx, feed: &Feed, block: &Block, call: &ToolCallBlock) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let headline = call.headline();
    let command = call.kind == ToolKind::Execute && headline.verb == "$";
    let mono = !matches!(
        call.kind,
        ToolKind::Agent | ToolKind::Think | ToolKind::Plan
    ) || headline.verb == "$";
    let name = span()
        .class("tool-name visually-hidden")
        .child(format!("{}: ", call.tool_name));
    let object = match call.kind {
        ToolKind::Read | ToolKind::Edit => {
            units::below(&headline.object, feed.session().cwd.as_deref())
        }
        _ => &headline.object,
    };
    let object = units::first_line(object, 400);
    let what = if command {
        span().class("object mono").child(object).into_any()
    } else {
        verb_and_object(headline.verb, object, mono).into_any()
    };
    let steps = (call.steps > 0).then(|| units::count(u64::from(call.steps), "step", "steps"));
    let outcome = outcome_view(ctx, call, headline.outcome, steps);
    let time = call
        .duration_ms
        .filter(|_| !call.status.runs())
        .and_then(units::told_duration)
        .unwrap_or_default();
    let mut line = Line::new(kind_icon(call.kind), (name, what)).time(time);
    if let Some(outcome) = outcome {
        line = line.outcome(outcome);
    }
    if call.status == ToolStatus::Failed {
        line = line.icon_class("icon icon--failed");
    }
    let body = open.then(|| body_view(ctx, feed, block, call, command));
    (line.toggles(ctx, id, open), body).into_any()
}

/// The icon of a kind of tool.
pub(crate) fn kind_icon(kind: ToolKind) -> Icon {
    match kind {
        ToolKind::Read => Icon::File,
        ToolKind::Edit => Icon::Pencil,
        ToolKind::Search => Icon::Search,
        ToolKind::Execute => Icon::Terminal,
        ToolKind::Fetch => Icon::Globe,
        ToolKind::Think => Icon::Dotted,
        ToolKind::Agent => Icon::Branch,
        ToolKind::Plan => Icon::List,
        ToolKind::Other => Icon::Plug,
    }
}

fn outcome_view(
    ctx: Ctx,
    call: &ToolCallBlock,
    outcome: String,
    steps: Option<String>,
) -> Option<AnyView> {
    match call.status {
        ToolStatus::Preparing => Some(running(ctx, call, "Preparing", outcome)),
        ToolStatus::Running => Some(running(ctx, call, "Running", outcome)),
        ToolStatus::Failed => {
            // The size of what it gave is no news beside that it failed.
            let word = if outcome.is_empty() || outcome.starts_with("failed,") {
                "failed".to_owned()
            } else {
                units::first_line(&outcome, 60)
            };
            Some(failure_chip(word).into_any())
        }
        ToolStatus::Interrupted | ToolStatus::NoResult => Some(
            span()
                .class("outcome--stopped")
                .child(call.status.as_str())
                .into_any(),
        ),
        ToolStatus::Succeeded => {
            let outcome = steps.unwrap_or_else(|| units::first_line(&outcome, 60));
            (!outcome.is_empty()).then(|| span().child(outcome).into_any())
        }
    }
}

fn running(ctx: Ctx, call: &ToolCallBlock, word: &'static str, outcome: String) -> AnyView {
    let what = if outcome.is_empty() {
        word.to_owned()
    } else {
        units::first_line(&outcome, 60)
    };
    span()
        .class("running")
        .child((
            icon_with(Icon::Running, "icon icon--running"),
            what,
            elapsed::view(ctx, call.called_ms),
        ))
        .into_any()
}

fn body_view(ctx: Ctx, feed: &Feed, block: &Block, call: &ToolCallBlock, command: bool) -> AnyView {
    let args = args_view(feed, call, command);
    let printed = feed.text(block.id);
    let result = match (&call.result, &call.error) {
        _ if call.status.runs() && !printed.is_empty() => {
            Some(output::tail_well("well", "Output", printed))
        }
        (Some(result), _) if !result.is_null() && result.as_text() != "\"\"" => {
            Some(result_view(ctx, block, result))
        }
        (_, _) if !printed.is_empty() => {
            Some(output::text_well(ctx, block.id, "well", "Output", printed))
        }
        (_, _) => None,
    };
    // Where an error has a message of its own that the result does not show, it stands above it.
    let error = call.error.as_ref().filter(|error| {
        !error.message.is_empty()
            && call
                .result
                .as_ref()
                .is_none_or(|result| !result.display_text().contains(&error.message))
    });
    let error = error.map(|error| {
        output::text_well(
            ctx,
            block.id,
            "well well--wrap tool-error",
            "Error",
            &error.message,
        )
    });
    let result = (error.is_some() || result.is_some()).then(|| {
        div()
            .class("tool-result")
            .attr("data-event-id", block.event_id.to_string())
            .child((error, result))
    });
    let conflicts = (call.conflicts > 0).then(|| {
        let results = units::count(
            u64::from(call.conflicts),
            "further result",
            "further results",
        );
        div()
            .class("subtle")
            .child(format!("{results} said something else"))
    });
    let orphan = call.orphan.then(|| {
        div()
            .class("subtle")
            .child("The call itself is not in this stream")
    });
    div()
        .class("body tool-body")
        .child((orphan, args, result, conflicts))
        .into_any()
}

/// The arguments: a command as it is run, others as their fields; the JSON as far as it came while it streams.
fn args_view(feed: &Feed, call: &ToolCallBlock, command: bool) -> Option<AnyView> {
    if call.args.is_null() {
        let coming = call
            .input
            .map(|input| feed.stream(input))
            .filter(|text| !text.is_empty())?;
        let args = output::well("well well--wrap", "Arguments so far", coming.to_owned());
        return Some(div().class("tool-args").child(args).into_any());
    }
    if call.args.as_text() == "{}" {
        return None;
    }
    // The line above shows a short command whole.
    let text = call
        .args
        .get("command")
        .and_then(|text| text.as_str().map(|text| text.into_owned()));
    let args = match text.filter(|_| command) {
        Some(text) if !text.contains('\n') && text.len() < 60 => return None,
        Some(text) => output::well("well well--wrap", "Command", text),
        None => raw::fields(&call.args),
    };
    Some(div().class("tool-args").child(args).into_any())
}

fn result_view(ctx: Ctx, block: &Block, result: &Json) -> AnyView {
    if let Some(body) = result.body_ref() {
        let note = body.truncated.then(|| {
            let size = units::bytes(body.bytes);
            div()
                .class("subtle")
                .child(format!("The first part of {size}"))
        });
        return (
            output::text_well(ctx, block.id, "well", "Result", &body.preview),
            note,
        )
            .into_any();
    }
    match result_text(result) {
        Some(text) => output::text_well(ctx, block.id, "well", "Result", &text),
        None => raw::tree(result),
    }
}

/// A result that is text, or a list of content parts that are all text.
fn result_text(result: &Json) -> Option<String> {
    if let Some(text) = result.as_str() {
        return Some(text.into_owned());
    }
    let serde_json::Value::Array(parts) = result.to_value() else {
        return None;
    };
    let texts: Option<Vec<String>> = parts
        .iter()
        .map(
            |part| match part.get("type").and_then(serde_json::Value::as_str) {
                Some("text") => part
                    .get("text")
                    .and_then(serde_json::Value::as_str)
                    .map(str::to_owned),
                _ => None,
            },
        )
        .collect();
    texts
        .filter(|texts| !texts.is_empty())
        .map(|texts| texts.join("\n"))
}
