//! A call that goes on, and the line that is told of it.

use chat_event::Json;
use chat_event::payload::ToolResult;

use super::TurnNth;
use crate::block::ToolCallBlock;
use crate::projections::trace::clean::{clean, one_line};
use crate::projections::trace::words;
use crate::took::ran_ms;
use crate::tool::{ToolKind, ToolStatus};
use crate::units;

/// A call that has no result, or a result that has no call.
#[derive(Debug)]
pub(in crate::projections::trace) struct OpenCall {
    /// The hash of its id.
    pub(super) id: u64,
    pub(in crate::projections::trace) turn: Option<TurnNth>,
    /// The hash of the call that it lies in.
    pub(super) parent: Option<u64>,
    /// How many calls it lies in.
    pub(in crate::projections::trace) depth: usize,
    /// The facts, without the arguments: their words are in `target`.
    pub(in crate::projections::trace) block: ToolCallBlock,
    pub(super) target: String,
    /// Whether the call itself came.
    pub(in crate::projections::trace) called: bool,
    /// How much of a result waits in it for the call.
    pub(super) waiting_bytes: usize,
    /// What it printed so far: the end of it.
    pub(in crate::projections::trace) output: String,
}

/// As much of a result is kept, in bytes.
pub(super) fn size(block: &ToolCallBlock) -> usize {
    let result = block.result.as_ref().map_or(0, |result| result.text_len());
    let error = block.error.as_ref().map_or(0, |error| error.message.len());
    result + error + block.summary.as_ref().map_or(0, String::len)
}

pub(super) fn note_result(block: &mut ToolCallBlock, result: &ToolResult, now_ms: Option<i64>) {
    block.result = Some(result.given(block.result.as_ref()));
    block.error.clone_from(&result.error);
    block.summary.clone_from(&result.summary);
    block.exit_code = result.exit_code;
    block.status = ToolStatus::of_result(result.error.as_ref(), false);
    block.duration_ms = ran_ms(result, block.called_ms, block.allowed_ms, now_ms);
    block.progress = None;
}

/// What a call of that tool would work on.
pub(in crate::projections::trace) fn target_of(
    tool_name: &str,
    args: &Json,
    cwd: Option<&str>,
) -> String {
    let mut block = ToolCallBlock::unknown("");
    block.tool_name = tool_name.into();
    block.kind = ToolKind::of(None, tool_name);
    block.args = args.clone();
    target(&block, cwd)
}

pub(super) fn target(block: &ToolCallBlock, cwd: Option<&str>) -> String {
    let target = block.target();
    let shown = match block.kind {
        ToolKind::Read | ToolKind::Edit => units::below(&target, cwd),
        _ => &target,
    };
    one_line(shown)
}

impl OpenCall {
    /// What it works on, as the line has it.
    pub(in crate::projections::trace) fn target(&self) -> &str {
        &self.target
    }

    /// The line of the call as it stands: `[TOOL] bash: cargo build (exit 0) — 15.3s`.
    pub(in crate::projections::trace) fn line(&self) -> String {
        let block = &self.block;
        let name = match &*block.tool_name {
            "" => "tool call".to_owned(),
            name => one_line(&name.to_lowercase()),
        };
        let target = match (&*self.target, &*block.tool_name) {
            ("", "") => format!(": {}", one_line(&block.tool_call_id)),
            ("", _) => String::new(),
            (target, _) => format!(": {target}"),
        };
        let figures = one_line(&block.figures());
        let outcome = match block.status {
            ToolStatus::Preparing => " (preparing…)".to_owned(),
            ToolStatus::Running if block.waits => " (waiting…)".to_owned(),
            ToolStatus::Running if figures.is_empty() => " (running…)".to_owned(),
            ToolStatus::Running => format!(" ({figures}…)"),
            // What it works on may say all there is to say.
            ToolStatus::Succeeded if figures.is_empty() || figures == self.target => String::new(),
            ToolStatus::Succeeded if block.kind == ToolKind::Search => format!(" → {figures}"),
            ToolStatus::Failed if figures.is_empty() => " (failed)".to_owned(),
            ToolStatus::Failed if block.exit_code.is_none() && !figures.starts_with("failed") => {
                format!(" (failed: {figures})")
            }
            ToolStatus::Denied => " (denied)".to_owned(),
            ToolStatus::Succeeded
            | ToolStatus::Failed
            | ToolStatus::Interrupted
            | ToolStatus::NoResult => format!(" ({figures})"),
        };
        let took = words::told_duration(block.duration_ms).filter(|_| !block.status.runs());
        let took = took.map_or_else(String::new, |took| format!(" — {took}"));
        let indent = "  ".repeat(self.depth);
        clean(&format!("{indent}[TOOL] {name}{target}{outcome}{took}"))
    }
}
