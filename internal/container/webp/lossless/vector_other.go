//go:build !amd64

package lossless

const vector = false

func addGreen(row []byte) { addGreenGo(row) }

func addColour(row []byte, greenToRed, greenToBlue, redToBlue int8) {
	addColourGo(row, greenToRed, greenToBlue, redToBlue)
}

func predict(mode int, row, left, up []byte) { predictGo(mode, row, left, up) }

func predictTiles(left, up, modes []byte, tiles, side int) {
	predictTilesGo(left, up, modes, tiles, side)
}
