-- Whose a session is; nobody's becomes the asking server's, once all had the time to say which they have.
-- KEYS: the fleet, the sessions' homes, when each was named last. ARGV: the session, the server, seconds that a new fleet waits.
local home = redis.call('HGET', KEYS[2], ARGV[1])
if home then return home end
local since = redis.call('GET', KEYS[1])
local now = redis.call('TIME')
if not since or tonumber(now[1]) - tonumber(string.match(since, '^%d+')) < tonumber(ARGV[3]) then return false end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[3], now[1], ARGV[1])
return ARGV[2]
