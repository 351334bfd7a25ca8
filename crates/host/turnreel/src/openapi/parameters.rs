//! Parameters that several routes take, and the headers of some.

use serde_json::{Value, json};

use super::reference;

/// A parameter of a query, or a header: its name, the name of its schema, what it is for.
pub(super) type Parameter = (&'static str, &'static str, &'static str);

pub(super) const AFTER: Parameter = ("after", "Cursor", "Events behind this place.");
pub(super) const STREAM_AFTER: Parameter = ("after", "StreamCursor", "Events behind this place.");
pub(super) const AFTER_ID: Parameter = ("after", "Text", "Sessions whose id comes after this one.");
pub(super) const LIMIT: Parameter = ("limit", "Limit", "At most so many.");
pub(super) const FOUND_LIMIT: Parameter = ("limit", "FoundLimit", "At most so many.");
pub(super) const CHANGES_LIMIT: Parameter = ("limit", "ChangesLimit", "At most so many.");
pub(super) const MAX_BYTES: Parameter =
    ("max_bytes", "PageBytes", "At most so many bytes of events.");
pub(super) const WAIT: Parameter = (
    "wait",
    "Text",
    "Wait so long for the outcome, 120 s at most: `30s`, `1500ms`.",
);
pub(super) const BODIES: Parameter = (
    "bodies",
    "Bodies",
    "With `full` long bodies where they were, but for those of more than 16 MiB; else references to them.",
);
pub(super) const LINK: Parameter = (
    "id",
    "Text",
    "The one link; else all of the session's. The body may name it, too.",
);
pub(super) const FORCE: Parameter = (
    "force",
    "Text",
    "With `1` also where it works: it is back with what is sent to it next.",
);
pub(super) const COPIES: Parameter = (
    "copies",
    "Copies",
    "With `keep` its copies in the object store stay, and it is fetched when somebody asks for it.",
);
pub(super) const ALL: Parameter = (
    "all",
    "Text",
    "With `1` all bodies that no log names, but those that came within a day.",
);
pub(super) const SINCE: Parameter = (
    "since",
    "Moment",
    "What happened then or later: Unix epoch in milliseconds, or how long ago, as `24h` or `7d`.",
);
pub(super) const FORMAT: Parameter = ("format", "Format", "In which words events are told.");

const LAST_EVENT_ID: Parameter = (
    "Last-Event-ID",
    "StreamCursor",
    "The id of the last message that was had; it goes before `after`.",
);

const PRODUCER: &[Parameter] = &[
    (
        "Producer-Id",
        "ProducerId",
        "Who numbers its batches, so that one that comes again is stored once. The three come together.",
    ),
    (
        "Producer-Epoch",
        "Count",
        "One more each time that the producer begins to count anew.",
    ),
    ("Producer-Seq", "Count", "The number of this batch, from 0."),
];

/// The headers of an operation, by its name, as they are described.
pub(super) fn headers(operation: &str) -> impl Iterator<Item = Value> {
    let headers: &[Parameter] = match operation {
        "follow" | "followBus" => &[LAST_EVENT_ID],
        "sendEvents" => PRODUCER,
        _ => &[],
    };
    headers.iter().map(|(name, schema, what)| {
        let schema = reference(schema);
        json!({"name": name, "in": "header", "description": what, "required": false, "schema": schema})
    })
}
