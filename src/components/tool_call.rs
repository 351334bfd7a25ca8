//! A tool call: one line with kind, object, outcome and duration. What it shows opened is in [`body`].

mod body;
mod inside;

use chat_event::gist::gist;
use chat_feed::{Block, Feed, ToolCallBlock, ToolKind, ToolStatus};
use chat_feed::{long_text, units};
use leptos::html::{div, span};
use leptos::prelude::*;

use super::icon::{Icon, icon_with};
use super::line::{
    DrawnLine, Line, command as command_words, draw_command, draw_failure_chip, draw_path,
    draw_verb_and_object, verb_and_object,
};
use super::{Ctx, ask, elapsed, later, seen};
use crate::platform::row::Strokes;
pub(super) use body::body_view;

/// More characters of what a call works on are no line.
const OBJECT_CHARS: usize = 400;

/// More characters of a sub-agent's answer are no line.
const SAID_CHARS: usize = 240;

/// A tool call.
pub(crate) fn view(ctx: Ctx, feed: &Feed, block: &Block, call: &ToolCallBlock) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    // While its arguments are written its line says what can be read of them.
    let so_far = call.so_far(feed);
    let call = so_far.as_ref().unwrap_or(call);
    let headline = call.headline();
    let command = call.kind == ToolKind::Execute && headline.verb == "$";
    let mono = !matches!(
        call.kind,
        ToolKind::Agent | ToolKind::Think | ToolKind::Plan
    ) || headline.verb == "$";
    let name = format!("{}: ", call.tool_name);
    let object = call.seen_from(feed.session().cwd.as_deref(), &headline.object);
    // What an agent is to do is a sentence of Markdown, as what it answers.
    let sentence = (call.kind == ToolKind::Agent).then(|| gist(&object, OBJECT_CHARS));
    let sentence = sentence.filter(|sentence| !sentence.is_empty());
    let object = sentence.unwrap_or_else(|| units::first_line(&object, OBJECT_CHARS));
    let is_path = matches!(call.kind, ToolKind::Read | ToolKind::Edit);
    let said = said(call);
    let line = match call.status {
        ToolStatus::Preparing | ToolStatus::Running => {
            let name = span().class("tool-name").child(seen::text(name));
            let what = if command {
                let object = match open {
                    true => command_words(&object),
                    false => vec![seen::text(object)],
                };
                span().class("object mono").child(object).into_any()
            } else {
                verb_and_object(headline.verb, call.between(), object, mono).into_any()
            };
            let needs_you = ctx.with_value(|context| context.needs_you_within(id));
            let word = match call.status {
                _ if needs_you => "Needs you",
                _ if call.waits => "Waiting",
                _ if call.denied => "Denied",
                ToolStatus::Preparing => "Preparing",
                _ if call.background => "In the background",
                _ => "Running",
            };
            Line::new(kind_icon(call.kind), (name, what))
                .running(running(ctx, call, needs_you, word, headline.outcome))
                .toggles(open)
        }
        _ => {
            let class = match (call.status, call.exit_code) {
                (ToolStatus::Failed, _) => "icon icon--failed",
                (ToolStatus::Succeeded, Some(code)) if code != 0 => "icon icon--failed",
                _ => "icon",
            };
            let time = call.duration_ms.and_then(units::told_duration);
            let line = DrawnLine::new(kind_icon(call.kind), class);
            let says = |strokes: &mut Strokes| {
                seen::draw_span(strokes, "tool-name", &name);
                if command && open {
                    draw_command(strokes, &object);
                } else if command {
                    seen::draw_span(strokes, "object mono", &object);
                } else if is_path {
                    seen::draw_span(strokes, "verb", &headline.verb);
                    strokes.text(" ");
                    draw_path(strokes, &object, &headline.object);
                } else {
                    draw_verb_and_object(strokes, &headline.verb, call.between(), &object, mono);
                }
            };
            let line = match is_path {
                true => line.says_of_file(says),
                false => line.says(says),
            };
            line.ended(
                |strokes| {
                    // What an agent answered stands below its line, or in what is opened.
                    let outcome = said.as_ref().map_or(&*headline.outcome, |_| "");
                    draw_outcome(strokes, feed, call, outcome, open);
                },
                &time.unwrap_or_default(),
            )
            .toggles(open)
        }
    };
    let body = open.then(|| later::body(ctx, feed, block));
    let said = said.filter(|_| !open);
    let said = said.map(|said| div().class("tool-call__said").child(seen::text(said)));
    (line, said, body).into_any()
}

/// What a sub-agent answered, in a line: the rest of what it did is behind its row.
fn said(call: &ToolCallBlock) -> Option<String> {
    if call.kind != ToolKind::Agent || call.status != ToolStatus::Succeeded {
        return None;
    }
    let texts = long_text::texts(call.result.as_ref()?)?;
    // Programs put tags and remarks above what an agent says, and agents headings, which say nothing by themselves.
    let head = texts.first()?.head();
    let is_above = |line: &str| {
        let line = line.trim();
        line.is_empty() || line.starts_with(['<', '[', '#'])
    };
    let above = head.split_inclusive('\n').take_while(|line| is_above(line));
    let said = gist(&head[above.map(str::len).sum()..], SAID_CHARS);
    let said = match said.is_empty() {
        true => gist(&head, SAID_CHARS),
        false => said,
    };
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
fn draw_outcome(
    strokes: &mut Strokes,
    feed: &Feed,
    call: &ToolCallBlock,
    outcome: &str,
    open: bool,
) {
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
        ToolStatus::Denied => {
            let by = ask::answered_for(feed, call).map(|(.., resolved)| ask::by(resolved));
            let said = format!("{} {}", call.status.as_str(), by.unwrap_or_default());
            strokes.span("outcome--stopped", said.trim_end());
        }
        ToolStatus::Interrupted | ToolStatus::NoResult => {
            strokes.span("outcome--stopped", call.status.as_str());
        }
        // Its agent took it as it is, but a command that says so did not do what it was to.
        ToolStatus::Succeeded if call.exit_code.is_some_and(|code| code != 0) => {
            draw_failure_chip(strokes, outcome);
        }
        ToolStatus::Succeeded => {
            let outcome = match call.steps {
                0 => units::first_line(outcome, 60),
                steps => units::count(u64::from(steps), "step", "steps"),
            };
            if !outcome.is_empty() {
                seen::draw_span(strokes, "", &outcome);
            }
        }
    }
}

fn running(
    ctx: Ctx,
    call: &ToolCallBlock,
    needs_you: bool,
    word: &'static str,
    outcome: String,
) -> AnyView {
    // That it began is no news of one that runs, and its line says what it does.
    // Nor is how long: that is told beside it.
    let is_time = |outcome: &str| {
        let seconds = outcome.strip_suffix(" s").unwrap_or_default();
        !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_no_news = outcome.is_empty() || outcome.starts_with("started: ") || is_time(&outcome);
    let waits = needs_you || call.waits;
    let what = if is_no_news || waits || call.denied {
        word.to_owned()
    } else {
        units::first_line(&outcome, 60)
    };
    // How long it waits is told by who waits.
    let (class, icon, since) = match (waits, call.denied) {
        (true, _) => ("running warn", icon_with(Icon::Clock, "icon warn"), None),
        (_, true) => ("running", icon_with(Icon::Shield, "icon"), None),
        _ => (
            "running",
            icon_with(Icon::Running, "icon icon--running"),
            elapsed::view(ctx, call.runs_since_ms()),
        ),
    };
    span()
        .class(class)
        .child((
            icon,
            span().class("running__what").child(seen::text(what)),
            since,
        ))
        .into_any()
}
