#ifndef PELMILL_TABLE_H
#define PELMILL_TABLE_H

#include <stddef.h>

/* What pelmill_open returns where there is no library to ask. */
#define PELMILL_NO_LIBRARY (-1)

/* Loads the library and fills the table. Returns cuInit's status, or PELMILL_NO_LIBRARY with a reason appended to
 * text, which must hold a string in size bytes. Not safe for concurrent use. */
int pelmill_open(const char *library, char *text, size_t size);

/* Launches with packed parameters: bytes at params in the layout of the kernel's parameter list, copied before it
 * returns. size is grid x, y, z, block x, y, z; shared in bytes. */
int pelmill_launch(void *function, const unsigned int size[6], unsigned int shared, void *stream, void *params, size_t bytes);

#endif
