//! The routes for programs: OpenAPI 3.1, made of the table of routes and what is said of each here.
//!
//! What a token must be for stands as `x-scope`; what a path's parameters may be follows from their names. Events are described
//! by their envelope: what is in a payload is for `chat-event`.

mod schemas;

use serde_json::{Map, Value, json};

use crate::routes::route_table;

/// What is said of a route.
struct Doc {
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    query: &'static [Query],
    /// What it is sent, by the name of a schema; `bytes` for any bytes.
    body: Option<&'static str>,
    status: u16,
    /// The type of what it answers, and the name of its schema.
    answer: Option<(&'static str, Option<&'static str>)>,
}

/// A parameter of a query: its name, the name of its schema, what it is for.
type Query = (&'static str, &'static str, &'static str);

const JSON: &str = "application/json";
const AFTER: Query = ("after", "Cursor", "Events behind this place.");
const AFTER_ID: Query = ("after", "Text", "Sessions whose id comes after this one.");
const LIMIT: Query = ("limit", "Count", "At most so many.");
const WAIT: Query = (
    "wait",
    "Text",
    "Wait so long for the outcome: `30s`, `1500ms`.",
);
const BODIES: Query = (
    "bodies",
    "Bodies",
    "With `full` long bodies where they were; else references to them.",
);
const LINK: Query = (
    "id",
    "Text",
    "The one link; else all of the session's. The body may name it, too: `{\"id\": \"…\"}`.",
);
const FORMAT: Query = ("format", "Format", "In which words events are told.");

const fn get(path: &'static str, id: &'static str, summary: &'static str) -> Doc {
    Doc {
        method: "GET",
        path,
        id,
        summary,
        query: &[],
        body: None,
        status: 200,
        answer: Some((JSON, None)),
    }
}

const fn post(path: &'static str, id: &'static str, summary: &'static str) -> Doc {
    Doc {
        method: "POST",
        body: Some("Object"),
        ..get(path, id, summary)
    }
}

const fn schema(doc: Doc, name: &'static str) -> Doc {
    Doc {
        answer: Some((JSON, Some(name))),
        ..doc
    }
}

const fn text(doc: Doc, media: &'static str) -> Doc {
    Doc {
        answer: Some((media, None)),
        ..doc
    }
}

const fn query(doc: Doc, query: &'static [Query]) -> Doc {
    Doc { query, ..doc }
}

const fn body(doc: Doc, name: &'static str) -> Doc {
    Doc {
        body: Some(name),
        ..doc
    }
}

const DOCS: &[Doc] = &[
    text(get("/", "page", "The page"), "text/html"),
    text(get("/{*path}", "asset", "A file of the page"), "*/*"),
    text(
        get("/healthz", "alive", "Whether the process answers"),
        "text/plain",
    ),
    schema(
        get("/readyz", "ready", "Whether the server can do its work"),
        "Ready",
    ),
    text(
        get("/metrics", "metrics", "Figures for Prometheus"),
        "text/plain",
    ),
    get("/api/v1/openapi.json", "openapi", "This description"),
    query(
        schema(
            get("/api/v1/sessions", "listSessions", "The sessions, by id"),
            "SessionPage",
        ),
        &[
            AFTER_ID,
            LIMIT,
            ("status", "Text", "Sessions of this status."),
            (
                "q",
                "Text",
                "Sessions whose title, id, agent, model, folder or sandbox has this.",
            ),
        ],
    ),
    query(
        schema(
            get(
                "/api/v1/sessions/{session}/events",
                "readEvents",
                "A page of events",
            ),
            "EventPage",
        ),
        &[
            AFTER,
            LIMIT,
            ("max_bytes", "Count", "At most so many bytes of events."),
            BODIES,
        ],
    ),
    query(
        body(
            schema(
                post(
                    "/api/v1/sessions/{session}/events",
                    "sendEvents",
                    "Store events",
                ),
                "Stored",
            ),
            "Batch",
        ),
        &[("atomic", "Text", "With `1`: all or none.")],
    ),
    query(
        schema(
            get(
                "/api/v1/sessions/{session}/events/{event}/full",
                "readEvent",
                "An event with its bodies, or one of them as `text/plain`",
            ),
            "Event",
        ),
        &[(
            "body",
            "Hash",
            "The SHA-256 of the one body that is wanted.",
        )],
    ),
    schema(
        get(
            "/api/v1/sessions/{session}/file-diffs/{event}",
            "readDiff",
            "A whole diff",
        ),
        "Diff",
    ),
    schema(
        get(
            "/api/v1/sandbox/{sandbox}/file-diffs/{event}",
            "readSandboxDiff",
            "A whole diff",
        ),
        "Diff",
    ),
    schema(
        get(
            "/api/v1/sandboxes/{sandbox}/file-diffs/{event}",
            "readSandboxesDiff",
            "A whole diff",
        ),
        "Diff",
    ),
    get(
        "/api/v1/sessions/{session}/summary",
        "summary",
        "The session in figures",
    ),
    query(
        schema(
            get(
                "/api/v1/sessions/{session}/search",
                "search",
                "Events that have a text",
            ),
            "Found",
        ),
        &[
            ("q", "Needle", "The text, in capitals or not."),
            AFTER,
            LIMIT,
        ],
    ),
    schema(
        get(
            "/api/v1/sessions/{session}/health",
            "health",
            "How the session's log is",
        ),
        "Health",
    ),
    text(
        get("/api/v1/blobs/{sha256}", "readBody", "A body"),
        "text/plain",
    ),
    Doc {
        method: "HEAD",
        answer: None,
        ..get(
            "/api/v1/blobs/{sha256}",
            "hasBody",
            "Whether a body is there",
        )
    },
    Doc {
        method: "PUT",
        body: Some("bytes"),
        status: 204,
        answer: None,
        ..get(
            "/api/v1/blobs/{sha256}",
            "storeBody",
            "Store a body under its hash",
        )
    },
    query(
        get(
            "/api/v1/sessions/{session}/permissions/{request}",
            "readPermission",
            "The outcome",
        ),
        &[WAIT],
    ),
    body(
        post(
            "/api/v1/sessions/{session}/permissions/{request}",
            "decide",
            "Allow or deny",
        ),
        "Decision",
    ),
    query(
        get(
            "/api/v1/sessions/{session}/questions/{request}",
            "readQuestion",
            "The outcome",
        ),
        &[WAIT],
    ),
    post(
        "/api/v1/sessions/{session}/questions/{request}",
        "reply",
        "Answer a question",
    ),
    Doc {
        status: 201,
        ..post(
            "/api/v1/sessions/{session}/shares",
            "share",
            "Make a link that shows the session",
        )
    },
    query(
        Doc {
            method: "DELETE",
            body: None,
            ..post(
                "/api/v1/sessions/{session}/shares",
                "unshare",
                "Take links back",
            )
        },
        &[LINK],
    ),
    post(
        "/api/v1/sandbox/task/{task}/progress",
        "progress",
        "Report of a sandbox worker",
    ),
    post(
        "/api/v1/sandbox/task/{task}/tool-events",
        "toolEvent",
        "Report of a tool call",
    ),
    post(
        "/api/v1/sandbox/task/{task}/message-chunks",
        "messageChunk",
        "A piece of a message",
    ),
    query(
        text(
            get(
                "/api/v1/sessions/{session}/sse",
                "follow",
                "The session, live",
            ),
            "text/event-stream",
        ),
        &[AFTER, FORMAT, BODIES],
    ),
    query(
        text(
            get(
                "/api/v1/sessions/{session}/opencode/event",
                "followBus",
                "The session as OpenCode's bus",
            ),
            "text/event-stream",
        ),
        &[AFTER],
    ),
    Doc {
        status: 101,
        answer: None,
        ..query(
            get(
                "/api/v1/ws",
                "socket",
                "Frames of turnreel.v1 over a WebSocket",
            ),
            &[("session", "Text", "A session that must be there."), FORMAT],
        )
    },
];

/// The description, as an object.
pub(crate) fn description() -> Value {
    let mut paths = Map::new();
    for (method, path, scope) in route_table() {
        let shown = path.replace("{*", "{");
        let parameters = parameters(&shown);
        let entry = paths.entry(shown).or_insert_with(|| json!({}));
        let doc = DOCS
            .iter()
            .find(|doc| (doc.method, doc.path) == (method, path));
        let mut operation = doc.map_or_else(|| json!({"responses": {}}), operation);
        if !parameters.is_empty() {
            entry["parameters"] = parameters.into();
        }
        if scope != "public" {
            operation["security"] = json!([{"token": []}]);
            operation["x-scope"] = scope.into();
        }
        entry[method.to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "turnreel",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas::all(),
        },
    })
}

fn operation(doc: &Doc) -> Value {
    let mut success = json!({"description": doc.summary});
    if let Some((media, name)) = doc.answer {
        let schema = name.map_or_else(|| json!({}), reference);
        success["content"] = json!({media: {"schema": schema}});
    }
    let refused = json!({
        "description": "Why it was refused",
        "content": {JSON: {"schema": reference("Error")}},
    });
    let mut operation = json!({
        "operationId": doc.id,
        "summary": doc.summary,
        "responses": {doc.status.to_string(): success, "default": refused},
    });
    let query = doc.query.iter().map(|(name, schema, what)| {
        let required = *name == "q" && *schema == "Needle";
        let schema = reference(schema);
        json!({"name": name, "in": "query", "description": what, "required": required, "schema": schema})
    });
    let query: Vec<Value> = query.collect();
    if !query.is_empty() {
        operation["parameters"] = query.into();
    }
    if let Some(name) = doc.body {
        let (media, schema) = if name == "bytes" {
            ("application/octet-stream", json!({}))
        } else {
            (JSON, reference(name))
        };
        let content = json!({media: {"schema": schema}});
        operation["requestBody"] = json!({"required": true, "content": content});
    }
    operation
}

/// The parameters of a path, by their names.
fn parameters(path: &str) -> Vec<Value> {
    let parts = path.split('/');
    let names = parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| {
        let schema = match name {
            "session" => json!({"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$"}),
            "sha256" => json!({"type": "string", "pattern": "^[0-9a-f]{64}$"}),
            _ => json!({"type": "string", "minLength": 1}),
        };
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    };
    names.map(parameter).collect()
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_route_is_described_and_nothing_else() {
        let routes = route_table().into_iter();
        let routes: BTreeSet<_> = routes.map(|(method, path, _)| (method, path)).collect();
        let docs: BTreeSet<_> = DOCS.iter().map(|doc| (doc.method, doc.path)).collect();
        assert_eq!(docs, routes);
        assert_eq!(docs.len(), DOCS.len(), "a route is described twice");
        let ids: BTreeSet<_> = DOCS.iter().map(|doc| doc.id).collect();
        assert_eq!(ids.len(), DOCS.len(), "two routes have one name");
        let description = description();
        let paths = description["paths"].as_object().unwrap().iter();
        let n_operations: usize = paths
            .map(|(_, path)| path.as_object().unwrap())
            .map(|path| path.keys().filter(|key| *key != "parameters").count())
            .sum();
        assert_eq!(n_operations, routes.len());
    }

    #[test]
    fn each_schema_that_is_named_is_there() {
        let description = description();
        let mut named = BTreeSet::new();
        collect(&description, &mut named);
        let there = description["components"]["schemas"].as_object().unwrap();
        let there: BTreeSet<_> = there.keys().cloned().collect();
        assert_eq!(named, there);
    }

    fn collect(value: &Value, named: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                    named.insert(name.rsplit('/').next().unwrap().to_owned());
                }
                fields.values().for_each(|field| collect(field, named));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, named)),
            _ => {}
        }
    }
}
