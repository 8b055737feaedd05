package vq

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelmill/pelmill/codecs/codec"
)

// start is how training finds its first codebook.
type start string

const (
	startKMeans start = "kmeans++"
	startSplit  start = "split"
)

// Options are the codec's options; see [Codec.Info] for their meaning. The zero
// value is not valid: Codec.Options makes them.
type Options struct {
	block   shape
	n       int
	chroma  int // size of the chroma codebook
	half    bool
	raw     bool
	start   start
	passes  int
	source  string    // "image", "job", "path" or "sha256"
	path    string    // for "path"
	hash    string    // for "sha256"
	books   *bookPair // of the shared codebook, nil until WithAsset
	blockIs bool      // the user named a block
}

// codewords is the size of the codebook of luma (0) or of chroma (1), at most.
func (o *Options) codewords(i int) int {
	if i == 0 {
		return o.n
	}
	return o.chroma
}

var optionInfo = []codec.OptionInfo{
	{Key: "block", Default: "4x4", Values: "2x2, 4x2, 4x4, 8x8", Help: "rows x columns of samples coded as one; of a shared codebook, its own"},
	{Key: "n", Default: "256", Values: "2 to 4096", Help: "codewords of the (luma) codebook"},
	{Key: "chroma-n", Default: "n/4", Values: "2 to 4096", Help: "codewords of the chroma codebook, at least 2"},
	{Key: "chroma", Default: "420", Values: "420, 444", Help: "chroma of RGB pictures at half size each way, or full"},
	{Key: "codebook", Default: "image", Values: "image, job, PATH, sha256:HEX", Help: "trained on each picture, once on a sample of the job, read from a file, or known by its hash"},
	{Key: "index", Default: "rank", Values: "rank, raw", Help: "index table as entropy-coded side-match ranks, or plain"},
	{Key: "train", Default: "kmeans++", Values: "kmeans++, split", Help: "start of the training"},
	{Key: "passes", Default: "16", Values: "1 to 200", Help: "passes of the training, at most"},
}

// Options reads key=value pairs. A later pair of the same key wins.
func (Codec) Options(pairs []string) (codec.Options, error) {
	o := &Options{block: shape{4, 4}, n: 256, half: true, start: startKMeans, passes: 16, source: "image"}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("vq: option %q: want key=value", pair)
		}
		if err := o.set(name, value); err != nil {
			return nil, err
		}
	}
	if o.chroma == 0 {
		o.chroma = max(2, o.n/4)
	}
	return o, nil
}

func (o *Options) set(name, value string) (err error) {
	bad := func(want string) error { return fmt.Errorf("vq: option %s=%s: want %s", name, value, want) }
	switch name {
	case "block":
		b, ok := shapes[value]
		if !ok {
			return bad("2x2, 4x2, 4x4 or 8x8")
		}
		o.block, o.blockIs = b, true
	case "n", "chroma-n":
		v, err := strconv.Atoi(value)
		if err != nil || v < 2 || v > maxCodewords {
			return bad("2 to 4096")
		}
		if name == "n" {
			o.n = v
		} else {
			o.chroma = v
		}
	case "chroma":
		if value != "420" && value != "444" {
			return bad("420 or 444")
		}
		o.half = value == "420"
	case "index":
		if value != "rank" && value != "raw" {
			return bad("rank or raw")
		}
		o.raw = value == "raw"
	case "train":
		if value != string(startKMeans) && value != string(startSplit) {
			return bad("kmeans++ or split")
		}
		o.start = start(value)
	case "passes":
		v, err := strconv.Atoi(value)
		if err != nil || v < 1 || v > 200 {
			return bad("1 to 200")
		}
		o.passes = v
	case "codebook":
		o.path, o.hash = "", ""
		hash, ok := strings.CutPrefix(value, "sha256:")
		switch {
		case value == "":
			return bad("image, job, a path or sha256:HEX")
		case ok:
			if b, err := hex.DecodeString(hash); err != nil || len(b) != 32 || strings.ToLower(hash) != hash {
				return bad("sha256: and 64 lower-case hexadecimal digits")
			}
			o.source, o.hash = "sha256", hash
		case value == "image" || value == "job":
			o.source = value
		default:
			o.source, o.path = "path", value
		}
	default:
		keys := make([]string, len(optionInfo))
		for i, k := range optionInfo {
			keys[i] = k.Key
		}
		return fmt.Errorf("vq: option %q is not known; there are %s", name, strings.Join(keys, ", "))
	}
	return nil
}

var shapes = map[string]shape{"2x2": {2, 2}, "4x2": {4, 2}, "4x4": {4, 4}, "8x8": {8, 8}}

func (s shape) String() string { return fmt.Sprintf("%dx%d", s.p, s.q) }

// String is the canonical form. Options with a shared codebook that is known by
// its hash leave out what only training needs.
func (o *Options) String() string {
	chroma, index := "444", "rank"
	if o.half {
		chroma = "420"
	}
	if o.raw {
		index = "raw"
	}
	if o.source == "sha256" {
		s := fmt.Sprintf("chroma=%s codebook=sha256:%s index=%s", chroma, o.hash, index)
		if o.blockIs {
			s = fmt.Sprintf("block=%s ", o.block) + s
		}
		return s
	}
	source := o.source
	if source == "path" {
		source = o.path
	}
	return fmt.Sprintf("block=%s chroma=%s chroma-n=%d codebook=%s index=%s n=%d passes=%d train=%s",
		o.block, chroma, o.chroma, source, index, o.n, o.passes, o.start)
}

// Want says which codebook is still missing.
func (o *Options) Want() codec.Want {
	switch {
	case o.source == "image" || o.books != nil:
		return codec.Want{}
	case o.source == "job":
		return codec.Want{Trained: true}
	case o.source == "path":
		return codec.Want{Path: o.path}
	}
	return codec.Want{SHA256: o.hash}
}

// WithAsset returns options that use the codebook file data.
func (o *Options) WithAsset(data []byte) (codec.Options, error) {
	hash := assetHash(data)
	if o.source == "sha256" && hash != o.hash {
		return nil, fmt.Errorf("vq: codebook: has sha256 %s, want %s", hash, o.hash)
	}
	books, err := parseAsset(data)
	if err != nil {
		return nil, err
	}
	if o.blockIs && books.luma.shape != o.block {
		return nil, fmt.Errorf("vq: codebook: has blocks of %s, want %s", books.luma.shape, o.block)
	}
	with := *o
	with.source, with.path, with.hash, with.books = "sha256", "", hash, books
	with.block, with.blockIs = books.luma.shape, true
	return &with, nil
}
