// Runs the kernels for pictures on a CPU: see cpu.h.
//
// Input: how many pictures there are, as a word of 32 bits, and how many checksums each has; then for each one how many bytes of
// samples and how many blocks it has, the state of 8 words, the frame of 64 * blocks - bytes, and the samples. Output: the two states
// of each message, first those of copy 0, and the checksums. An access behind the end of a message or a frame ends the program,
// because no memory is there.

#include "cpu.h"
#include "kernels.cu"

static Message *messages;
static Picture *pictures;
static uint32_t *states, *crcs, head[2];

static void run_grid(uint32_t x, uint32_t y, uint32_t threads)
{
	gridDim = {x, y, 1};
	for (blockIdx.y = 0; blockIdx.y < y; blockIdx.y++)
		for (blockIdx.x = 0; blockIdx.x < x; blockIdx.x++)
			run_block(threads);
}

int main()
{
	if (fread(head, 4, 2, stdin) != 2)
		return 1;
	uint32_t count = head[0];
	messages = new Message[count];
	pictures = new Picture[count];
	states = new uint32_t[2 * count * state_words];
	crcs = new uint32_t[count * head[1]];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t size[2];
		if (fread(size, 4, 2, stdin) != 2 || fread(states + i * state_words, 4, state_words, stdin) != state_words)
			return 1;
		memcpy(states + (count + i) * state_words, states + i * state_words, 4 * state_words);
		size_t n = (size_t)64 * size[1];
		Guarded *message = new Guarded(n), *frame = new Guarded((n - size[0] + 3) / 4 * 4);
		if (fread(frame->at, 1, n - size[0], stdin) != n - size[0] || fread(message->at + head_bytes, 1, size[0], stdin) != size[0])
			return 1;
		messages[i] = {(uint8_t *)message->at, size[1]};
		pictures[i] = {(uint8_t *)message->at, (uint8_t *)frame->at, size[0], size[1]};
	}
	body = [] { picture_frame(pictures); };
	run_grid(1, count, warp_size);
	body = [] { picture_crc(pictures, crcs); };
	run_grid(head[1], count, crc_threads);
	body = [] { sha256(messages, states, head[0]); };
	run_grid((count + 31) / 32, 2, 2 * warp_size);
	fwrite(states, 4, 2 * count * state_words, stdout);
	fwrite(crcs, 4, count * head[1], stdout);
	return 0;
}
