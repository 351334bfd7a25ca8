//! What is told of a session: its facts, its status, what it used, and what is noted beside its turns.

use crate::json::Json;
use crate::schema::payload_struct;

payload_struct! {
    /// Something failed.
    ErrorEvent {
        /// A short word for the kind of failure.
        code: String = "code" default,
        /// What happened.
        message: String = "message" required,
    }
}

payload_struct! {
    /// What the source says about the session; it may come again with more.
    SessionStart {
        /// The agent's name and version, as shown.
        agent: Option<String> = "agent" optional,
        /// The provider's own session id.
        native_id: Option<String> = "nativeId" optional,
        /// The model.
        model: Option<String> = "model" optional,
        /// The working directory.
        cwd: Option<String> = "cwd" optional,
        /// A title of the session's own.
        title: Option<String> = "title" optional,
        /// The branch.
        git_branch: Option<String> = "gitBranch" optional,
        /// Which normalizer read it: `claude-code`, `codex` …
        provider: Option<String> = "provider" optional,
        /// The tools the agent has.
        tools: Option<Json> = "tools" optional,
        /// `arrival` where the source gives no time of its own.
        timestamp_source: Option<String> = "timestampSource" optional,
        /// The sandbox this session runs in, where it has one.
        sandbox_id: Option<String> = "sandboxId" optional,
    }
}

payload_struct! {
    /// The source is at its end.
    SessionEnd {
        /// Why, in words of the source.
        reason: String = "reason" default,
    }
}

payload_struct! {
    /// What the session is doing.
    SessionStatus {
        /// `busy`, `idle` or `retrying`.
        status: String = "status" required,
        /// Whether this was derived and not said.
        guessed: Option<bool> = "guessed" optional,
        /// What a reader should know.
        message: Option<String> = "message" optional,
    }
}

payload_struct! {
    /// Tokens and cost.
    Usage {
        /// `response`, `turn` or `session`.
        scope: String = "scope" default,
        /// Whether the figures count from the beginning of the scope.
        cumulative: Option<bool> = "cumulative" optional,
        /// Tokens read, without those that came from the cache or went into it.
        input_tokens: u64 = "inputTokens" default,
        /// Tokens written.
        output_tokens: u64 = "outputTokens" default,
        /// Tokens read from the cache.
        cache_read_tokens: Option<u64> = "cacheReadTokens" optional,
        /// Tokens written to the cache.
        cache_write_tokens: Option<u64> = "cacheWriteTokens" optional,
        /// Tokens spent on thinking.
        reasoning_tokens: Option<u64> = "reasoningTokens" optional,
        /// Tokens in the context window now.
        context_used: Option<u64> = "contextUsed" optional,
        /// Size of the context window.
        context_size: Option<u64> = "contextSize" optional,
        /// Cost in US dollars.
        cost_usd: Option<f64> = "costUsd" optional,
        /// The model.
        model: Option<String> = "model" optional,
    }
}

payload_struct! {
    /// The context was made shorter.
    Compaction {
        /// `auto` or `manual`.
        trigger: String = "trigger" default,
        /// What stands in for what was dropped.
        summary: Option<String> = "summary" optional,
        /// Tokens in the context before.
        tokens_before: Option<u64> = "tokensBefore" optional,
    }
}

payload_struct! {
    /// Something a reader should know.
    Notice {
        /// `info` or `warning`.
        level: String = "level" default,
        /// What is told, for a person to read.
        text: String = "text" required,
        /// Who says so.
        source: Option<String> = "source" optional,
        /// The line of the source it is about, from 1.
        line: Option<u64> = "line" optional,
    }
}

impl Notice {
    /// The field beside the others that has the text of a line that could not be read, as far as it is kept.
    pub const FOUND: &str = "found";
}

payload_struct! {
    /// The source takes back what it sent.
    Retract {
        /// The events taken back.
        event_ids: Vec<String> = "eventIds" required,
    }
}

payload_struct! {
    /// A provider's line that no rule knows.
    Raw {
        /// The provider's format.
        format: String = "format" default,
        /// The line.
        value: Json = "value" default,
    }
}
impl Usage {
    /// Tokens that were worked on for the first time: read, written to the cache, and answered. What came from the cache is
    /// counted each time that it is read again and costs a tenth: summed up with these it would hide them.
    ///
    /// ```
    /// use chat_event::payload::Usage;
    ///
    /// let usage = Usage {
    ///     input_tokens: 4,
    ///     output_tokens: 20,
    ///     cache_read_tokens: Some(90_000),
    ///     cache_write_tokens: Some(300),
    ///     ..Usage::default()
    /// };
    /// assert_eq!(usage.fresh_tokens(), 324);
    /// ```
    #[must_use]
    pub fn fresh_tokens(&self) -> u64 {
        let written = self.cache_write_tokens.unwrap_or(0);
        let read = self.input_tokens.saturating_add(written);
        read.saturating_add(self.output_tokens)
    }
}
