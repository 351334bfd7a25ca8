//! The conversation as one text for the Claude command line (`claude -p`).
//!
//! The command line takes a text and can go on only with sessions of its own, so a session of any other agent has to be
//! told to it; who speaks to an API has [`super::to_openai_messages`], and both tell the same of a log. The history
//! stands between tags, because Claude tells tagged text from what it is asked; the prompt that is still to be answered
//! stands bare behind it. A log of one prompt is that prompt.
//!
//! A tag of this format within a text has its `<` written as `&lt;`, so that no text ends the part it stands in. Images
//! are named but not shown.

use chat_event::ChatEvent;

use super::openai::{
    MessageSink, OpenAiContent, OpenAiMessage, OpenAiMessages, OpenAiPart, OpenAiToolCall,
};

/// What the history begins with.
const INTRODUCTION: &str =
    "The conversation so far is in <conversation>. Go on from there.\n\n<conversation>\n";

/// The tags of the format.
const TAGS: &[&str] = &[
    "conversation",
    "user",
    "assistant",
    "tool_call",
    "tool_result",
];

/// Takes pieces of a text as they are finished.
pub trait TextSink {
    /// The next piece.
    fn text(&mut self, text: &str);

    /// The conversation was made shorter: the text so far is no part of it any more.
    fn restart(&mut self);
}

impl TextSink for String {
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }

    fn restart(&mut self) {
        self.clear();
    }
}

/// The prompt of a log.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::projections::to_claude_prompt;
/// let line = r#"{"id":"e1","timestamp":1,"sessionId":"s","type":"user_message","payload":{"text":"Hi"}}"#;
/// assert_eq!(to_claude_prompt(&[ChatEvent::from_json(line).unwrap()]), "Hi");
/// ```
pub fn to_claude_prompt(events: &[ChatEvent]) -> String {
    let mut text = String::new();
    // The events are in memory anyway, so all may stay open.
    let mut projection = ClaudePrompt::with_window(usize::MAX);
    for event in events {
        projection.push(event, &mut text);
    }
    projection.finish(&mut text);
    text
}

/// Projects a log event by event; see [`OpenAiMessages`] for what is kept open.
#[derive(Debug, Default)]
pub struct ClaudePrompt {
    messages: OpenAiMessages,
    writer: Writer,
}

impl ClaudePrompt {
    /// A projection of an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that keeps about `window_bytes` open.
    pub fn with_window(window_bytes: usize) -> Self {
        ClaudePrompt {
            messages: OpenAiMessages::with_window(window_bytes),
            writer: Writer::default(),
        }
    }

    /// Takes the next event; text that is finished goes to `sink`.
    pub fn push(&mut self, event: &ChatEvent, sink: &mut impl TextSink) {
        let writer = &mut self.writer;
        self.messages.push(event, &mut Messages { writer, sink });
    }

    /// The log is at its end: gives what is left.
    pub fn finish(&mut self, sink: &mut impl TextSink) {
        let writer = &mut self.writer;
        self.messages.finish(&mut Messages { writer, sink });
        self.writer.finish(sink);
    }
}

#[derive(Debug, Default)]
struct Writer {
    began: bool,
    /// A user's messages that nothing answered yet.
    unanswered: Vec<String>,
}

struct Messages<'w, S> {
    writer: &'w mut Writer,
    sink: &'w mut S,
}

impl<S: TextSink> MessageSink for Messages<'_, S> {
    fn message(&mut self, message: OpenAiMessage) {
        match message {
            OpenAiMessage::User { content } => self.writer.unanswered.push(content_text(content)),
            OpenAiMessage::Assistant {
                content,
                tool_calls,
            } => {
                self.writer.tell_prompts(self.sink);
                let text = content.unwrap_or_default();
                let said = (!text.is_empty()).then(|| guarded(&text));
                let calls = tool_calls.iter().map(call_text);
                let parts: Vec<String> = said.into_iter().chain(calls).collect();
                self.writer.tell("assistant", &parts.join("\n"), self.sink);
            }
            OpenAiMessage::Tool {
                tool_call_id,
                content,
            } => {
                let id = attribute(&tool_call_id);
                self.sink.text(&format!(
                    "<tool_result id=\"{id}\">\n{}\n</tool_result>\n",
                    guarded(&content)
                ));
            }
        }
    }

    fn restart(&mut self) {
        *self.writer = Writer::default();
        self.sink.restart();
    }
}

impl Writer {
    fn tell_prompts(&mut self, sink: &mut impl TextSink) {
        for prompt in std::mem::take(&mut self.unanswered) {
            self.tell("user", &guarded(&prompt), sink);
        }
    }

    fn tell(&mut self, tag: &str, text: &str, sink: &mut impl TextSink) {
        if !self.began {
            self.began = true;
            sink.text(INTRODUCTION);
        }
        sink.text(&format!("<{tag}>\n{text}\n</{tag}>\n"));
    }

    fn finish(&mut self, sink: &mut impl TextSink) {
        // Of several only the last is the prompt; those before it are history.
        let prompt = self.unanswered.pop();
        self.tell_prompts(sink);
        if std::mem::take(&mut self.began) {
            sink.text("</conversation>\n");
            if prompt.is_some() {
                sink.text("\n");
            }
        }
        if let Some(prompt) = prompt {
            sink.text(&prompt);
        }
    }
}

fn content_text(content: OpenAiContent) -> String {
    let parts = match content {
        OpenAiContent::Text(text) => return text,
        OpenAiContent::Parts(parts) => parts,
    };
    let text = |part| match part {
        OpenAiPart::Text { text } => text,
        OpenAiPart::ImageUrl { image_url } => {
            let media_type = image_url.url.strip_prefix("data:").unwrap_or_default();
            let media_type = media_type.split([';', ',']).next().unwrap_or_default();
            format!("[Attached: {media_type}]")
        }
    };
    parts.into_iter().map(text).collect::<Vec<_>>().join("\n")
}

fn call_text(call: &OpenAiToolCall) -> String {
    format!(
        "<tool_call id=\"{}\" name=\"{}\">\n{}\n</tool_call>",
        attribute(&call.id),
        call.function.name,
        guarded(&call.function.arguments)
    )
}

/// The text without tags of this format; any other markup stays as it is, so that code is told as it was written.
fn guarded(text: &str) -> String {
    let mut guarded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        guarded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        guarded.push_str(if begins_tag(rest) { "&lt;" } else { "<" });
    }
    guarded.push_str(rest);
    guarded
}

/// Whether what stands behind a `<` makes it a tag of this format.
fn begins_tag(text: &str) -> bool {
    let name = text.strip_prefix('/').unwrap_or(text);
    let begins = |tag: &&str| {
        let start = name.as_bytes().get(..tag.len());
        let next = name.as_bytes().get(tag.len());
        let ends = next.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        ends && start.is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
    };
    TAGS.iter().any(begins)
}

fn attribute(text: &str) -> String {
    let kept = |c: char| match c {
        '"' | '<' | '>' | '&' => '_',
        c if c.is_control() => '_',
        c => c,
    };
    text.chars().map(kept).collect()
}
