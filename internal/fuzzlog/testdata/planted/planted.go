// Package planted has a fault that mutations of an input find.
package planted

// At is how many bytes of data agree with "fault".
func At(data []byte) int {
	n := 0
	if len(data) > 0 && data[0] == 'f' {
		n++
		if len(data) > 1 && data[1] == 'a' {
			n++
			if len(data) > 2 && data[2] == 'u' {
				n++
			}
		}
	}
	return n
}
