package corpora

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
)

//go:embed compare.py
var compareScript string

// pair is a file of a project and what came back for it, or nothing where only its outcome is compared.
type pair struct {
	file   *file
	codec  string
	Source string `json:"source"`
	Back   string `json:"back"`
}

// answer is what compare.py says of a pair.
type answer struct {
	Result string `json:"result"` // equal, differs, none; without a file that came back: reads, warns, refuses, none
	Detail string `json:"detail"`
}

// compare asks Pillow about pairs. One that it does not answer for, because it was ended by an earlier one or by its
// limit, has no reference.
func (r *Runner) compare(ctx context.Context, pairs []pair) ([]answer, error) {
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, p := range pairs {
		if err := enc.Encode(p); err != nil {
			return nil, fmt.Errorf("corpora: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.Time)
	defer cancel()
	cmd := r.limited(ctx, r.Python, "-c", compareScript)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &stdout, &stderr
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		return nil, fmt.Errorf("corpora: %s: %w", r.Python, err)
	}
	answers := make([]answer, len(pairs))
	dec := json.NewDecoder(&stdout)
	for i := range answers {
		if dec.Decode(&answers[i]) != nil {
			if i == 0 {
				return nil, fmt.Errorf("corpora: Pillow answers nothing: %v\n%s", err, &stderr)
			}
			answers[i] = answer{Result: "none", Detail: "Pillow's process ended"}
		}
	}
	return answers, nil
}
