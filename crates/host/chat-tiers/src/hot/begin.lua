-- Says how far a session is there, and begins it anew where that is not far enough to go on from.
-- KEYS: the session's mark, its stream, its ids. ARGV: epoch, the number to begin behind, seconds to keep it.
local mark = redis.call('HMGET', KEYS[1], 'epoch', 'seq')
if mark[1] == ARGV[1] and tonumber(mark[2]) >= tonumber(ARGV[2]) and redis.call('EXISTS', KEYS[2]) == 1 then
  return tonumber(mark[2])
end
redis.call('DEL', KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'seq', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return tonumber(ARGV[2])
