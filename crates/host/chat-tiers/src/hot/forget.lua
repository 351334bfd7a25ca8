-- A session is gone that was there under that epoch; who has it under another one goes on.
-- KEYS: the session's mark, its stream, its ids. ARGV: epoch.
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then redis.call('DEL', KEYS[1]) end
redis.call('DEL', KEYS[2], KEYS[3])
