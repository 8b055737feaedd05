package queue

import (
	"strconv"
)

// Name is the name of the queue of a priority, as metrics and asynq's keys have it.
func Name(priority int) string { return queueName(priority) }

// queueName is the asynq queue of a priority.
func queueName(priority int) string { return "pelmill-p" + strconv.Itoa(priority) }

// taskType is the asynq type of chunk tasks.
const taskType = "chunk"
