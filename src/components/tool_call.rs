//! A tool call: one line with kind, object, outcome and duration; opened, its arguments and what it gave.

use std::borrow::Cow;

use chat_event::gist::gist;
use chat_event::{Body, Json};
use chat_feed::loads::Spot;
use chat_feed::media::{Attachment, Parts};
use chat_feed::{Block, Feed, ToolCallBlock, ToolKind, ToolStatus};
use chat_feed::{long_text, units};
use leptos::html::{div, span};
use leptos::prelude::*;

use super::icon::{Icon, icon_with};
use super::line::{
    DrawnLine, Line, draw_failure_chip, draw_path, draw_verb_and_object, verb_and_object,
};
use super::whole::Long;
use super::{Ctx, attachments, elapsed, later, output, raw, terminal};
use crate::platform::row::Strokes;

/// What came along with a result is numbered from here, what stands in the result itself from 0.
const ALONGSIDE: usize = 1 << 16;

/// More characters of what a call works on are no line.
const OBJECT_CHARS: usize = 400;

/// More characters of a sub-agent's answer are no line.
const SAID_CHARS: usize = 240;

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
    let name = format!("{}: ", call.tool_name);
    let object = match call.kind {
        ToolKind::Read | ToolKind::Edit => {
            units::below(&headline.object, feed.session().cwd.as_deref())
        }
        _ => &headline.object,
    };
    let object = units::first_line(object, OBJECT_CHARS);
    let is_path = matches!(call.kind, ToolKind::Read | ToolKind::Edit);
    let line = match call.status {
        ToolStatus::Preparing | ToolStatus::Running => {
            let name = span().class("tool-name").child(name);
            let what = if command {
                span().class("object mono").child(object).into_any()
            } else {
                verb_and_object(headline.verb, object, mono).into_any()
            };
            let word = match call.status {
                ToolStatus::Preparing => "Preparing",
                _ => "Running",
            };
            Line::new(kind_icon(call.kind), (name, what))
                .outcome(running(ctx, call, word, headline.outcome))
                .toggles(open)
        }
        _ => {
            let class = match call.status {
                ToolStatus::Failed => "icon icon--failed",
                _ => "icon",
            };
            let time = call.duration_ms.and_then(units::told_duration);
            let line = DrawnLine::new(kind_icon(call.kind), class);
            let says = |strokes: &mut Strokes| {
                strokes.span("tool-name", &name);
                if command {
                    strokes.span("object mono", &object);
                } else if is_path {
                    strokes.span("verb", &headline.verb);
                    strokes.text(" ");
                    draw_path(strokes, &object, &headline.object);
                } else {
                    draw_verb_and_object(strokes, &headline.verb, &object, mono);
                }
            };
            let line = match is_path {
                true => line.says_of_file(says),
                false => line.says(says),
            };
            line.ended(
                |strokes| draw_outcome(strokes, call, &headline.outcome, open),
                &time.unwrap_or_default(),
            )
            .toggles(open)
        }
    };
    let body = open.then(|| later::body(ctx, feed, block));
    let said = said(call).filter(|_| !open);
    let said = said.map(|said| div().class("tool-call__said").child(said));
    (line, said, body).into_any()
}

/// What a sub-agent answered, in a line: the rest of what it did is behind its row.
fn said(call: &ToolCallBlock) -> Option<String> {
    if call.kind != ToolKind::Agent || call.status != ToolStatus::Succeeded {
        return None;
    }
    let texts = long_text::texts(call.result.as_ref()?)?;
    // Programs put tags and remarks above what an agent says.
    let head = texts.first()?.head();
    let is_above = |line: &str| line.trim().is_empty() || line.trim_start().starts_with(['<', '[']);
    let above = head.split_inclusive('\n').take_while(|line| is_above(line));
    let said = gist(&head[above.map(str::len).sum()..], SAID_CHARS);
    Some(said).filter(|said| !said.is_empty())
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

/// How a call that does not run any more ended.
fn draw_outcome(strokes: &mut Strokes, call: &ToolCallBlock, outcome: &str, open: bool) {
    match call.status {
        ToolStatus::Preparing | ToolStatus::Running => {}
        ToolStatus::Failed => {
            // The size of what it gave is no news beside that it failed, and an opened call has the words below.
            let is_said = open && call.exit_code.is_none();
            if is_said || outcome.is_empty() || outcome.starts_with("failed,") {
                draw_failure_chip(strokes, "failed");
            } else {
                draw_failure_chip(strokes, &units::first_line(outcome, 60));
            }
        }
        ToolStatus::Interrupted | ToolStatus::NoResult => {
            strokes.span("outcome--stopped", call.status.as_str());
        }
        ToolStatus::Succeeded => {
            let outcome = match call.steps {
                0 => units::first_line(outcome, 60),
                steps => units::count(u64::from(steps), "step", "steps"),
            };
            if !outcome.is_empty() {
                strokes.span("", &outcome);
            }
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

/// What an opened call shows: its arguments and what it gave.
pub(super) fn body_view(ctx: Ctx, feed: &Feed, block: &Block, call: &ToolCallBlock) -> AnyView {
    let command = call.kind == ToolKind::Execute && call.what().0 == "$";
    let has_printed = feed.text_len(block.id) > 0;
    let terminal = match command {
        true => terminal_view(ctx, feed, block, call),
        false => None,
    };
    let args = match terminal {
        Some(_) => None,
        None => args_view(ctx, feed, block, call, command),
    };
    let result = match (&call.result, &call.error) {
        _ if terminal.is_some() => terminal,
        _ if call.status.runs() && has_printed => {
            Some(output::tail_well("well", "Output", &feed.text(block.id)))
        }
        (Some(result), _) if !result.is_null() && result.as_text() != "\"\"" => {
            Some(result_view(ctx, block, call, result))
        }
        (_, _) if has_printed => {
            let place = (block.id, Spot::Output);
            let printed = feed.text(block.id);
            Some(output::text_well(ctx, place, "well", "Output", &printed))
        }
        (_, _) => None,
    };
    // Where an error has a message of its own that the result does not show, it stands above it.
    let error = call.error.as_ref().filter(|error| {
        !error.message.is_empty()
            && !is_exit_code(&error.message, call.exit_code)
            && call
                .result
                .as_ref()
                .is_none_or(|result| !long_text::shows(result, &error.message))
    });
    let error = error.map(|error| {
        output::text_well(
            ctx,
            (block.id, Spot::Error),
            "well well--wrap",
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
    let along = call.attachments.as_ref().and_then(|along| {
        let list = Attachment::list(Some(along));
        let event_id = call.result_event.as_deref().unwrap_or_default();
        attachments::list_view(ctx, block.id, event_id, (ALONGSIDE, &list))
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
        .child((orphan, args, result, along, conflicts))
        .into_any()
}

/// Whether an error says no more than the code that the line above has: `exit code 101`.
fn is_exit_code(message: &str, exit_code: Option<i64>) -> bool {
    let message = message.trim();
    let begins = message.get(..4);
    let code = message
        .rsplit(' ')
        .next()
        .and_then(|code| code.parse().ok());
    begins.is_some_and(|word| word.eq_ignore_ascii_case("exit"))
        && message.len() <= "exited with exit status: 4294967295".len()
        && code.is_some_and(|code: i64| exit_code == Some(code))
}

/// What a call runs in a shell, where all of it is here.
fn command(call: &ToolCallBlock) -> Option<String> {
    let command = call.args.get("command")?.to_body()?;
    command.excerpt().whole().map(Cow::into_owned)
}

/// A command with what it printed, where that is text and short, or was asked for whole.
fn terminal_view(ctx: Ctx, feed: &Feed, block: &Block, call: &ToolCallBlock) -> Option<AnyView> {
    let command = command(call)?;
    let result = match &call.result {
        // While it runs, and where it gave nothing, what it printed is all there is.
        None => None,
        Some(_) if call.status.runs() => None,
        Some(result) if result.is_null() => None,
        Some(result) => {
            let texts = long_text::texts(result)?;
            let [text] = texts.as_slice() else {
                return None;
            };
            Some(terminal_text(ctx, block, text)?).filter(|text| !text.is_empty())
        }
    };
    Some(terminal::view(ctx, feed, block, call, &command, result))
}

/// A long text is the same two ends whether it is here or elsewhere, until the reader asks for all of it.
fn terminal_text(ctx: Ctx, block: &Block, text: &Body) -> Option<String> {
    if let Some(whole) = text.excerpt().whole() {
        return Some(whole.into_owned());
    }
    let place = (block.id, Spot::Printed);
    ctx.with_value(|context| {
        let whole = context.wholes.text(&place, text)?;
        Some(Spot::Printed.shown(&whole).to_owned())
    })
}

/// The arguments: a command as it is run, others as their fields; the JSON as far as it came while it streams.
fn args_view(
    ctx: Ctx,
    feed: &Feed,
    block: &Block,
    call: &ToolCallBlock,
    command: bool,
) -> Option<AnyView> {
    if call.args.is_null() {
        let coming = call
            .input
            .map(|input| feed.stream(input))
            .filter(|text| !text.is_empty())?;
        let args = output::well("well well--wrap", "Arguments so far", coming.into_string());
        return Some(div().class("tool-args").child(args).into_any());
    }
    if call.args.as_text() == "{}" {
        return None;
    }
    // The line above shows a short command whole.
    let event_id = call.args_event.as_deref().unwrap_or_default();
    let text = call.args.get("command").and_then(|text| text.to_body());
    let args = match text.filter(|_| command) {
        Some(Body::Inline(text)) if text.len() < 60 && !text.read().contains('\n') => return None,
        Some(text) => {
            let place = (block.id, Spot::Argument("command".into()));
            Long::new(ctx, place, event_id, ("well well--wrap", "Command")).view(&text)
        }
        None => {
            // While there is nothing else below they are what an opened call shows.
            let has_more = call.result.is_some() || call.error.is_some();
            let told = match has_more {
                true => call.told_by_headline(),
                false => Vec::new(),
            };
            raw::arguments(ctx, block, event_id, &call.args, &told)?
        }
    };
    Some(div().class("tool-args").child(args).into_any())
}

fn result_view(ctx: Ctx, block: &Block, call: &ToolCallBlock, result: &Json) -> AnyView {
    let event_id = call.result_event.as_deref().unwrap_or_default();
    let long_at = |spot, looks| Long::new(ctx, (block.id, spot), event_id, looks);
    let long = |nth, looks| long_at(Spot::Result(nth), looks);
    if let Some(parts) = Parts::of(result) {
        let texts = parts.texts.iter().enumerate();
        let texts = texts.map(|(nth, text)| long(nth, ("well", "Result")).view(text));
        let rest = attachments::list_view(ctx, block.id, event_id, (0, &parts.attachments));
        return (texts.collect::<Vec<_>>(), rest).into_any();
    }
    match long_text::texts(result) {
        // All of it is drawn as a terminal would.
        Some(texts) if texts.len() == 1 && command(call).is_some() => {
            long_at(Spot::Printed, ("well", "Result")).view(&texts[0])
        }
        Some(texts) => {
            let texts = texts.iter().enumerate();
            let views = texts.map(|(nth, text)| long(nth, ("well", "Result")).view(text));
            views.collect::<Vec<_>>().into_any()
        }
        None => long(0, ("well well--wrap", "JSON")).json_view(result),
    }
}
