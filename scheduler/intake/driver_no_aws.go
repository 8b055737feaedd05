//go:build nos3

package intake

var openSQS driver // nil: this build has none
