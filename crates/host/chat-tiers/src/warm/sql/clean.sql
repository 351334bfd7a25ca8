-- Rows that were stored before $1 go, so many of each table at most as $2 says; told is how many of the table with most.
WITH
calls AS (
    DELETE FROM turnreel.tool_calls
    WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM turnreel.tool_calls
        WHERE stored_at < $1 ORDER BY stored_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ))
    RETURNING 1
),
changes AS (
    DELETE FROM turnreel.file_changes
    WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM turnreel.file_changes
        WHERE stored_at < $1 ORDER BY stored_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ))
    RETURNING 1
),
failures AS (
    DELETE FROM turnreel.errors
    WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM turnreel.errors
        WHERE stored_at < $1 ORDER BY stored_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ))
    RETURNING 1
),
quiet AS (
    DELETE FROM turnreel.sessions
    WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM turnreel.sessions
        WHERE last_activity_at < $1 ORDER BY last_activity_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ))
    RETURNING 1
)
SELECT greatest(
    (SELECT count(*) FROM calls),
    (SELECT count(*) FROM changes),
    (SELECT count(*) FROM failures),
    (SELECT count(*) FROM quiet)
)
