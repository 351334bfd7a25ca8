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

/// A message to another agent.
pub(crate) fn view(ctx: Ctx, block: &Block, message: &AgentMessageBlock) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let target = if message.target.is_empty() {
        "another agent".to_owned()
    } else {
        message.target.to_string()
    };
    let gist = message.message.as_ref().map(|body| gist(&body.head(), 160));
    let what = (
        span().class("agent-mark").attr("data-hue", hue(&target)),
        span().class("verb agent-name").child(target),
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

/// Agents differ in hue; the same name always has the same.
fn hue(name: &str) -> &'static str {
    let sum: u32 = name.bytes().fold(7, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    ["1", "2", "3"][(sum % 3) as usize]
}
