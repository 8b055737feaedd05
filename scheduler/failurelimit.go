package scheduler

import (
	"fmt"

	"github.com/pelmill/pelmill/jobs"
)

// overFailureLimit says why a job with these counts must stop, or is empty. Objects that
// earlier jobs did are not in counts.
func overFailureLimit(spec *jobs.Spec, counts jobs.Counts) string {
	if counts.Objects < spec.FailMin || counts.Objects == 0 {
		return ""
	}
	share := float64(counts.Bad()) / float64(counts.Objects)
	if share <= spec.FailRatio {
		return ""
	}
	return fmt.Sprintf("%d of %d objects failed or were rejected, more than the limit of %.3g %%",
		counts.Bad(), counts.Objects, 100*spec.FailRatio)
}
