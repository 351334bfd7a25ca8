-- The session is to go, where it is here under that epoch: who has it under another one goes on. $1 session, $2 epoch.
UPDATE turnreel.sessions SET seq = 0 WHERE session = $1 AND epoch = $2
