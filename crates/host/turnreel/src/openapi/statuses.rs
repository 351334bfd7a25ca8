//! What an operation answers beside what was asked for. Whatever is not listed is refused as the `default` says.

use serde_json::{Map, Value, json};

use super::docs::{Doc, JSON};
use super::reference;

/// What an answer of another status has.
#[derive(Clone, Copy)]
enum Has {
    /// The words of a refusal.
    Refusal,
    /// Nothing.
    Nothing,
    /// A part of what was asked for.
    Part,
    /// What was asked for says what is wrong.
    Same,
}

type Other = (u16, Has, &'static str);

const KNOWN: Other = (304, Has::Nothing, "It is what the client has");
const ANEW: Other = (
    410,
    Has::Refusal,
    "The log has not the cursor any more: begin anew",
);
const RATE: Other = (
    429,
    Has::Refusal,
    "Too much at once; `Retry-After` says when to come again",
);
const WAIT: Other = (
    503,
    Has::Refusal,
    "Not now; `Retry-After` says when to come again",
);
const FULL: Other = (507, Has::Refusal, "The disk is full");
const TOO_LARGE: Other = (413, Has::Refusal, "The body is over the limit");
const RANGED: &[Other] = &[
    (206, Has::Part, "The range that was asked for"),
    KNOWN,
    (416, Has::Refusal, "The range lies outside"),
];

/// Those of an operation, by its name.
fn others(id: &str) -> &'static [&'static [Other]] {
    match id {
        "page" | "asset" => &[&[KNOWN]],
        "ready" => &[&[(503, Has::Same, "It cannot")]],
        "summary" => &[&[KNOWN]],
        "readEvents" => &[&[KNOWN, ANEW]],
        "search" => &[&[ANEW]],
        "readEvent" | "readDiff" | "readSandboxDiff" | "readSandboxesDiff" => {
            &[RANGED, &[TOO_LARGE]]
        }
        "readBody" => &[RANGED],
        "sendEvents" => &[&[
            (
                409,
                Has::Refusal,
                "Another event has an id, or a batch is missing",
            ),
            TOO_LARGE,
            (422, Has::Refusal, "With `atomic`: nothing was stored"),
            (423, Has::Refusal, "Another program has the log"),
            RATE,
            FULL,
        ]],
        "progress" | "toolEvent" | "messageChunk" => &[&[TOO_LARGE, RATE, FULL]],
        "storeBody" => &[&[TOO_LARGE, FULL]],
        "readPermission" | "readQuestion" => &[&[(
            410,
            Has::Refusal,
            "The answer was secret, and is not kept any more",
        )]],
        "decide" | "reply" => &[&[(409, Has::Refusal, "It was answered already"), RATE, FULL]],
        "removeSession" => &[&[(409, Has::Refusal, "It works, and is not to be removed then")]],
        "share" => &[&[(409, Has::Refusal, "There are too many tokens"), FULL]],
        "unshare" => &[&[FULL]],
        "follow" | "followBus" => &[&[RATE]],
        "socket" => &[&[
            (
                426,
                Has::Refusal,
                "No common version: `Upgrade` and `Sec-WebSocket-Version` say what is spoken",
            ),
            RATE,
        ]],
        _ => &[],
    }
}

/// What is answered, by the status; `success` is the one that was asked for.
pub(super) fn responses(doc: &Doc, success: Value, is_public: bool) -> Value {
    let refused = |what: &str| json!({"description": what, "content": {JSON: {"schema": reference("Error")}}});
    let mut all = Map::new();
    let mut put = |(status, has, what): Other| {
        let answer = match has {
            Has::Refusal => refused(what),
            Has::Nothing => json!({"description": what}),
            Has::Part | Has::Same => {
                let mut part = success.clone();
                part["description"] = what.into();
                if matches!(has, Has::Part)
                    && let Some(content) = part["content"].as_object_mut()
                {
                    // A part of JSON is none.
                    content.values_mut().for_each(|media| *media = json!({}));
                }
                part
            }
        };
        all.insert(status.to_string(), answer);
    };
    if !is_public {
        put((401, Has::Refusal, "The token is missing, wrong or over"));
        put((
            403,
            Has::Refusal,
            "The token, or the page that asks, may not",
        ));
        put(WAIT);
    }
    others(doc.id)
        .iter()
        .copied()
        .flatten()
        .copied()
        .for_each(put);
    all.insert(doc.status.to_string(), success);
    all.insert("default".to_owned(), refused("Why it was refused"));
    all.into()
}
