//! What is sent and answered, as JSON Schema. Fields that are not listed may be there: a newer server says more.

use serde_json::{Value, json};

#[allow(clippy::too_many_lines)] // One list.
pub(super) fn all() -> Value {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let list = |name: &str| json!({"type": "array", "items": reference(name)});
    let count = json!({"type": "integer", "minimum": 0});
    let text = json!({"type": "string"});
    json!({
        "Object": {"type": "object"},
        "Text": text,
        "Count": count,
        "Cursor": {"type": "string", "description": "`v1.<epoch>.<seq>`, or a number; `next` of the page before."},
        "Format": {"enum": ["events", "agent"]},
        "Needle": {"type": "string", "minLength": 1, "maxLength": 50},
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
                "timestamp": {"type": "integer"},
                "recv": {"type": "integer"},
                "sessionId": text,
                "turnId": text,
                "responseId": text,
                "type": text,
                "payload": {"type": "object"},
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
            },
        },
        "Session": {
            "type": "object",
            "required": ["id", "status", "head", "events", "epoch"],
            "properties": {
                "id": text, "title": text, "agent": text, "provider": text, "model": text, "cwd": text,
                "sandboxId": text,
                "status": {"enum": ["busy", "idle", "retrying", "ended"]},
                "startedMs": {"type": "integer"},
                "lastActivityMs": {"type": "integer"},
                "head": count, "events": count, "epoch": text,
            },
        },
        "SessionPage": {
            "type": "object",
            "required": ["sessions", "next"],
            "properties": {"sessions": list("Session"), "next": {"type": ["string", "null"]}},
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
            "required": ["epoch", "head", "matches", "next"],
            "properties": {
                "epoch": text, "head": count, "matches": list("Match"),
                "next": {"type": ["string", "null"]},
            },
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
        "Decision": {
            "type": "object",
            "required": ["decision"],
            "properties": {"decision": {"enum": ["allow", "deny", "cancel"]}},
        },
    })
}
