// Package worker does the work of a job: it takes chunks from the queue and turns
// their objects into results. Without a queue it turns results back into images
// ([Decompress]) and proves a target against its records ([VerifyTarget]).
//
// # The pipeline
//
//	fetch   read the source whole; up to Fetchers at once
//	header  hold it against limits, and wait for the memory that the image takes
//	read    decode the file; a device decodes PNG files in batches while more wait for a core than it takes time for
//	encode  run the codec: on the CPU one image at a time, on a device in batches
//	verify  decode the result and compare it with the image
//	store   create the target, once, proven by its checksum
//	record  one line in the chunk's result shard
//
// Decompress runs the codec to read and makes a picture file to encode; VerifyTarget
// compares what the codec reads with the record, and stores nothing. All three have
// the same limits of memory and time, the same batches and the same attempts.
//
// An object is one goroutine that goes through these stages; a stage is bounded by
// a semaphore, not by a queue. Three bounds belong to the whole process and are
// shared by all its chunks: bytes of files, bytes of images, and cores. An image takes
// one core, the oldest chunk's next, so that chunks end one after the other and the
// next is already warm; what a codec does in parallel inside an image takes the cores
// that no image waits for, see package pool.
//
// # Memory
//
// [Options].Memory is what the whole process may take, within a fifth, also for
// [Decompress] and [VerifyTarget]. Three quarters of it, less 56 MB for the program
// itself, are shared out to objects; the rest is garbage that the collector has not
// reached yet. The program gives the collector what [RuntimeMemory] says
// ([runtime/debug.SetMemoryLimit]); who uses this package elsewhere does so too.
//
// What an object takes is known before anything is decoded: the bytes of its file,
// and the most that one stage holds. Reading takes what the header says
// ([imageio.Header].DecodedBytes), encoding and decoding what the codec says of the
// shape ([codec.Memory]). Where a codec needs less for the samples than for the
// shape, the difference is given back once they are read. Objects wait for their
// share. One that needs more than a share can be, waits until it has everything, and
// one that needs more than there is, is rejected with class limit and the --memory
// that it needs; it is tried again when the job is, on a worker with more. Files and
// images have separate budgets because an object takes the second while it holds
// the first. Buffers of a card are counted with six times the samples of an image.
// With a card a sixteenth of the budget, at most 1 GiB, is set aside for pinned memory that images are
// decoded into and that is used again, see [codec.Run].Alloc; it is the codec's until its call has ended, and then the
// object's whose image lies in it. Another sixteenth is for what cores hold while they check results, where it is enough
// for all cores: then images that wait take no more than they hold. What a check on a core decodes lies in memory that the
// next one uses again; what is idle of that counts as garbage, and the collector takes it as that. With TestOnUse an eighth,
// at most 1 GiB, is set aside for sources whose samples are used where they are in the file (PNM): they are read into
// regions that the device pins while it is opened, and copies from by itself.
//
// With a card, images of one job, also of several chunks, are encoded together, and
// files of one codec are decoded together,
// up to 64 at once. A batch starts when the card has room for it and takes what is
// there and what is being read just then; it never waits for more than 20 ms. With
// Verify "device" its results are decoded there at once. So many chunks are at work
// that small ones fill batches too, and the oldest goes first.
//
// # What becomes of an object
//
// Every object of a chunk gets exactly one [jobs.Result]. What the source is to
// blame for is not tried again. Storage is tried again inside package storage. A
// codec that fails, panics or gives a wrong result is tried a second time, and a
// third time after the other objects, alone on the CPU. A codec that does not end
// within ObjectTimeout costs its object at once: outcome failed, class timeout.
// Where a batch takes too long, or the codec panics with it, each of its objects is
// tried again alone, as one of them is to blame. What a device says against a file that
// is decoded is checked on the CPU.
//
// If a codec does not even heed its context, its goroutine cannot be stopped: it keeps
// its core until it ends, so that there are never more encoders at work than
// allowed, and the worker says on /readyz that it is not ready. When every core, or
// every batch of the device, is lost in this way for [Options].ObjectTimeout and a
// minute, or when objects wait for so long for memory that such calls hold and none is
// given to any, the work ends with [ErrStuck], and the process should be replaced.
//
// What else hangs, where neither the limit of codecs nor that of storage holds, is met by a watchdog: where nothing of a chunk
// moves for ObjectTimeout, 7 minutes and four seconds for each MB of its largest object, and it waits neither for what moves
// elsewhere in the process nor for the limits of its job, the log and /readyz say which objects are in which stage, and the chunk ends
// with a failure, so that it is delivered again. One that has not ended a minute later ends [Worker.Run] with [ErrStuck].
//
// # When the queue does not answer
//
// A chunk whose requests are not answered is put off and is no failure, as long as that lasts. The worker says so on /readyz and
// in a counter. Where it happens to a chunk 30 times in a row its job is blocked with that reason, which its status
// shows, until the scheduler has seen that its stores answer.
//
// # When the target refuses writes
//
// A target that is full, read-only or forbidden blocks the job, see [jobs.Block]:
// the chunk ends without a record of the object, what is encoded at that moment is
// dropped, and chunks of the job are put off until its scheduler lifts the block. A
// key that is forbidden although others can be written is a failed object.
//
// # Metrics
//
// [Worker.Handler] serves for Prometheus, besides those of Go and of the process:
//
//	pelmill_objects_total            objects with a record, by codec, mode, device, outcome, class of error
//	pelmill_bytes_total              bytes in, raw and out
//	pelmill_compression_ratio        of objects
//	pelmill_stage_seconds            time of an object in a stage
//	pelmill_chunk_seconds            time of a chunk
//	pelmill_chunk_inflight           chunks in work
//	pelmill_stuck_encoders           see above
//	pelmill_redis_errors_total       calls to Redis that failed
//	pelmill_chunks_put_off_total     chunks that were put off as the queue did not answer
//	pelmill_chunks_without_progress_total  chunks of which nothing moved and that were given back
//	pelmill_storage_retries_total    operations of storage that were tried again
//	pelmill_gpu_batches_total        batches of images for cards
//	pelmill_gpu_pictures_total       images in them
//	pelmill_gpu_sources_total        images whose source file a card has read
//	pelmill_gpu_compared_total       results that a card has compared with their images, whose samples stayed there
//	pelmill_gpu_digests_total        digests of sources, images and results that a card has made
//	pelmill_gpu_busy_seconds_total   time in which cards had work
//	pelmill_gpu_memory_bytes         memory held on cards
//	pelmill_gpu_out_of_memory_total  parts of batches that did not fit into it
//	pelmill_build_info               version, commit and device
//
// # Without a card
//
// The device "auto" is the CPU where there is no usable card; the log says why,
// once, and [Worker.WhyCPU] does. What does not fit into the memory of a card is
// tried in halves, and image by image on the CPU; the log says each once. A
// driver that hangs while it is opened is an error also with "auto". With TestOnUse a card that is there and does not open,
// and with Presume one that the system shows and the driver does not, ends Run with [gpu.ErrNoDevice]; whoever asked for "auto" goes on with a worker on the CPU.
//
// With TestOnUse the pinned memory through which lanes copy, 32 MiB for each and no more than memory/512, is made while the device is
// opened, and with Codec its kernels are loaded while the lanes begin. Lanes that ask the driver for either keep all others
// from it, and for a module until the kernels that are at work have ended.
//
// # When no object needs the card any more
//
// With OneJob the process ends with its job, and the driver takes 0.1 s to take back what a card holds. So the card is given back when
// the last object of the plan has come from it, while cores check the results. One that fails its check then is made again on the CPU.
// Where a chunk fails or comes again, or another job is seen, the card stays until the end.
//
// # When a card is lost
//
// After an error that NVIDIA calls fatal, or a hang, nothing that the card computes
// can be trusted. The batch is discarded, the chunk handed back, and [Worker.Run]
// returns an error that wraps [gpu.ErrFatal], so that a supervisor starts a new
// process. The worker never goes on quietly on the CPU.
//
// # When a process dies
//
// Before objects enter the codec they are registered in flight at the queue, many in
// one round trip. What
// was in flight when a process died runs after everything else of the chunk, one
// at a time and while no such object of another chunk does in this process. Who is in flight alone at two more deaths is recorded as failed, class
// crash. Without Redis the work goes on without this protection.
//
// Every few seconds the records so far are stored as a partial shard, so that a
// chunk that is delivered again goes on where it stood. The result shard is
// created once; whoever finds one commits its counts, not his own. In a folder, where
// results cannot say whose they are, a line with the name and the SHA-256 of each is
// written before it, so that a later job knows what a killed one left.
//
// # Stopping
//
// When the context of [Worker.Run] ends no more chunks are taken. Chunks have
// Grace to finish; then their objects are cancelled, their records kept as a
// partial shard, and the chunks handed back. No object is ever half written.
//
// # Self-test
//
// [SelfTest] tries a codec on the CPU and on a device. [Worker.Run] tries all of them before it takes the first chunk or,
// with TestOnUse, those of a job when it first sees the job: objects are fetched and read meanwhile, and on a device encoded as
// soon as it is open. What a device makes waits for the test before it is checked and stored; on the CPU objects wait before the
// codec gets them.
package worker
