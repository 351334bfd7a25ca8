//! A session as others are given it: as a page in one file, as its events, or as a transcript; masked, unless it is asked
//! for as it is.
//!
//! Where the events come from, and where the text goes, is for others; of a page, [`PAGE_PIECE`] and what stands
//! around it.

use chat_event::jsonl::MAX_LINE_BYTES;
use chat_event::{BodyRef, ChatEvent, bodies};

use crate::mask::Masker;
use crate::projections::{Markdown, TextSink};

/// What a session is given as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A page that plays it, in one file.
    Html,
    /// Its events, one a line.
    Jsonl,
    /// Its events, as one list.
    Json,
    /// A transcript to read.
    Markdown,
}

impl Form {
    /// All of them, the most useful first.
    pub const ALL: [Form; 4] = [Form::Html, Form::Markdown, Form::Jsonl, Form::Json];

    /// How its files end, which is also how it is asked for.
    pub fn ending(self) -> &'static str {
        match self {
            Form::Html => "html",
            Form::Jsonl => "jsonl",
            Form::Json => "json",
            Form::Markdown => "md",
        }
    }

    /// The form of files that end so.
    pub fn of_ending(ending: &str) -> Option<Form> {
        let ending = ending.to_ascii_lowercase();
        match ending.as_str() {
            "htm" => Some(Form::Html),
            "markdown" => Some(Form::Markdown),
            ending => Form::ALL.into_iter().find(|form| form.ending() == ending),
        }
    }
}

/// So many packed bytes of a log stand in one element of a page, of which there are as many as it takes: the first is read
/// while the browser has yet to come to the last. A whole number of groups of base64.
pub const PAGE_PIECE_BYTES: usize = 3 * 64 * 1024;
/// What stands in a page before a piece of its log, which is packed by gzip and written as base64: there is nothing in it
/// that could end the element or become markup.
pub const PAGE_PIECE: &str = "<script type=\"text/plain\" data-part=\"log\">";
/// What stands behind a piece.
pub const PAGE_PIECE_END: &str = "</script>\n";
/// What stands behind the log.
pub const PAGE_END: &str = "</body>\n</html>\n";

/// A line longer than a reader takes is written with its longest texts cut: those that are longer than the first of these,
/// and where that is not enough than the next.
const CUT_OVER_BYTES: [usize; 3] = [1024 * 1024, 64 * 1024, 8 * 1024];

/// Writes a session. Of a page this is the log alone.
#[derive(Debug)]
pub struct Writer {
    form: Form,
    masker: Option<Masker>,
    markdown: Markdown,
    n_written: u64,
    n_cut: u64,
}

impl Writer {
    /// Writes in this form, masked where there is a masker.
    pub fn new(form: Form, masker: Option<Masker>) -> Self {
        Writer {
            form,
            masker,
            markdown: Markdown::new(),
            n_written: 0,
            n_cut: 0,
        }
    }

    /// Writes the next event.
    pub fn push(&mut self, event: &ChatEvent, sink: &mut impl TextSink) {
        let line = match &mut self.masker {
            Some(masker) => masker.line(event),
            None => {
                let mut event = event.clone();
                // It is of the line in the log.
                event.extra.remove("c");
                event.to_line()
            }
        };
        match self.form {
            Form::Html | Form::Jsonl => {
                let line = self.short_enough(line);
                sink.text(&line);
                sink.text("\n");
            }
            Form::Json => {
                // A line for each event: so a list is read however long it is.
                sink.text(if self.n_written == 0 { "[\n" } else { ",\n" });
                sink.text(&self.short_enough(line));
            }
            // What the masker wrote is an event again, for it leaves all but texts as it is.
            Form::Markdown => {
                if let Ok(event) = ChatEvent::from_json(&line) {
                    self.markdown.push(&event, sink);
                }
            }
        }
        self.n_written += 1;
    }

    /// There are no more events: writes what is left.
    pub fn finish(&mut self, sink: &mut impl TextSink) {
        while self.finish_next(sink) {}
    }

    /// There are no more events: writes some of what is left, and says whether there may be more.
    pub fn finish_next(&mut self, sink: &mut impl TextSink) -> bool {
        match self.form {
            Form::Html | Form::Jsonl => false,
            Form::Json => {
                sink.text(if self.n_written == 0 { "[]\n" } else { "\n]\n" });
                false
            }
            Form::Markdown => self.markdown.finish_next(sink),
        }
    }

    /// How many texts were cut because no reader would take them.
    pub fn n_cut(&self) -> u64 {
        self.n_cut
    }

    /// What was masked: its kind, the type of the event, and how often.
    pub fn masked(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.masker.iter().flat_map(Masker::masked)
    }

    fn short_enough(&mut self, line: String) -> String {
        if line.len() < MAX_LINE_BYTES {
            return line;
        }
        let Ok(mut event) = ChatEvent::from_json(&line) else {
            return line;
        };
        let mut line = line;
        for over_bytes in CUT_OVER_BYTES {
            let n_cut = &mut self.n_cut;
            let Ok(()) =
                bodies::take_out::<std::convert::Infallible>(&mut event, over_bytes, &mut |text| {
                    *n_cut += 1;
                    // There is no more of it anywhere.
                    Ok(BodyRef::to(text, String::new()))
                });
            line = event.to_line();
            if line.len() < MAX_LINE_BYTES {
                break;
            }
        }
        line
    }
}

/// A name for the file of a session: what is no letter, digit or dash of its title is left out.
pub fn file_name(title: &str, form: Form) -> String {
    let mut name = String::new();
    for char in title.chars() {
        if char.is_alphanumeric() {
            name.extend(char.to_lowercase());
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
        if name.len() >= 60 {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    let name = if name.is_empty() { "session" } else { name };
    format!("{name}.{}", form.ending())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> ChatEvent {
        let text = serde_json::Value::String(text.to_owned());
        let line = format!(
            r#"{{"id":"a","timestamp":1,"sessionId":"s","type":"user_message","payload":{{"text":{text}}}}}"#
        );
        ChatEvent::from_json(&line).unwrap()
    }

    fn written(form: Form, events: &[ChatEvent]) -> (String, u64) {
        let mut writer = Writer::new(form, None);
        let mut text = String::new();
        events
            .iter()
            .for_each(|event| writer.push(event, &mut text));
        writer.finish(&mut text);
        (text, writer.n_cut())
    }

    #[test]
    fn each_form_is_what_it_says() {
        let events = [event("one"), event("two")];
        let lines: Vec<String> = events.iter().map(ChatEvent::to_line).collect();
        assert_eq!(written(Form::Jsonl, &events).0, lines.join("\n") + "\n");
        let list: Vec<serde_json::Value> =
            serde_json::from_str(&written(Form::Json, &events).0).unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(written(Form::Json, &[]).0, "[]\n");
        assert!(written(Form::Markdown, &events).0.contains("> one"));
        for form in Form::ALL {
            assert_eq!(Form::of_ending(form.ending()), Some(form));
        }
    }

    #[test]
    fn a_line_that_no_reader_takes_is_cut() {
        for form in [Form::Jsonl, Form::Json] {
            let (text, n_cut) = written(form, &[event(&"\u{1}".repeat(3 * 1024 * 1024))]);
            assert_eq!(n_cut, 1, "{form:?}");
            assert!(text.len() < MAX_LINE_BYTES, "{form:?}");
        }
    }

    #[test]
    fn a_title_makes_a_file_name() {
        assert_eq!(
            file_name("Fix the <b>/tests/../", Form::Html),
            "fix-the-b-tests.html"
        );
        assert_eq!(file_name("…", Form::Markdown), "session.md");
    }
}
