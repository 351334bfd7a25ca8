-- A session whose home is away becomes the asking server's, where nobody was quicker. Says whose it is then.
-- KEYS: the fleet, the sessions' homes, the home that is away, when each session was named last. ARGV: the session, that
-- home, the server, seconds that a new fleet waits.
local home = redis.call('HGET', KEYS[2], ARGV[1])
if home and home ~= ARGV[2] then return home end
-- The caller may have heard nothing for longer than others have.
if redis.call('EXISTS', KEYS[3]) == 1 then return ARGV[2] end
local since = redis.call('GET', KEYS[1])
local now = redis.call('TIME')
if not since or tonumber(now[1]) - tonumber(string.match(since, '^%d+')) < tonumber(ARGV[4]) then return false end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('ZADD', KEYS[4], now[1], ARGV[1])
return ARGV[3]
