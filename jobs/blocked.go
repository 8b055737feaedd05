package jobs

import "time"

// Block says why no chunk of a job can be done now.
type Block struct {
	Cause  Cause     `json:"cause"`
	Reason string    `json:"reason"`          // one clause for people
	Bytes  int64     `json:"bytes,omitempty"` // of the write that was refused
	Since  time.Time `json:"since"`
}

// Cause is what kind of thing blocks a job.
type Cause string

// The causes of a [Block].
const (
	BlockTarget Cause = "target" // the target refuses writes: chunks at work stop at once
	BlockRedis  Cause = "redis"  // Redis is full
	BlockTemp   Cause = "temp"   // the temporary folder of a scheduler is full
	BlockStore  Cause = "store"  // a chunk failed again and again because a store does not answer
	BlockChunk  Cause = "chunk"  // a chunk failed again and again: only an operator can tell when to go on
)

// Advice says what ends a block, for people.
func (c Cause) Advice() string {
	switch c {
	case BlockStore:
		return "the job goes on by itself when source and target answer, or at once by pelmill resume"
	case BlockChunk:
		return "pelmill resume tries it again"
	case BlockTemp, BlockRedis:
		return "the job goes on by itself when there is room, or at once by pelmill resume"
	}
	return "the job goes on by itself when writes are taken again, or at once by pelmill resume"
}
