-- Changes of files, the newest first. Each of these may be NULL: $1 the one session, $2 the path, or with $3 how it begins,
-- $4 since, $5 until (without it), $6 to $8 the time, session and number that they are behind. $9 how many.
SELECT
    session, epoch, seq, event_id, tool_call_id, path, old_path, change, lines_added, lines_removed, is_binary,
    diff_bytes, diff_preview, at
FROM turnreel.file_changes
WHERE ($1::text IS NULL OR session = $1)
    AND ($2::text IS NULL OR CASE WHEN $3::boolean THEN starts_with(path, $2) ELSE path = $2 END)
    -- What the index knows of it.
    AND ($2::text IS NULL OR left(path, 200) >= left($2, 200))
    AND ($2::text IS NULL OR left(path, 200) <= CASE WHEN $3 THEN left($2, 199) || U&'\+10FFFF' ELSE left($2, 200) END)
    AND ($4::timestamptz IS NULL OR at >= $4)
    AND ($5::timestamptz IS NULL OR at < $5)
    AND ($6::timestamptz IS NULL OR (at, session, seq) < ($6, $7::text, $8::bigint))
ORDER BY at DESC, session DESC, seq DESC
LIMIT $9
