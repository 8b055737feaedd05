package worker

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/internal/services"
)

// storedByOrthanc gives results to Orthanc, which must take each one whose source it takes, and give back the same bytes. By
// C-STORE go those whose transfer syntax storescu knows, whose data sets dcmtk writes anew: their pixel data stay the same.
// A pair is the files of a source and of its result, with a tab between them.
func storedByOrthanc(t *testing.T, pairs []string) {
	orthanc := services.Orthanc(t, nil)
	storescu, missing := exec.LookPath("storescu")
	if missing != nil {
		services.Missing(t, "storescu is not installed; make services does it")
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	stored, sent := map[string]int{}, map[string]int{}
	for _, pair := range pairs {
		source, result, _ := strings.Cut(pair, "\t")
		data := read(result)
		meta, err := dicom.ReadMeta(data)
		if err != nil {
			t.Fatal(err)
		}
		id, taken := orthancTakes(t, orthanc.URL, data)
		if !taken {
			if _, taken = orthancTakes(t, orthanc.URL, read(source)); taken {
				t.Errorf("%s: Orthanc takes the source and refuses the result", result)
			}
			continue
		}
		if got := orthancGives(t, orthanc.URL, id); !bytes.Equal(got, data) {
			t.Errorf("%s: Orthanc gives %d other bytes back for %d", result, len(got), len(data))
		}
		stored[meta.Syntax]++
		flag := map[string]string{dicom.JPEG2000: "-xv", dicom.ExplicitLittle: "-xe"}[meta.Syntax]
		if flag == "" || sent[flag] >= 20 {
			continue
		}
		out, err := exec.Command(storescu, "-aec", "ORTHANC", flag, "127.0.0.1", strconv.Itoa(orthanc.Port), result).CombinedOutput()
		if err != nil {
			// Of these storescu does not know the class, or cannot read what the source had already.
			if plain, err := exec.Command(storescu, "-aec", "ORTHANC", "127.0.0.1", strconv.Itoa(orthanc.Port), source).CombinedOutput(); err == nil {
				t.Errorf("%s: storescu sends the source and not the result: %s%s", result, out, plain)
			}
			continue
		}
		sent[flag]++
		if got := orthancGives(t, orthanc.URL, id); !bytes.Equal(pixelsOf(t, got), pixelsOf(t, data)) {
			t.Errorf("%s: other pixel data came by C-STORE", result)
		}
	}
	t.Logf("stored by transfer syntax: %v; sent by storescu: %v", stored, sent)
	if stored[dicom.JPEG2000] < 25 || stored[dicom.HTJ2KRPCL] < 25 || stored[dicom.ExplicitLittle] < 25 || sent["-xv"] < 5 || sent["-xe"] < 5 {
		t.Errorf("Orthanc has stored %v by its API and %v by C-STORE only", stored, sent)
	}
}

// orthancTakes stores a file and gives its name in Orthanc.
func orthancTakes(t *testing.T, url string, data []byte) (id string, taken bool) {
	response, err := http.Post(url+"/instances", "application/dicom", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct{ ID string }
	err = json.NewDecoder(response.Body).Decode(&answer)
	if response.StatusCode != http.StatusOK {
		return "", false
	}
	if err != nil || answer.ID == "" {
		t.Fatalf("Orthanc answers without a name: %v", err)
	}
	return answer.ID, true
}

// orthancGives gets a file.
func orthancGives(t *testing.T, url, id string) []byte {
	response, err := http.Get(url + "/instances/" + id + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", response.Status, err)
	}
	return data
}

// pixelsOf is the element of the pixel data of a file.
func pixelsOf(t *testing.T, file []byte) []byte {
	f, err := dicom.Open(file, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	e := f.PixelElement()
	return f.Set[e.Header:e.End]
}
