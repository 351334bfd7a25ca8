-- Calls of these turns that have no result by now have none. $1 session, $2 epoch, then one array a column.
UPDATE turnreel.tool_calls AS call
SET status = closing.status
FROM unnest($3::bigint[], $4::text[], $5::text[]) AS closing (seq, turn, status)
WHERE call.session = $1 AND call.epoch = $2 AND call.status = 'running' AND call.seq < closing.seq
    -- The same turn, or none, said so that the two can be joined by it: with many of both, each cannot be compared with each.
    AND coalesce(call.turn, '') = coalesce(closing.turn, '') AND (call.turn IS NULL) = (closing.turn IS NULL)
