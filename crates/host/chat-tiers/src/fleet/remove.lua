-- A session was removed on purpose: a server that was away then hears of it when it is back. What is older than that, and of very many
-- the oldest, is forgotten.
-- KEYS: sessions that were removed. ARGV: seconds that it is remembered, how many are, the session with each of its epochs.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1] * 1000)
for i = 3, #ARGV do redis.call('ZADD', KEYS[1], now, ARGV[i]) end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[1])
