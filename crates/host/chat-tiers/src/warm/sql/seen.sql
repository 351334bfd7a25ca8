-- A copier is there; those that were not for a day are gone. $1 its name.
WITH gone AS (
    DELETE FROM turnreel.copiers WHERE seen_at < now() - interval '1 day' AND name <> $1
)
INSERT INTO turnreel.copiers (name) VALUES ($1)
ON CONFLICT (name) DO UPDATE SET seen_at = now()
