-- Homes that nobody named for long go, and those of which it is not known when that was are named now. Says from where the
-- next call goes on through the homes.
-- KEYS: the sessions' homes, when each was named last. ARGV: seconds, how many at once, from where to go on.
local now = redis.call('TIME')[1]
local old = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[1], 'LIMIT', 0, ARGV[2])
for _, session in ipairs(old) do
  redis.call('HDEL', KEYS[1], session)
  redis.call('ZREM', KEYS[2], session)
end
local found = redis.call('HSCAN', KEYS[1], ARGV[3], 'COUNT', ARGV[2])
for i = 1, #found[2], 2 do redis.call('ZADD', KEYS[2], 'NX', now, found[2][i]) end
return found[1]
