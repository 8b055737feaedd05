//go:build cuda && cgo

#include "table.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define MOST_CARDS 64

/* What begins is one thread, and one more for each card behind the first. They only fill this in; what goes wrong in them is found out
 * once more by pelmill_open and by whoever makes a context. */
static struct {
	int begun;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int cards; /* -1: not known yet */
	int ended[MOST_CARDS];
	int held[MOST_CARDS];
	CUresult (*flags)(CUdevice, unsigned int);
	CUresult (*retain)(CUcontext *, CUdevice);
} begin = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .cards = -1};

static void *make_context(void *card)
{
	int i = (int)(intptr_t)card;
	CUcontext context;
	begin.flags(i, CU_CTX_SCHED_BLOCKING_SYNC);
	int held = begin.retain(&context, i) == CUDA_SUCCESS;
	pthread_mutex_lock(&begin.mutex);
	begin.ended[i] = 1;
	begin.held[i] = held;
	pthread_cond_broadcast(&begin.changed);
	pthread_mutex_unlock(&begin.mutex);
	return NULL;
}

/* Starts the driver and returns how many cards it shows, 0 on any error. */
static int start(const char *library)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (lib == NULL)
		return 0;
	CUresult (*init)(unsigned int) = (CUresult(*)(unsigned int))dlsym(lib, "cuInit");
	CUresult (*count)(int *) = (CUresult(*)(int *))dlsym(lib, "cuDeviceGetCount");
	begin.flags = (CUresult(*)(CUdevice, unsigned int))dlsym(lib, "cuDevicePrimaryCtxSetFlags_v2");
	begin.retain = (CUresult(*)(CUcontext *, CUdevice))dlsym(lib, "cuDevicePrimaryCtxRetain");
	int n = 0;
	if (init == NULL || count == NULL || begin.flags == NULL || begin.retain == NULL || init(0) != CUDA_SUCCESS || count(&n) != CUDA_SUCCESS)
		return 0;
	return n < MOST_CARDS ? n : MOST_CARDS;
}

static void *run(void *library)
{
	int n = start(library);
	pthread_mutex_lock(&begin.mutex);
	begin.cards = n;
	pthread_cond_broadcast(&begin.changed);
	pthread_mutex_unlock(&begin.mutex);
	for (intptr_t i = 1; i < n; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, make_context, (void *)i) == 0)
			pthread_detach(thread);
		else
			make_context((void *)i);
	}
	if (n > 0)
		make_context((void *)0);
	return NULL;
}

void pelmill_begin(const char *library)
{
	setenv("CUDA_MODULE_LOADING", PELMILL_MODULE_LOADING, 0);
	setenv("CUDA_DEVICE_MAX_COPY_CONNECTIONS", PELMILL_COPY_CONNECTIONS, 0);
	/* Signals are for threads that the Go runtime knows; those that the driver makes have the mask of this one. */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_t thread;
	begin.begun = pthread_create(&thread, NULL, run, (void *)library) == 0;
	if (begin.begun)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int pelmill_begun(void)
{
	return begin.begun;
}

int pelmill_held(int card)
{
	if (!begin.begun || card < 0 || card >= MOST_CARDS)
		return 0;
	pthread_mutex_lock(&begin.mutex);
	while (begin.cards < 0 || (card < begin.cards && !begin.ended[card]))
		pthread_cond_wait(&begin.changed, &begin.mutex);
	int held = begin.held[card];
	begin.held[card] = 0;
	pthread_mutex_unlock(&begin.mutex);
	return held;
}
