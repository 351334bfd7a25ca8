//! What is sent and answered, as JSON Schema. Fields that are not listed may be there: a newer server says more.

use serde_json::{Value, json};

/// All schemas, by their names.
pub(super) fn all() -> Value {
    // One macro takes no more.
    let mut all = answered();
    if let (Value::Object(all), Value::Object(asked)) = (&mut all, asked()) {
        all.extend(asked);
    }
    all
}

/// What is sent as events, and answered.
#[allow(clippy::too_many_lines)] // One list.
fn answered() -> Value {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let list = |name: &str| json!({"type": "array", "items": reference(name)});
    // Beyond it JSON's readers disagree about numbers.
    let count = json!({"type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_u64});
    let time = json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX});
    let text = json!({"type": "string"});
    let name =
        json!({"type": "string", "maxLength": 65_536, "description": "At most 65,536 bytes."});
    json!({
        "Object": {"type": "object"},
        "Text": text,
        "Count": count,
        "Cursor": {"type": "string", "pattern": "^(v1[.][A-Za-z0-9_-]{22}[.])?[0-9]{1,15}$", "description": "`v1.<epoch>.<seq>`, or a number; `next` of the page before."},
        "Bodies": {"enum": ["referred", "full"]},
        "Hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "Format": {"enum": ["events", "agent"]},
        "Moment": {"type": "string", "pattern": "^([0-9]{1,15}|[1-9][0-9]{0,5}[smhd])$"},
        "MatchHow": {"enum": ["any", "exact", "pattern"], "default": "any"},
        "Needle": {"type": "string", "minLength": 1, "maxLength": 200, "description": "At most 200 bytes."},
        "Error": {
            "type": "object",
            "required": ["error"],
            "properties": {"error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": text, "message": text, "retryAfterMs": count},
            }},
        },
        "Event": {
            "type": "object",
            "required": ["timestamp", "type", "payload"],
            "properties": {
                "seq": count,
                "id": {"type": "string", "maxLength": 128, "pattern": "^[A-Za-z0-9_.:-]*$"},
                "timestamp": time,
                "recv": time,
                "sessionId": text,
                "turnId": name,
                "responseId": name,
                "agentId": name,
                "parentToolCallId": name,
                "type": text,
                // An object; of a type that is not known here, whatever it came with.
                "payload": {},
            },
        },
        "Batch": {"type": "array", "items": reference("Event"), "maxItems": 1000},
        "Stored": {
            "type": "object",
            "required": ["epoch", "dups", "results", "durable"],
            "properties": {
                "epoch": text,
                "first": count,
                "last": count,
                "dups": count,
                "results": {"type": "array", "items": {
                    "type": "object",
                    "required": ["status"],
                    "properties": {"status": {"enum": ["stored", "duplicate", "conflict", "rejected"]}},
                }},
                "durable": {"enum": ["written", "synced"]},
            },
        },
        "Gap": {
            "type": "object",
            "required": ["from", "to", "why"],
            "properties": {"from": count, "to": count, "why": text},
        },
        "EventPage": {
            "type": "object",
            "required": ["epoch", "next", "head", "oldest", "gaps", "events"],
            "properties": {
                "epoch": text, "next": count, "head": count, "oldest": count,
                "gaps": list("Gap"), "events": list("Event"),
                "may": {"type": "array", "items": {"enum": ["answer", "admin"]}},
            },
        },
        "Session": session(&text, &count),
        "SessionPage": {
            "type": "object",
            "required": ["sessions", "next"],
            "properties": {
                "sessions": list("Session"), "next": {"type": ["string", "null"]}, "nowMs": time,
                "follows": {"type": "array", "items": text},
                "may": {"type": "array", "items": {"enum": ["answer", "admin"]}},
            },
        },
        "Diff": {
            "type": "object",
            "required": ["file_path", "diff"],
            "properties": {"file_path": text, "diff": text},
        },
        "Match": {
            "type": "object",
            "required": ["seq", "id", "type", "snippet"],
            "properties": {"seq": count, "id": text, "type": text, "snippet": text},
        },
        "Found": {
            "type": "object",
            "required": ["epoch", "head", "matches", "unread", "next"],
            "properties": {
                "epoch": text, "head": count, "matches": list("Match"),
                // Ids of events of which a body could not be read here.
                "unread": {"type": "array", "items": text},
                "next": {"type": ["string", "null"]},
            },
        },
        "Tool": {
            "type": "object",
            "description": "Durations are of the calls of which one is known.",
            "required": ["tool", "sessions", "calls", "completed", "failed", "denied", "running"],
            "properties": {
                "tool": text, "kind": text, "sessions": count, "calls": count, "completed": count,
                "failed": count, "denied": count, "running": count,
                "totalMs": count, "medianMs": count, "p95Ms": count,
            },
        },
        "Tools": {
            "type": "object",
            "required": ["tools"],
            "properties": {"tools": list("Tool")},
        },
        "FileChange": {
            "type": "object",
            "required": ["session", "epoch", "seq", "eventId", "path", "change", "linesAdded", "linesRemoved", "binary", "diffBytes", "diffPreview", "atMs"],
            "properties": {
                "session": text, "epoch": text, "seq": count, "eventId": text, "toolCallId": text,
                "path": text, "oldPath": text, "change": text, "linesAdded": count, "linesRemoved": count,
                "binary": {"type": "boolean"}, "diffBytes": count, "diffPreview": text, "atMs": time,
            },
        },
        "FileChanges": {
            "type": "object",
            "required": ["changes", "next"],
            "properties": {"changes": list("FileChange"), "next": {"type": ["string", "null"]}},
        },
        "Health": {
            "type": "object",
            "required": ["epoch", "head", "oldest", "events", "bytes", "damagedLines", "gaps", "synced", "degraded"],
            "properties": {
                "epoch": text, "head": count, "oldest": count, "events": count, "bytes": count,
                "damagedLines": count, "gaps": list("Gap"), "moreGaps": {"type": "boolean"},
                "synced": {"type": "boolean"}, "degraded": {"type": "boolean"},
            },
        },
        "Condition": {
            "type": "object",
            "required": ["what", "why"],
            "properties": {"what": text, "why": text},
        },
        "Ready": {
            "type": "object",
            "required": ["status", "degraded", "warnings"],
            "properties": {
                "status": {"enum": ["ready", "degraded"]},
                "degraded": list("Condition"),
                "warnings": list("Condition"),
            },
        },
        "FleetSessions": fleet_sessions(&text, &count),
        "FleetLog": fleet_log(&text, &count, &list("Event")),
    })
}

/// What is asked beyond events.
fn asked() -> Value {
    json!({
        "StreamCursor": {
            "type": "string",
            "pattern": "^(head|(v1[.][A-Za-z0-9_-]{22}[.])?[0-9]{1,15})$",
            "description": "`v1.<epoch>.<seq>`, or a number; `head` for what comes from now on.",
        },
        "ProducerId": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[ -~]*$"},
        "Decision": {
            "type": "object",
            "required": ["decision"],
            "properties": {
                "decision": {"enum": ["allow", "deny", "cancel"]},
                "scope": {"enum": ["once", "session", "always", null]},
                "message": {"type": ["string", "null"]},
            },
        },
        "Reply": {
            "type": "object",
            "description": "`answers` are needed but where the question is rejected.",
            "properties": {
                "outcome": {"enum": ["answered", "rejected", null], "default": "answered"},
                "answers": {},
            },
        },
        "Share": {
            "type": "object",
            "properties": {
                "expiresInSeconds": {
                    "type": ["integer", "null"], "minimum": 1, "maximum": 31_622_400, "default": 604_800,
                },
                "label": {"type": ["string", "null"]},
            },
            "additionalProperties": false,
        },
        "Link": {
            "type": "object",
            "properties": {"id": {"type": "string"}},
            "additionalProperties": false,
        },
        "Shared": {
            "type": "object",
            "required": ["id", "url", "token", "session", "expiresMs"],
            "properties": {
                "id": {"type": "string"}, "url": {"type": "string"}, "session": {"type": "string"},
                "token": {"type": "string", "description": "It is shown this once."},
                "expiresMs": {"type": "integer"},
            },
        },
        "Copies": {"enum": ["keep"]},
        "Removed": removed(),
        "FreedBodies": {
            "type": "object",
            "required": ["bodies", "bytes", "later"],
            "properties": {
                "bodies": {"type": "integer", "minimum": 0}, "bytes": {"type": "integer", "minimum": 0},
                "later": {"type": "integer", "minimum": 0, "description": "So many may go when they are some minutes old."},
            },
        },
        "Revoked": {
            "type": "object",
            "required": ["revoked"],
            "properties": {"revoked": {"type": "integer", "minimum": 0}},
        },
        "Limit": most(1000, 1000),
        "FoundLimit": most(50, 100),
        "ChangesLimit": most(100, 1000),
        "PageBytes": most(1024 * 1024, 1024 * 1024),
    })
}

/// What was removed of a session.
fn removed() -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    json!({
        "type": "object",
        "required": ["session", "files", "bytes", "bodies", "objects", "objectBytes", "links", "left"],
        "properties": {
            "session": {"type": "string"}, "files": count, "bytes": count,
            "bodies": {
                "type": "integer", "minimum": 0,
                "description": "Bodies that it named; those that no other session names go soon.",
            },
            "objects": count, "objectBytes": count, "links": count,
            "left": {"type": "array", "items": {"type": "string"}},
        },
    })
}

/// How many of something, at most.
fn most(usual: u64, most: u64) -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": most, "default": usual, "description": "What is beyond is taken for the nearest."})
}

/// How far each session is at a server.
fn fleet_sessions(text: &Value, count: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["sessions"],
        "properties": {"sessions": {"type": "array", "items": {
            "type": "object",
            "required": ["id", "epoch", "head"],
            "properties": {"id": text, "epoch": text, "head": count, "home": text},
        }}},
    })
}

/// A part of a log.
fn fleet_log(text: &Value, count: &Value, events: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["epochs", "next", "head", "gaps", "lines"],
        "properties": {
            "epochs": {"type": "array", "items": {
                "type": "object",
                "required": ["epoch", "base"],
                "properties": {"epoch": text, "base": count},
            }},
            "next": count, "head": count,
            "gaps": {"type": "array", "items": {"type": "array", "items": count}},
            "lines": events,
        },
    })
}

/// What a session waits for an answer to.
fn ask(text: &Value) -> Value {
    json!({
        "type": "object",
        "description": "Of the requests that wait for an answer, the one that waits longest.",
        "required": ["kind"],
        "properties": {
            "kind": {"enum": ["permission", "question"]},
            "tool": text, "text": text, "sinceMs": {"type": "integer"},
            "answerable": {"type": "boolean"},
            "whole": {
                "type": "object",
                "description": "What it can be answered by, where `text` is all that is asked.",
                "required": ["requestId"],
                "properties": {
                    "requestId": text,
                    "permit": {"type": "array", "items": {
                        "type": "object",
                        "required": ["id", "label", "kind"],
                        "properties": {"id": text, "label": text, "kind": text},
                    }},
                    "choose": {"type": "array", "items": {
                        "type": "object",
                        "required": ["label"],
                        "properties": {"label": text, "description": text},
                    }},
                },
            },
        },
    })
}

/// One row of the list.
fn session(text: &Value, count: &Value) -> Value {
    let mut schema = json!({
        "type": "object",
        "required": ["id", "status", "head", "events", "epoch"],
        "properties": {
            "id": text, "title": text, "agent": text, "provider": text, "model": text, "cwd": text,
            "gitBranch": text, "sandboxId": text,
            "status": {"enum": ["busy", "idle", "retrying", "ended"]},
            "worksSinceMs": {"type": "integer"},
            "startedMs": {"type": "integer"},
            "lastEventMs": {"type": "integer"},
            "lastActivityMs": {"type": "integer"},
            "head": count, "events": count, "epoch": text,
            "asks": count,
            "ask": ask(text),
            "doing": {
                "type": "object",
                "description": "The newest tool call that runs.",
                "required": ["tool"],
                "properties": {"tool": text, "object": text, "sinceMs": {"type": "integer"}},
            },
            "outcome": {"enum": ["completed", "interrupted", "failed"]},
            "failure": text,
            "turns": count, "steps": count, "tokens": count,
            "costUsd": {"type": "number"},
            "contextUsed": count, "contextSize": count,
            "pace": {
                "type": "object",
                "description": "Events of the last ten minutes by half minutes, the oldest first.",
                "required": ["newestMs", "counts"],
                "properties": {
                    "newestMs": {"type": "integer"},
                    "counts": {"type": "array", "maxItems": 20, "items": count},
                },
            },
        },
    });
    let said = "Its log was packed away, and is fetched when somebody asks for it.";
    // One macro takes no more.
    schema["properties"]["packed"] = json!({"type": "boolean", "description": said});
    let said =
        "Whether the agent does not say where it works: `cwd` is where `turnreel pipe` runs.";
    schema["properties"]["cwdGuessed"] = json!({"type": "boolean", "description": said});
    schema
}
