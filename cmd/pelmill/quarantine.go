package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/storage"
)

func (p *program) quarantine() *cobra.Command {
	var release, remove bool
	cmd := &cobra.Command{
		Use:   "quarantine SRC DST [NAME...]",
		Short: "List what was put into quarantine, release or delete it",
		Long: `List what pelmill intake, or pelmill compress --audit, has not taken, with the reason: not-dicom, truncated, other (another
instance than its sender has announced), conflict (another instance has its UID), undecodable (a job has rejected it),
mismatch (its result failed verification). The objects are in .pelmill/quarantine/ of DST, byte for byte, under names
made of hashes.

--release brings those of the given names into SRC, where the intake finds them; what a job has refused is there
anyway, and pelmill retry tries it again. --delete deletes them from quarantine. The audit trail of DST has both.`,
		Example: "  pelmill quarantine spool archive\n  pelmill quarantine spool archive conflict/4c0f...dcm --release",
		GroupID: groupServing,
		Args:    arguments(2, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch names := args[2:]; {
			case release && remove:
				return usagef("--release and --delete exclude each other")
			case (release || remove) != (len(names) > 0):
				return usagef("names come with --release or --delete, and these with names")
			}
			return p.withInstances(cmd.Context(), args[0], args[1], func(s *instances.Store, _, _ *storage.Bucket) error {
				if len(args) > 2 {
					return p.decide(cmd.Context(), s, args[2:], release)
				}
				return p.listHeld(cmd.Context(), s)
			})
		},
	}
	cmd.Flags().BoolVar(&release, "release", false, "bring the objects into SRC")
	cmd.Flags().BoolVar(&remove, "delete", false, "delete the objects from quarantine")
	return cmd
}

// withInstances opens the store of an intake for a verb.
func (p *program) withInstances(ctx context.Context, src, dst string, do func(s *instances.Store, spool, target *storage.Bucket) error) (err error) {
	buckets := p.newBuckets()
	defer buckets.Close()
	spool, err := buckets.Open(ctx, src)
	if err != nil {
		return err
	}
	target, err := buckets.Open(ctx, dst)
	if err != nil {
		return err
	}
	s, err := instances.Open(ctx, spool, target, &instances.Options{Existing: true})
	switch {
	case errors.Is(err, instances.ErrNone):
		return nothingf("nothing to do: %w", err)
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(s, spool, target)
}

// heldEvent is an object in quarantine, as --json prints it.
type heldEvent struct {
	Type string `json:"type"` // "quarantine"
	instances.Held
}

func (p *program) listHeld(ctx context.Context, s *instances.Store) error {
	n, bytes := int64(0), int64(0)
	err := s.Held(ctx, func(h instances.Held) error {
		n++
		bytes += h.Bytes
		if p.json {
			return p.emit(heldEvent{"quarantine", h})
		}
		_, err := fmt.Fprintf(p.stdout, "%s  %s  %s\n", h.Time.Format("2006-01-02 15:04:05"), bytesText(h.Bytes), h.Name)
		return err
	})
	if err == nil && !p.json && !p.quiet {
		fmt.Fprintf(p.stdout, "%s in quarantine, %s\n", plural(n, "object"), bytesText(bytes))
	}
	return err
}

func (p *program) decide(ctx context.Context, s *instances.Store, names []string, release bool) error {
	for _, name := range names {
		if !release {
			if err := s.Discard(ctx, name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		key, err := s.Release(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if key != "" && !p.quiet && !p.json {
			fmt.Fprintf(p.stdout, "released: %s\n", key)
		}
	}
	return nil
}
