//! The event types and their payloads, one struct a type.
//!
//! Every struct keeps the fields it does not know in `extra`; a type that is not known is [`Payload::Unknown`], and a
//! known type whose payload has not the shape it should have is [`Payload::Malformed`]: kept, and shown as such.

mod answers;
mod asks;
mod calls;
mod log;
mod session;
mod turns;

use crate::schema::payloads;
pub use answers::{
    AgentCallback, AgentMessage, AgentSwitch, AssistantChunk, AssistantDone, AudioChunk, AudioDone,
    Plan, PlanEntry, ThinkingChunk, ThinkingDone,
};
pub use asks::{
    PermissionOption, PermissionRequest, PermissionResolved, Question, QuestionOption,
    QuestionRequest, QuestionResolved,
};
pub use calls::{
    FileEdit, Progress, ToolCall, ToolError, ToolInputChunk, ToolOutputChunk, ToolResult,
    is_empty_handed,
};
pub use log::{LogEnd, LogEpoch, LogGap, LogStart};
pub use session::{
    Compaction, ErrorEvent, Notice, Raw, Retract, SessionEnd, SessionStart, SessionStatus, Usage,
};
pub use turns::{Interrupt, TurnEnd, TurnStart, UserAudio, UserMessage};

payloads! {
    /// What an event says, by its `type`.
    pub enum Payload {
        "turn_start" => TurnStart,
        "turn_end" => TurnEnd,
        "user_message" => UserMessage,
        "user_audio" => UserAudio,
        "assistant_chunk" => AssistantChunk,
        "assistant_done" => AssistantDone,
        "thinking_chunk" => ThinkingChunk,
        "thinking_done" => ThinkingDone,
        "tool_call" => ToolCall,
        "tool_input_chunk" => ToolInputChunk,
        "tool_output_chunk" => ToolOutputChunk,
        "tool_result" => ToolResult,
        "agent_message" => AgentMessage,
        "agent_callback" => AgentCallback,
        "agent_switch" => AgentSwitch,
        "interrupt" => Interrupt,
        "error" => ErrorEvent,
        "audio_chunk" => AudioChunk,
        "audio_done" => AudioDone,
        "session_start" => SessionStart,
        "session_end" => SessionEnd,
        "session_status" => SessionStatus,
        "file_edit" => FileEdit,
        "progress" => Progress,
        "plan" => Plan,
        "permission_request" => PermissionRequest,
        "permission_resolved" => PermissionResolved,
        "question_request" => QuestionRequest,
        "question_resolved" => QuestionResolved,
        "usage" => Usage,
        "compaction" => Compaction,
        "notice" => Notice,
        "retract" => Retract,
        "raw" => Raw,
        "log_start" => LogStart,
        "log_epoch" => LogEpoch,
        "log_gap" => LogGap,
        "log_end" => LogEnd,
    }
}
