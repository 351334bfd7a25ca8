//! The event types and their payloads, one struct a type.
//!
//! Every struct keeps the fields it does not know in `extra`; a type that is not known is [`Payload::Unknown`], and a
//! known type whose payload has not the shape it should have is [`Payload::Malformed`]: kept, and shown as such.

use crate::body::Body;
use crate::json::{Extra, Json};
use crate::schema::{payload_struct, payloads};
use crate::text::Text;

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
        /// What the turn used, in the shape of [`Usage`].
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
    /// The assistant calls a tool.
    ToolCall {
        /// Links the call to its input, output and result.
        tool_call_id: String = "toolCallId" required,
        /// The tool, as the provider names it.
        tool_name: String = "toolName" required,
        /// The arguments, as the provider has them.
        args: Json = "args" default,
        /// One line a reader would understand.
        title: Option<String> = "title" optional,
        /// `read`, `edit`, `search`, `execute`, `fetch`, `think`, `agent`, `plan` or `other`.
        kind: Option<String> = "kind" optional,
    }
}
payload_struct! {
    /// A piece of a tool call's arguments, as JSON text.
    ToolInputChunk {
        /// The call.
        tool_call_id: String = "toolCallId" required,
        /// The tool.
        tool_name: String = "toolName" default,
        /// The piece.
        chunk: String = "chunk" required,
        /// Where it stands in the text, in Unicode scalar values.
        offset: Option<u64> = "offset" optional,
    }
}
payload_struct! {
    /// A piece of what a running tool prints.
    ToolOutputChunk {
        /// The call.
        tool_call_id: String = "toolCallId" required,
        /// The piece.
        chunk: String = "chunk" required,
        /// `stdout` or `stderr`.
        stream: Option<String> = "stream" optional,
    }
}
payload_struct! {
    /// A tool gave its result.
    ToolResult {
        /// The call.
        tool_call_id: String = "toolCallId" required,
        /// What it gave: a string, a body reference, or any JSON.
        result: Json = "result" default,
        /// Why it failed, where it did.
        error: Option<ToolError> = "error" optional,
        /// One line a reader would understand.
        summary: Option<String> = "summary" optional,
        /// How long it took, in milliseconds.
        duration_ms: Option<u64> = "durationMs" optional,
        /// A command's exit code.
        exit_code: Option<i64> = "exitCode" optional,
        /// Of what goes on in the background: `true` where this result only says that it began there, `false` where it tells
        /// how that ended. The second stands in the place of the first; what the first gave stays where it gives `null`.
        background: Option<bool> = "background" optional,
        /// The rhythm of compacted output.
        timing: Option<Json> = "timing" optional,
        /// The `seq`s this event stands for after compaction.
        span: Option<(u64, u64)> = "span" optional,
    }
}
payload_struct! {
    /// Why a tool failed.
    ToolError {
        /// A short word for the kind of failure.
        code: Option<String> = "code" optional,
        /// What happened.
        message: String = "message" default,
    }
}
payload_struct! {
    /// One agent writes to another.
    AgentMessage {
        /// Links the message to its callback.
        message_id: String = "messageId" required,
        /// To whom.
        target_agent_id: String = "targetAgentId" default,
        /// In which session it works.
        target_session_id: String = "targetSessionId" default,
        /// What.
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
        /// From whom.
        from_agent_id: String = "fromAgentId" default,
        /// From which session.
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
    /// The turn was stopped.
    Interrupt {
        /// `user_cancel`, `timeout` or `error`.
        reason: String = "reason" default,
    }
}
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
        /// Why.
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
    /// A tool call changed a file.
    FileEdit {
        /// The call that did it.
        tool_call_id: String = "toolCallId" default,
        /// The file.
        file_path: String = "filePath" required,
        /// `created`, `modified`, `deleted` or `renamed`.
        change_type: String = "changeType" required,
        /// The name before, where it was renamed.
        old_path: Option<String> = "oldPath" optional,
        /// Lines added.
        lines_added: u32 = "linesAdded" default,
        /// Lines removed.
        lines_removed: u32 = "linesRemoved" default,
        /// The first 100 lines of the diff, 5 KB at most.
        diff_preview: Text = "diffPreview" default,
        /// The whole unified diff, where it travels with the event.
        full_diff: Option<Body> = "fullDiff" optional cold,
        /// Whether the whole diff can be had.
        full_diff_available: bool = "fullDiffAvailable" default,
        /// Length of the whole diff in bytes.
        full_diff_size: u64 = "fullDiffSize" default,
        /// The file before the change, where it has lines that the diff leaves out.
        old_text: Option<Body> = "oldText" optional cold,
        /// Whether the file is binary.
        binary: Option<bool> = "binary" optional,
    }
}
payload_struct! {
    /// How far a long step is.
    Progress {
        /// What is going on.
        message: String = "message" required,
        /// 0 to 100.
        percent: Option<f64> = "percent" optional,
        /// The call it belongs to.
        tool_call_id: Option<String> = "toolCallId" optional,
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
        /// What.
        content: String = "content" required,
        /// `pending`, `in_progress` or `completed`.
        status: String = "status" default,
    }
}
payload_struct! {
    /// The agent asks whether it may.
    PermissionRequest {
        /// Links the request to its resolution.
        request_id: String = "requestId" required,
        /// The call it is about.
        tool_call_id: Option<String> = "toolCallId" optional,
        /// The tool it is about.
        tool_name: String = "toolName" default,
        /// What sort of tool that is, as in `tool_call`.
        kind: Option<String> = "kind" optional,
        /// One line a reader would understand.
        title: Option<String> = "title" optional,
        /// The arguments it would use.
        args: Option<Json> = "args" optional,
        /// The answers to choose from.
        options: Vec<PermissionOption> = "options" default,
        /// Why it asks.
        reason: Option<String> = "reason" optional,
        /// `false` where no answer from here reaches who asks, as `turnreel pipe` says: it is given where the agent runs.
        answerable: Option<bool> = "answerable" optional,
    }
}
payload_struct! {
    /// One answer to a permission request.
    PermissionOption {
        /// What is sent back.
        id: String = "id" required,
        /// What is shown.
        label: String = "label" default,
        /// `allow_once`, `allow_always`, `reject_once` …
        kind: String = "kind" default,
    }
}
impl PermissionOption {
    /// One that is known by what is sent back, what is shown, and its kind.
    ///
    /// ```
    /// let option = chat_event::payload::PermissionOption::new("yes", "Allow once", "allow_once");
    /// assert_eq!(option.label, "Allow once");
    /// ```
    pub fn new(id: &str, label: &str, kind: &str) -> PermissionOption {
        PermissionOption {
            id: id.to_owned(),
            label: label.to_owned(),
            kind: kind.to_owned(),
            extra: Extra::default(),
        }
    }
}
payload_struct! {
    /// The answer to a [`PermissionRequest`].
    PermissionResolved {
        /// The request.
        request_id: String = "requestId" required,
        /// `allow`, `deny` or `cancel`.
        decision: String = "decision" required,
        /// `once`, `session` or `always`.
        scope: Option<String> = "scope" optional,
        /// `user`, `rule`, `hook` or `mode`.
        by: Option<String> = "by" optional,
        /// What was said with it.
        message: Option<String> = "message" optional,
    }
}
payload_struct! {
    /// The agent asks questions.
    QuestionRequest {
        /// Links the request to its resolution.
        request_id: String = "requestId" required,
        /// The call it is about.
        tool_call_id: Option<String> = "toolCallId" optional,
        /// The questions in order.
        questions: Vec<Question> = "questions" required,
        /// `false` where no answer from here reaches who asks, as `turnreel pipe` says: it is given where the agent runs.
        answerable: Option<bool> = "answerable" optional,
    }
}
payload_struct! {
    /// One question.
    Question {
        /// Links the question to its answer.
        id: String = "id" default,
        /// A word or two above it.
        header: Option<String> = "header" optional,
        /// The question.
        text: String = "text" required,
        /// The answers to choose from.
        options: Vec<QuestionOption> = "options" default,
        /// Whether more than one may be chosen.
        multi: Option<bool> = "multi" optional,
        /// Whether the answer must not be shown.
        secret: Option<bool> = "secret" optional,
    }
}
payload_struct! {
    /// One answer to a question.
    QuestionOption {
        /// What is shown.
        label: String = "label" required,
        /// A sentence about it.
        description: Option<String> = "description" optional,
    }
}
payload_struct! {
    /// The answer to a [`QuestionRequest`].
    QuestionResolved {
        /// The request.
        request_id: String = "requestId" required,
        /// The answers, as the provider has them.
        answers: Option<Json> = "answers" optional,
        /// `answered`, `rejected` or `expired`.
        outcome: String = "outcome" default,
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
        /// What.
        text: String = "text" required,
        /// Who says so.
        source: Option<String> = "source" optional,
        /// The line of the source it is about, from 1.
        line: Option<u64> = "line" optional,
    }
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
payload_struct! {
    /// The first line of a log.
    LogStart {
        /// The schema's version.
        schema: u64 = "schema" default,
        /// The log's epoch.
        epoch: String = "epoch" default,
        /// What wrote it.
        writer: Option<String> = "writer" optional,
    }
}
payload_struct! {
    /// From here on another epoch counts.
    LogEpoch {
        /// The new epoch.
        epoch: String = "epoch" default,
        /// The last `seq` before it.
        base: u64 = "base" default,
        /// Why.
        why: String = "why" default,
    }
}
payload_struct! {
    /// Events are missing for good.
    LogGap {
        /// The first missing `seq`.
        from: u64 = "from" default,
        /// The last missing `seq`.
        to: u64 = "to" default,
        /// Why.
        why: String = "why" default,
    }
}
impl ToolResult {
    /// Whether it says that no result came, which is a guess where a turn, a run or a file ends.
    pub fn is_missing(&self) -> bool {
        let code = self.error.as_ref().and_then(|error| error.code.as_deref());
        code == Some("no_result")
    }

    /// Whether it is not the end: what the call began goes on in the background.
    pub fn goes_on(&self) -> bool {
        self.background == Some(true) && self.error.is_none()
    }

    /// What the call gave, where an earlier result gave `before`: how something in the background ended may be told without
    /// what it gave.
    ///
    /// ```
    /// use chat_event::{Json, payload::ToolResult};
    ///
    /// let mut end = ToolResult { background: Some(false), ..ToolResult::default() };
    /// let printed = Json::string("Listening");
    /// assert_eq!(end.given(Some(&printed)), printed);
    /// end.result = Json::string("Found 2");
    /// assert_eq!(end.given(Some(&printed)), end.result);
    /// ```
    #[must_use]
    pub fn given(&self, before: Option<&Json>) -> Json {
        let says_nothing = self.background == Some(false) && self.result.is_null();
        before
            .filter(|_| says_nothing)
            .unwrap_or(&self.result)
            .clone()
    }

    /// Whether nothing had come of the call: it says that there is no result, or that the call was stopped, and what it
    /// gave by then is empty. A result that comes behind it stands in its place.
    ///
    /// ```
    /// use chat_event::payload::{ToolError, ToolResult};
    ///
    /// let stopped = ToolError { code: Some("interrupted".to_owned()), ..ToolError::default() };
    /// let mut result = ToolResult { error: Some(stopped), ..ToolResult::default() };
    /// assert!(result.is_empty_handed());
    /// result.result = chat_event::Json::string("half of it");
    /// assert!(!result.is_empty_handed());
    /// ```
    pub fn is_empty_handed(&self) -> bool {
        is_empty_handed(&self.result, self.error.as_ref())
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

impl LogGap {
    /// How many events are missing. None are where a write was torn before anybody was told that it is kept: its range
    /// ends before it begins.
    ///
    /// ```
    /// use chat_event::payload::LogGap;
    ///
    /// let lost = LogGap { from: 3, to: 4, ..LogGap::default() };
    /// let torn = LogGap { from: 5, to: 4, ..LogGap::default() };
    /// assert_eq!((lost.n_missing(), torn.n_missing()), (2, 0));
    /// ```
    pub fn n_missing(&self) -> u64 {
        self.to
            .checked_sub(self.from)
            .map_or(0, |more| more.saturating_add(1))
    }
}
payload_struct! {
    /// The log was closed.
    LogEnd {
        /// Whether on purpose.
        clean: bool = "clean" default,
    }
}

/// As [`ToolResult::is_empty_handed`], of its two parts.
pub fn is_empty_handed(result: &Json, error: Option<&ToolError>) -> bool {
    match error.and_then(|error| error.code.as_deref()) {
        Some("no_result") => true,
        Some("interrupted") => result.is_null() || result.as_text() == "\"\"",
        _ => false,
    }
}
