-- A session is copied anew, under that epoch; rows that are still here go first. $1 session, $2 epoch.
UPDATE turnreel.sessions SET epoch = $2, seq = 0 WHERE session = $1
