-- A server names sessions that it is the home of, where no other one is by now.
-- KEYS: the sessions' homes, when each was named last. ARGV: the server, the sessions.
local now = redis.call('TIME')[1]
for i = 2, #ARGV do
  redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[1])
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[1] then redis.call('ZADD', KEYS[2], now, ARGV[i]) end
end
