/* Decodes JPEG files with libjpeg-turbo's default settings, for the benchmarks beside our own:
 *
 *	cc -O2 -o libjpeg-read libjpeg.c -ljpeg
 *	libjpeg-read ROUNDS FILE...
 *
 * Prints for each file its pixels, and the least processor time in seconds of so many rounds, from the file in memory to
 * rows in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jpeglib.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static size_t decode(const unsigned char *file, size_t size)
{
	struct jpeg_error_mgr errors;
	struct jpeg_decompress_struct d = {.err = jpeg_std_error(&errors)};
	jpeg_create_decompress(&d);
	jpeg_mem_src(&d, file, size);
	jpeg_read_header(&d, TRUE);
	jpeg_start_decompress(&d);
	size_t row = (size_t)d.output_width * d.output_components, pixels = (size_t)d.output_width * d.output_height;
	unsigned char *picture = malloc(row * d.output_height);
	while (d.output_scanline < d.output_height) {
		JSAMPROW rows[16];
		for (int i = 0; i < 16; i++)
			rows[i] = picture + row * (d.output_scanline + i);
		unsigned left = d.output_height - d.output_scanline;
		jpeg_read_scanlines(&d, rows, left < 16 ? left : 16);
	}
	jpeg_finish_decompress(&d);
	jpeg_destroy_decompress(&d);
	free(picture);
	return pixels;
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
			double took = now() - from;
			if (took < least)
				least = took;
		}
		printf("%zu %.9f\n", pixels, least);
		free(file);
	}
	return 0;
}
