//! The sub-agents, in the order they began.

use chat_feed::panel::{AgentRow, AgentState, agents};
use chat_feed::projections::TokenCounts;
use chat_feed::units;
use leptos::html::{div, span};
use leptos::prelude::*;

use super::{empty, go_button, of_feed};
use crate::components::{Ctx, seen};

/// Sub-agents that are shown; the newest.
const MOST_AGENTS: usize = 300;

/// The tab.
pub(super) fn view(ctx: Ctx) -> AnyView {
    of_feed(ctx, move |context, feed| {
        let agents = agents(feed);
        if agents.is_empty() {
            return empty(
                "No sub-agents",
                "Agents that this one starts are listed here with what they took.",
            );
        }
        let running =
            |agent: &&AgentRow| matches!(agent.state, AgentState::Running | AgentState::NeedsYou);
        let n_running = agents.iter().filter(running).count();
        let n_left_out = agents.len().saturating_sub(MOST_AGENTS);
        let mut head = units::count(agents.len() as u64, "sub-agent", "sub-agents");
        if n_running > 0 {
            head.push_str(&format!(" · {n_running} running"));
        }
        if n_left_out > 0 {
            head.push_str(&format!(" · the newest {MOST_AGENTS} are shown"));
        }
        let rows: Vec<_> = agents
            .iter()
            .skip(n_left_out)
            .map(|agent| row(ctx, agent, context.agent_hue(feed, agent.block)))
            .collect();
        (
            div().class("panel__line").child(head),
            div().class("agents").child(rows),
        )
            .into_any()
    })
}

fn row(ctx: Ctx, agent: &AgentRow, hue: u8) -> impl IntoView + use<> {
    let used = agent.tokens.map(TokenCounts::fresh);
    let facts: Vec<String> = [
        agent.undone.then(|| "undone".to_owned()),
        (agent.steps > 0).then(|| units::count(agent.steps.into(), "step", "steps")),
        used.filter(|used| *used > 0)
            .map(|used| format!("{} tokens", units::tokens(used))),
        agent.cost_usd.filter(|usd| *usd > 0.0).map(units::dollars),
        agent.duration_ms.and_then(units::told_duration),
    ]
    .into_iter()
    .flatten()
    .collect();
    let state = span()
        .class("agents__state")
        .attr("data-state", agent.state.as_str())
        .child(agent.state.as_str());
    let mark = span().class("agent-mark").attr("data-hue", hue.to_string());
    let what = (
        div().class("agents__line").child((
            mark,
            span()
                .class("agents__name")
                .child(seen::text(agent.name.as_str())),
            state,
        )),
        (!agent.task.is_empty()).then(|| {
            div()
                .class("agents__task")
                .child(seen::sentence(&agent.task))
        }),
        (!facts.is_empty()).then(|| div().class("agents__facts").child(facts.join(" · "))),
    );
    let indent = format!("{}px", 16 + 16 * u32::from(agent.depth.min(6)));
    div()
        .style(("padding-inline-start", indent))
        .class("agents__row")
        .child(go_button(ctx, agent.block, "agents__go", what))
}
