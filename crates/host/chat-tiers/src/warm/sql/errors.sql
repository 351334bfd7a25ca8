-- $1 session, $2 epoch, then one array a column.
INSERT INTO turnreel.errors (
    session, epoch, seq, event_id, turn, code, message, retryable, attempt, at, stored_at
)
SELECT $1, $2, given.*
FROM unnest(
    $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], $9::bigint[],
    $10::timestamptz[], $11::timestamptz[]
) AS given
ON CONFLICT DO NOTHING
