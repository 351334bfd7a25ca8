-- The same of all turns. $1 session, $2 epoch, $3 the number before which they were called, $4 how they ended.
UPDATE turnreel.tool_calls
SET status = $4
WHERE session = $1 AND epoch = $2 AND status = 'running' AND seq < $3
