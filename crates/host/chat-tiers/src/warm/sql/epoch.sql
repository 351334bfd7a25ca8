-- Under which epoch a session is here. $1 session.
SELECT epoch FROM turnreel.sessions WHERE session = $1
