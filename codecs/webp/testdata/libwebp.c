/* Decodes WebP files with libwebp on one core, for the benchmarks beside our own. The two functions are declared here, so that
 * the library alone is needed, which the program dwebp brings:
 *
 *	cc -O2 -o libwebp-read libwebp.c -l:libwebp.so.7
 *	libwebp-read ROUNDS FILE...
 *
 * Prints for each file its pixels, and the least processor time in seconds of so many rounds, from the file in memory to
 * bytes of R, G, B and A in memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint8_t *WebPDecodeRGBA(const uint8_t *data, size_t size, int *width, int *height);
void WebPFree(void *p);

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 2; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		if (!f || fseek(f, 0, SEEK_END))
			return 1;
		size_t size = ftell(f);
		uint8_t *file = malloc(size);
		rewind(f);
		if (fread(file, 1, size, f) != size)
			return 1;
		fclose(f);
		int width = 0, height = 0;
		double least = 1e9;
		for (int r = 0; r < rounds; r++) {
			double from = now();
			uint8_t *pixels = WebPDecodeRGBA(file, size, &width, &height);
			double took = now() - from;
			if (!pixels)
				return 1;
			WebPFree(pixels);
			if (took < least)
				least = took;
		}
		printf("%zu %.9f\n", (size_t)width * height, least);
		free(file);
	}
	return 0;
}
