//go:build cuda && cgo

#include "table.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Whether n bytes of a command line, in which a zero ends each word, are those of a compress here that opens all cards there are. What is
 * wrong with the line otherwise is found out in main. */
int pelmill_opens_cards(const char *line, size_t n)
{
	if (n == 0 || line[n - 1] != '\0')
		return 0;
	const char *end = line + n, *word = line + strlen(line) + 1;
	if (word >= end || strcmp(word, "compress") != 0)
		return 0;
	int all = 1; /* cards, by the last --device */
	for (word += strlen(word) + 1; word < end && strcmp(word, "--") != 0; word += strlen(word) + 1) {
		static const char *const others[] = {"--config", "--redis", "--server", "--dry-run", "--help"};
		for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
			if (starts(word, others[i]))
				return 0;
		if (strcmp(word, "-h") == 0)
			return 0;
		const char *device = NULL;
		if (starts(word, "--device="))
			device = strchr(word, '=') + 1;
		else if (strcmp(word, "--device") == 0 && word + strlen(word) + 1 < end)
			device = word += strlen(word) + 1;
		if (device != NULL)
			all = strcmp(device, "auto") == 0 || strcmp(device, "cuda") == 0;
	}
	return all;
}

__attribute__((constructor)) static void begin(void)
{
	static const char *const settings[] = {"PELMILL_CONFIG", "PELMILL_DEVICE", "PELMILL_DRY_RUN", "PELMILL_REDIS", "PELMILL_SERVER"};
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		if (getenv(settings[i]) != NULL)
			return;
	static char line[1 << 14];
	int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	ssize_t n = read(file, line, sizeof line);
	close(file);
	if (n > 0 && (size_t)n < sizeof line && pelmill_opens_cards(line, (size_t)n))
		pelmill_begin("libcuda.so.1");
}
