package series

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Index is what an object says of its files.
type Index struct {
	Images []int64 `json:"images"` // lengths of the codestreams
	Files  []File  `json:"files"`
}

// File is a file of a series.
type File struct {
	Key     string    `json:"key"`
	ModTime time.Time `json:"mod_time,omitzero"`
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"` // of the file, in lower-case hexadecimal
	Prefix  int64     `json:"prefix"` // bytes before the frames; all of a file that is kept whole
	Suffix  int64     `json:"suffix,omitempty"`
	Pixels  *Pixels   `json:"pixels,omitempty"` // nil: the file is kept whole
}

// Pixels says where the frames of a file are.
type Pixels struct {
	Image  int `json:"image"`
	Slice  int `json:"slice,omitempty"` // of the image, the file's first frame
	Frames int `json:"frames"`
	layout
}

// readIndex reads an index. It takes memory in proportion to maxFiles and maxIndex,
// whatever the text says.
func readIndex(text []byte) (x Index, err error) {
	var lists struct {
		Images json.RawMessage `json:"images"`
		Files  json.RawMessage `json:"files"`
	}
	if err := json.Unmarshal(text, &lists); err != nil {
		return x, err
	}
	if x.Images, err = readList[int64](lists.Images); err != nil {
		return x, err
	}
	x.Files, err = readList[File](lists.Files)
	return x, err
}

// readList reads a list of at most maxFiles values.
func readList[T any](text []byte) (list []T, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("series: no list")
	}
	for d.More() {
		var v T
		if len(list) == maxFiles {
			return nil, fmt.Errorf("series: more than %d values", maxFiles)
		}
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err = d.Token()
	return list, err
}
