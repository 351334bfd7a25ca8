-- Takes back what events said. $1 session, $2 epoch, $3 ids of events.
WITH
calls AS (
    DELETE FROM turnreel.tool_calls
    WHERE session = $1 AND epoch = $2
        AND (event_id = ANY ($3) OR event_id IS NULL AND result_event = ANY ($3))
),
outcomes AS (
    UPDATE turnreel.tool_calls
    SET status = 'running', ended_at = NULL, duration_ms = NULL, result_seq = NULL, result_event = NULL,
        result_summary = NULL, exit_code = NULL, error_code = NULL
    WHERE session = $1 AND epoch = $2
        AND event_id <> ALL ($3) AND result_event = ANY ($3)
),
changes AS (
    DELETE FROM turnreel.file_changes
    WHERE session = $1 AND epoch = $2 AND event_id = ANY ($3)
)
DELETE FROM turnreel.errors
WHERE session = $1 AND epoch = $2 AND event_id = ANY ($3)
