-- Counts the tasks of a queue at one moment. A script, because a full Redis
-- refuses transactions, even of reads.
-- KEYS  pending, active, retry, scheduled, archived
return {
  redis.call("LLEN", KEYS[1]), redis.call("LLEN", KEYS[2]),
  redis.call("ZCARD", KEYS[3]), redis.call("ZCARD", KEYS[4]), redis.call("ZCARD", KEYS[5])
}
