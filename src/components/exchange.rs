//! What one agent writes to another, and the answer.

use chat_event::Body;
use chat_event::gist::gist;
use chat_feed::loads::Spot;
use chat_feed::{AgentMessageBlock, Block};
use leptos::html::{div, span};
use leptos::prelude::*;

use super::icon::{Icon, icon_with};
use super::line::{self, Line};
use super::whole::Long;
use super::{Ctx, seen};

/// A message to another agent.
pub(crate) fn view(ctx: Ctx, block: &Block, message: &AgentMessageBlock) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let (sender, target) = names(message);
    let gist = message.message.as_ref().map(|body| gist(&body.head(), 160));
    let what = (
        named(sender, message.sender_hue),
        " → ",
        named(target, message.target_hue),
        (!open).then(|| gist.map(|gist| seen::text(format!(" {gist}")))),
    );
    let outcome = match (&message.result, message.wait) {
        (Some(_), _) => span().child("answered").into_any(),
        (None, true) => span()
            .class("running")
            .child((icon_with(Icon::Running, "icon icon--running"), "Waiting"))
            .into_any(),
        (None, false) => span().child("sent").into_any(),
    };
    let line = Line::new(Icon::Arrows, what).outcome(outcome);
    let text = |spot: Spot, event_id: &Option<Box<str>>, looks, body: &Body| {
        let event_id = event_id.as_deref().unwrap_or_default();
        Long::new(ctx, (id, spot), event_id, looks).view(body)
    };
    let said = message.message.as_ref().filter(|_| open).map(|body| {
        let looks = ("exchange__said", "Message");
        text(Spot::Said, &message.message_event, looks, body)
    });
    let answer = message.result.as_ref().filter(|_| open).map(|body| {
        let looks = ("exchange__said agent-result", "Answer");
        let text = text(Spot::Answer, &message.result_event, looks, body);
        div()
            .class("exchange__answer")
            .child((span().class("subtle").child("Answer"), text))
    });
    let body = open.then(|| line::body((said, answer)));
    (line.toggles(open), body).into_any()
}

/// An agent's name behind its mark.
fn named(name: &str, hue: u8) -> impl IntoView + use<> {
    (
        span().class("agent-mark").attr("data-hue", hue.to_string()),
        span().class("verb agent-name").child(seen::text(name)),
    )
}

/// Who writes, and to whom.
fn names(message: &AgentMessageBlock) -> (&str, &str) {
    let sender = match message.sender.is_empty() {
        // The session's own agent has no name.
        true => "main",
        false => &message.sender,
    };
    let target = match message.target.is_empty() {
        true => "another agent",
        false => &message.target,
    };
    (sender, target)
}

/// The hues of both, as their row has them.
pub(crate) fn hues(message: &AgentMessageBlock) -> String {
    format!("{}{}", message.sender_hue, message.target_hue)
}
