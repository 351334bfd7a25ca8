//! What one agent writes to another, and the answer.

use chat_feed::units;
use chat_feed::{AgentMessageBlock, Block};
use leptos::html::{div, p, span};
use leptos::prelude::*;

use super::Ctx;
use super::icon::{Icon, icon_with};
use super::line::Line;

/// A message to another agent.
pub(crate) fn view(ctx: Ctx, block: &Block, message: &AgentMessageBlock) -> AnyView {
    let id = block.id;
    let open = ctx.with_value(|context| context.store.is_open(id));
    let target = if message.target.is_empty() {
        "another agent".to_owned()
    } else {
        message.target.to_string()
    };
    let gist = message
        .message
        .as_ref()
        .map(|body| units::first_line(body.preview(), 160));
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
    let said = message
        .message
        .as_ref()
        .map(|body| p().class("exchange__said").child(body.preview().to_owned()));
    let answer = message.result.as_ref().map(|body| {
        let text = p()
            .class("exchange__said agent-result")
            .child(body.preview().to_owned());
        div()
            .class("exchange__answer")
            .child((span().class("subtle").child("Answer"), text))
    });
    let body = open.then(|| div().class("body").child((said, answer)));
    (line.toggles(ctx, id, open), body).into_any()
}

/// Agents differ in hue; the same name always has the same.
fn hue(name: &str) -> &'static str {
    let sum: u32 = name.bytes().fold(7, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    ["1", "2", "3"][(sum % 3) as usize]
}
