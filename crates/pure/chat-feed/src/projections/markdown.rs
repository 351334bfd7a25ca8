//! The session as a Markdown transcript: for reading, for an issue or a pull request, for a diff against another run.
//!
//! Title and facts; a heading a turn; prompts quoted; answers as they are; calls with their arguments, changed files as
//! diffs, results; what sub-agents did as quotes within their call. No text gets out of the place it stands in, see
//! `prose` and `writer`. The heading of a turn that the user went back behind says so, as far as that is known when it is
//! written. Long results and diffs are cut, each with a note of how much is left out. Progress, status and
//! sound are left out: they are of the moment.
//!
//! Its top is in `facts`, its turns are in `transcript`, and what events and calls become in `event` and `call`.

mod call;
mod event;
mod facts;
mod prose;
mod times;
mod transcript;
mod writer;

use chat_event::payload::Notice;
use chat_event::{ChatEvent, Payload};

use super::TextSink;
use super::conversation::Conversation;
use super::two_sources::{Told, TwoSources};
use crate::renderer::seen::hash;
use crate::retries::{Retries, is_retry};
use transcript::{RAW_BYTES, Transcript};
use writer::Writer;

/// The transcript of a log.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::projections::to_markdown;
/// let line = r#"{"id":"e1","timestamp":0,"sessionId":"s","type":"user_message","payload":{"text":"Hi"}}"#;
/// let text = to_markdown(&[ChatEvent::from_json(line).unwrap()]);
/// assert_eq!(text, "# Hi\n\n## Turn 1\n\n**User**\n\n> Hi\n\n");
/// ```
pub fn to_markdown(events: &[ChatEvent]) -> String {
    let mut text = String::new();
    // The events are in memory anyway, so all may stay open.
    let mut projection = Markdown::with_window(usize::MAX);
    for event in events {
        projection.push(event, &mut text);
    }
    projection.finish(&mut text);
    text
}

/// Projects a log event by event.
///
/// The newest 32 MiB or so of the session are kept, because what comes later may still change them; the transcript of
/// what is older goes to the sink. [`TextSink::restart`] is never called.
#[derive(Debug, Default)]
pub struct Markdown {
    conversation: Conversation,
    transcript: Transcript,
    /// A provider that is asked again, since this event.
    retries: Option<(ChatEvent, Retries)>,
    two_sources: TwoSources,
}

impl Markdown {
    /// A projection of an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that keeps about `window_bytes` open.
    pub fn with_window(window_bytes: usize) -> Self {
        Markdown {
            conversation: Conversation::with_window(window_bytes),
            ..Markdown::default()
        }
    }

    /// Takes the next event; text that is finished goes to `sink`.
    pub fn push(&mut self, event: &ChatEvent, sink: &mut impl TextSink) {
        if !self.conversation.is_new(event) {
            return;
        }
        let told = self.two_sources.take(event);
        let event = match &told {
            Told::Now(event) => event,
            Told::Renamed(event) => &**event,
            Told::Before {
                request_id,
                call_id,
            } => {
                let conversation = &mut self.conversation;
                return conversation.asked_for(event, request_id, call_id.as_deref());
            }
        };
        self.transcript.facts.note(event);
        self.transcript.set_backs.note(event);
        self.note_retries(event, sink);
        if let Payload::Usage(usage) = &event.payload {
            let turn = event.turn_id.as_deref();
            let turn = turn.map_or_else(|| self.conversation.turn(), hash);
            self.transcript.note_usage(turn, event, usage);
        }
        // Of the moment, or said elsewhere.
        if matches!(
            event.payload,
            Payload::Progress(_)
                | Payload::SessionStatus(_)
                | Payload::SessionStart(_)
                | Payload::Usage(_)
                | Payload::AudioChunk(_)
        ) {
            return;
        }
        let transcript = &mut self.transcript;
        self.conversation
            .push(event, &mut |tree| transcript.tree(&tree, sink));
    }

    /// Where a provider was asked again, that is told once it answered, or was asked no more.
    fn note_retries(&mut self, event: &ChatEvent, sink: &mut impl TextSink) {
        if let Payload::SessionStatus(status) = &event.payload
            && is_retry(status)
        {
            let (_, retries) = self
                .retries
                .get_or_insert_with(|| (event.clone(), Retries::default()));
            return retries.note(status, event.timestamp);
        }
        if Retries::end_with(&event.payload) {
            self.tell_retries(event.timestamp, sink);
        }
    }

    fn tell_retries(&mut self, to_ms: Option<i64>, sink: &mut impl TextSink) {
        let Some((mut event, retries)) = self.retries.take() else {
            return;
        };
        event.payload = Notice {
            level: "info".to_owned(),
            text: retries.words(to_ms),
            ..Notice::default()
        }
        .into();
        let transcript = &mut self.transcript;
        self.conversation
            .push(&event, &mut |tree| transcript.tree(&tree, sink));
    }

    /// The log is at its end: gives what is left.
    pub fn finish(&mut self, sink: &mut impl TextSink) {
        while self.finish_next(sink) {}
    }

    /// The log is at its end: gives the next of what is left, and whether there may be more. All of it at once takes as
    /// long as writing the 32 MiB that were kept.
    pub fn finish_next(&mut self, sink: &mut impl TextSink) -> bool {
        self.tell_retries(None, sink);
        let transcript = &mut self.transcript;
        let conversation = &mut self.conversation;
        if conversation.finish_next(&mut |tree| transcript.tree(&tree, sink)) {
            return true;
        }
        // Where nothing was said, too.
        let mut out = Writer::new(sink);
        transcript.head(&mut out);
        out.finish();
        false
    }
}
