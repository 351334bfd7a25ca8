-- Moves the mark of a session, with what is known of it. $1 session, $2 epoch, $3 the number it is here up to.
UPDATE turnreel.sessions
SET
    epoch = $2,
    seq = $3,
    title = $4,
    agent = $5,
    provider = $6,
    model = $7,
    cwd = $8,
    git_branch = $9,
    sandbox_id = $10,
    status = $11,
    outcome = $12,
    failure = $13,
    events = $14,
    turns = $15,
    tool_calls = $16,
    tokens = $17,
    cost_usd = $18,
    started_at = $19,
    last_event_at = $20,
    last_activity_at = coalesce($21, now())
WHERE session = $1
