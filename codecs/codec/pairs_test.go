package codec

import (
	"slices"
	"testing"
)

func TestPairsComeBack(t *testing.T) {
	for _, tt := range []struct {
		pairs []string
		text  string
	}{
		{nil, ""},
		{[]string{"a=1"}, "a=1"},
		{[]string{"a=1", "b=x"}, "a=1 b=x"},
		{[]string{"codebook=/my pictures/a.cb", "n=4"}, `codebook=/my\ pictures/a.cb n=4`},
		{[]string{`codebook=C:\books\a.cb`}, `codebook=C:\\books\\a.cb`},
		{[]string{"a=\n", "b=é\t"}, "a=\\\n b=é\\\t"},
	} {
		if got := JoinPairs(tt.pairs); got != tt.text {
			t.Errorf("%q: %q, want %q", tt.pairs, got, tt.text)
		}
		if got := SplitPairs(tt.text); !slices.Equal(got, tt.pairs) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.pairs)
		}
	}
	if got := SplitPairs("  a=1\n b=2 \n"); !slices.Equal(got, []string{"a=1", "b=2"}) {
		t.Errorf("%q", got)
	}
}
