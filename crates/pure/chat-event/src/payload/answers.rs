//! What an agent says: its texts, thoughts, sound and plans, and what agents say to each other.

use crate::body::Body;
use crate::json::Json;
use crate::schema::payload_struct;

payload_struct! {
    /// A piece of the assistant's text.
    AssistantChunk {
        /// The piece.
        text: String = "text" required,
        /// Which text block of the response, from 0.
        part: Option<u32> = "part" optional,
        /// Which chunk of the part, where the source numbers them.
        index: Option<u64> = "index" optional,
    }
}

payload_struct! {
    /// The whole of one text block; it replaces what the chunks built.
    AssistantDone {
        /// The text.
        text: String = "text" required,
        /// Which text block of the response, from 0.
        part: Option<u32> = "part" optional,
        /// The rhythm of compacted chunks: `[[ms, Unicode scalar values], …]`.
        timing: Option<Json> = "timing" optional,
        /// The `seq`s this event stands for after compaction.
        span: Option<(u64, u64)> = "span" optional,
    }
}

payload_struct! {
    /// A piece of the assistant's thinking.
    ThinkingChunk {
        /// The piece.
        text: String = "text" required,
        /// Which thinking block of the response, from 0.
        part: Option<u32> = "part" optional,
        /// Which chunk of the part, where the source numbers them.
        index: Option<u64> = "index" optional,
    }
}

payload_struct! {
    /// The whole of one thinking block.
    ThinkingDone {
        /// The text.
        text: String = "text" required,
        /// Which thinking block of the response, from 0.
        part: Option<u32> = "part" optional,
        /// The rhythm of compacted chunks.
        timing: Option<Json> = "timing" optional,
        /// The `seq`s this event stands for after compaction.
        span: Option<(u64, u64)> = "span" optional,
        /// Whether the provider withheld the text.
        redacted: Option<bool> = "redacted" optional,
    }
}

payload_struct! {
    /// One agent writes to another.
    AgentMessage {
        /// Links the message to its callback.
        message_id: String = "messageId" required,
        /// The agent that it is for.
        target_agent_id: String = "targetAgentId" default,
        /// The session that this agent works in.
        target_session_id: String = "targetSessionId" default,
        /// What is written.
        message: Body = "message" required,
        /// Whether the sender waits for the answer.
        wait: bool = "wait" default,
    }
}

payload_struct! {
    /// The answer to an [`AgentMessage`], perhaps turns later.
    AgentCallback {
        /// The message it answers.
        message_id: String = "messageId" required,
        /// The agent that answers.
        from_agent_id: String = "fromAgentId" default,
        /// The session that this agent worked in.
        from_session_id: String = "fromSessionId" default,
        /// The answer.
        result: Body = "result" required,
    }
}

payload_struct! {
    /// Another agent takes over.
    AgentSwitch {
        /// Who spoke.
        from_agent_id: String = "fromAgentId" default,
        /// Who speaks now.
        to_agent_id: String = "toAgentId" required,
    }
}

payload_struct! {
    /// A piece of spoken answer.
    AudioChunk {
        /// The sound, base64.
        data: Option<String> = "data" optional,
        /// Where the sound is, if it is not here.
        audio_ref: Option<String> = "audioRef" optional,
        /// Which piece, from 0.
        seq: u64 = "seq" default,
    }
}

payload_struct! {
    /// The spoken answer is whole.
    AudioDone {
        /// Length in milliseconds.
        duration_ms: Option<u64> = "durationMs" optional,
    }
}

payload_struct! {
    /// The agent's list of things to do, whole.
    Plan {
        /// The entries in order.
        entries: Vec<PlanEntry> = "entries" required,
    }
}

payload_struct! {
    /// One thing to do.
    PlanEntry {
        /// What is to be done.
        content: String = "content" required,
        /// `pending`, `in_progress` or `completed`.
        status: String = "status" default,
    }
}
