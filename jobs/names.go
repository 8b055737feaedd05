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

// Dir is the folder of a job.
func Dir(id string) string { return JobsDir + id + "/" }

// The single files of a job.
func SpecKey(id string) string    { return Dir(id) + "spec.json" }
func ControlKey(id string) string { return Dir(id) + "control.json" }
func StateKey(id string) string   { return Dir(id) + "state.json" }
func ListingKey(id string) string { return Dir(id) + "listing.json" }
func PlanKey(id string) string    { return Dir(id) + "plan.json" }
func ReportKey(id string) string  { return Dir(id) + "report.json" }
func FailedKey(id string) string  { return Dir(id) + "failed.jsonl" }

// Given is the folder below a job's that holds the user's manifest.
const Given = "given/"

// GivenKey is part n of the manifest that the user gave, sorted by key.
func GivenKey(id string, n int) string {
	return fmt.Sprintf("%s%spart-%05d.jsonl.zst", Dir(id), Given, n)
}

// ManifestKey is part n of the listing.
func ManifestKey(id string, n int) string {
	return fmt.Sprintf("%smanifest/part-%05d.jsonl.zst", Dir(id), n)
}

// ChunksKey is part n of the entries to work on.
func ChunksKey(id string, n int) string {
	return fmt.Sprintf("%schunks/part-%05d.jsonl.zst", Dir(id), n)
}

// ResultsDir holds the result shards.
func ResultsDir(id string) string { return Dir(id) + "results/" }

// ResultKey is the result shard of a chunk.
func ResultKey(id string, chunk int) string {
	return fmt.Sprintf("%s%06d.jsonl.zst", ResultsDir(id), chunk)
}

// ParseResultKey is the inverse of [ResultKey].
func ParseResultKey(key string) (chunk int, ok bool) {
	name := key[strings.LastIndexByte(key, '/')+1:]
	name, ok = strings.CutSuffix(name, ".jsonl.zst")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(name)
	return n, err == nil && n >= 0
}

// PartialKey is where a worker leaves the records of a chunk it may not finish.
func PartialKey(id string, chunk int) string {
	return fmt.Sprintf("%spartial/%06d.jsonl.zst", Dir(id), chunk)
}

// MergedKey is part n of a finished job's records.
func MergedKey(id string, n int) string {
	return fmt.Sprintf("%sresults-%05d.jsonl.zst", Dir(id), n)
}

// ProbeKey is what a process writes and deletes to find out whether the target of a job takes writes.
func ProbeKey(id, process string) string { return Root + "probe/" + id + "-" + process }

// AssetKey is where a shared asset lies in the target; see [ValidHash].
func AssetKey(sha256 string) string { return Root + "assets/" + sha256 }

// Priorities is the number of priorities, and of queues.
const Priorities = 4

// QueueName is the asynq queue of a priority.
func QueueName(priority int) string { return "pelmill-p" + strconv.Itoa(priority) }

// TaskType is the asynq type of chunk tasks.
const TaskType = "chunk"

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
