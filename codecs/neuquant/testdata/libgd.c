/* Runs the NeuQuant of libgd on binary PPM files, for the benchmarks beside our own:
 *
 *	cc -O2 -o libgd-neuquant libgd.c -lgd
 *	libgd-neuquant SAMPLE FILE...
 *
 * SAMPLE is Dekker's sampling factor, 1 to 30; the palette has 256 colours, nothing is dithered. Prints for each file its
 * pixels, the processor time in seconds from the pixels in memory to the palette picture, and the sum of the squared
 * differences over all samples. */
#include <gd.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static gdImagePtr read_ppm(const char *name)
{
	FILE *f = fopen(name, "rb");
	int w, h;
	if (!f || fscanf(f, "P6 %d %d 255", &w, &h) != 2 || fgetc(f) == EOF) {
		fprintf(stderr, "%s: not a PPM file of 8 bits\n", name);
		exit(1);
	}
	gdImagePtr m = gdImageCreateTrueColor(w, h);
	for (int y = 0; y < h; y++) {
		for (int x = 0; x < w; x++) {
			int r = fgetc(f), g = fgetc(f), b = fgetc(f);
			if (b == EOF) {
				fprintf(stderr, "%s: cut short\n", name);
				exit(1);
			}
			gdImageSetPixel(m, x, y, gdTrueColor(r, g, b));
		}
	}
	fclose(f);
	return m;
}

static double square(int v) { return (double)v * v; }

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: libgd-neuquant SAMPLE FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		gdImagePtr m = read_ppm(argv[i]);
		clock_t start = clock();
		gdImagePtr q = gdImageNeuQuant(m, 256, atoi(argv[1]));
		double seconds = (double)(clock() - start) / CLOCKS_PER_SEC, error = 0;
		if (!q) {
			fprintf(stderr, "%s: libgd gives no picture\n", argv[i]);
			return 1;
		}
		for (int y = 0; y < gdImageSY(m); y++) {
			for (int x = 0; x < gdImageSX(m); x++) {
				int a = gdImageGetPixel(m, x, y), b = gdImageGetPixel(q, x, y);
				error += square(gdTrueColorGetRed(a) - gdImageRed(q, b)) + square(gdTrueColorGetGreen(a) - gdImageGreen(q, b)) +
					square(gdTrueColorGetBlue(a) - gdImageBlue(q, b));
			}
		}
		printf("%d %.6f %.0f\n", gdImageSX(m) * gdImageSY(m), seconds, error);
		gdImageDestroy(q);
		gdImageDestroy(m);
	}
	return 0;
}
