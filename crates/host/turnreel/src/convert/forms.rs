//! What is made of a session: its events, or one of their projections.

use chat_event::ChatEvent;
use chat_feed::projections::trace::{ToolTrace, Verbosity};
use chat_feed::projections::{
    ClaudePrompt, Markdown, MessageSink, OpenAiMessage, OpenAiMessages, SessionSummarizer, TextSink,
};
use chat_feed::{ChatRenderer, feed_lines};
use chat_normalize::OpenCodeOut;

use super::output::Sheet;

/// What a session is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// ChatEvents, one a line.
    Events,
    /// Chat Completions messages, one JSON array.
    #[value(name = "openai")]
    OpenAi,
    /// One text for `claude -p`.
    ClaudePrompt,
    /// The events of OpenCode's bus, one a line.
    #[value(name = "opencode")]
    OpenCode,
    /// Title, models, tokens, cost, tools and files, one JSON object.
    Summary,
    /// What the agent did, line by line.
    Trace,
    /// A transcript to read.
    Markdown,
    /// What the page shows, every fact of it, one row a line, as the program's own tests compare it.
    #[value(hide = true)]
    Feed,
}

impl Form {
    /// How its files end.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Form::Events => "events.jsonl",
            Form::OpenAi => "openai.json",
            Form::ClaudePrompt => "prompt.txt",
            Form::OpenCode => "opencode.jsonl",
            Form::Summary => "summary.json",
            Form::Trace => "trace.txt",
            Form::Markdown => "md",
            Form::Feed => "feed.txt",
        }
    }

    /// JSON says by itself where a session ends; text does not.
    pub(super) fn is_json(self) -> bool {
        match self {
            Form::Events | Form::OpenAi | Form::OpenCode | Form::Summary => true,
            Form::ClaudePrompt | Form::Trace | Form::Markdown | Form::Feed => false,
        }
    }

    /// Whether all that is read is told as one session: else each event is of its own.
    pub(super) fn is_of_one_session(self) -> bool {
        !matches!(self, Form::Events | Form::Trace)
    }

    /// Whether a compaction takes back what was written.
    pub(super) fn begins_again(self) -> bool {
        matches!(self, Form::OpenAi | Form::ClaudePrompt)
    }
}

/// Takes the events of one session, and writes what is certain.
pub(super) trait Projection {
    /// The next event.
    fn push(&mut self, event: &ChatEvent, sheet: &mut Sheet);

    /// There are no more.
    fn finish(&mut self, sheet: &mut Sheet);
}

/// The projection of a form.
pub(super) fn projection(form: Form) -> Box<dyn Projection> {
    match form {
        Form::Events => Box::new(Events),
        Form::OpenAi => Box::<OpenAi>::default(),
        Form::ClaudePrompt => Box::new(ClaudePrompt::new()),
        Form::OpenCode => Box::new(OpenCodeOut::new()),
        Form::Summary => Box::new(SessionSummarizer::new()),
        Form::Trace => Box::new(ToolTrace::new(Verbosity::Normal)),
        Form::Markdown => Box::new(Markdown::new()),
        Form::Feed => Box::new(ChatRenderer::new()),
    }
}

struct Events;

impl Projection for Events {
    fn push(&mut self, event: &ChatEvent, sheet: &mut Sheet) {
        sheet.write(&event.to_line());
        sheet.write("\n");
    }

    fn finish(&mut self, _: &mut Sheet) {}
}

/// Messages, and how many of them are written.
#[derive(Default)]
struct OpenAi {
    messages: OpenAiMessages,
    n_written: usize,
}

struct MessageList<'a> {
    sheet: &'a mut Sheet,
    n_written: &'a mut usize,
}

impl MessageSink for MessageList<'_> {
    fn message(&mut self, message: OpenAiMessage) {
        let before = if *self.n_written == 0 { "[\n" } else { ",\n" };
        *self.n_written += 1;
        // Text and maps with text keys always have a JSON text.
        let text = serde_json::to_string(&message).unwrap_or_default();
        self.sheet.write(before);
        self.sheet.write(&text);
    }

    fn restart(&mut self) {
        *self.n_written = 0;
        self.sheet.restart();
    }
}

impl Projection for OpenAi {
    fn push(&mut self, event: &ChatEvent, sheet: &mut Sheet) {
        let n_written = &mut self.n_written;
        let mut list = MessageList { sheet, n_written };
        self.messages.push(event, &mut list);
    }

    fn finish(&mut self, sheet: &mut Sheet) {
        let n_written = &mut self.n_written;
        let mut list = MessageList { sheet, n_written };
        self.messages.finish(&mut list);
        let end = if self.n_written == 0 { "[]\n" } else { "\n]\n" };
        sheet.write(end);
    }
}

impl TextSink for Sheet {
    fn text(&mut self, text: &str) {
        self.write(text);
    }

    fn restart(&mut self) {
        Sheet::restart(self);
    }
}

impl Projection for ClaudePrompt {
    fn push(&mut self, event: &ChatEvent, sheet: &mut Sheet) {
        ClaudePrompt::push(self, event, sheet);
    }

    fn finish(&mut self, sheet: &mut Sheet) {
        ClaudePrompt::finish(self, sheet);
        sheet.write("\n");
    }
}

impl Projection for Markdown {
    fn push(&mut self, event: &ChatEvent, sheet: &mut Sheet) {
        Markdown::push(self, event, sheet);
    }

    fn finish(&mut self, sheet: &mut Sheet) {
        Markdown::finish(self, sheet);
    }
}

impl Projection for OpenCodeOut {
    fn push(&mut self, event: &ChatEvent, sheet: &mut Sheet) {
        let mut told = Vec::new();
        OpenCodeOut::push(self, event, &mut told);
        write_lines(&told, sheet);
    }

    fn finish(&mut self, sheet: &mut Sheet) {
        let mut told = Vec::new();
        OpenCodeOut::finish(self, &mut told);
        write_lines(&told, sheet);
    }
}

fn write_lines(values: &[serde_json::Value], sheet: &mut Sheet) {
    for value in values {
        sheet.write(&format!("{value}\n"));
    }
}

impl Projection for SessionSummarizer {
    fn push(&mut self, event: &ChatEvent, _: &mut Sheet) {
        SessionSummarizer::push(self, event);
    }

    fn finish(&mut self, sheet: &mut Sheet) {
        let text = serde_json::to_string_pretty(&self.summary()).unwrap_or_default();
        sheet.write(&text);
        sheet.write("\n");
    }
}

impl Projection for ToolTrace {
    fn push(&mut self, event: &ChatEvent, sheet: &mut Sheet) {
        let mut lines = Vec::new();
        ToolTrace::push(self, event, &mut lines);
        for line in lines {
            sheet.write(&format!("{line}\n"));
        }
    }

    fn finish(&mut self, sheet: &mut Sheet) {
        let mut lines = Vec::new();
        ToolTrace::finish(self, &mut lines);
        for line in lines {
            sheet.write(&format!("{line}\n"));
        }
    }
}

impl Projection for ChatRenderer {
    fn push(&mut self, event: &ChatEvent, _: &mut Sheet) {
        self.render_event(event);
    }

    fn finish(&mut self, sheet: &mut Sheet) {
        self.end_of_log(&mut Vec::new());
        for line in feed_lines(self.feed()) {
            sheet.write(&line);
            sheet.write("\n");
        }
    }
}
