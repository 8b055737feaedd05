//go:build !amd64

package vq

const vectorRanks = false

func mixLanes(*mixer, *[contextCount]estimates, *[mixed][lanes]int32) {}

func learnLanes(*mixer, *[contextCount]estimates, *[mixed][lanes]int32, uint64, uint64) {}
