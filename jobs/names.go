package jobs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Root is the folder of a target that holds everything of ours that is not a
// result.
const Root = ".pelmill/"

// JobsDir holds a folder a job.
const JobsDir = Root + "jobs/"

// Damaged is the list of results that the last verification of a target found
// damaged, one [Damage] a line in JSON. It is absent where that found none.
const Damaged = Root + "damaged.jsonl"

// DeletedDir holds the lists of results that were deleted by pelmill orphans or for another
// one of their source, one [Deletion]
// and the [Deleted] results behind it each.
const DeletedDir = Root + "deleted/"

// DeletedList is the key of the list with a name.
func DeletedList(name string) string { return DeletedDir + name + ".jsonl.zst" }

// RemovedDir holds the lists of source objects that pelmill remove-sources has removed, one [Deletion] and the [Deleted]
// records of their results behind it each. A result that is named there is no orphan: it is all there is.
const RemovedDir = Root + "removed-sources/"

// RemovedList is the key of the list with a name.
func RemovedList(name string) string { return RemovedDir + name + ".jsonl.zst" }

// Prune is the [Lease] of the process that prunes a target or deletes results of it.
const Prune = Root + "prune.json"

// SeriesKey is the key of the keyed hashes that name series by their Series Instance UID.
const SeriesKey = Root + "series.key"

// SiteKey is the key that the keys of medical images are hashed and sealed with in the records of a target.
// Where the target speaks S3, each key that was made for it lies under this name too, with a point and a hash of the key behind.
const SiteKey = Root + "site.key"

// Given is the folder below a job's that holds the user's manifest.
const Given = "given/"

// Folder is what the job with that id has in its target. Its methods are the keys of
// the objects there.
type Folder string

// Dir is the folder itself, with a slash at its end.
func (f Folder) Dir() string { return JobsDir + string(f) + "/" }

// Spec is the key of the [Spec].
func (f Folder) Spec() string { return f.Dir() + "spec.json" }

// Control is the key of the [Control] record.
func (f Folder) Control() string { return f.Dir() + "control.json" }

// State is the key of the [StateRecord].
func (f Folder) State() string { return f.Dir() + "state.json" }

// Listing is the key of how far the listing has come.
func (f Folder) Listing() string { return f.Dir() + "listing.json" }

// Plan is the key of the [Plan].
func (f Folder) Plan() string { return f.Dir() + "plan.json" }

// Report is the key of the [Report].
func (f Folder) Report() string { return f.Dir() + "report.json" }

// FollowedUp is the key of what says that the intake of a job that has ended has seen its records.
func (f Folder) FollowedUp() string { return f.Dir() + "followed-up" }

// ReportPage is the key of the report for people: one file of HTML.
func (f Folder) ReportPage() string { return f.Dir() + "report.html" }

// Failed is the key of the list of failures.
func (f Folder) Failed() string { return f.Dir() + "failed.jsonl" }

// Notices is the folder of the notifications of the job.
func (f Folder) Notices() string { return f.Dir() + "notify/" }

// Notice is where a notification is, and how far its delivery is.
func (f Folder) Notice(id string) string { return f.Notices() + id + ".json" }

// Known is part n of the records of objects that the plan skipped because an earlier
// job has found that they are unsupported, rejected or kept.
func (f Folder) Known(n int) string { return fmt.Sprintf("%sknown-%05d.jsonl.zst", f.Dir(), n) }

// Given is part n of the manifest that the user gave, sorted by key.
func (f Folder) Given(n int) string { return fmt.Sprintf("%s%spart-%05d.jsonl.zst", f.Dir(), Given, n) }

// Manifest is part n of the listing.
func (f Folder) Manifest(n int) string {
	return fmt.Sprintf("%smanifest/part-%05d.jsonl.zst", f.Dir(), n)
}

// Chunks is part n of the entries to work on.
func (f Folder) Chunks(n int) string { return fmt.Sprintf("%schunks/part-%05d.jsonl.zst", f.Dir(), n) }

// Results is the folder of the result shards.
func (f Folder) Results() string { return f.Dir() + "results/" }

// Result is the result shard of a chunk.
func (f Folder) Result(chunk int) string { return fmt.Sprintf("%s%06d.jsonl.zst", f.Results(), chunk) }

// Partial is where a worker leaves the records of a chunk it may not finish.
func (f Folder) Partial(chunk int) string {
	return fmt.Sprintf("%spartial/%06d.jsonl.zst", f.Dir(), chunk)
}

// Merged is part n of a finished job's records.
func (f Folder) Merged(n int) string { return fmt.Sprintf("%sresults-%05d.jsonl.zst", f.Dir(), n) }

// Probe is what a process writes and deletes to find out whether the target takes
// writes. It lies beside the folders of jobs.
func (f Folder) Probe(process string) string { return Root + "probe/" + string(f) + "-" + process }

// ParseResultKey is the inverse of [Folder.Result].
func ParseResultKey(key string) (chunk int, ok bool) {
	name := key[strings.LastIndexByte(key, '/')+1:]
	name, ok = strings.CutSuffix(name, ".jsonl.zst")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(name)
	return n, err == nil && n >= 0
}

// AssetKey is where a shared asset lies in the target.
func AssetKey(sha256 string) string { return Root + "assets/" + sha256 }

// Priorities is the number of priorities, and of queues.
const Priorities = 4

// Task is what travels through the queue: it names a chunk of a job. Where the
// chunk's entries are is said by the job's plan; nothing else is taken from the
// queue, to which more people can write than to the target.
type Task struct {
	Job   string `json:"j"`
	Index int    `json:"i"`
}

// ID is the task's id in asynq; it makes feeding idempotent.
func (t Task) ID() string { return t.Job + ":" + strconv.Itoa(t.Index) }

// maxTask bounds the payload of a task, which is about 40 bytes, and 150 in
// earlier versions.
const maxTask = 1 << 10

// ParseTask reads the payload of a task. Fields that earlier versions wrote are
// left alone.
func ParseTask(payload []byte) (Task, error) {
	if len(payload) > maxTask {
		return Task{}, fmt.Errorf("jobs: task of %d bytes: want at most %d", len(payload), maxTask)
	}
	var t Task
	if err := json.Unmarshal(payload, &t); err != nil {
		return Task{}, fmt.Errorf("jobs: task %q: %w", payload, err)
	}
	switch {
	case !ValidID(t.Job):
		return Task{}, fmt.Errorf("jobs: task %q: job %q: want the form 20060102-150405-abcd", payload, t.Job)
	case t.Index < 0 || t.Index >= MaxChunks:
		return Task{}, fmt.Errorf("jobs: task %q: chunk %d: want 0 to %d", payload, t.Index, MaxChunks-1)
	}
	return t, nil
}
