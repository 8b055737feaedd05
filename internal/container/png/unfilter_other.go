//go:build !amd64

package png

const vector = false

func sub(dst, src []byte, back int)         { subGo(dst, src, back) }
func above(dst, src, up []byte)             { aboveGo(dst, src, up) }
func average(dst, src, up []byte, back int) { averageGo(dst, src, up, back) }
func paeth(dst, src, up []byte, back int)   { paethGo(dst, src, up, back) }

func unfilterRows(dst, src, up []byte, n, back int) int { return 0 }
