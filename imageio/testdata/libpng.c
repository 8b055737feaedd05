/* Decodes PNG files with libpng, and inflates their samples with zlib alone, for the benchmarks beside our own:
 *
 *	cc -O2 -o libpng-read libpng.c -lpng -lz
 *	libpng-read ROUNDS FILE...
 *
 * Prints for each file its pixels, and the least processor time in seconds of so many rounds, from the file in memory to
 * rows in memory: of libpng, and of zlib. */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

struct source {
	const unsigned char *at;
	size_t left;
};

static void from_memory(png_structp png, png_bytep to, size_t n)
{
	struct source *s = png_get_io_ptr(png);
	if (n > s->left)
		png_error(png, "cut short");
	memcpy(to, s->at, n);
	s->at += n;
	s->left -= n;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static size_t decode(const unsigned char *file, size_t size)
{
	struct source s = {file, size};
	png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop info = png_create_info_struct(png);
	if (setjmp(png_jmpbuf(png)))
		exit(1);
	png_set_read_fn(png, &s, from_memory);
	png_read_info(png, info);
	png_uint_32 width = png_get_image_width(png, info), height = png_get_image_height(png, info);
	size_t row = png_get_rowbytes(png, info);
	unsigned char *pixels = malloc(row * height);
	for (png_uint_32 y = 0; y < height; y++)
		png_read_row(png, pixels + y * row, NULL);
	png_read_end(png, NULL);
	png_destroy_read_struct(&png, &info, NULL);
	free(pixels);
	return (size_t)width * height;
}

static size_t word(const unsigned char *b) { return (size_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]; }

/* Inflates the chunks of samples one after the other through a window of 64 KiB. */
static void inflated(const unsigned char *file, size_t size)
{
	static unsigned char out[64 << 10];
	z_stream z = {0};
	inflateInit(&z);
	int status = Z_OK;
	for (size_t at = 8; at + 12 <= size && status == Z_OK; at += 12 + word(file + at)) {
		if (memcmp(file + at + 4, "IDAT", 4))
			continue;
		z.next_in = (unsigned char *)file + at + 8;
		z.avail_in = word(file + at);
		do {
			z.next_out = out;
			z.avail_out = sizeof out;
			status = inflate(&z, Z_NO_FLUSH);
		} while (status == Z_OK && (z.avail_in > 0 || z.avail_out == 0));
		if (status == Z_BUF_ERROR)
			status = Z_OK;
	}
	inflateEnd(&z);
	if (status != Z_STREAM_END)
		exit(1);
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
		double whole = 1e9, alone = 1e9;
		for (int r = 0; r < rounds; r++) {
			double from = now();
			pixels = decode(file, size);
			double to = now();
			if (to - from < whole)
				whole = to - from;
			inflated(file, size);
			from = now() - to;
			if (from < alone)
				alone = from;
		}
		printf("%zu %.9f %.9f\n", pixels, whole, alone);
		free(file);
	}
	return 0;
}
