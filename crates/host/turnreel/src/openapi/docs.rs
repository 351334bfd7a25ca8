//! What is said of each route. What a path's parameters may be, and the schemas that are named, are for others here.

use super::parameters::{
    AFTER, AFTER_ID, ALL, BODIES, CHANGES_LIMIT, COPIES, FORCE, FORMAT, FOUND_LIMIT, LIMIT, LINK,
    MAX_BYTES, Parameter, SINCE, STREAM_AFTER, WAIT,
};

/// What is said of a route.
pub(super) struct Doc {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: &'static [Parameter],
    /// What it is sent, by the name of a schema; `bytes` for any bytes.
    pub(super) body: Option<&'static str>,
    pub(super) status: u16,
    /// The type of what it answers, and the name of its schema.
    pub(super) answer: Option<(&'static str, Option<&'static str>)>,
}

pub(super) const JSON: &str = "application/json";
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

const fn query(doc: Doc, query: &'static [Parameter]) -> Doc {
    Doc { query, ..doc }
}

const fn body(doc: Doc, name: &'static str) -> Doc {
    Doc {
        body: Some(name),
        ..doc
    }
}

/// All of them.
pub(super) const DOCS: &[Doc] = &[
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
            (
                "status",
                "Text",
                "Sessions of this status: busy, idle, retrying or ended.",
            ),
            (
                "q",
                "Text",
                "Sessions whose title, id, agent, model, folder or sandbox has this.",
            ),
        ],
    ),
    query(
        Doc {
            method: "DELETE",
            ..schema(
                get(
                    "/api/v1/sessions/{session}",
                    "removeSession",
                    "Remove a session, its copies, and the links that show it; `left` says what stays, and why",
                ),
                "Removed",
            )
        },
        &[FORCE, COPIES],
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
        &[AFTER, LIMIT, MAX_BYTES, BODIES],
    ),
    query(
        body(
            schema(
                post(
                    "/api/v1/sessions/{session}/events",
                    "sendEvents",
                    "Store events, at most 1,000 of them",
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
                "An event with its bodies, 16 MiB of them at most, or one of them as `text/plain`",
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
            "A whole diff; 413 where it has more than 16 MiB",
        ),
        "Diff",
    ),
    schema(
        get(
            "/api/v1/sandbox/{sandbox}/file-diffs/{event}",
            "readSandboxDiff",
            "A whole diff; 413 where it has more than 16 MiB",
        ),
        "Diff",
    ),
    schema(
        get(
            "/api/v1/sandboxes/{sandbox}/file-diffs/{event}",
            "readSandboxesDiff",
            "A whole diff; 413 where it has more than 16 MiB",
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
            ("q", "Needle", "The text."),
            (
                "match",
                "MatchHow",
                "How it is looked for: in capitals or not, as it stands, or as a pattern.",
            ),
            AFTER,
            FOUND_LIMIT,
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
    schema(
        get(
            "/api/v1/sessions/{session}/tools",
            "sessionTools",
            "The session's tools in figures; 404 where the server has no database",
        ),
        "Tools",
    ),
    query(
        schema(
            get(
                "/api/v1/tools",
                "tools",
                "Tools of all sessions in figures; 404 where the server has no database",
            ),
            "Tools",
        ),
        &[SINCE],
    ),
    query(
        schema(
            get(
                "/api/v1/file-changes",
                "fileChanges",
                "Changes of files, the newest first; 404 where the server has no database",
            ),
            "FileChanges",
        ),
        &[
            ("session", "Text", "Changes of this session."),
            (
                "path",
                "Text",
                "Changes of this file; with `*` at its end, of those whose path begins so.",
            ),
            SINCE,
            ("until", "Moment", "What happened before then."),
            (
                "after",
                "Text",
                "Changes behind this place: `next` of the page before.",
            ),
            CHANGES_LIMIT,
        ],
    ),
    query(
        Doc {
            method: "DELETE",
            ..schema(
                get(
                    "/api/v1/blobs",
                    "removeBodies",
                    "Remove the bodies that only removed sessions named; those that came just now follow",
                ),
                "FreedBodies",
            )
        },
        &[ALL],
    ),
    text(
        get(
            "/api/v1/blobs/{sha256}",
            "readBody",
            "A body; 404 for a token of one session, which has that one's by their events",
        ),
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
            "Store a body under its hash; what is kept of it has another, where secrets are masked",
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
    body(
        post(
            "/api/v1/sessions/{session}/questions/{request}",
            "reply",
            "Answer a question",
        ),
        "Reply",
    ),
    Doc {
        status: 201,
        body: Some("Share"),
        ..schema(
            post(
                "/api/v1/sessions/{session}/shares",
                "share",
                "Make a link that shows the session",
            ),
            "Shared",
        )
    },
    query(
        Doc {
            method: "DELETE",
            body: Some("Link"),
            ..schema(
                post(
                    "/api/v1/sessions/{session}/shares",
                    "unshare",
                    "Take links back",
                ),
                "Revoked",
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
        &[STREAM_AFTER, FORMAT, BODIES],
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
        &[STREAM_AFTER],
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
            &[("session", "Text", "A session that must be there.")],
        )
    },
    schema(
        get(
            "/api/v1/fleet/sessions",
            "fleetSessions",
            "For other servers of a fleet: the sessions here, and whose copies they are",
        ),
        "FleetSessions",
    ),
    query(
        schema(
            get(
                "/api/v1/fleet/sessions/{session}/log",
                "fleetLog",
                "For other servers of a fleet: a part of a session's log as it is",
            ),
            "FleetLog",
        ),
        &[("after", "Count", "Events behind this number.")],
    ),
];
