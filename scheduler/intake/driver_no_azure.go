//go:build noazure

package intake

var openServiceBus driver // nil: this build has none
