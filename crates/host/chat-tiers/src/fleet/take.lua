-- A session whose home is away becomes the asking server's, where nobody was quicker. Says whose it is then.
-- KEYS: the sessions' homes. ARGV: the session, the home it had, the server.
local home = redis.call('HGET', KEYS[1], ARGV[1])
if home and home ~= ARGV[2] then return home end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return ARGV[3]
