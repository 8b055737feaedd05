//go:build cuda && cgo

/* The entry points: each jumps to where its slot points, all arguments and the stack as they are. They are hidden,
 * so that libcuda, which calls some of its own functions by name, never meets them. */

#if defined(__x86_64__)
#define JUMP(name) jmp *pelmill_slot_##name(%rip)
#elif defined(__aarch64__)
#define JUMP(name) adrp x16, pelmill_slot_##name; ldr x16, [x16, #:lo12:pelmill_slot_##name]; br x16
#else
#error "the tag cuda needs amd64 or arm64"
#endif

#define SYMBOL(name, real) .globl name; .hidden name; .type name, %function; .balign 16; name: JUMP(name); .size name, .-name;

	.text
#include "symbols.h"

	.section .note.GNU-stack, "", %progbits
