//! A request for permission: while it waits, a card with its answers; answered, one neutral line. What the card of a
//! question has in common with it is here too.
//!
//! Where the source takes no answers, or who asks hears of none, the card says so and offers none. How an answer travels is for `answering`.

mod answers;

use std::borrow::Cow;

use chat_event::payload::{PermissionRequest, PermissionResolved};
use chat_event::shell::script_of;
use chat_feed::units;
use chat_feed::{Block, BlockBody, Feed, PermissionBlock, ToolCallBlock, ToolKind, ToolStatus};
use leptos::html::{div, p, span};
use leptos::prelude::*;

use super::icon::{Icon, icon_with};
use super::line::{self, Line};
use super::{Ctx, elapsed, raw, seen, text};
use answers::answers;
pub(super) use answers::{answer_button, came_of_it, elsewhere, here};

/// A request for permission.
pub(crate) fn permission(ctx: Ctx, feed: &Feed, block: &Block, ask: &PermissionBlock) -> AnyView {
    let id = block.id;
    let request = &ask.request;
    let object = object_of(feed, request);
    if let Some(resolved) = &ask.resolved {
        let open = ctx.with_value(|context| context.store.is_open(id));
        let what = (
            span().class("verb").child(decided(resolved)),
            " ",
            span()
                .class("object mono")
                .child(seen::text(units::first_line(&object, 200))),
        );
        let line = Line::new(Icon::Shield, what)
            .outcome(by(resolved))
            .time(waited(block.at_ms, ask.answered_ms));
        let body = open.then(|| {
            let said = resolved
                .message
                .clone()
                .map(|message| p().class("muted").child(seen::text(message)));
            let args = request.args.as_ref();
            let args = args.and_then(|args| raw::arguments(ctx, block, &block.event_id, args, &[]));
            line::body((said, args))
        });
        return (line.toggles(open), body).into_any();
    }
    let tool = if request.tool_name.is_empty() {
        "this tool"
    } else {
        &request.tool_name
    };
    let plan = plan_of(request);
    let question = match plan {
        Some(_) => "Go on with this plan?".to_owned(),
        None => format!("Allow {tool}?"),
    };
    let head = (
        icon_with(Icon::Shield, "icon ask__icon"),
        span().class("ask__question").child(seen::text(question)),
        (!ask.expired).then(|| elapsed::waiting(ctx, block.at_ms)),
        ask.expired.then(unanswered),
    );
    let answers = (!ask.expired).then(|| answers(ctx, id, request));
    let purpose = purpose_of(request);
    let reason = request
        .reason
        .clone()
        .filter(|reason| purpose.as_ref() != Some(reason));
    let told: Vec<&str> = told_above(request)
        .into_iter()
        .chain(purpose.is_some().then_some(PURPOSE))
        .collect();
    div()
        .class(card_class(ask.expired))
        .child((
            div().class("ask__head").child(head),
            (object != request.tool_name)
                .then(|| p().class("ask__object mono").child(line::command(&object))),
            purpose.map(|purpose| p().class("muted").child(seen::text(purpose))),
            given(ctx, block, request, plan.as_deref(), &told),
            reason.map(|reason| p().class("muted").child(seen::text(reason))),
            answers,
        ))
        .into_any()
}

/// The tinted band; what is over has none.
pub(super) fn card_class(expired: bool) -> &'static str {
    if expired { "ask ask--expired" } else { "ask" }
}

/// In place of how long it waits, once nobody can answer any more.
pub(super) fn unanswered() -> AnyView {
    span().class("ask__over").child("Not answered").into_any()
}

/// Arguments of which one says what is asked for: the first that is words.
const OBJECTS: [&str; 2] = ["command", "file_path"];

/// The argument that says what is asked for.
fn told_above(request: &PermissionRequest) -> Option<&'static str> {
    let args = request.args.as_ref()?;
    let is_words = |name: &&str| args.get(name).is_some_and(|value| value.as_str().is_some());
    OBJECTS.into_iter().find(is_words)
}

/// The argument that says what a command is for.
const PURPOSE: &str = "description";

/// More characters of it are no sentence, and stand among the arguments.
const PURPOSE_CHARS: usize = 240;

/// What a command is for, where its agent says so in a sentence.
fn purpose_of(request: &PermissionRequest) -> Option<String> {
    if told_above(request) != Some("command") {
        return None;
    }
    let purpose = request.args.as_ref()?.get(PURPOSE)?;
    let purpose = purpose.as_str()?.trim().to_owned();
    let is_sentence = !purpose.is_empty()
        && !purpose.contains('\n')
        && purpose.chars().nth(PURPOSE_CHARS).is_none();
    is_sentence.then_some(purpose)
}

/// A plan that is to be gone on with, where it is here. That it is one is said by the request: a tool of a server may have
/// an argument of that name.
fn plan_of(request: &PermissionRequest) -> Option<String> {
    if request.kind.as_deref() != Some(ToolKind::Plan.as_str()) {
        return None;
    }
    let plan = request.args.as_ref()?.get("plan")?.to_body()?;
    plan.excerpt().whole().map(Cow::into_owned)
}

/// What is to be done, as far as the line above does not say it: who answers may see it nowhere else, where only the
/// requests come here.
fn given(
    ctx: Ctx,
    block: &Block,
    request: &PermissionRequest,
    plan: Option<&str>,
    told: &[&str],
) -> Option<AnyView> {
    let args = request.args.as_ref()?;
    // A diff names the files that it changes.
    let told: &[&str] = match (plan, told) {
        (Some(_), _) => &["plan"],
        (None, []) if args.get("diff").is_some() => &["paths"],
        (None, told) => told,
    };
    let rest = raw::arguments(ctx, block, &block.event_id, args, told);
    if plan.is_none() && rest.is_none() {
        return None;
    }
    let plan_view = plan.map(|plan| text::whole(plan, "prose"));
    let label = match plan {
        Some(_) => "The plan",
        None => "What it is to do",
    };
    let view = div()
        .class("ask__given")
        .attr("tabindex", "0")
        .attr("role", "group")
        .attr("aria-label", label)
        .child((plan_view, rest));
    Some(view.into_any())
}

/// What is asked for, without the folder that all of it is in.
fn object_of(feed: &Feed, request: &PermissionRequest) -> String {
    let told = |name: &str| {
        let value = request.args.as_ref()?.get(name)?;
        value.as_str().map(Cow::into_owned)
    };
    let object = told_above(request)
        .and_then(told)
        .or_else(|| request.title.clone())
        .unwrap_or_else(|| request.tool_name.clone());
    let object = script_of(&object);
    units::below(&object, feed.session().cwd.as_deref()).to_owned()
}

/// What was decided, in a word or three.
pub(super) fn decided(resolved: &PermissionResolved) -> &'static str {
    match (resolved.decision.as_str(), resolved.scope.as_deref()) {
        ("allow", Some("once")) => "Allowed once",
        ("allow", Some("session")) => "Allowed in this session",
        ("allow", Some("always")) => "Always allowed",
        ("allow", _) => "Allowed",
        ("deny", _) => "Denied",
        _ => "Cancelled",
    }
}

/// The answered request for a call, where there is one.
pub(super) fn answered_for<'a>(
    feed: &'a Feed,
    call: &ToolCallBlock,
) -> Option<(&'a Block, &'a PermissionBlock, &'a PermissionResolved)> {
    let asked = call.asked.filter(|&asked| feed.contains(asked))?;
    let block = feed.block(asked);
    match &block.body {
        BlockBody::Permission(ask) => Some((block, ask, ask.resolved.as_ref()?)),
        _ => None,
    }
}

/// What was decided about a call, by whom, and how long that took; nothing where its line says that already.
pub(super) fn decided_about(feed: &Feed, call: &ToolCallBlock) -> Option<String> {
    let (block, ask, resolved) = answered_for(feed, call)?;
    let mut told = decided(resolved).to_owned();
    let after = waited(block.at_ms, ask.answered_ms);
    let after = (!after.is_empty()).then(|| format!("after {after}"));
    if call.status == ToolStatus::Denied && after.is_none() {
        return None;
    }
    for more in [by(resolved), after.unwrap_or_default()] {
        if !more.is_empty() {
            told.push(' ');
            told.push_str(&more);
        }
    }
    Some(told)
}

/// Who decided.
pub(super) fn by(resolved: &PermissionResolved) -> String {
    match resolved.by.as_deref() {
        None | Some("") => String::new(),
        Some("user") => "by the user".to_owned(),
        Some("rule") => "by a rule".to_owned(),
        Some("hook") => "by a hook".to_owned(),
        Some("mode") => "by the mode".to_owned(),
        Some(other) => format!("by {}", units::first_line(other, 40)),
    }
}

/// How long it waited, as the events' times say.
pub(super) fn waited(asked_ms: Option<i64>, answered_ms: Option<i64>) -> String {
    asked_ms
        .zip(answered_ms)
        .and_then(|(asked_ms, answered_ms)| {
            u64::try_from(answered_ms.saturating_sub(asked_ms)).ok()
        })
        .and_then(units::told_duration)
        .unwrap_or_default()
}
