//! What the dialects and the merging of sources promise, as one program: each file of its own would be compiled and linked anew.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may read files and clocks, and fails where it cannot"
)]

mod acp;
mod acp_sessions;
mod ag_ui;
mod ag_ui_runs;
mod agent_events;
mod anthropic;
mod at_rest;
mod chat_event_lists;
mod claude_asks;
mod claude_asks_and_ends;
mod claude_background;
mod claude_beside;
mod claude_grown;
mod claude_hooks;
mod claude_like;
mod claude_lines;
mod claude_prompts;
mod claude_sessions;
mod claude_stream_ends;
mod cline;
mod cline_sessions;
mod codex;
mod codex_asks;
mod codex_lines;
mod codex_rollouts;
mod codex_threads;
mod copilot;
mod crush;
mod cursor;
mod dialects;
mod droid;
mod droid_turns;
mod exit_codes;
mod folder;
mod gemini;
mod gemini_again;
mod goose;
mod grok;
mod grok_build;
mod kimi;
mod log_reader;
mod log_sessions;
mod merge;
mod mini_swe_agent;
mod model_apis;
mod openai;
mod opencode;
mod opencode_out;
mod openhands;
mod pi;
mod promises;
mod qwen;
mod sandbox_agent;
mod sandbox_tools;
mod sandbox_turns;
mod soup;
mod support;
mod swe_agent;
mod torn_heads;
mod torn_values;
mod tried_again;
mod untold_edits;
mod vibe;
