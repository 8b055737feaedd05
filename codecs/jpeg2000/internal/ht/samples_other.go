package ht

func (r *rowArgs) decode() uint32 { return r.decodeGo() }
