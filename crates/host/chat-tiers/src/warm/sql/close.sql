-- Calls that have no result by now have none. $1 session, $2 epoch, then one array a column.
UPDATE turnreel.tool_calls AS call
SET status = closing.status
FROM unnest($3::bigint[], $4::boolean[], $5::text[], $6::text[]) AS closing (seq, is_of_all, turn, status)
WHERE call.session = $1 AND call.epoch = $2 AND call.status = 'running' AND call.seq < closing.seq
    AND (closing.is_of_all OR call.turn IS NOT DISTINCT FROM closing.turn)
