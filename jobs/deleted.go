package jobs

import "time"

// Deletion is the first line of a list of deleted results. Records of jobs that ended
// before At say nothing any more of the results in the list.
type Deletion struct {
	At      time.Time `json:"at"`
	Results int       `json:"results"` // lines behind it
}

// Deleted is a result that was deleted from a target because its source is gone, or has
// another result in its place. Its fields but Source are those of a [Result].
type Deleted struct {
	KeyHash      string `json:"key_hash,omitempty"`
	Sealed       string `json:"sealed,omitempty"`
	Target       string `json:"target,omitempty"`
	TargetSize   int64  `json:"target_size"`
	TargetSHA256 string `json:"target_sha256"`
	Key          string `json:"key,omitempty"`
	Source       string `json:"source"` // canonical bucket URL
	Job          string `json:"job"`    // whose record it is
}
