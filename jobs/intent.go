package jobs

import "fmt"

// Intent is a line that a worker writes before it stores a result in a folder, where
// results cannot say whose they are. When its process is killed before the record of the
// result is stored, later jobs of the same source know by it what lies there: a file of
// exactly this content was made from this source object. Its fields are those of a [Result].
type Intent struct {
	KeyHash      string  `json:"key_hash,omitempty"`
	Sealed       string  `json:"sealed,omitempty"`
	Key          string  `json:"key,omitempty"`
	Outcome      Outcome `json:"outcome"` // compressed or kept
	Target       string  `json:"target,omitempty"`
	TargetSize   int64   `json:"target_size"`
	TargetSHA256 string  `json:"target_sha256"`
}

// Intents is the folder of the intents of chunks that have no shard.
func (f Folder) Intents() string { return f.Dir() + "intents/" }

// Intent is where the intents of a chunk are, one [Intent] a line in JSON.
func (f Folder) Intent(chunk int) string { return fmt.Sprintf("%s%06d.jsonl", f.Intents(), chunk) }
