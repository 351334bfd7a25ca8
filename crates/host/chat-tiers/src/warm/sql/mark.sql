-- How far a session is here under an epoch. $1 session, $2 epoch.
SELECT seq FROM turnreel.sessions WHERE session = $1 AND epoch = $2
