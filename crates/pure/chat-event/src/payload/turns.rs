//! Turns, and what people say.

use crate::body::Body;
use crate::json::Json;
use crate::schema::payload_struct;

payload_struct! {
    /// A turn begins.
    TurnStart {
        /// `user`, `callback` or `system`.
        trigger: String = "trigger" required,
        /// Where this turn stands in a list of tasks.
        task: Option<Json> = "task" optional,
    }
}

payload_struct! {
    /// A turn is over; nothing of it runs any more.
    TurnEnd {
        /// What the turn used, in the shape of [`Usage`](super::Usage).
        usage: Option<Json> = "usage" optional,
        /// Cost in US dollars.
        cost_usd: Option<f64> = "costUsd" optional,
        /// Duration in milliseconds, as the source says.
        duration_ms: Option<u64> = "durationMs" optional,
        /// `completed`, `interrupted` or `failed`.
        outcome: Option<String> = "outcome" optional,
    }
}

payload_struct! {
    /// A person (or a parent agent) wrote.
    UserMessage {
        /// What was written.
        text: Body = "text" required,
        /// `[{name?, mediaType, data | text | ref}]`.
        attachments: Option<Json> = "attachments" optional,
    }
}

payload_struct! {
    /// A person spoke.
    UserAudio {
        /// What was heard.
        transcription: String = "transcription" required,
        /// Length in milliseconds.
        duration_ms: Option<u64> = "durationMs" optional,
        /// Where the sound is.
        audio_ref: Option<String> = "audioRef" optional,
    }
}

payload_struct! {
    /// The turn was stopped.
    Interrupt {
        /// `user_cancel`, `timeout` or `error`.
        reason: String = "reason" default,
    }
}
