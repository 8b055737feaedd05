// Package queue connects to Redis, or to the Redis that lives in the process,
// and keeps there what a running job needs: a window of chunk tasks, a bitmap of
// done chunks with counters, the list of jobs, leadership, and which objects
// were in flight. Delivery is hibiken/asynq's; everything else is a handful of
// Lua scripts in lua/.
//
// # Redis is disposable
//
// Everything here can be made again from storage. A job whose keys are gone
// answers ok=false to [Job.Progress]; the scheduler then
// calls [Job.Init] with what it finds in storage. There is no key per object.
//
// # Guarantees
//
//   - A task is delivered at least once. After a lost worker it is delivered
//     again within about 40 seconds, see [Conn.Reap].
//   - A chunk is counted exactly once, see [Job.Commit].
//   - A task id exists at most once in a queue, so feeding is idempotent, see
//     [Tasks.Enqueue].
//   - A chunk that fails is tried again after 1 to 60 seconds and, after some
//     attempts, blocks its job with its last error, see [Job.Block]: it is neither
//     lost nor tried for ever. What is no chunk is dropped.
//   - No more than Concurrency handlers of a server run, even when handlers
//     ignore their context, see [Conn.Serve].
//   - Errors never show a password.
//
// # Addresses
//
//	""                                            in the process, on loopback, not durable
//	redis://[user:password@]host[:port][/db]
//	rediss://...                                  the same over TLS
//	unix:///path/to/socket[?db=N]                 also redis-socket://
//	redis-sentinel://[user:password@]h1:p,h2:p/master[?db=N]
//	redis-cluster://[user:password@]h1:p,h2:p
//
// rediss-sentinel and rediss-cluster use TLS. Special characters of a password
// are percent-encoded. Parameters after the question mark: db; ca, the path of a
// PEM file with the authorities to trust instead of the system's;
// sentinel_user and sentinel_password, where the sentinels want their own.
//
// # What Redis must be
//
// Version 6.2 or later, maxmemory-policy noeviction. A Redis that is full
// ([ErrFull]) cannot hand out tasks either, so the scheduler stops feeding well
// before; see [Conn.Memory]. Neither CONFIG nor MEMORY USAGE nor KEYS is used.
//
// # Keys and Redis Cluster
//
//	asynq:{pelmill-p<n>}:*      asynq's, one queue for each priority
//	pelmill:{pelmill-p<n>}:leases  what the reaper saw last
//	pelmill:jobs                hash: job to target
//	pelmill:claim:<job>         that a submission has the id, for an hour or until the job leaves the queue
//	pelmill:workers             hash: host:pid to device
//	pelmill:worker-stats        hash: host:pid to what the process says of itself
//	pelmill:{<job>}:meta        hash: chunks
//	pelmill:{<job>}:done        bitmap in Redis' order, see [Bit]
//	pelmill:{<job>}:counts      hash: the fields of jobs.Counts
//	pelmill:{<job>}:work        hash: chunk at work to its counters so far
//	pelmill:{<job>}:pace        jobs.Pace
//	pelmill:{<job>}:limits      hash: bytes and requests a second, and when the next ones are free
//	pelmill:{<job>}:signal      what workers must obey
//	pelmill:{<job>}:blocked     jobs.Block: why nothing of the job can be done now
//	pelmill:{<job>}:flight:<i>  hash: object to times in flight
//	pelmill:{<job>}:flights     set: chunks with a flight hash
//	pelmill:{lead:<name>}:*     lock and fencing counter
//
// All keys of one script share a tag. One queue lies on one shard of a cluster,
// and so does one job: the four priorities may land on fewer than four masters.
// A chunk is 30 seconds of work or more, so one shard is far from being the
// limit (about 16,000 tasks a second).
package queue
