//go:build nonats

package intake

var openNATS driver // nil: this build has none
