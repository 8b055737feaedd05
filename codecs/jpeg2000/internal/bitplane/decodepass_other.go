//go:build !amd64

package bitplane

// This machine has no assembly.

func (d *decoder) propagation(p uint) { d.propagationGo(p) }

func (d *decoder) refinement(p uint) { d.refinementGo(p) }

func (d *decoder) cleanup(p uint) { d.cleanupGo(p) }
