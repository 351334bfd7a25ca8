-- Rows of a session go, whatever their epoch, so many of each table at most as $2 says; told is how many of the table with
-- most. $1 session.
WITH
calls AS (
    DELETE FROM turnreel.tool_calls
    WHERE ctid = ANY (ARRAY (SELECT ctid FROM turnreel.tool_calls WHERE session = $1 LIMIT $2 FOR UPDATE))
    RETURNING 1
),
changes AS (
    DELETE FROM turnreel.file_changes
    WHERE ctid = ANY (ARRAY (SELECT ctid FROM turnreel.file_changes WHERE session = $1 LIMIT $2 FOR UPDATE))
    RETURNING 1
),
failures AS (
    DELETE FROM turnreel.errors
    WHERE ctid = ANY (ARRAY (SELECT ctid FROM turnreel.errors WHERE session = $1 LIMIT $2 FOR UPDATE))
    RETURNING 1
)
SELECT greatest(
    (SELECT count(*) FROM calls),
    (SELECT count(*) FROM changes),
    (SELECT count(*) FROM failures)
)
