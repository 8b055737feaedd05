/* A library for LD_PRELOAD that makes a sound card compute wrongly: of the copies from device memory to the host some find one bit
 * inverted in device memory. It stands between the program and dlsym, by which the program finds NVIDIA's driver.
 *
 * FLIP_STATE names a file with counters, which it makes: copies, flips, and calls that were answered with FLIP_CODE.
 * FLIP_AFTER copies are left alone first, those of the self-test; then one in FLIP_EVERY is hit, drawn from FLIP_SEED.
 * FLIP_CODE is a result of the driver with which, from copy FLIP_LOST on, every copy and every wait is answered: a lost card.
 * FLIP_CARD is the index of the only card that is lost; without it all are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long long address;
typedef int (*down_async)(void *, address, size_t, void *);
typedef int (*down)(void *, address, size_t);
typedef int (*up)(address, const void *, size_t);
typedef int (*wait_stream)(void *);
typedef int (*current_card)(int *);

static struct counters { int64_t copies, flips, lost; } *state, none;
static down_async real_down_async;
static down real_down;
static up real_up;
static wait_stream real_wait;
static current_card real_card;
static uint64_t after, every, seed, code, lost_at;
static int one_card, card_chosen;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static uint64_t number(const char *name) {
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void) {
	after = number("FLIP_AFTER"), every = number("FLIP_EVERY"), seed = number("FLIP_SEED");
	code = number("FLIP_CODE"), lost_at = number("FLIP_LOST");
	one_card = getenv("FLIP_CARD") != NULL, card_chosen = (int)number("FLIP_CARD");
	state = &none;
	const char *path = getenv("FLIP_STATE");
	int file = path ? open(path, O_RDWR | O_CREAT, 0666) : -1;
	if (file < 0 || ftruncate(file, sizeof *state)) return;
	void *shared = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared != MAP_FAILED) state = shared;
	close(file);
}

/* draw is SplitMix64. */
static uint64_t draw(void) {
	uint64_t z = (seed += 0x9E3779B97F4A7C15u);
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

static int is_lost(void) {
	if (!code || state->copies < (int64_t)lost_at) return 0;
	int card = -1;
	if (one_card && (real_card(&card) || card != card_chosen)) return 0;
	state->lost++;
	return 1;
}

static int flipping_down(void *to, address from, size_t n, void *stream) {
	pthread_mutex_lock(&turn);
	state->copies++;
	int lost = is_lost();
	int hit = !lost && n > 0 && every > 0 && state->copies > (int64_t)after && draw() % every == 0;
	uint64_t bit = hit ? draw() % (8 * n) : 0;
	pthread_mutex_unlock(&turn);
	if (lost) return (int)code;
	if (hit) {
		unsigned char byte;
		int result = real_wait(stream); /* what makes the bytes may still run */
		if (!result) result = real_down(&byte, from + bit / 8, 1);
		byte ^= (unsigned char)(1u << bit % 8);
		if (!result) result = real_up(from + bit / 8, &byte, 1);
		if (result) return result;
		pthread_mutex_lock(&turn);
		state->flips++;
		pthread_mutex_unlock(&turn);
	}
	return real_down_async(to, from, n, stream);
}

static int losing_wait(void *stream) {
	pthread_mutex_lock(&turn);
	int lost = is_lost();
	pthread_mutex_unlock(&turn);
	return lost ? (int)code : real_wait(stream);
}

void *dlsym(void *handle, const char *name) {
	static void *(*real)(void *, const char *);
	const char *versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
	for (size_t i = 0; !real && i < sizeof versions / sizeof *versions; i++) real = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	if (!real) return NULL;
	void *found = real(handle, name);
	if (found && !strcmp(name, "cuMemcpyDtoHAsync_v2")) {
		real_down_async = found;
		real_down = real(handle, "cuMemcpyDtoH_v2");
		real_up = real(handle, "cuMemcpyHtoD_v2");
		real_wait = real(handle, "cuStreamSynchronize");
		real_card = real(handle, "cuCtxGetDevice");
		if (real_down && real_up && real_wait && real_card) return flipping_down;
	}
	if (found && !strcmp(name, "cuStreamSynchronize")) {
		real_wait = found;
		real_card = real(handle, "cuCtxGetDevice");
		if (real_card) return losing_wait;
	}
	return found;
}
