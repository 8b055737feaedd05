package gpu

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Module is a package's kernels: PTX in one or more variants with the same kernels.
// It is a literal that does not change and is loaded on a card when one of its kernels
// is first asked for.
type Module struct {
	Name     string   // package of the kernels, for messages
	Variants []string // PTX; of those that a card and its driver can run, the one for the highest capability is used
}

// variant is what the head of a PTX text says.
type variant struct {
	text       string
	version    int // of PTX: 63 for 6.3
	capability int // least compute capability: 75 for sm_75
}

var (
	versionLine = regexp.MustCompile(`(?m)^\.version (\d+)\.(\d+)`)
	targetLine  = regexp.MustCompile(`(?m)^\.target sm_(\d+)\b`)
)

// variants returns the module's PTX, the best first.
func (m *Module) variants() ([]variant, error) {
	var list []variant
	for i, text := range m.Variants {
		v, t := versionLine.FindStringSubmatch(text), targetLine.FindStringSubmatch(text)
		if v == nil || t == nil {
			return nil, fmt.Errorf("gpu: module %s: variant %d is no PTX", m.Name, i)
		}
		major, _ := strconv.Atoi(v[1])
		minor, _ := strconv.Atoi(v[2])
		capability, _ := strconv.Atoi(t[1])
		list = append(list, variant{text, 10*major + minor, capability})
	}
	slices.SortStableFunc(list, func(a, b variant) int { return b.capability - a.capability })
	return list, nil
}

// choose returns the variants that a card of the capability and a driver for the CUDA
// version can run, the best first, or why there is none.
func (m *Module) choose(capability, cuda int) ([]variant, error) {
	list, err := m.variants()
	if err != nil {
		return nil, err
	}
	why := fmt.Errorf("kernels need compute capability 7.5, the card has %d.%d: %w", capability/10, capability%10, ErrNoDevice)
	var fit []variant
	for _, v := range list {
		if v.capability > capability {
			continue
		}
		if err := checkPTX(v.version, cuda); err != nil {
			why = err
			continue
		}
		fit = append(fit, v)
	}
	if fit == nil {
		return nil, fmt.Errorf("gpu: module %s: %w", m.Name, why)
	}
	return fit, nil
}

// layout is where a kernel's parameters lie in its packed parameters, in bytes.
type layout struct {
	params []param
	size   int // of all, without padding at the end
	align  int // of the whole: the largest of a parameter
}

type param struct {
	offset, size int
	scalar       bool // no array of bytes
}

var (
	entryLine = regexp.MustCompile(`(?s)\.entry\s+([\w$]+)\s*\((.*?)\)`)
	paramLine = regexp.MustCompile(`\.param\s+(?:\.align\s+(\d+)\s+)?\.([busf])(\d+)(?:\s+\.ptr(?:\s+\.\w+)?(?:\s+\.align\s+\d+)?)?\s+[\w$]+(?:\[(\d+)\])?`)
)

// layouts reads the parameter lists of all kernels of a PTX text. A parameter lies at
// the next multiple of its alignment, which for a scalar is its size ("Kernel Function
// Parameter Attributes" and "Alignment" of the PTX manual).
func layouts(ptx string) (map[string]layout, error) {
	all := make(map[string]layout)
	for _, entry := range entryLine.FindAllStringSubmatch(ptx, -1) {
		name, l := entry[1], layout{align: 1}
		for _, text := range strings.Split(entry[2], ",") {
			if strings.TrimSpace(text) == "" {
				continue
			}
			m := paramLine.FindStringSubmatch(text)
			if m == nil {
				return nil, fmt.Errorf("gpu: kernel %s: cannot read parameter %q", name, strings.TrimSpace(text))
			}
			bits, err := strconv.Atoi(m[3])
			if err != nil || bits != 8 && bits != 16 && bits != 32 && bits != 64 {
				return nil, fmt.Errorf("gpu: kernel %s: parameter of %s bits", name, m[3])
			}
			size, align := bits/8, bits/8
			if m[1] != "" {
				if align, err = strconv.Atoi(m[1]); err != nil || align <= 0 || align&(align-1) != 0 {
					return nil, fmt.Errorf("gpu: kernel %s: parameter aligned to %s", name, m[1])
				}
			}
			if m[4] != "" {
				count, err := strconv.Atoi(m[4])
				if err != nil || count < 1 || count > maxParams {
					return nil, fmt.Errorf("gpu: kernel %s: parameter of %s elements", name, m[4])
				}
				size *= count
			}
			at := (l.size + align - 1) / align * align
			l.params = append(l.params, param{at, size, m[4] == ""})
			l.size, l.align = at+size, max(l.align, align)
			if l.size > maxParams {
				return nil, fmt.Errorf("gpu: kernel %s: more than %d bytes of parameters", name, maxParams)
			}
		}
		all[name] = l
	}
	return all, nil
}

// maxParams is the limit of a kernel's parameters in bytes.
const maxParams = 4096

// CheckParams compares a parameter struct, given as a value or a pointer, with the
// parameter list of a kernel in all variants of a module: as many fields, each where
// the kernel looks for it and as large. A kernel whose only parameter is a struct takes
// the whole. Fields named _ are padding. The struct must hold numbers, [Ptr] and arrays
// and structs of them alone.
func CheckParams(m *Module, kernel string, params any) error {
	t := reflect.TypeOf(params)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return fmt.Errorf("gpu: parameters of %s: %v is no struct", kernel, t)
	}
	for i, text := range m.Variants {
		all, err := layouts(text)
		if err != nil {
			return err
		}
		l, ok := all[kernel]
		if !ok {
			return fmt.Errorf("gpu: module %s: variant %d has no kernel %s", m.Name, i, kernel)
		}
		if err := l.check(t); err != nil {
			return fmt.Errorf("gpu: module %s: variant %d: kernel %s: %w", m.Name, i, kernel, err)
		}
	}
	return nil
}

func (l *layout) check(t reflect.Type) error {
	if len(l.params) == 1 && !l.params[0].scalar && plain(t) {
		// The kernel takes the struct itself.
		if size := l.params[0].size; int(t.Size()) != size {
			return fmt.Errorf("%d bytes for a parameter of %d bytes", t.Size(), size)
		}
		return nil
	}
	n := 0
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" {
			continue
		}
		if !plain(f.Type) {
			return fmt.Errorf("field %s is a %s: a card cannot read it", f.Name, f.Type)
		}
		if n == len(l.params) {
			return fmt.Errorf("field %s has no parameter: the kernel takes %d", f.Name, n)
		}
		if p := l.params[n]; int(f.Offset) != p.offset || int(f.Type.Size()) != p.size {
			return fmt.Errorf("field %s lies at %d, %d bytes; parameter %d at %d, %d bytes",
				f.Name, f.Offset, f.Type.Size(), n, p.offset, p.size)
		}
		n++
	}
	if n != len(l.params) {
		return fmt.Errorf("%d fields for %d parameters", n, len(l.params))
	}
	if !l.fits(int(t.Size())) {
		return fmt.Errorf("%d bytes for %d bytes of parameters", t.Size(), l.size)
	}
	return nil
}

// fits says whether a struct of the size can hold the parameters: they and padding at
// the end.
func (l *layout) fits(size int) bool { return size >= l.size && size < l.size+max(l.align, 8) }

// plain says whether a type is numbers through and through.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return true
	case reflect.Array:
		return plain(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !plain(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}
