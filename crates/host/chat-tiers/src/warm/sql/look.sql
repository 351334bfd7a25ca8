-- Whether a copier's row is there. $1 its name.
SELECT EXISTS (SELECT FROM turnreel.copiers WHERE name = $1)
