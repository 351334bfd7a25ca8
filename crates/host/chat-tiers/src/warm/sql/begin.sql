-- Locks the session and says how far it is here. $1 session, $2 epoch of a session that is new here.
INSERT INTO turnreel.sessions AS known (session, epoch, seq)
VALUES ($1, $2, 0)
ON CONFLICT (session) DO UPDATE SET session = known.session
RETURNING epoch, seq
