/* Reads GIF files with giflib, for the benchmarks beside our own:
 *
 *	cc -O2 -o giflib-read giflib.c -lgif
 *	giflib-read ROUNDS FILE...
 *
 * Prints for each file the pixels of all its frames, and the least processor time in seconds of so many rounds, from the
 * file in memory to the canvas as RGB after each frame; what frames dispose of is left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gif_lib.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

struct file {
	unsigned char *data;
	size_t size, at;
};

static int do_read(GifFileType *g, GifByteType *to, int n)
{
	struct file *f = g->UserData;
	if (f->at + n > f->size)
		n = f->size - f->at;
	memcpy(to, f->data + f->at, n);
	f->at += n;
	return n;
}

static size_t decode(unsigned char *data, size_t size)
{
	struct file file = {data, size, 0};
	int err;
	GifFileType *g = DGifOpen(&file, do_read, &err);
	if (!g || DGifSlurp(g) != GIF_OK)
		exit(1);
	size_t canvas = (size_t)g->SWidth * g->SHeight;
	unsigned char *slices = calloc(canvas * g->ImageCount, 3);
	for (int z = 0; z < g->ImageCount; z++) {
		SavedImage *s = &g->SavedImages[z];
		GifImageDesc *d = &s->ImageDesc;
		ColorMapObject *map = d->ColorMap ? d->ColorMap : g->SColorMap;
		unsigned char *slice = slices + 3 * canvas * z;
		GraphicsControlBlock control = {.TransparentColor = NO_TRANSPARENT_COLOR};
		DGifSavedExtensionToGCB(g, z, &control);
		if (z > 0)
			memcpy(slice, slice - 3 * canvas, 3 * canvas);
		for (int y = 0; y < d->Height; y++) {
			unsigned char *to = slice + 3 * ((size_t)(d->Top + y) * g->SWidth + d->Left);
			GifByteType *from = s->RasterBits + (size_t)y * d->Width;
			for (int x = 0; x < d->Width; x++, to += 3)
				if (from[x] != control.TransparentColor)
					memcpy(to, &map->Colors[from[x]], 3);
		}
	}
	size_t pixels = canvas * g->ImageCount;
	free(slices);
	DGifCloseFile(g, &err);
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
			double t = now() - from;
			if (t < least)
				least = t;
		}
		printf("%zu %.9f\n", pixels, least);
		free(file);
	}
	return 0;
}
