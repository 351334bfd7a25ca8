//! What one agent writes to another, and the answer.

use chat_event::Body;
use chat_event::gist::gist;
use chat_feed::loads::Spot;
use chat_feed::{AgentMessageBlock, Block};
use leptos::html::{div, span};
use leptos::prelude::*;

use super::Ctx;
use super::icon::{Icon, icon_with};
use super::line::Line;
use super::whole::Long;

/// What the session's own agent is called, which has no name.
const MAIN: &str = "main";

/// A message to another agent.
pub(crate) fn view(ctx: Ctx, block: &Block, message: &AgentMessageBlock) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let (sender, target) = names(message);
    let gist = message.message.as_ref().map(|body| gist(&body.head(), 160));
    let what = (
        named(sender),
        " → ",
        named(target),
        (!open).then(|| gist.map(|gist| format!(" {gist}"))),
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
    let body = open.then(|| div().class("body").child((said, answer)));
    (line.toggles(open), body).into_any()
}

/// An agent's name behind its mark.
fn named(name: &str) -> impl IntoView + use<> {
    (
        span()
            .class("agent-mark")
            .attr("data-hue", hue(name).to_string()),
        span().class("verb agent-name").child(name.to_owned()),
    )
}

/// Who writes, and to whom.
fn names(message: &AgentMessageBlock) -> (&str, &str) {
    let sender = match message.sender.is_empty() {
        true => MAIN,
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
    let (sender, target) = names(message);
    format!("{}{}", hue(sender), hue(target))
}

/// The session's own agent has a hue to itself; others differ in theirs, and the same name always has the same.
fn hue(name: &str) -> u32 {
    if name == MAIN {
        return 1;
    }
    let sum: u32 = name.bytes().fold(7, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    2 + sum % 2
}
