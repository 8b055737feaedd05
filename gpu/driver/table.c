//go:build cuda && cgo

#include "table.h"

#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

/* Where a slot points while there is no library or the library has no such function. */
static CUresult unresolved(void)
{
	return CUDA_ERROR_NO_DEVICE;
}

#define SYMBOL(name, real) __attribute__((visibility("hidden"))) void *pelmill_slot_##name = (void *)unresolved;
#include "symbols.h"
#undef SYMBOL

static const struct {
	const char *real;
	void **slot;
} table[] = {
#define SYMBOL(name, real) {#real, &pelmill_slot_##name},
#include "symbols.h"
#undef SYMBOL
};

/* cu ends the process before main where cuInit fails, so this one does not: pelmill_open tells the truth. */
__attribute__((visibility("hidden"))) CUresult cuInit(unsigned int flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

int pelmill_open(const char *library, char *text, size_t size)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (lib == NULL) {
		const char *why = dlerror();
		strncat(text, why != NULL ? why : library, size - 1);
		return PELMILL_NO_LIBRARY;
	}
	CUresult (*init)(unsigned int) = (CUresult(*)(unsigned int))dlsym(lib, "cuInit");
	if (init == NULL) {
		strncat(text, "it has no cuInit", size - 1);
		return PELMILL_NO_LIBRARY;
	}
	/* A driver that failed once stays loaded: its threads may run. */
	CUresult status = init(0);
	if (status != CUDA_SUCCESS)
		return (int)status;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		void *f = dlsym(lib, table[i].real);
		if (f != NULL)
			*table[i].slot = f;
	}
	return 0;
}

int pelmill_launch(void *function, const unsigned int size[6], unsigned int shared, void *stream, void *params, size_t bytes)
{
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER, params,
		CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
		CU_LAUNCH_PARAM_END,
	};
	return (int)cuLaunchKernel((CUfunction)function, size[0], size[1], size[2], size[3], size[4], size[5],
		shared, (CUstream)stream, NULL, extra);
}
