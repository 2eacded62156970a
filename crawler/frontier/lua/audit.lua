-- audit: can every host that has URLs queued come up again? Looks at a batch of queues, each in one step with what should
-- lead to it, so that a crawl may go on meanwhile.
--
-- KEYS[1]  the partition's tag
-- ARGV     crawl, 1 to repair, then class, host, class, host, …
-- returns  one letter for each:
--          . sound
--          l lost: URLs are queued, and nothing would ever lead to them         → put in the ready list
--          e empty: in the ready list without a queue                           → taken out of it
--          s stuck: locked by a visit that reclaim does not know                → the lock is released
--          h held back as blocked, though the host is not blocked for good      → put in the ready list
--
-- A crash before or after it changes nothing: every repair is what another step would have done.

local tag, crawl, repair = KEYS[1], ARGV[1], ARGV[2] == '1'
local base = tag .. ':' .. crawl .. ':'
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- include host

local letters = {}
for i = 3, #ARGV, 2 do
    local class, host = ARGV[i], ARGV[i + 1]
    local ready_key, letter = base .. 'ready:' .. class, '.'
    local size = redis.pcall('ZCARD', base .. 'q:' .. class .. ':' .. host)
    local is_ready = redis.call('ZSCORE', ready_key, host)
    local record = recall(host)
    local visit = record[FENCE] .. '|' .. record[CRAWL] .. '|' .. host
    if record[FENCE] ~= '' and not redis.call('ZSCORE', tag .. ':visits', visit) then
        letter = 's'
        if repair then
            wait_for(record, crawl, class)
            release(host, record)
            write_ready()
            ready_at = {}
            remember(host, record)
        end
    elseif type(size) == 'number' and size > 0 then
        local waits = record[FENCE] ~= '' and is_waiting(record, crawl, class)
        local blocked = redis.call('SISMEMBER', base .. 'blocked', class .. '|' .. host) == 1
        if blocked and record[BLOCKED] < FOREVER then
            letter = 'h'
            if repair then
                redis.call('SREM', base .. 'blocked', class .. '|' .. host)
                redis.call('ZADD', ready_key, 'NX', now, host)
            end
        elseif not is_ready and not waits and not blocked then
            letter = 'l'
            if repair then redis.call('ZADD', ready_key, 'NX', now, host) end
        end
    elseif is_ready and size == 0 then
        letter = 'e'
        if repair then redis.call('ZREM', ready_key, host) end
    end
    letters[#letters + 1] = letter
end
return table.concat(letters)
