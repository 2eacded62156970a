-- seen: which of these fingerprints has the crawl accepted? Asked about links that are perhaps in a worker's
-- Bloom filter, where eight bytes are sent instead of the whole entry. Writes nothing.
--
-- KEYS[1]  the partition's tag
-- ARGV     crawl, then fingerprint, bucket, fingerprint, bucket, …
-- returns  one digit per fingerprint, in order: 1 accepted before, 0 not

local seen = KEYS[1] .. ':' .. ARGV[1] .. ':seen:'
local digits = {}
for i = 2, #ARGV, 2 do
    digits[#digits + 1] = redis.call('SISMEMBER', seen .. ARGV[i + 1], ARGV[i])
end
return table.concat(digits)
