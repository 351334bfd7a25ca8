-- Nothing of a session is here, under that epoch. $1 session, $2 epoch.
UPDATE turnreel.sessions SET epoch = $2, seq = 0 WHERE session = $1
