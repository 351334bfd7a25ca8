//! Single lines between the rest: interruptions, errors, notices, gaps, dividers.

use chat_event::payload::{AgentSwitch, Compaction, LogGap, SessionStart};
use chat_feed::loads::Spot;
use chat_feed::{Block, BlockId, Feed, ProgressBlock, long_text, units};
use leptos::html::{div, span};
use leptos::prelude::*;

use super::bar::names_model;
use super::icon::Icon;
use super::line::{self, Line};
use super::{Ctx, output, prompt, seen};

/// A notice up to this length is shown whole in its line.
const SHORT_NOTICE_BYTES: usize = 100;

/// The turn was stopped.
pub(crate) fn interrupt(feed: &Feed, block: &Block, reason: &str) -> AnyView {
    let started_ms = feed.turn(block.turn).started_ms;
    let after = started_ms
        .zip(block.at_ms)
        .and_then(|(from, to)| u64::try_from(to.saturating_sub(from)).ok())
        .and_then(units::told_duration)
        .map(|took| format!(" after {took}"))
        .unwrap_or_default();
    let why = match reason {
        "" | "user_cancel" => String::new(),
        "timeout" => " by a time limit".to_owned(),
        "error" => " by an error".to_owned(),
        other => format!(": {}", units::first_line(other, 120)),
    };
    let after = span().attr("data-time", "").child(after);
    let what = span()
        .class("warn")
        .child(("Interrupted", after, seen::text(why)));
    Line::new(Icon::Alert, what).icon_class("icon warn").view()
}

/// Something failed: what, and how often and how long the provider was asked again.
pub(crate) fn error(
    ctx: Ctx,
    block: &Block,
    code: &str,
    message: &str,
    count: u32,
    (retries, retried_ms): (u32, Option<u64>),
) -> AnyView {
    let id = block.id;
    let first = units::first_line(message, 300);
    let times = (count > 1).then(|| span().class("muted").child(format!(" × {count}")));
    // What its words say is not said beside them.
    let code = code.replace('_', " ");
    let is_said = [first.to_lowercase(), first.to_lowercase().replace('_', " ")]
        .iter()
        .any(|said| said.contains(&code.to_lowercase()));
    let tried = (retries > 0).then(|| units::count(u64::from(retries), "retry", "retries"));
    let outcome = match (is_said || code.is_empty(), tried) {
        (true, tried) => tried.unwrap_or_default(),
        (false, Some(tried)) => format!("{code} · {tried}"),
        (false, None) => code,
    };
    let what = (span().class("verb").child(seen::text(&*first)), times);
    let line = Line::new(Icon::Alert, what)
        .icon_class("icon icon--failed")
        .outcome_said(&outcome)
        .time(retried_ms.map(units::duration).unwrap_or_default());
    if message.trim() == first {
        return line.view();
    }
    let open = ctx.with_value(|context| context.store.is_open(id));
    let body = open.then(|| all_of_it(ctx, id, "Error", message));
    (line.toggles(open), body).into_any()
}

/// All of a text of which the line above says the beginning.
fn all_of_it(ctx: Ctx, id: BlockId, label: &'static str, text: &str) -> impl IntoView + use<> {
    let place = (id, Spot::Text);
    let well = output::text_well(ctx, place, "well well--wrap", label, text);
    line::body(well)
}

/// Something a reader should know: one quiet line that opens where it has more.
pub(crate) fn notice(ctx: Ctx, block: &Block, text: &str) -> AnyView {
    let text = long_text::untagged(text);
    let id = block.id;
    let said = span().class("notice__text").child(seen::text(text));
    let line = Line::new(Icon::Dot, said);
    if text.len() <= SHORT_NOTICE_BYTES && !text.contains('\n') {
        return line.view();
    }
    let open = ctx.with_value(|context| context.store.is_open(id));
    let body = open.then(|| all_of_it(ctx, id, "Notice", text));
    (line.toggles(open), body).into_any()
}

/// Something that went wrong; of a line of the log that could not be read, what stands there is behind it.
pub(crate) fn warning(
    ctx: Ctx,
    block: &Block,
    text: &str,
    line: Option<u64>,
    source: Option<&str>,
    found: Option<&str>,
) -> AnyView {
    // Words that name their line themselves need no second one.
    let place = line
        .filter(|_| !text.starts_with("Line "))
        .map(|line| format!("Line {}: ", units::grouped(line)))
        .unwrap_or_default();
    let what = span()
        .class("notice__text")
        .child(seen::text(format!("{place}{text}")));
    // Who read the file is no news to its reader.
    let source = source.filter(|source| *source != "reader");
    let line = Line::new(Icon::Alert, what)
        .icon_class("icon warn")
        .outcome_said(source.unwrap_or_default());
    let Some(found) = found else {
        return line.view();
    };
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let body = open.then(|| all_of_it(ctx, id, "Damaged line", found));
    (line.toggles(open), body).into_any()
}

/// How far a long step is, or was.
pub(crate) fn progress(progress: &ProgressBlock) -> AnyView {
    let ProgressBlock { told, over } = progress;
    let percent = told
        .percent
        .map(|percent| format!("{percent:.0} %"))
        .unwrap_or_default();
    let icon = if *over { Icon::Dot } else { Icon::Clock };
    Line::new(icon, span().child(seen::text(&*told.message)))
        .outcome(percent)
        .view()
}

/// Another agent took over.
pub(crate) fn agent_switch(switch: &AgentSwitch) -> AnyView {
    let from = if switch.from_agent_id.is_empty() {
        String::new()
    } else {
        format!(" from {}", switch.from_agent_id)
    };
    let what = (
        span().class("verb").child(seen::text(&*switch.to_agent_id)),
        seen::text(format!(" took over{from}")),
    );
    Line::new(Icon::Arrows, what).view()
}

/// The context was made shorter.
pub(crate) fn compaction(ctx: Ctx, block: &Block, compaction: &Compaction) -> AnyView {
    let id = block.id;
    let after = compaction
        .extra
        .get("tokensAfter")
        .and_then(|after| after.parse().map(units::tokens));
    let tokens = match (compaction.tokens_before.map(units::tokens), after) {
        (Some(before), Some(after)) => format!(" {before} → {after}"),
        (Some(before), None) => format!(" from {before}"),
        (None, Some(after)) => format!(" to {after}"),
        (None, None) => String::new(),
    };
    let label = format!("Context compacted{tokens}");
    let Some(summary) = compaction
        .summary
        .as_deref()
        .filter(|summary| !summary.is_empty())
    else {
        return divider("divider divider--dashed", label);
    };
    let open = ctx.with_value(|context| context.store.is_open(id));
    let line = line::divider(open, label);
    let body = open.then(|| all_of_it(ctx, id, "Summary", summary));
    (line, body).into_any()
}

/// The session as its source introduces it.
pub(crate) fn session_start(block: &Block, start: &SessionStart) -> AnyView {
    let model = start.model.as_deref().filter(|model| names_model(model));
    let [agent, cwd, branch] = [&start.agent, &start.cwd, &start.git_branch].map(Option::as_deref);
    let facts: Vec<&str> = [agent, model, cwd, branch]
        .into_iter()
        .flatten()
        .filter(|fact| !fact.is_empty())
        .collect();
    let separator = (!facts.is_empty()).then_some(" · ");
    let began = prompt::told_ms(block).map(|at_ms| {
        let parts = (prompt::time(at_ms, true), separator);
        span().class("subtle").attr("data-time", "").child(parts)
    });
    let what = (
        span().class("muted").child("Session started "),
        began,
        span().class("subtle").child(seen::text(facts.join(" · "))),
    );
    Line::new(Icon::Dot, what).view()
}

/// The source is at its end.
pub(crate) fn session_end(reason: &str) -> AnyView {
    let why = match reason {
        // How its log was read is no news of the session, and a reason that is none of those known is none.
        "" | "end of file" | "end of stream" | "other" => String::new(),
        // As Claude Code calls it.
        "prompt_input_exit" => " by the user".to_owned(),
        reason => format!(": {}", units::first_line(reason, 120)),
    };
    Line::new(
        Icon::Dot,
        span()
            .class("muted")
            .child(seen::text(format!("Session ended{why}"))),
    )
    .view()
}

/// Events are missing.
pub(crate) fn gap(gap: &LogGap) -> AnyView {
    let n_missing = gap.n_missing();
    if n_missing == 0 {
        // Nobody was told that it was kept.
        let what = span().class("muted").child("A write was cut off here");
        return Line::new(Icon::Dot, what).outcome_said(&gap.why).view();
    }
    let what = span().class("verb").child(format!(
        "{} not retained",
        units::count(n_missing, "event", "events")
    ));
    Line::new(Icon::Broken, what).outcome_said(&gap.why).view()
}

fn divider(class: &'static str, label: String) -> AnyView {
    div()
        .class(class)
        .attr("role", "separator")
        .child(span().child(label))
        .into_any()
}
