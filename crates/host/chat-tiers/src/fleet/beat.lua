-- A server says that it is there. Says since when the fleet is, and what was told of a server of that name before.
-- KEYS: the fleet, the names of its servers, this server. ARGV: its name, what others are told of it, seconds until it is
-- taken to be gone.
local now = redis.call('TIME')
redis.call('SET', KEYS[1], now[1] .. '-' .. now[2], 'NX')
redis.call('SADD', KEYS[2], ARGV[1])
local before = redis.call('GET', KEYS[3])
redis.call('SET', KEYS[3], ARGV[2], 'EX', ARGV[3])
return {redis.call('GET', KEYS[1]), before}
