/* A driver that runs nothing and counts everything, for tests without a card. It is loaded in the place of libcuda.so.1.
 *
 * The test and the driver share the file that PELMILL_FAKE_DRIVER names, mapped into both as struct control (Control in
 * fake.go has the same fields). Device memory is host memory, so that copies can be checked. Launches have no effect but
 * that their parameters are kept. Every call but cuInit, cuGetErrorName and cuDriverGetVersion is counted and may be told
 * to fail or to hang. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int result;
typedef unsigned long long address;

struct control {
	long long init;       /* what cuInit returns */
	long long version;    /* of CUDA */
	long long cards;
	long long capability; /* 75 */
	long long memory;     /* bytes per card */
	long long refuse_ptx; /* what cuModuleLoadData returns */
	long long refuse_pages; /* what cuMemHostRegister returns */

	long long calls;   /* so far */
	long long fail_at; /* number of the call that fails; 0: none */
	long long code;    /* what it returns */
	long long sticky;  /* 1: so do all later ones */
	long long hang_at; /* number of the call that does not return while hang is 1; 0 is cuInit */
	long long hang;
	long long inside;  /* calls under way */
	long long load_at; /* number of the load of a module that does not return while hang is 1, and then returns code; 0: none */
	long long loads;   /* so far */
	long long slow;    /* 1 + the card whose context is not made while hang is 1, and which then returns code; 0: none */

	long long contexts, streams, events, modules, blocks, bytes, pinned; /* that exist */
	long long first;    /* streams so far whose kernels come before those of others */
	long long wrong;    /* uses of what does not exist, copies outside their memory, calls without a context */
	long long held;     /* copies to memory that is not pinned from streams that nobody has waited for */
	long long behind;   /* copies between host and card in streams with kernels that nobody has waited for, but for small ones from memory that is not pinned */
	long long syncs;    /* waits for streams so far */
	long long registered; /* so far */
	long long launches;
	long long grid[7];  /* of the last launch: blocks, threads, shared memory */
	long long size;     /* of its parameters in bytes */
	unsigned char params[256];
};

static struct control *control;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local void *current;

/* Everything that exists, by its address. */
enum kind { CONTEXT, STREAM, EVENT, MODULE, FUNCTION, MEMORY, HOST, REGISTERED };

struct thing {
	enum kind kind;
	size_t size;
	struct thing *next;
	void *at;
	int busy; /* a stream that nobody has waited for since it got something to do */
	int kernels; /* and since it got a kernel */
};

static struct thing *things;

static void add(enum kind kind, void *at, size_t size)
{
	struct thing *t = malloc(sizeof *t);
	*t = (struct thing){kind, size, things, at, 0, 0};
	things = t;
}

/* The thing of the kind that starts at the address, taken out of the list if remove. */
static int exists(enum kind kind, const void *at, int removed, size_t *size)
{
	for (struct thing **p = &things; *p != NULL; p = &(*p)->next) {
		struct thing *t = *p;
		if (t->kind != kind || t->at != at)
			continue;
		if (size != NULL)
			*size = t->size;
		if (removed) {
			*p = t->next;
			free(t);
		}
		return 1;
	}
	control->wrong++;
	return 0;
}

/* Whether n bytes from the address lie in one piece of device memory. */
static int inside(address at, size_t n)
{
	for (struct thing *t = things; t != NULL; t = t->next)
		if (t->kind == MEMORY && at >= (address)t->at && n <= t->size && at - (address)t->at <= t->size - n)
			return 1;
	control->wrong++;
	return 0;
}

/* The stream, which has something to do from now on. */
static void works(const void *stream)
{
	exists(STREAM, stream, 0, NULL);
	for (struct thing *t = things; t != NULL; t = t->next)
		if (t->kind == STREAM && t->at == stream)
			t->busy = 1;
}

/* Whether n bytes from the address lie in pinned memory. */
static int pinned(const void *at, size_t n)
{
	for (struct thing *t = things; t != NULL; t = t->next)
		if ((t->kind == HOST || t->kind == REGISTERED) && at >= t->at && n <= t->size && (size_t)((char *)at - (char *)t->at) <= t->size - n)
			return 1;
	return 0;
}

/* What a real driver does with a copy to memory that is not pinned: it waits for the stream, and lets nobody else in meanwhile. */
static void holds(const void *stream, const void *to, size_t n)
{
	if (pinned(to, n))
		return;
	for (struct thing *t = things; t != NULL; t = t->next)
		if (t->kind == STREAM && t->at == stream)
			control->held += t->busy;
}

/* A kernel is put into the stream. */
static void launches(const void *stream)
{
	for (struct thing *t = things; t != NULL; t = t->next)
		if (t->kind == STREAM && t->at == stream)
			t->kernels = 1;
}

/* What a real driver does with a copy behind kernels: it keeps a queue from the copies of others. */
static void follows(const void *stream)
{
	for (struct thing *t = things; t != NULL; t = t->next)
		if (t->kind == STREAM && t->at == stream)
			control->behind += t->kernels;
}

/* The start of every counted call. What it returns is what the call returns unless it is 0. */
static result enter(int needs_context)
{
	pthread_mutex_lock(&lock);
	long long n = ++control->calls;
	control->inside++;
	if (needs_context && current == NULL)
		control->wrong++;
	int fails = control->fail_at != 0 && (n == control->fail_at || (control->sticky && n > control->fail_at));
	result code = fails ? (result)control->code : 0;
	pthread_mutex_unlock(&lock);
	while (control->hang_at == n && ((volatile struct control *)control)->hang)
		usleep(1000);
	pthread_mutex_lock(&lock);
	return code;
}

static result leave(result code)
{
	control->inside--;
	pthread_mutex_unlock(&lock);
	return code;
}

#define ENTER(needs_context) \
	do { \
		result code = enter(needs_context); \
		if (code != 0) \
			return leave(code); \
	} while (0)

/* A call that frees does so even when it fails: real ones return the errors of earlier kernels. */
#define ENTER_FREE result code = enter(1)

static int hidden; /* cards before those that are shown */

result cuInit(unsigned flags)
{
	(void)flags;
	const char *name = getenv("PELMILL_FAKE_DRIVER");
	int file = name != NULL ? open(name, O_RDWR) : -1;
	if (file < 0)
		return 304;
	control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (control == MAP_FAILED)
		return 304;
	control->inside++;
	while (control->hang_at == 0 && ((volatile struct control *)control)->hang)
		usleep(1000);
	control->inside--;
	/* One number at most, which is that of the only card. */
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	if (visible != NULL) {
		int only = atoi(visible);
		if (only >= control->cards)
			return 100;
		hidden = only;
		control->cards = 1;
	}
	return (result)control->init;
}

result cuDriverGetVersion(int *v)
{
	*v = (int)control->version;
	return 0;
}

result cuGetErrorName(result code, const char **name)
{
	static _Thread_local char text[32];
	snprintf(text, sizeof text, "FAKE_ERROR_%d", code);
	*name = text;
	return 0;
}

result cuDeviceGetCount(int *n)
{
	ENTER(0);
	*n = (int)control->cards;
	return leave(0);
}

result cuDeviceGet(int *device, int i)
{
	ENTER(0);
	*device = i;
	return leave(i < control->cards ? 0 : 101);
}

result cuDeviceGetName(char *name, int n, int device)
{
	ENTER(0);
	snprintf(name, (size_t)n, "Fake %d", device + hidden);
	return leave(0);
}

result cuDeviceGetUuid_v2(char *uuid, int device)
{
	ENTER(0);
	memset(uuid, device + 1, 16);
	return leave(0);
}

result cuDeviceGetUuid(char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

result cuDeviceTotalMem_v2(size_t *n, int device)
{
	(void)device;
	ENTER(0);
	*n = (size_t)control->memory;
	return leave(0);
}

result cuDeviceGetAttribute(int *value, int attribute, int device)
{
	(void)device;
	ENTER(0);
	switch (attribute) {
	case 75: *value = (int)control->capability / 10; break;
	case 76: *value = (int)control->capability % 10; break;
	case 16: *value = 8; break;
	case 97: *value = 64 << 10; break;
	default: *value = 0;
	}
	return leave(0);
}

result cuDeviceGetPCIBusId(char *id, int n, int device)
{
	ENTER(0);
	snprintf(id, (size_t)n, "0000:%02x:00.0", device + 1);
	return leave(0);
}

result cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
	(void)device, (void)flags;
	ENTER(0);
	return leave(0);
}

result cuDevicePrimaryCtxRetain(void **context, int device)
{
	ENTER(0);
	if (control->slow == 1 + device) {
		pthread_mutex_unlock(&lock);
		while (((volatile struct control *)control)->hang)
			usleep(1000);
		pthread_mutex_lock(&lock);
		if (control->code != 0)
			return leave((result)control->code);
	}
	control->contexts++;
	*context = (void *)(size_t)(0x1000 + device);
	return leave(0);
}

result cuDevicePrimaryCtxRelease_v2(int device)
{
	(void)device;
	result code = enter(0);
	if (--control->contexts < 0)
		control->wrong++;
	return leave(code);
}

result cuCtxSetCurrent(void *context)
{
	ENTER(0);
	current = context;
	return leave(0);
}

result cuMemGetInfo_v2(size_t *unused, size_t *total)
{
	ENTER(1);
	*total = (size_t)control->memory;
	*unused = (size_t)(control->memory - control->bytes);
	return leave(0);
}

result cuMemAlloc_v2(address *at, size_t n)
{
	ENTER(1);
	if (control->bytes + (long long)n > control->memory)
		return leave(2);
	void *p = aligned_alloc(256, (n + 255) / 256 * 256);
	add(MEMORY, p, n);
	control->blocks++;
	control->bytes += (long long)n;
	*at = (address)p;
	return leave(0);
}

result cuMemFree_v2(address at)
{
	ENTER_FREE;
	size_t n;
	if (exists(MEMORY, (void *)at, 1, &n)) {
		free((void *)at);
		control->blocks--;
		control->bytes -= (long long)n;
	}
	return leave(code);
}

result cuMemHostAlloc(void **at, size_t n, unsigned flags)
{
	(void)flags;
	ENTER(1);
	*at = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
	add(HOST, *at, n);
	control->pinned++;
	return leave(0);
}

result cuMemFreeHost(void *at)
{
	ENTER_FREE;
	if (exists(HOST, at, 1, NULL)) {
		free(at);
		control->pinned--;
	}
	return leave(code);
}

result cuMemHostRegister_v2(void *at, size_t n, unsigned flags)
{
	(void)flags;
	ENTER(1);
	if (control->refuse_pages != 0)
		return leave((result)control->refuse_pages);
	/* Pages that are not mapped are an error here too. */
	if ((size_t)at % 4096 != 0 || madvise(at, n, MADV_NORMAL) != 0)
		control->wrong++;
	add(REGISTERED, at, n);
	control->pinned++;
	control->registered++;
	return leave(0);
}

result cuMemHostUnregister(void *at)
{
	ENTER_FREE;
	size_t n;
	if (exists(REGISTERED, at, 1, &n)) {
		if (madvise(at, n, MADV_NORMAL) != 0)
			control->wrong++;
		control->pinned--;
	}
	return leave(code);
}

static result make(enum kind kind, void **handle, long long *count)
{
	ENTER(1);
	*handle = malloc(1);
	add(kind, *handle, 1);
	++*count;
	return leave(0);
}

static result destroy(enum kind kind, void *handle, long long *count)
{
	ENTER_FREE;
	if (exists(kind, handle, 1, NULL)) {
		free(handle);
		--*count;
	}
	return leave(code);
}

static result use(enum kind kind, void *handle)
{
	ENTER(1);
	exists(kind, handle, 0, NULL);
	return leave(0);
}

result cuStreamCreate(void **stream, unsigned flags) { (void)flags; return make(STREAM, stream, &control->streams); }
result cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	if (priority < 0)
		++control->first;
	return cuStreamCreate(stream, flags);
}
result cuStreamDestroy_v2(void *stream) { return destroy(STREAM, stream, &control->streams); }

result cuStreamSynchronize(void *stream)
{
	ENTER(1);
	control->syncs++;
	exists(STREAM, stream, 0, NULL);
	for (struct thing *t = things; t != NULL; t = t->next)
		if (t->kind == STREAM && t->at == stream)
			t->busy = t->kernels = 0;
	return leave(0);
}

result cuStreamQuery(void *stream) { return cuStreamSynchronize(stream); }

result cuStreamWaitEvent(void *stream, void *event, unsigned flags) { (void)event, (void)flags; return use(STREAM, stream); }
result cuEventCreate(void **event, unsigned flags) { (void)flags; return make(EVENT, event, &control->events); }
result cuEventDestroy_v2(void *event) { return destroy(EVENT, event, &control->events); }
result cuEventQuery(void *event) { return use(EVENT, event); }
result cuEventSynchronize(void *event) { return use(EVENT, event); }
result cuEventRecord(void *event, void *stream) { (void)stream; return use(EVENT, event); }

result cuEventElapsedTime(float *milliseconds, void *start, void *end)
{
	(void)start;
	*milliseconds = 1.5f;
	return use(EVENT, end);
}

result cuMemcpyHtoDAsync_v2(address to, const void *from, size_t n, void *stream)
{
	ENTER(1);
	if (n > 64 << 10 || pinned(from, n))
		follows(stream);
	works(stream);
	if (inside(to, n))
		memcpy((void *)to, from, n);
	return leave(0);
}

result cuMemcpyDtoHAsync_v2(void *to, address from, size_t n, void *stream)
{
	ENTER(1);
	holds(stream, to, n);
	follows(stream);
	works(stream);
	if (inside(from, n))
		memcpy(to, (void *)from, n);
	return leave(0);
}

result cuMemcpyDtoDAsync_v2(address to, address from, size_t n, void *stream)
{
	ENTER(1);
	works(stream);
	if (inside(to, n) && inside(from, n))
		memcpy((void *)to, (void *)from, n);
	return leave(0);
}

result cuMemsetD8Async(address to, unsigned char value, size_t n, void *stream)
{
	ENTER(1);
	works(stream);
	if (inside(to, n))
		memset((void *)to, value, n);
	return leave(0);
}

result cuModuleLoadData(void **module, const void *image)
{
	(void)image;
	if (control->refuse_ptx != 0)
		return (result)control->refuse_ptx;
	pthread_mutex_lock(&lock);
	int chosen = ++control->loads == control->load_at;
	pthread_mutex_unlock(&lock);
	if (!chosen)
		return make(MODULE, module, &control->modules);
	result code = enter(1);
	pthread_mutex_unlock(&lock);
	while (((volatile struct control *)control)->hang)
		usleep(1000);
	pthread_mutex_lock(&lock);
	if (code == 0)
		code = (result)control->code;
	if (code != 0)
		return leave(code);
	*module = malloc(1);
	add(MODULE, *module, 1);
	control->modules++;
	return leave(0);
}

result cuModuleUnload(void *module) { return destroy(MODULE, module, &control->modules); }

result cuModuleGetFunction(void **function, void *module, const char *name)
{
	(void)name;
	ENTER(1);
	exists(MODULE, module, 0, NULL);
	*function = module;
	return leave(0);
}

result cuFuncSetAttribute(void *function, int attribute, int value)
{
	(void)attribute, (void)value;
	return use(MODULE, function);
}

result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *function, int threads, size_t shared)
{
	(void)threads, (void)shared;
	*n = 2;
	return use(MODULE, function);
}

result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, void *stream, void **params, void **extra)
{
	ENTER(1);
	exists(MODULE, function, 0, NULL);
	works(stream);
	launches(stream);
	if (params != NULL || extra == NULL || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != NULL) {
		control->wrong++;
		return leave(1);
	}
	control->launches++;
	unsigned grid[7] = {gx, gy, gz, bx, by, bz, shared};
	for (int i = 0; i < 7; i++)
		control->grid[i] = grid[i];
	control->size = (long long)*(size_t *)extra[3];
	memcpy(control->params, extra[1], (size_t)(control->size < 256 ? control->size : 256));
	return leave(0);
}
