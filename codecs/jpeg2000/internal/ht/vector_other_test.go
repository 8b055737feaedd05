//go:build !amd64

package ht

import "testing"

func withoutVectors(*testing.T) bool { return false }
