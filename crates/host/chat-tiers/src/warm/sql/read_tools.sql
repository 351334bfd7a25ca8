-- Tools in figures, those with most calls first. Each of these may be NULL: $1 the one session, $2 since. $3 how many.
SELECT
    tool_name,
    max(kind),
    count(DISTINCT session),
    count(*),
    count(*) FILTER (WHERE status = 'completed'),
    count(*) FILTER (WHERE status = 'failed'),
    count(*) FILTER (WHERE status = 'denied'),
    count(*) FILTER (WHERE status = 'running'),
    sum(duration_ms)::bigint,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms),
    percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms)
FROM turnreel.tool_calls
WHERE ($1::text IS NULL OR session = $1)
    AND ($2::timestamptz IS NULL OR started_at >= $2)
GROUP BY tool_name
ORDER BY count(*) DESC, tool_name
LIMIT $3
