//! Lines of a session that could not be read: which, and why, as those who ask for the session are told.

use chat_event::payload::Notice;
use chat_event::{ChatEvent, Payload};

/// So many lines are told of.
const TOLD_LINES: usize = 10;

/// Of a reason, so much is told: it may quote what stands there.
const REASON_CHARS: usize = 200;

/// The lines that could not be read, as far as they are told of.
#[derive(Debug, Default)]
pub struct UnreadLines {
    told: Vec<String>,
}

impl UnreadLines {
    /// Looks for such lines in what was read, of this file where there are several.
    pub fn note(&mut self, events: &[ChatEvent], file: Option<&str>) {
        for event in events {
            let Payload::Notice(notice) = &event.payload else {
                continue;
            };
            // The reader has other things to say, too.
            let Some(line) = notice
                .line
                .filter(|_| self.told.len() < TOLD_LINES && is_of_reader(notice))
            else {
                continue;
            };
            let said = format!("Line {line} could not be read: ");
            let Some(why) = notice.text.strip_prefix(&said) else {
                continue;
            };
            let why: String = why.chars().take(REASON_CHARS).collect();
            let of = file.map_or_else(String::new, |file| format!(" of {file}"));
            let told = format!("line {line}{of}: {why}");
            if !self.told.contains(&told) {
                self.told.push(told);
            }
        }
    }

    /// What is to be said where so many lines could not be read; nothing where all could.
    pub fn sentence(&self, n_lines: u64) -> Option<String> {
        let lines = match n_lines {
            0 => return None,
            1 => "1 line".to_owned(),
            n_lines => format!("{n_lines} lines"),
        };
        if self.told.is_empty() {
            return Some(format!("could not read {lines}"));
        }
        let more = if n_lines > self.told.len() as u64 {
            "; …"
        } else {
            ""
        };
        let told = self.told.join("; ");
        Some(format!("could not read {lines} ({told}{more})"))
    }
}

fn is_of_reader(notice: &Notice) -> bool {
    notice.source.as_deref() == Some("reader")
}
