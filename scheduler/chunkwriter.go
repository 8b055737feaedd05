package scheduler

import (
	"fmt"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

const (
	fewestObjects = 16       // of a chunk, unless objects are slow, large or few
	fewestBytes   = 4 << 20  // of a chunk with fewer objects
	chunksPerSlot = 4        // so that the last chunks keep everybody busy
	tail          = 10       // the last so manieth part of a job has finer chunks
	tailFiner     = 4        // by so much
	chunkSeconds  = 60       // of one core that a chunk should take, where known
	partChunks    = 1000     // of a part of chunks
	partBytes     = 16 << 20 // of a part of chunks, compressed; bounds memory

	// chunkText bounds the lines of a chunk, in bytes before JSON escapes some of
	// them, six bytes for one at most: only series come near. jobs.MaxFrameText
	// is what a worker reads.
	chunkText = 8 << 20
)

// chunkObjects is the most objects of a chunk: what the specification says,
// fewer where the job is small for so many slots or where objects are slow. A
// chunk has work for everybody to share: no slot is left without one while another
// one has two objects, and only small objects are taken together beyond that.
func chunkObjects(spec *jobs.Spec, todo jobs.Work, slots int, estimate *jobs.Estimate) int {
	n := int64(spec.ChunkObjects)
	if slots > 0 && todo.Objects > 0 {
		fewest := min(worthwhile(todo), share(todo.Objects, slots))
		n = min(n, max(fewest, share(todo.Objects, slots*chunksPerSlot)))
	}
	if estimate != nil && estimate.CoreSeconds > 0 && todo.Objects > 0 {
		n = min(n, max(1, int64(chunkSeconds*float64(todo.Objects)/estimate.CoreSeconds)))
	}
	return int(n)
}

// worthwhile is how many objects make a chunk that is worth its own requests.
func worthwhile(todo jobs.Work) int64 {
	if todo.Bytes == 0 {
		return fewestObjects
	}
	return min(fewestObjects, (fewestBytes*todo.Objects+todo.Bytes-1)/todo.Bytes)
}

// share is the greatest part of n in so many parts.
func share(n int64, parts int) int64 { return (n + int64(parts) - 1) / int64(parts) }

// chunkWriter divides entries into chunks and writes them in parts, a frame a chunk.
type chunkWriter struct {
	objects int       // of a chunk, at most
	bytes   int64     // of a chunk, at most, unless one object has more
	todo    jobs.Work // in all chunks; zero: not known
	every   int64     // a chunk ends after each so manieth object of the job, so that budgets are kept exactly; 0: does not matter
	put     func(part int, data []byte) error

	chunks []jobs.Chunk
	lines  storage.Lines
	frame  []jobs.Entry
	weight int64 // bytes of the frame's objects
	taken  jobs.Work
	text   int // about the bytes of its lines
	part   int
	inPart int
}

func (c *chunkWriter) add(e jobs.Entry) error {
	size, text := max(e.Size, 0), e.Text()
	objects, bytes := c.limits()
	if len(c.frame) > 0 && (len(c.frame) >= objects || c.weight+size > bytes || c.text+text > chunkText) {
		if err := c.end(); err != nil {
			return err
		}
	}
	c.frame = append(c.frame, e)
	c.weight += size
	c.text += text
	c.taken.Objects++
	c.taken.Bytes += size
	if c.every > 0 && c.taken.Objects%c.every == 0 {
		return c.end()
	}
	return nil
}

// limits are the most objects and bytes of the chunk at work. The last chunks are
// finer, so that nobody has much left when the others have nothing to do.
func (c *chunkWriter) limits() (objects int, bytes int64) {
	objects, bytes = c.objects, c.bytes
	if c.todo.Objects > 0 && c.todo.Objects-c.taken.Objects < c.todo.Objects/tail {
		objects = min(objects, max(objects/tailFiner, int(worthwhile(c.todo))))
	}
	if c.todo.Bytes > 0 && c.todo.Bytes-c.taken.Bytes < c.todo.Bytes/tail {
		bytes = max(1, bytes/tailFiner)
	}
	return objects, bytes
}

// end closes the chunk.
func (c *chunkWriter) end() error {
	if len(c.frame) == 0 {
		return nil
	}
	at, length, err := storage.Frame(&c.lines, c.frame)
	if err != nil {
		return err
	}
	if len(c.chunks) == jobs.MaxChunks {
		return fmt.Errorf("scheduler: the plan would have more than %d chunks; allow more objects or bytes a chunk", jobs.MaxChunks)
	}
	c.chunks = append(c.chunks, jobs.Chunk{Part: c.part, Offset: at, Length: length, Objects: len(c.frame), Bytes: c.weight})
	c.frame, c.weight, c.text = c.frame[:0], 0, 0
	if c.inPart++; c.inPart < partChunks && c.lines.Len() < partBytes {
		return nil
	}
	return c.endPart()
}

func (c *chunkWriter) endPart() error {
	if c.inPart == 0 {
		return nil
	}
	if err := c.put(c.part, c.lines.Bytes()); err != nil {
		return err
	}
	c.part, c.inPart = c.part+1, 0
	c.lines.Reset()
	return nil
}
