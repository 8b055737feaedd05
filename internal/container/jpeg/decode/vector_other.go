//go:build !amd64

package decode

func inverse(from *[64]int16, q *quantTable, to []byte, stride int) { inverseGo(from, q, to, stride) }
func doubleWidth(to, from []byte)                                   { doubleWidthGo(to, from) }
func doubleHeight(to, near, far []byte, lower int)                  { doubleHeightGo(to, near, far, lower) }
func doubleBoth(to, near, far []byte)                               { doubleBothGo(to, near, far) }
func yCbCr(to []byte, lines *[4][]byte)                             { yCbCrGo(to, lines) }
