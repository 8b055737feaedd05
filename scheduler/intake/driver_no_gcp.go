//go:build nogcs

package intake

var openPubSub driver // nil: this build has none
