package ht

func (r *quadRow) analyse() uint32 { return r.analyseGo() }
