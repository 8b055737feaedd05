package tile

// Rows of tiles and their halves, the even and the odd columns.

// split32 divides a row.
func split32(even, odd, row []int32) {
	n := 0
	if hasVectors {
		if n = len(row) / 16; n > 0 {
			split32AVX2(&even[0], &odd[0], &row[0], uint64(n))
		}
	}
	for i := 16 * n; i < len(row); i++ {
		if i&1 == 0 {
			even[i/2] = row[i]
		} else {
			odd[i/2] = row[i]
		}
	}
}

// join32 is the inverse of split32.
func join32(row, even, odd []int32) {
	n := 0
	if hasVectors {
		if n = len(row) / 16; n > 0 {
			join32AVX2(&row[0], &even[0], &odd[0], uint64(n))
		}
	}
	for i := 16 * n; i < len(row); i++ {
		if i&1 == 0 {
			row[i] = even[i/2]
		} else {
			row[i] = odd[i/2]
		}
	}
}

// join16 is join32 of 16 bits.
func join16(row, even, odd []int16) {
	n := 0
	if hasVectors {
		if n = len(row) / 32; n > 0 {
			join16AVX2(&row[0], &even[0], &odd[0], uint64(n))
		}
	}
	for i := 32 * n; i < len(row); i++ {
		if i&1 == 0 {
			row[i] = even[i/2]
		} else {
			row[i] = odd[i/2]
		}
	}
}
