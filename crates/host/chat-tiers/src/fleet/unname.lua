-- Sessions that are not there any more have no home, where the asking server was it.
-- KEYS: the sessions' homes, when each was named last. ARGV: the server, the sessions.
for i = 2, #ARGV do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('ZREM', KEYS[2], ARGV[i])
  end
end
