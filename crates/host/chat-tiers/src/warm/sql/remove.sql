-- All of a session goes, where it is here under that epoch: who has it under another one goes on. $1 session, $2 epoch.
WITH
gone AS (DELETE FROM turnreel.sessions WHERE session = $1 AND epoch = $2 RETURNING session),
calls AS (DELETE FROM turnreel.tool_calls USING gone WHERE tool_calls.session = gone.session),
changes AS (DELETE FROM turnreel.file_changes USING gone WHERE file_changes.session = gone.session)
DELETE FROM turnreel.errors USING gone WHERE errors.session = gone.session
