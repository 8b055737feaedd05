package queue

import (
	"strconv"
)

// queueName is the asynq queue of a priority.
func queueName(priority int) string { return "pelmill-p" + strconv.Itoa(priority) }

// taskType is the asynq type of chunk tasks.
const taskType = "chunk"
