//! What an opened call shows: its arguments and what it gave.

use chat_event::{Body, Json};
use chat_feed::loads::Spot;
use chat_feed::long_text;
use chat_feed::media::{Attachment, Parts};
use chat_feed::{Block, Feed, ToolCallBlock, ToolKind, ToolStatus, units};
use leptos::html::div;
use leptos::prelude::*;

use super::inside::Inside;
use crate::components::whole::Long;
use crate::components::{Ctx, ask, attachments, css_parts, output, raw, terminal, text};

/// What came along with a result is numbered from here, what stands in the result itself from 0.
const ALONGSIDE: usize = 1 << 16;

/// What an opened call shows: its arguments and what it gave.
pub(crate) fn body_view(ctx: Ctx, feed: &Feed, block: &Block, call: &ToolCallBlock) -> AnyView {
    let command = call.kind == ToolKind::Execute && call.what().0 == "$";
    let has_printed = feed.text_len(block.id) > 0;
    // Why a command was denied are words, and not what it printed.
    let terminal = match command && call.status != ToolStatus::Denied {
        true => terminal_view(ctx, feed, block, call),
        false => None,
    };
    // What find looks for, or the reader, is shown also where it is said elsewhere.
    let shows_all =
        ctx.with_value(|context| context.store.shows_whole(block.id) || context.diffs.are_whole());
    let inside = match shows_all {
        true => Inside::default(),
        false => Inside::of(feed, block, call),
    };
    // Why it failed, or was denied, comes first; what it was given is seldom why, but for a plan.
    let gave = call.result.is_some() || call.error.is_some();
    let failed = call.status == ToolStatus::Failed;
    let is_behind = (failed || call.status == ToolStatus::Denied)
        && gave
        && !command
        && call.proposed_plan().is_none();
    let has_args = !call.args.is_null() && call.args.as_text() != "{}";
    let is_folded = is_behind && has_args && !shows_all;
    let args = match terminal {
        _ if is_folded || inside.has_task => None,
        Some(_) => None,
        None => args_view(ctx, feed, block, call, [command, shows_all]),
    };
    let fold = (is_behind && has_args).then(|| {
        let label = match is_folded {
            true => "Arguments",
            false => "Hide arguments",
        };
        terminal::more_button(ctx, block.id, label.to_owned())
    });
    let mut remarks = match command {
        true => call.remarks(),
        false => Vec::new(),
    };
    remarks.extend(ask::decided_about(feed, call));
    let remarks = (!remarks.is_empty()).then(|| {
        div()
            .class("tool-remarks subtle")
            .child(remarks.join(" · "))
    });
    // An error's message stands above the result, and instead of one that says no more.
    let message = call.failure().map(|error| error.message.as_str());
    let message =
        message.filter(|message| !message.is_empty() && !is_exit_code(message, call.exit_code));
    let result = call.result.as_ref();
    let (is_all, is_within) = match message.zip(result) {
        Some((message, result)) => (
            terminal.is_none() && long_text::says_only(result, message),
            long_text::shows(result, message),
        ),
        None => (false, false),
    };
    let result = match result {
        _ if terminal.is_some() => terminal,
        _ if call.status.runs() && has_printed => {
            let returns = output::returns_in(feed, block.id);
            let printed = feed.text(block.id);
            Some(output::tail_well("well", "Output", &printed, returns))
        }
        _ if is_all || inside.has_answer => None,
        // That it was approved is said above, and what it gave are words for the model.
        _ if !shows_all && call.headline().outcome == "approved" => None,
        Some(result) if !result.is_null() && result.as_text() != "\"\"" => {
            let class = match is_within {
                true if failed => "well well--failed",
                true | false => "well",
            };
            Some(result_view(ctx, block, call, result, class))
        }
        _ if has_printed => {
            let place = (block.id, Spot::Output);
            let printed = feed.text(block.id);
            Some(output::text_well(ctx, place, "well", "Output", &printed))
        }
        _ => None,
    };
    let error = message.filter(|_| is_all || !is_within).map(|message| {
        output::text_well(
            ctx,
            (block.id, Spot::Error),
            if failed {
                "well well--wrap well--failed"
            } else {
                "well well--wrap"
            },
            if failed { "Error" } else { "Reason" },
            long_text::untagged(message),
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
        .attr("part", css_parts::BODY)
        .child(match is_behind {
            true => (orphan, result, fold, args, along, conflicts).into_any(),
            false => (orphan, remarks, args, result, along, conflicts).into_any(),
        })
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

/// A command with what it printed, where that is text and short, or was asked for whole.
fn terminal_view(ctx: Ctx, feed: &Feed, block: &Block, call: &ToolCallBlock) -> Option<AnyView> {
    let command = call.command()?;
    let result = match &call.result {
        // While it runs, and where it gave nothing, what it printed is all there is.
        None => None,
        Some(_) if call.status.runs() && !call.background => None,
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
    [command, shows_all]: [bool; 2],
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
    // A plan is written to be read; who looks for something in it sees it as it was given.
    if let (false, Some((plan, true))) = (shows_all, call.proposed_plan()) {
        return Some(text::whole(&plan, "prose tool-args").into_any());
    }
    // The line above shows a short command whole.
    let event_id = call.args_event.as_deref().unwrap_or_default();
    let run = call.command_arg().filter(|_| command);
    let args = match run.and_then(|(name, text)| Some((name, text.to_body()?))) {
        Some((_, Body::Inline(text))) if text.len() < 60 && !text.read().contains('\n') => {
            return None;
        }
        Some((name, text)) => {
            let place = (block.id, Spot::Argument(name.into()));
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

fn result_view(
    ctx: Ctx,
    block: &Block,
    call: &ToolCallBlock,
    result: &Json,
    class: &'static str,
) -> AnyView {
    let event_id = call.result_event.as_deref().unwrap_or_default();
    let long_at = |spot, looks| Long::new(ctx, (block.id, spot), event_id, looks);
    let long = |nth, looks| long_at(Spot::Result(nth), looks);
    if let Some(parts) = Parts::of(result) {
        let texts = parts.texts.iter().enumerate();
        let texts = texts.map(|(nth, text)| long(nth, (class, "Result")).view(text));
        let rest = attachments::list_view(ctx, block.id, event_id, (0, &parts.attachments));
        return (texts.collect::<Vec<_>>(), rest).into_any();
    }
    match long_text::texts(result) {
        // What an agent answers is written to be read.
        Some(texts)
            if call.kind == ToolKind::Agent
                && call.status == ToolStatus::Succeeded
                && texts.iter().all(|text| text.excerpt().is_whole()) =>
        {
            let texts = texts.iter().filter_map(|text| text.excerpt().whole());
            let views = texts.map(|answer| text::whole(&answer, "prose").into_any());
            views.collect::<Vec<_>>().into_any()
        }
        // All of it is drawn as a terminal would.
        Some(texts) if texts.len() == 1 && call.command().is_some() => {
            long_at(Spot::Printed, ("well", "Result")).view(&texts[0])
        }
        Some(texts) => {
            // So it is where it is long.
            let class = match call.kind {
                ToolKind::Agent if class == "well" => "well well--wrap",
                _ => class,
            };
            let texts = texts.iter().enumerate();
            let views = texts.map(|(nth, text)| long(nth, (class, "Result")).view(text));
            views.collect::<Vec<_>>().into_any()
        }
        None => long(0, ("well well--wrap", "JSON")).json_view(result),
    }
}
