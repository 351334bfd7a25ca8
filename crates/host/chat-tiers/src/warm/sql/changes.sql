-- $1 session, $2 epoch, then one array a column.
INSERT INTO turnreel.file_changes (
    session, epoch, seq, event_id, tool_call_id, path, old_path, change, lines_added, lines_removed, is_binary,
    diff_bytes, diff_preview, at, stored_at
)
SELECT $1, $2, given.*
FROM unnest(
    $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::boolean[],
    $12::bigint[], $13::text[], $14::timestamptz[], $15::timestamptz[]
) AS given
ON CONFLICT DO NOTHING
