package queue

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// flightTime is how long a flight is remembered after the last Begin of its
// chunk; longer than any chunk waits for its next delivery.
const flightTime = 7 * 24 * time.Hour

// Begin notes that work on these objects of a chunk starts: positions in the
// chunk, from 0. What is not ended when the process dies shows up in Flights
// of the next delivery. One round trip. Where the answer is lost on the way and
// the request repeated, an object may be counted twice.
func (j Job) Begin(ctx context.Context, chunk int, objects []int) error {
	if len(objects) == 0 {
		return nil
	}
	args := []any{chunk, int(flightTime.Seconds())}
	for _, o := range objects {
		args = append(args, o)
	}
	err := beginScript.Run(ctx, j.conn.rdb, flightKeys(j.id, chunk), args...).Err()
	return fail(fmt.Sprintf("begin %d objects of chunk %d of %s", len(objects), chunk, j.id), err)
}

func flightKeys(job string, chunk int) []string {
	return []string{jobKey(job, "flight:"+strconv.Itoa(chunk)), jobKey(job, "flights")}
}

// End notes that work on these objects ended, whatever came of it. One round
// trip; idempotent.
func (j Job) End(ctx context.Context, chunk int, objects []int) error {
	if len(objects) == 0 {
		return nil
	}
	args := []any{chunk}
	for _, o := range objects {
		args = append(args, o)
	}
	err := endScript.Run(ctx, j.conn.rdb, flightKeys(j.id, chunk), args...).Err()
	return fail(fmt.Sprintf("end %d objects of chunk %d of %s", len(objects), chunk, j.id), err)
}

// Flights gives the objects of a chunk that were begun and not ended, with how
// many times. At the start of a delivery that is how often a process died with
// the object in flight.
func (j Job) Flights(ctx context.Context, chunk int) (map[int]int, error) {
	what := fmt.Sprintf("read flights of chunk %d of %s", chunk, j.id)
	all, err := j.conn.rdb.HGetAll(ctx, flightKeys(j.id, chunk)[0]).Result()
	if err != nil {
		return nil, fail(what, err)
	}
	flights := make(map[int]int, len(all))
	for object, times := range all {
		o, err1 := strconv.Atoi(object)
		n, err2 := strconv.Atoi(times)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("queue: %s: %q: %q: want numbers", what, object, times)
		}
		flights[o] = n
	}
	return flights, nil
}
