-- Nothing is here of a session any more. $1 session.
DELETE FROM turnreel.sessions WHERE session = $1
