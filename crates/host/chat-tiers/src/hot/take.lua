-- Takes events behind what there is, together with the mark of how far that is.
-- KEYS: the session's mark, its stream, its ids. ARGV: epoch, after, upto, events to keep, seconds to keep them, and then a
-- number, an id and a line for each event.
local mark = redis.call('HMGET', KEYS[1], 'epoch', 'seq')
local has = -1
if mark[1] == ARGV[1] then has = tonumber(mark[2]) end
if has ~= tonumber(ARGV[2]) then return has end
for i = 6, #ARGV, 3 do
  local added = redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', ARGV[4], ARGV[i] .. '-0', 'd', ARGV[i + 2])
  -- A script that was cut short wrote some of these without their mark.
  if type(added) == 'table' and added.err and not string.find(added.err, 'equal or smaller') then return added end
  redis.call('ZADD', KEYS[3], ARGV[i], ARGV[i + 1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', tonumber(ARGV[3]) - tonumber(ARGV[4]))
redis.call('HSET', KEYS[1], 'seq', ARGV[3])
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, ARGV[5]) end
return tonumber(ARGV[3])
