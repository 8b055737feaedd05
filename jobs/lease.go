package jobs

import "time"

// Lease says which process does a job without a cluster: pelmill compress, retry or
// verify --repair. Jobs of a cluster have none, their leader is in Redis.
type Lease struct {
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	Announced bool      `json:"announced,omitempty"` // other processes of the host can tell whether it lives
	Released  bool      `json:"released,omitempty"`  // it has ended in good order and left the job unfinished
	Renewed   time.Time `json:"renewed"`
}

// A lease holds for LeaseTime after it was renewed, which its owner does every LeaseEvery.
const (
	LeaseTime  = time.Minute
	LeaseEvery = 15 * time.Second
)

// Lease is the key of the [Lease].
func (f Folder) Lease() string { return f.Dir() + "lease.json" }
