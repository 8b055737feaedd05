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

/* What the environment asks of the driver where it says nothing. */
#define PELMILL_MODULE_LOADING "EAGER"
#define PELMILL_COPY_CONNECTIONS "2"

/* Starts the driver and makes the contexts of all cards that it shows, beside the caller: before the Go runtime starts, which takes as
 * long as cuInit. Called once, from a constructor, while there is no other thread that reads the environment. library stays valid. Errors
 * are those of pelmill_open and of whoever makes a context later. */
void pelmill_begin(const char *library);

/* Whether pelmill_begin was called and has got a thread. */
int pelmill_begun(void);

/* Waits for what pelmill_begin does with a card, and gives its reference to the card's primary context to the caller: 1 the first time, if
 * there is one. */
int pelmill_held(int card);

#endif
