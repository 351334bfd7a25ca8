-- All rows of a session go, whatever their epoch. $1 session.
WITH
calls AS (DELETE FROM turnreel.tool_calls WHERE session = $1),
changes AS (DELETE FROM turnreel.file_changes WHERE session = $1)
DELETE FROM turnreel.errors WHERE session = $1
