-- How far each session is here, and what it is; one row a session. Times are of the events, where it does not say otherwise.
CREATE TABLE turnreel.sessions (
    session text COLLATE "C" PRIMARY KEY,
    -- The log up to this number, under this epoch, is in the other tables.
    epoch text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    title text,
    agent text,
    provider text,
    model text,
    cwd text,
    git_branch text,
    sandbox_id text,
    -- busy, idle, retrying or ended
    status text NOT NULL DEFAULT 'idle',
    -- How the newest turn ended: completed, interrupted or failed; what it failed of.
    outcome text,
    failure text,
    events bigint NOT NULL DEFAULT 0,
    turns bigint NOT NULL DEFAULT 0,
    tool_calls bigint NOT NULL DEFAULT 0,
    tokens bigint,
    cost_usd double precision,
    started_at timestamptz,
    last_event_at timestamptz,
    -- When the last event was stored.
    last_activity_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sessions_by_activity ON turnreel.sessions (last_activity_at);

-- One row a call. seq is the number of the first event that speaks of it.
CREATE TABLE turnreel.tool_calls (
    session text COLLATE "C" NOT NULL,
    epoch text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    tool_call_id text COLLATE "C" NOT NULL,
    -- The event that made the call; NULL where only its result is known.
    event_id text,
    turn text,
    parent_tool_call_id text,
    tool_name text NOT NULL DEFAULT '',
    kind text,
    -- running, completed, failed, denied, interrupted or no_result
    status text NOT NULL,
    -- When it was called; where only its result is known, when that came.
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    duration_ms bigint,
    result_seq bigint,
    result_event text,
    result_summary text,
    exit_code bigint,
    error_code text,
    stored_at timestamptz NOT NULL,
    -- In this order it is of no use where a call is looked up by its id, for which the planner takes it otherwise.
    PRIMARY KEY (seq, session, epoch)
);
CREATE INDEX tool_calls_by_id ON turnreel.tool_calls (session, epoch, tool_call_id, seq);
CREATE INDEX tool_calls_running ON turnreel.tool_calls (session, epoch) WHERE status = 'running';
CREATE INDEX tool_calls_by_time ON turnreel.tool_calls (started_at);
CREATE INDEX tool_calls_by_age ON turnreel.tool_calls (stored_at);

CREATE TABLE turnreel.file_changes (
    session text COLLATE "C" NOT NULL,
    epoch text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    event_id text NOT NULL,
    tool_call_id text,
    path text COLLATE "C" NOT NULL,
    old_path text COLLATE "C",
    -- created, modified, deleted or renamed
    change text NOT NULL,
    lines_added bigint NOT NULL,
    lines_removed bigint NOT NULL,
    is_binary boolean NOT NULL,
    -- The whole diff's size; it is in the log.
    diff_bytes bigint NOT NULL,
    diff_preview text NOT NULL,
    at timestamptz NOT NULL,
    stored_at timestamptz NOT NULL,
    PRIMARY KEY (session, epoch, seq)
);
CREATE INDEX file_changes_by_time ON turnreel.file_changes (at, session, seq);
-- An index takes no value as long as a path may be.
CREATE INDEX file_changes_by_path ON turnreel.file_changes (left(path, 200), at);
CREATE INDEX file_changes_by_age ON turnreel.file_changes (stored_at);

CREATE TABLE turnreel.errors (
    session text COLLATE "C" NOT NULL,
    epoch text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    event_id text NOT NULL,
    turn text,
    code text NOT NULL,
    message text NOT NULL,
    retryable boolean,
    attempt bigint,
    at timestamptz NOT NULL,
    stored_at timestamptz NOT NULL,
    PRIMARY KEY (session, epoch, seq)
);
CREATE INDEX errors_by_time ON turnreel.errors (at);
CREATE INDEX errors_by_age ON turnreel.errors (stored_at);

-- Those who copy to here. A copier whose row is gone knows that other rows may be, too.
CREATE TABLE turnreel.copiers (
    name text PRIMARY KEY,
    seen_at timestamptz NOT NULL DEFAULT now()
);

-- The tools of each session in figures. Durations in milliseconds, of the calls of which one is known.
CREATE VIEW turnreel.tool_statistics AS
SELECT
    session,
    tool_name,
    max(kind) AS kind,
    count(*) AS calls,
    count(*) FILTER (WHERE status = 'completed') AS completed,
    count(*) FILTER (WHERE status = 'failed') AS failed,
    count(*) FILTER (WHERE status = 'denied') AS denied,
    count(*) FILTER (WHERE status = 'running') AS running,
    sum(duration_ms)::bigint AS total_ms,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms) AS median_ms,
    percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms) AS p95_ms
FROM turnreel.tool_calls
GROUP BY session, tool_name;

-- What each session did to each file, in sum. A file that was renamed is one row under each of its names; renamed_to is the
-- next one, where the file has it no more.
CREATE VIEW turnreel.file_totals AS
WITH told AS (
    SELECT session, seq, path, change, lines_added, lines_removed, at, NULL AS renamed_to
    FROM turnreel.file_changes
    UNION ALL
    SELECT session, seq, old_path, 'renamed', 0, 0, at, path
    FROM turnreel.file_changes
    WHERE old_path IS NOT NULL AND old_path <> path AND change = 'renamed'
),
summed AS (
    SELECT
        session,
        path,
        min(at) AS first_at,
        max(at) AS last_at,
        count(*) FILTER (WHERE renamed_to IS NULL) AS changes,
        sum(lines_added)::bigint AS lines_added,
        sum(lines_removed)::bigint AS lines_removed,
        (array_agg(change ORDER BY seq))[1] AS first_change,
        (array_agg(change ORDER BY seq DESC))[1] AS last_change,
        bool_or(change = 'renamed') AS was_renamed,
        (array_agg(renamed_to ORDER BY seq DESC))[1] AS renamed_to
    FROM told
    GROUP BY session, path
)
SELECT
    session,
    path,
    CASE
        WHEN renamed_to IS NOT NULL THEN 'renamed'
        WHEN last_change = 'deleted' THEN 'deleted'
        WHEN first_change = 'created' THEN 'created'
        WHEN was_renamed THEN 'renamed'
        ELSE 'modified'
    END AS final_state,
    renamed_to,
    first_at,
    last_at,
    changes,
    lines_added,
    lines_removed
FROM summed;
