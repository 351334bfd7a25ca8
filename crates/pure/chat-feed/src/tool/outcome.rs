//! What came of a call, in the words at the end of its line.

use chat_event::Json;

use super::line::first_line;
use super::{ToolKind, ToolStatus};
use crate::block::ToolCallBlock;
use crate::long_text;
use crate::media::Attachment;
use crate::units;

/// What is said of a text that has no line.
const EMPTY: &str = "empty";

/// What programs call the part of their answer that is for people.
const TOLD: [&str; 5] = ["message", "summary", "error", "status", "title"];

impl ToolCallBlock {
    /// The headline's outcome and, of what was read, its size: `890 lines, 35KB`.
    pub fn figures(&self) -> String {
        let outcome = self.outcome();
        let read = self.kind == ToolKind::Read && self.status == ToolStatus::Succeeded;
        let n_bytes = match &self.result {
            Some(result) if read && self.summary.is_some() => match result.body_ref() {
                Some(body) => body.bytes,
                None => result.as_str().map_or(0, |text| text.len() as u64),
            },
            _ => 0,
        };
        // What an agent is told of an empty file is not of the file.
        if n_bytes == 0 || outcome == EMPTY {
            return outcome;
        }
        // As a terminal's line has it.
        format!("{outcome}, {}", units::bytes(n_bytes).replace(' ', ""))
    }

    pub(super) fn outcome(&self) -> String {
        if let Some(progress) = self.progress.as_ref().filter(|_| self.status.runs()) {
            return match progress.percent {
                // In whole numbers: what prints others is large, and is needed for nothing else that is shown at first.
                #[allow(clippy::cast_possible_truncation)]
                Some(percent) => {
                    format!(
                        "{} {} %",
                        progress.message,
                        percent.round_ties_even() as i64
                    )
                }
                None => progress.message.clone(),
            };
        }
        match (self.status, self.exit_code, &self.summary, &self.error) {
            (ToolStatus::Preparing | ToolStatus::Running, ..) => String::new(),
            (ToolStatus::Interrupted, ..) => "interrupted".to_owned(),
            (ToolStatus::NoResult, ..) => "no result".to_owned(),
            (_, Some(exit_code), ..) => format!("exit {exit_code}"),
            (_, None, Some(summary), _) if summary.starts_with(['<', '{', '[']) => {
                self.told_plainly(summary)
            }
            (_, None, Some(summary), _) if self.found_one(summary) => "1 file".to_owned(),
            (_, None, Some(summary), _)
                if self.kind == ToolKind::Search && summary == "0 lines" =>
            {
                "no match".to_owned()
            }
            (_, None, Some(summary), _) => summary.clone(),
            (_, None, None, Some(error)) => {
                first_line(long_text::untagged(&error.message)).to_owned()
            }
            (_, None, None, None) => self.size(),
        }
    }

    /// How much it gave; of one that gave pictures and no words, what they are.
    fn size(&self) -> String {
        let size = self.result.as_ref().map_or_else(String::new, size_of);
        let attachments = self.attachments.as_ref().filter(|_| size == EMPTY);
        attachments.and_then(kind_of).unwrap_or(size)
    }

    /// Whether a search found one file, and names it: where it lies is long, and its line has its words to say.
    fn found_one(&self, summary: &str) -> bool {
        let is_path = summary.starts_with('/') && !summary.contains([':', ' ']);
        self.kind == ToolKind::Search && self.status == ToolStatus::Succeeded && is_path
    }

    /// A summary that is the first of what the tool gave, where that is written for programs: what of it is words, else
    /// how much there is.
    pub(super) fn told_plainly(&self, summary: &str) -> String {
        let size = || self.size();
        if summary.starts_with('<') {
            let words = without_tags(first_line(summary));
            let words = words.trim();
            return match words.is_empty() {
                true => size(),
                false => words.to_owned(),
            };
        }
        // The summary is cut; all of it may be in the result.
        let result = self.result.as_ref();
        let members = result.and_then(|result| match result.as_str() {
            Some(text) => serde_json::from_str(&text).ok(),
            None => result.parse::<serde_json::Map<String, serde_json::Value>>(),
        });
        let told = members.and_then(|members| {
            let mut words = TOLD.iter().filter_map(|name| members.get(*name)?.as_str());
            words.next().map(|words| first_line(words).to_owned())
        });
        told.unwrap_or_else(size)
    }
}

/// A line without its tags: `<status>running</status>`.
fn without_tags(line: &str) -> String {
    let mut words = String::new();
    let mut rest = line;
    while let Some((before, tag)) = rest.split_once('<')
        && let Some((_, behind)) = tag.split_once('>')
    {
        words.push_str(before);
        rest = behind;
    }
    words + rest
}

/// How much a result is, in a word or two.
fn size_of(result: &Json) -> String {
    let Some(body) = result.to_body() else {
        return String::new();
    };
    let excerpt = body.excerpt();
    match excerpt.lines {
        None => units::bytes(excerpt.bytes),
        Some(0) => EMPTY.to_owned(),
        Some(1) => "1 line".to_owned(),
        Some(n_lines) => format!("{n_lines} lines"),
    }
}

/// What is attached, in a word.
fn kind_of(attachments: &Json) -> Option<String> {
    let attached = Attachment::list(Some(attachments));
    let (kind, _) = attached.first()?.media_type.split_once('/')?;
    let kind = match kind {
        "image" | "audio" | "video" => kind,
        _ => "file",
    };
    Some(match attached.len() {
        1 => kind.to_owned(),
        n => format!("{n} attachments"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_attached_is_named() {
        let png = r#"{"mediaType":"image/png","data":"AA=="}"#;
        for (attachments, kind) in [
            (format!("[{png}]"), Some("image")),
            (format!("[{png},{png}]"), Some("2 attachments")),
            ("[]".to_owned(), None),
            ("7".to_owned(), None),
        ] {
            let attachments: Json = serde_json::from_str(&attachments).unwrap();
            assert_eq!(
                kind_of(&attachments).as_deref(),
                kind,
                "{}",
                attachments.as_text()
            );
        }
    }

    #[test]
    fn tags_go_and_words_stay_once() {
        for (line, words) in [
            ("<status>running</status>", "running"),
            ("<error>Too long</err", "Too long</err"),
            ("<p>a < b", "a < b"),
            ("a < b", "a < b"),
        ] {
            assert_eq!(without_tags(line), words, "{line}");
        }
    }
}
