//go:build !amd64

package lossless

const vector = false

func addGreen(row []byte) { addGreenGo(row) }

func pack(out, rgba []byte, green bool) { packGo(out, rgba, green) }

func addColours(row, multipliers []byte, tiles, side int) {
	addColoursGo(row, multipliers, tiles, side)
}

func predict(mode int, row, left, up []byte) { predictGo(mode, row, left, up) }

func predictTiles(left, up, modes []byte, tiles, side int) {
	predictTilesGo(left, up, modes, tiles, side)
}
