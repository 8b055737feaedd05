package main

import "github.com/pelmill/pelmill/queue"

// announce lets other processes of this user and machine know what this one reads,
// so that none replaces it, until the returned function is called. Where that is
// not possible, such as without a home folder, the work goes on.
func (p *program) announce(what, name, source, target string) (end func(), announced bool) {
	end, err := queue.Announce(queue.Running{What: what, Job: name, Source: source, Target: target})
	if err != nil {
		p.logger(false).Debug("other processes do not know what this one reads", "error", err)
		return func() {}, false
	}
	return end, true
}
