package gpu

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// ptx has a parameter list of every kind that compilers write.
const ptx = `// comment
.version 7.0
.target sm_80, debug
.address_size 64
.visible .entry scalars(
	.param .u64 scalars_param_0,
	.param .u8 scalars_param_1,
	.param .u16 scalars_param_2,
	.param .f32 scalars_param_3,
	.param .b64 scalars_param_4
)
.maxntid 256, 1, 1
{
	ld.param.u64 	%rd1, [scalars_param_0];
	ret;
}
.entry none()
{ ret; }
.visible .entry pointers(
	.param .u64 .ptr .global .align 4 pointers_param_0,
	.param .u64 .ptr .align 1 pointers_param_1,
	.param .align 8 .b8 pointers_param_2[20],
	.param .u32 pointers_param_3
)
{ ret; }
.visible .entry whole(
	.param .align 8 .b8 whole_param_0[16]
)
{ ret; }
`

func TestLayoutsFollowAlignment(t *testing.T) {
	all, err := layouts(ptx)
	if err != nil {
		t.Fatal(err)
	}
	for kernel, want := range map[string]string{
		"scalars":  "{[{0 8 true} {8 1 true} {10 2 true} {12 4 true} {16 8 true}] 24 8}",
		"none":     "{[] 0 1}",
		"pointers": "{[{0 8 true} {8 8 true} {16 20 false} {36 4 true}] 40 8}",
		"whole":    "{[{0 16 false}] 16 8}",
	} {
		if got := fmt.Sprint(all[kernel]); got != want {
			t.Errorf("%s: %s, want %s", kernel, got, want)
		}
	}
	if len(all) != 4 {
		t.Errorf("%d kernels", len(all))
	}
}

func TestCheckParamsNamesTheFieldThatIsOff(t *testing.T) {
	m := &Module{Name: "m", Variants: []string{ptx}}
	type scalars struct {
		a Ptr
		b uint8
		c int16
		d float32
		e uint64
	}
	type block struct{ v [5]uint32 }
	for _, c := range []struct {
		kernel string
		params any
		want   string // part of the error, empty: none
	}{
		{"scalars", scalars{}, ""},
		{"scalars", &scalars{}, ""},
		{"none", struct{}{}, ""},
		{"pointers", struct {
			a, b Ptr
			c    block
			d    uint32
		}{}, ""},
		{"scalars", struct {
			a Ptr
			b uint8
			_ [1]uint8
			c int16
			d float32
			e uint64
		}{}, ""},
		{"scalars", struct {
			a Ptr
			b uint8
			c int16
			d float32
			e uint32
		}{}, "field e lies at 16, 4 bytes; parameter 4 at 16, 8 bytes"},
		{"scalars", struct {
			a Ptr
			b uint16
			c int16
			d float32
			e uint64
		}{}, "field b"},
		{"whole", struct {
			a    Ptr
			b, c uint32
		}{}, ""},
		{"whole", struct{ a Ptr }{}, "8 bytes for a parameter of 16 bytes"},
		{"scalars", struct{ a Ptr }{}, "1 fields for 5 parameters"},
		{"none", struct{ a Ptr }{}, "field a has no parameter"},
		{"scalars", struct{ a *byte }{}, "a card cannot read it"},
		{"scalars", struct{ a int }{}, "a card cannot read it"},
		{"other", struct{}{}, "no kernel other"},
		{"scalars", 5, "no struct"},
		{"scalars", nil, "no struct"},
	} {
		err := CheckParams(m, c.kernel, c.params)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %T: %v, want %q", c.kernel, c.params, err, c.want)
		}
	}
}

func TestTheBestVariantThatRunsIsChosen(t *testing.T) {
	v75, v80, v90 := ".version 6.3\n.target sm_75\n", ".version 7.0\n.target sm_80\n", ".version 8.5\n.target sm_90\n"
	m := &Module{Name: "m", Variants: []string{v80, v75, v90}}
	for _, c := range []struct {
		capability, cuda int
		want             string // of the targets, in order
	}{
		{75, 10000, "75"}, {75, 13000, "75"}, {80, 10020, "75"}, {80, 11000, "80 75"},
		{89, 12080, "80 75"}, {120, 13000, "90 80 75"}, {90, 12040, "80 75"}, {70, 13000, ""}, {80, 9020, ""},
	} {
		list, err := m.choose(c.capability, c.cuda)
		var got []string
		for _, v := range list {
			got = append(got, fmt.Sprint(v.capability))
		}
		if s := strings.Join(got, " "); s != c.want || (c.want == "") != errors.Is(err, ErrNoDevice) {
			t.Errorf("capability %d, CUDA %d: %q, %v; want %q", c.capability, c.cuda, s, err, c.want)
		}
	}
	if _, err := (&Module{Name: "m", Variants: []string{"no PTX"}}).choose(75, 12000); err == nil {
		t.Error("text that is no PTX: no error")
	}
}

func FuzzLayouts(f *testing.F) {
	f.Add(ptx)
	f.Add(selfTestPTX)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := layouts(text)
		if err != nil {
			return
		}
		for name, l := range all {
			end := 0
			for _, p := range l.params {
				if p.offset < end || p.size <= 0 {
					t.Fatalf("%s: %v", name, l)
				}
				end = p.offset + p.size
			}
			if end != l.size || l.size > maxParams {
				t.Fatalf("%s: %v", name, l)
			}
		}
	})
}
