// Runs the kernel on a CPU: see cpu.h.
//
// Input: how many messages there are, as a word of 32 bits; then for each one the bytes before its data in their first word, the
// number of its blocks, the state of 8 words, and the blocks. Output: the two states of each message, first those of copy 0.
// An access behind the last word of a message ends the program, because no memory is there.

#include "cpu.h"
#include "kernels.cu"

static Message *messages;
static uint32_t *states, count;

int main()
{
	if (fread(&count, 4, 1, stdin) != 1)
		return 1;
	messages = new Message[count];
	states = new uint32_t[2 * count * state_words];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t head[2];
		if (fread(head, 4, 2, stdin) != 2 || fread(states + i * state_words, 4, state_words, stdin) != state_words)
			return 1;
		memcpy(states + (count + i) * state_words, states + i * state_words, 4 * state_words);
		size_t n = (size_t)64 * head[1];
		Guarded *data = new Guarded((head[0] + n + 3) / 4 * 4);
		if (fread(data->at + head[0], 1, n, stdin) != n)
			return 1;
		messages[i].data = (uint8_t *)data->at + head[0];
		messages[i].blocks = head[1];
	}
	body = [] { sha256(messages, states, count); };
	gridDim = {(count + 31) / 32, 2, 1};
	for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
		for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
			run_block(2 * warp_size);
	fwrite(states, 4, 2 * count * state_words, stdout);
	return 0;
}
