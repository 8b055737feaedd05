/* Reads TIFF files with libtiff, for the benchmarks beside our own:
 *
 *	cc -O2 -o libtiff-read libtiff.c -ltiff
 *	libtiff-read ROUNDS FILE...
 *
 * Prints for each file its pixels, and the least processor time in seconds of so many rounds, from the file in memory to
 * interleaved samples in memory: planes are interleaved, a palette is looked up, bits become bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tiffio.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

struct file {
	unsigned char *data;
	toff_t size, at;
};

static tmsize_t do_read(thandle_t h, void *to, tmsize_t n)
{
	struct file *f = h;
	if (f->at + n > f->size)
		n = f->size - f->at;
	memcpy(to, f->data + f->at, n);
	f->at += n;
	return n;
}

static tmsize_t do_write(thandle_t h, void *from, tmsize_t n) { return -1; }

static toff_t do_seek(thandle_t h, toff_t to, int whence)
{
	struct file *f = h;
	f->at = whence == SEEK_SET ? to : whence == SEEK_CUR ? f->at + to : f->size + to;
	return f->at;
}

static int do_close(thandle_t h) { return 0; }
static toff_t do_size(thandle_t h) { return ((struct file *)h)->size; }

static int do_map(thandle_t h, void **base, toff_t *size)
{
	struct file *f = h;
	*base = f->data;
	*size = f->size;
	return 1;
}

static void do_unmap(thandle_t h, void *base, toff_t size) {}

/* pack writes columns of rows of a strip or tile to their places in the image. */
static void pack(unsigned char *image, size_t row, const unsigned char *block, size_t stride, size_t columns, size_t rows,
	size_t pixel, size_t sample, size_t step, int bits, uint16_t *map[3])
{
	for (size_t y = 0; y < rows; y++, image += row, block += stride) {
		if (map[0]) {
			for (size_t x = 0; x < columns; x++)
				for (int c = 0; c < 3; c++)
					image[3 * x + c] = map[c][block[x]] >> 8;
		} else if (bits == 1) {
			for (size_t x = 0; x < columns; x++)
				image[x] = block[x >> 3] >> (7 - (x & 7)) & 1 ? 255 : 0;
		} else if (step == pixel) {
			memcpy(image, block, columns * pixel);
		} else if (sample == 1) {
			for (size_t x = 0; x < columns; x++)
				image[x * pixel] = block[x];
		} else {
			for (size_t x = 0; x < columns; x++)
				memcpy(image + x * pixel, block + x * sample, sample);
		}
	}
}

static size_t decode(unsigned char *data, size_t size)
{
	struct file file = {data, size, 0};
	TIFF *t = TIFFClientOpen("memory", "r", &file, do_read, do_write, do_seek, do_close, do_size, do_map, do_unmap);
	uint32_t w, h, tw, th, rows;
	uint16_t bits, samples, planar, photometric;
	uint16_t *map[3] = {0};
	if (!t || !TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &w) || !TIFFGetField(t, TIFFTAG_IMAGELENGTH, &h))
		exit(1);
	TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &bits);
	TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &samples);
	TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &planar);
	TIFFGetFieldDefaulted(t, TIFFTAG_PHOTOMETRIC, &photometric);
	TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &rows);
	if (photometric == PHOTOMETRIC_PALETTE)
		TIFFGetField(t, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]);
	size_t sample = (bits + 7) / 8, pixel = map[0] ? 3 : sample * samples, row = w * pixel;
	size_t step = planar == PLANARCONFIG_SEPARATE ? sample : pixel;
	unsigned char *image = malloc(row * h);
	if (TIFFIsTiled(t)) {
		TIFFGetField(t, TIFFTAG_TILEWIDTH, &tw);
		TIFFGetField(t, TIFFTAG_TILELENGTH, &th);
		unsigned char *block = malloc(TIFFTileSize(t));
		uint32_t across = (w + tw - 1) / tw, each = across * ((h + th - 1) / th);
		for (uint32_t i = 0; i < TIFFNumberOfTiles(t); i++) {
			if (TIFFReadEncodedTile(t, i, block, -1) < 0)
				exit(1);
			size_t x = i % each % across * tw, y = i % each / across * th;
			pack(image + y * row + x * pixel + i / each * sample, row, block, TIFFTileRowSize(t), x + tw > w ? w - x : tw,
				y + th > h ? h - y : th, pixel, sample, step, bits, map);
		}
		free(block);
	} else {
		if (rows > h)
			rows = h;
		int direct = step == pixel && !map[0] && bits >= 8;
		unsigned char *block = direct ? NULL : malloc(TIFFStripSize(t));
		uint32_t each = (h + rows - 1) / rows;
		for (uint32_t i = 0; i < TIFFNumberOfStrips(t); i++) {
			size_t y = i % each * rows, high = y + rows > h ? h - y : rows;
			if (TIFFReadEncodedStrip(t, i, direct ? image + y * row : block, high * TIFFScanlineSize(t)) < 0)
				exit(1);
			if (!direct)
				pack(image + y * row + i / each * sample, row, block, TIFFScanlineSize(t), w, high, pixel, sample, step, bits, map);
		}
		free(block);
	}
	TIFFClose(t);
	free(image);
	return (size_t)w * h;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 2; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		if (!f || fseek(f, 0, SEEK_END))
			return 1;
		size_t size = ftell(f), pixels = 0;
		unsigned char *file = malloc(size);
		rewind(f);
		if (fread(file, 1, size, f) != size)
			return 1;
		fclose(f);
		double least = 1e9;
		for (int r = 0; r < rounds; r++) {
			double from = now();
			pixels = decode(file, size);
			double t = now() - from;
			if (t < least)
				least = t;
		}
		printf("%zu %.9f\n", pixels, least);
		free(file);
	}
	return 0;
}
