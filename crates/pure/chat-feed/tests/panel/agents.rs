//! Sub-agents.

use super::*;

#[test]
fn sub_agents_have_their_steps_tokens_and_state() {
    let (_, renderer) = session(&[
        (
            "tool_call",
            json!({"toolCallId": "a", "toolName": "Task", "args": {"subagent_type": "Explore", "description": "Map callers"}}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "b", "toolName": "Read", "args": {"file_path": "x"}, "parentToolCallId": "a"}),
        ),
        (
            "usage",
            json!({"scope": "response", "inputTokens": 10, "outputTokens": 2, "parentToolCallId": "a", "responseId": "r"}),
        ),
        (
            "usage",
            json!({"scope": "response", "inputTokens": 10, "outputTokens": 5, "parentToolCallId": "a", "responseId": "r"}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "c", "toolName": "Task", "args": {"subagent_type": "Inner", "description": "Look"}, "parentToolCallId": "a"}),
        ),
        (
            "permission_request",
            json!({"requestId": "p", "toolName": "Bash", "parentToolCallId": "c"}),
        ),
        ("tool_result", json!({"toolCallId": "b", "result": "x"})),
    ]);
    let agents = agents(renderer.feed());
    let told: Vec<_> = agents
        .iter()
        .map(|agent| {
            (
                agent.name.as_str(),
                agent.depth,
                agent.steps,
                agent.state,
                agent.tokens.map(|tokens| tokens.output_tokens),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("Explore", 0, 2, AgentState::NeedsYou, Some(5)),
            ("Inner", 1, 0, AgentState::NeedsYou, None),
        ]
    );
}
