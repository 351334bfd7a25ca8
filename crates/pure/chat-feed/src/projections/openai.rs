//! The conversation as Chat Completions messages: what an OpenAI-compatible API is given to go on with it.
//!
//! | event | message |
//! |---|---|
//! | `user_message`, `user_audio` | `user`; an image as `image_url` where its data is here, else a note; sound as its transcription |
//! | `assistant_chunk`, `assistant_done`, `tool_call` | `assistant`, one a response, with its calls |
//! | `tool_result` | `tool`, behind its call's message, in the order of the calls |
//! | `agent_message` | a line in the `assistant` message |
//! | `agent_callback` | `user`, with who answers |
//! | `compaction` with a summary | `user`; all before it is left out |
//!
//! A response whose text goes on after its calls have their results is told as two messages, because a model cannot have
//! said that before it knew them. A call without a result gets one that says so, because the API refuses it otherwise; a
//! result whose call is not there becomes a `user` message. Ids and names of tools are changed where the API would refuse
//! them. Thinking, what sub-agents did, and all that is only shown to people are left out, and so are turns that the user
//! went back behind, or that were cleared: the agent knows no more of them. A compaction without a summary leaves what was before it: nothing stands
//! in for it. One that was gone back behind stays, for it says what was before.

mod call;
mod message;

use std::collections::HashSet;

use chat_event::payload::{ToolResult, UserMessage};
use chat_event::{ChatEvent, Payload};

pub use message::{
    OpenAiCallType, OpenAiContent, OpenAiFunction, OpenAiImageUrl, OpenAiMessage, OpenAiPart,
    OpenAiToolCall,
};

use super::conversation::{Block, Call, Conversation, EntryBody, Response, Tree};
use super::plain::{body_text, result_text};
use crate::media::Attachment;
use crate::set_backs::SetBacks;

/// Takes messages as they are finished.
pub trait MessageSink {
    /// The next message.
    fn message(&mut self, message: OpenAiMessage);

    /// The conversation was made shorter: the messages so far are no part of it any more.
    fn restart(&mut self);
}

impl MessageSink for Vec<OpenAiMessage> {
    fn message(&mut self, message: OpenAiMessage) {
        self.push(message);
    }

    fn restart(&mut self) {
        self.clear();
    }
}

/// The messages of a log.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::projections::to_openai_messages;
/// let line = r#"{"id":"e1","timestamp":1,"sessionId":"s","type":"user_message","payload":{"text":"Hi"}}"#;
/// let messages = to_openai_messages(&[ChatEvent::from_json(line).unwrap()]);
/// assert_eq!(serde_json::to_string(&messages).unwrap(), r#"[{"role":"user","content":"Hi"}]"#);
/// ```
pub fn to_openai_messages(events: &[ChatEvent]) -> Vec<OpenAiMessage> {
    let mut messages = Vec::new();
    // The events are in memory anyway, so all may stay open.
    let mut projection = OpenAiMessages::with_window(usize::MAX);
    for event in events {
        projection.push(event, &mut messages);
    }
    projection.finish(&mut messages);
    messages
}

/// Projects a log event by event.
///
/// The newest 32 MiB or so of the conversation are kept, because what comes later may still change them; older messages
/// go to the sink. What comes too late for its message is a message of its own; a `retract` that comes too late changes
/// nothing, nor does a set-back.
#[derive(Debug, Default)]
pub struct OpenAiMessages {
    conversation: Conversation,
    set_backs: SetBacks<u64, u64>,
}

impl OpenAiMessages {
    /// A projection of an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that keeps about `window_bytes` open.
    pub fn with_window(window_bytes: usize) -> Self {
        OpenAiMessages {
            conversation: Conversation::with_window(window_bytes),
            set_backs: SetBacks::default(),
        }
    }

    /// Takes the next event; messages that are finished go to `sink`.
    pub fn push(&mut self, event: &ChatEvent, sink: &mut impl MessageSink) {
        let sets_back = matches!(&event.payload, Payload::Notice(_));
        let is_said = event.parent_tool_call_id.is_none() && is_said(&event.payload);
        if !(is_said || sets_back) || !self.conversation.is_new(event) {
            return;
        }
        self.set_backs.note_all(event);
        if sets_back {
            return;
        }
        if let Payload::Compaction(compaction) = &event.payload {
            if compaction.summary.as_ref().is_none_or(String::is_empty) {
                return;
            }
            self.conversation.forget();
            sink.restart();
        }
        let set_backs = &self.set_backs;
        self.conversation
            .push(event, &mut |tree| write_tree(&tree, set_backs, sink));
    }

    /// The log is at its end: gives what is left.
    pub fn finish(&mut self, sink: &mut impl MessageSink) {
        let set_backs = &self.set_backs;
        self.conversation
            .finish(&mut |tree| write_tree(&tree, set_backs, sink));
    }
}

/// Whether an event is part of what a model is told, or says where that begins and ends.
fn is_said(payload: &Payload) -> bool {
    match payload {
        Payload::TurnStart(_)
        | Payload::TurnEnd(_)
        | Payload::UserMessage(_)
        | Payload::UserAudio(_)
        | Payload::AssistantChunk(_)
        | Payload::AssistantDone(_)
        | Payload::ToolCall(_)
        | Payload::ToolInputChunk(_)
        | Payload::ToolOutputChunk(_)
        | Payload::ToolResult(_)
        | Payload::AgentMessage(_)
        | Payload::AgentCallback(_)
        | Payload::Interrupt(_)
        | Payload::Compaction(_)
        | Payload::Retract(_) => true,
        Payload::ThinkingChunk(_)
        | Payload::ThinkingDone(_)
        | Payload::AgentSwitch(_)
        | Payload::ErrorEvent(_)
        | Payload::AudioChunk(_)
        | Payload::AudioDone(_)
        | Payload::SessionStart(_)
        | Payload::SessionEnd(_)
        | Payload::SessionStatus(_)
        | Payload::FileEdit(_)
        | Payload::Progress(_)
        | Payload::Plan(_)
        | Payload::PermissionRequest(_)
        | Payload::PermissionResolved(_)
        | Payload::QuestionRequest(_)
        | Payload::QuestionResolved(_)
        | Payload::Usage(_)
        | Payload::Notice(_)
        | Payload::Raw(_)
        | Payload::LogStart(_)
        | Payload::LogEpoch(_)
        | Payload::LogGap(_)
        | Payload::LogEnd(_)
        | Payload::Unknown { .. }
        | Payload::Malformed { .. } => false,
    }
}

fn write_tree(tree: &Tree, set_backs: &SetBacks<u64, u64>, sink: &mut impl MessageSink) {
    let Some(entry) = tree.root() else { return };
    let is_left = set_backs.of(&entry.turn).is_some();
    match &entry.body {
        EntryBody::Event(event) if matches!(event.payload, Payload::Compaction(_)) => {
            write_event(event, sink);
        }
        EntryBody::Response(_) | EntryBody::Event(_) if is_left => {}
        EntryBody::Response(response) => write_response(tree, response, sink),
        EntryBody::Event(event) => write_event(event, sink),
    }
}

fn write_event(event: &ChatEvent, sink: &mut impl MessageSink) {
    match &event.payload {
        Payload::UserMessage(message) => sink.message(user_message(message)),
        Payload::UserAudio(audio) => sink.message(OpenAiMessage::user(audio.transcription.clone())),
        Payload::AgentCallback(callback) => {
            let result = body_text(&callback.result);
            let from = match callback.from_agent_id.as_str() {
                "" => &callback.from_session_id,
                from => from,
            };
            let text = format!("[Callback from {from}]: {result}");
            sink.message(OpenAiMessage::user(text));
        }
        Payload::Compaction(compaction) => {
            let summary = compaction.summary.as_deref().unwrap_or_default();
            let text = format!("[Summary of the conversation so far]: {summary}");
            sink.message(OpenAiMessage::user(text));
        }
        // The others only say where something begins and ends.
        _ => {}
    }
}

fn user_message(message: &UserMessage) -> OpenAiMessage {
    let mut text = body_text(&message.text);
    let mut images = Vec::new();
    for attachment in Attachment::list(message.attachments.as_ref()) {
        match attachment.image_url() {
            Some(url) => images.push(OpenAiPart::ImageUrl {
                image_url: OpenAiImageUrl { url },
            }),
            None => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&attachment.note());
            }
        }
    }
    if images.is_empty() {
        return OpenAiMessage::user(text);
    }
    let text = (!text.is_empty()).then_some(OpenAiPart::Text { text });
    OpenAiMessage::User {
        content: OpenAiContent::Parts(text.into_iter().chain(images).collect()),
    }
}

fn write_response(tree: &Tree, response: &Response, sink: &mut impl MessageSink) {
    let mut round = Round::default();
    let mut rounds = response.rounds.iter().peekable();
    for (block_idx, block) in response.blocks.iter().enumerate() {
        if rounds.next_if(|&&start| start == block_idx).is_some() {
            std::mem::take(&mut round).write(sink);
        }
        match block {
            Block::Text(text) => round.texts.push(text.text().into_owned()),
            Block::Call(key) => {
                let Some(call) = tree.call(*key) else {
                    continue;
                };
                // Two calls of one message cannot have the same id.
                if call.called && !round.ids.insert(call::call_id(&call.id)) {
                    std::mem::take(&mut round).write(sink);
                    round.ids.insert(call::call_id(&call.id));
                }
                round.calls.push(call);
            }
            Block::Message(event) => round.texts.extend(message_text(event)),
            Block::Thinking(_) | Block::Gone => {}
        }
    }
    round.write(sink);
}

/// What a model said at once, with the calls it made and their results.
#[derive(Default)]
struct Round<'t> {
    texts: Vec<String>,
    calls: Vec<&'t Call>,
    ids: HashSet<String>,
}

impl Round<'_> {
    fn write(mut self, sink: &mut impl MessageSink) {
        self.texts.retain(|text| !text.is_empty());
        let content = (!self.texts.is_empty()).then(|| self.texts.join("\n\n"));
        let (calls, strays): (Vec<&Call>, Vec<&Call>) =
            self.calls.into_iter().partition(|call| call.called);
        let tool_calls: Vec<OpenAiToolCall> =
            calls.iter().map(|call| call::tool_call(call)).collect();
        if content.is_some() || !tool_calls.is_empty() {
            sink.message(OpenAiMessage::Assistant {
                content,
                tool_calls,
            });
        }
        for call in calls {
            let content = match &call.result {
                Some(result) => result_text(result, &call.output),
                None => no_result(&call.output),
            };
            sink.message(OpenAiMessage::Tool {
                tool_call_id: call::call_id(&call.id),
                content,
            });
        }
        for call in strays {
            if let Some(result) = &call.result {
                sink.message(stray_result(call, result));
            }
        }
    }
}

fn no_result(output: &str) -> String {
    match output {
        "" => "[No result was recorded for this call.]".to_owned(),
        output => {
            format!("{output}\n[No result was recorded for this call; this is what it printed.]")
        }
    }
}

fn stray_result(call: &Call, result: &ToolResult) -> OpenAiMessage {
    let text = result_text(result, &call.output);
    let id = &call.id;
    OpenAiMessage::user(format!("[Result of the earlier call {id}]: {text}"))
}

fn message_text(event: &ChatEvent) -> Option<String> {
    let Payload::AgentMessage(message) = &event.payload else {
        return None;
    };
    let text = body_text(&message.message);
    Some(format!("[Message to {}]: {text}", message.target_agent_id))
}
