//go:build !amd64

package ht

// This machine has no assembly.

func (r *rowArgs) decode() uint32 { return r.decodeGo() }

func (r *quadRow) analyse() uint32 { return r.analyseGo() }

func (e *encoder) putMagnitudes(r *quadRow, _ uint32) { e.putMagnitudesGo(r) }
