//! Texts and thoughts of the agent, which may come again and again while they grow, and what a person attached.

use chat_event::Extra;
use chat_event::payload::{Plan, PlanEntry};
use serde_json::{Value, json};

use super::lines::Message;
use crate::emit::{Emitter, hash};
use crate::run_track::RunTrack;
use crate::speech::{Kind, Part};
use crate::track::Said;
use crate::value::list_of;

/// What grows, and what was said last.
#[derive(Debug, Default)]
pub(super) struct Speech {
    open: Option<(i64, Part)>,
    last: Option<(Kind, u64)>,
}

impl Speech {
    /// A text or a thought of a response, whole or so far.
    pub(super) fn say(
        &mut self,
        emitter: &mut Emitter,
        run: &mut RunTrack,
        response: &str,
        kind: Kind,
        message: &Message<'_>,
    ) {
        let is_same = |(ts, part): &(i64, Part)| *ts == message.ts && part.kind == kind;
        let text = message.text;
        if let Some((ts, mut part)) = self.open.take_if(|open| is_same(open)) {
            if !message.grows {
                part.end_as(emitter, text.to_owned());
                return;
            }
            if let Some(more) = text.strip_prefix(part.text()) {
                let more = more.to_owned();
                part.add(emitter, &more);
            }
            self.open = Some((ts, part));
            return;
        }
        self.end(emitter);
        // What was told by now was told with these words.
        let print = (kind, hash(text.as_bytes()));
        if text.is_empty() || self.last == Some(print) {
            emitter.report.repeated += u64::from(!text.is_empty());
            return;
        }
        self.last = Some(print).filter(|_| !message.grows);
        let number = run.next_part(response, kind);
        let mut part = Part::new(run.track.place().in_response(response), kind, number);
        if message.grows {
            part.add(emitter, text);
            self.open = Some((message.ts, part));
        } else {
            part.end_as(emitter, text.to_owned());
        }
    }

    /// Whether the message of that time grows.
    pub(super) fn grows(&self, ts: i64) -> bool {
        self.open.as_ref().is_some_and(|(of, _)| *of == ts)
    }

    /// What grew grows no more.
    pub(super) fn end(&mut self, emitter: &mut Emitter) {
        if let Some((_, part)) = self.open.take() {
            part.end(emitter);
        }
    }

    /// Another response begins, which may say the same again.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }
}

/// What a person wrote and attached.
pub(super) fn by_person(message: &Message<'_>) -> Said {
    let texts = |key| {
        let items = list_of(message.value, key).iter();
        items.filter_map(Value::as_str)
    };
    let images = texts("images").map(image);
    let files = texts("files").map(|path| {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        json!({"name": name, "mediaType": "application/octet-stream", "ref": path})
    });
    Said {
        text: message.text.to_owned(),
        attachments: images.chain(files).collect(),
    }
}

/// A picture: its bytes in a `data:` address, or where it is.
pub(super) fn image(at: &str) -> Value {
    let data = at
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    match data {
        Some((media_type, data)) => json!({"mediaType": media_type, "data": data}),
        None => json!({"mediaType": "image/*", "ref": at}),
    }
}

/// A list that is written as lines: `- [x] Look`.
pub(super) fn checklist(text: &str) -> Plan {
    let entry = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', '+']).trim_start();
        let (mark, content) = line.strip_prefix('[')?.split_once(']')?;
        let status = match mark.trim() {
            "x" | "X" => "completed",
            "" => "pending",
            "~" | "-" | ">" => "in_progress",
            _ => return None,
        };
        Some(PlanEntry {
            content: content.trim().to_owned(),
            status: status.to_owned(),
            extra: Extra::default(),
        })
    };
    Plan {
        entries: text.lines().filter_map(entry).collect(),
        extra: Extra::default(),
    }
}
