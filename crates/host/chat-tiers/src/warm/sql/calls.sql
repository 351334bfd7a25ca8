-- Calls, each with an id of its own: new ones, and what is new of those that are here. See `calls.rs`.
-- $1 session, $2 epoch, then one array a column.
WITH given AS (
    SELECT *
    FROM unnest(
        $3::bigint[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[],
        $8::text[], $9::text[], $10::text[], $11::text[],
        $12::bigint[], $13::text[], $14::text[], $15::timestamptz[], $16::bigint[], $17::text[], $18::bigint[], $19::text[]
    ) AS given (
        seq, tool_call_id, turn, started_at, stored_at,
        event_id, parent_tool_call_id, tool_name, kind,
        result_seq, result_event, status, ended_at, duration_ms, result_summary, exit_code, error_code
    )
),
placed AS (
    SELECT given.*, known.place, known.seq AS known_seq
    FROM given
    LEFT JOIN LATERAL (
        SELECT call.ctid AS place, call.seq, call.turn, call.result_seq
        FROM turnreel.tool_calls AS call
        WHERE call.session = $1 AND call.epoch = $2 AND call.tool_call_id = given.tool_call_id
        ORDER BY call.seq DESC
        LIMIT 1
    ) AS known
        ON given.event_id IS NULL OR known.result_seq IS NULL OR known.turn IS NOT DISTINCT FROM given.turn
),
updated AS (
    UPDATE turnreel.tool_calls AS call
    SET
        event_id = coalesce(placed.event_id, call.event_id),
        parent_tool_call_id = coalesce(placed.parent_tool_call_id, call.parent_tool_call_id),
        tool_name = coalesce(placed.tool_name, call.tool_name),
        kind = coalesce(placed.kind, call.kind),
        started_at = CASE WHEN call.event_id IS NULL AND placed.event_id IS NOT NULL THEN placed.started_at ELSE call.started_at END,
        result_event = coalesce(placed.result_event, call.result_event),
        -- The first result counts.
        result_seq = coalesce(call.result_seq, placed.result_seq),
        status = CASE WHEN call.result_seq IS NULL THEN coalesce(placed.status, call.status) ELSE call.status END,
        ended_at = coalesce(call.ended_at, placed.ended_at),
        duration_ms = CASE
            WHEN call.result_seq IS NOT NULL OR placed.result_seq IS NULL THEN call.duration_ms
            WHEN placed.duration_ms IS NOT NULL THEN placed.duration_ms
            WHEN call.event_id IS NOT NULL
                AND placed.ended_at BETWEEN call.started_at AND call.started_at + interval '30 days'
                THEN (extract(epoch FROM placed.ended_at - call.started_at) * 1000)::bigint
        END,
        result_summary = CASE WHEN call.result_seq IS NULL THEN placed.result_summary ELSE call.result_summary END,
        exit_code = CASE WHEN call.result_seq IS NULL THEN placed.exit_code ELSE call.exit_code END,
        error_code = CASE WHEN call.result_seq IS NULL THEN placed.error_code ELSE call.error_code END
    FROM placed
    -- By their places: of a session whose rows are new the planner thinks that reading all of them is cheap.
    WHERE call.ctid = ANY (ARRAY (SELECT place FROM placed WHERE place IS NOT NULL)) AND call.seq = placed.known_seq
)
INSERT INTO turnreel.tool_calls (
    session, epoch, seq, tool_call_id, turn, started_at, stored_at,
    event_id, parent_tool_call_id, tool_name, kind,
    result_seq, result_event, status, ended_at, duration_ms, result_summary, exit_code, error_code
)
SELECT
    $1, $2, seq, tool_call_id, turn, started_at, stored_at,
    event_id, parent_tool_call_id, coalesce(tool_name, ''), kind,
    result_seq, result_event, coalesce(status, 'running'), ended_at, duration_ms, result_summary, exit_code, error_code
FROM placed
WHERE place IS NULL
ON CONFLICT DO NOTHING
