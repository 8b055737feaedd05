package webp

func predictRow(cur, up []uint32, at int, rows *residualRows) { predictRowGo(cur, up, at, rows) }
