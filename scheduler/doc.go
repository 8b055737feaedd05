// Package scheduler drives jobs: it lists their source, plans what is to do,
// feeds chunks into the queue, follows what workers commit, and writes the
// report. [Scheduler] does that; [Client] is what commands use to submit a job,
// control it and look at it, also without a scheduler at hand.
//
// # Phases
//
//	prepare  lists the source, or completes a given manifest, into parts in storage
//	plan     joins the manifest with what earlier jobs did, takes a sample, forms chunks
//	work     keeps a window of chunks in the queue until all are committed
//	finish   checks and merges the shards and writes the report
//
// One scheduler leads a job, by a lock in Redis; any number of them can run.
// Which phase a job is in is read from storage, where each phase ends with one
// object: listing.json, plan.json, the last result shard, report.json. A process
// that is killed at any point is continued by another: a listing from its last
// checkpoint, a plan and a report from their beginning. Redis may be emptied at
// any moment; progress is then made again from the shards.
//
// The lock is a lease. A process that was stopped for longer than the lease can
// still finish one write that it had begun; what decides a phase is therefore
// written create-only (the parts, plan.json), and the totals of a report come
// from the shards alone, each of which counts once.
//
// # Blocked jobs
//
// A target that refuses writes, a Redis or a temporary folder that is full, and a
// chunk that fails again and again block a job, see [jobs.Block]. The reason is in
// Redis, as the target may not even take the state record. The leader withdraws
// the job's chunks, writes the state paused if it can, and looks more and more
// rarely, up to every minute, whether a write succeeds; a newer control record ends
// the wait at once. A chunk that fails for no reason that passes waits for that.
//
// # What is already done
//
// An object is done when a record of an earlier job of the same source and
// target has its fingerprint, with the outcome compressed or kept, and the
// target is there with the recorded size, and MD5 where the store lists one.
// All records of all earlier jobs are merged in key order with the manifest, and
// the targets that they name, sorted, with one listing of the target. There is
// no request per object. An unfinished, cancelled or failed job counts with the
// shards it has.
//
// # Names
//
// A result has the key of its source with the codec's extension in place of its
// own. Where two objects would get the same name, both get their full key with
// the extension behind it, see jobs.Plan.Collisions.
//
// # Memory
//
// Sorting goes through temporary files (TMPDIR). What grows with a job in memory
// is half a byte an object while it is planned, and some 50 bytes a chunk.
//
// # Options that are trained
//
// A codec's option may want an asset that is trained on the job's images.
// The plan does that once, keeps the asset in the target under its hash, and
// writes the specification again with the final options. A later job of the same
// source, target and options uses the same asset, so that what was done stays
// done.
package scheduler
