package dimse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/services"
)

func TestEcho(t *testing.T) {
	r := newRig(t, Options{Title: "PELMILL", Peers: []Peer{{Title: "SCANNER"}, {Title: "ELSEWHERE", Host: "192.0.2.1"}}}, nil, nil)
	for _, c := range []struct {
		calling, called string
		ok              bool
	}{{"SCANNER", "PELMILL", true}, {"NOBODY", "PELMILL", false}, {"ELSEWHERE", "PELMILL", false}, {"SCANNER", "OTHER", false}} {
		if out, ok := dcmtk(t, "echoscu", "-aet", c.calling, "-aec", c.called, "127.0.0.1", r.port); ok != c.ok {
			t.Errorf("echoscu as %s to %s: %v %s", c.calling, c.called, ok, out)
		}
	}
	if out := pynetdicom(t, nil, "echo", r.port, "SCANNER", "PELMILL"); strings.TrimSpace(out) != "0000" {
		t.Errorf("pynetdicom: %s", out)
	}
}

// Everything that pynetdicom's and storescu's users send: the data sets of pydicom's test files that a peer can send, byte
// for byte.
func TestDataSetsOfAllSyntaxesStayAsTheyAre(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(services.Root(t), ".tools/pynetdicom/lib/python*/site-packages/pydicom/data/test_files/*.dcm"))
	if err != nil || len(found) == 0 {
		services.Missing(t, "pydicom's test files are not in .tools/; run make services")
	}
	shared, _ := filepath.Glob("../../../../shared/data/dicom/*.dcm")
	r := newRig(t, Options{}, nil, nil)
	var sent []string
	for _, file := range append(found, shared...) {
		info, err := os.Stat(file)
		if err == nil && info.Size() < 3<<20 && sendable(t, file) {
			sent = append(sent, file)
		}
	}
	if scale() == 1 { // two of each transfer syntax
		sent = slices.DeleteFunc(sent, func() func(string) bool {
			seen := map[string]int{}
			return func(file string) bool {
				data, _ := os.ReadFile(file)
				syntax, _, _ := strings.Cut(dataset(t, data), "\n")
				seen[syntax]++
				return seen[syntax] > 2
			}
		}())
	}
	status := map[string]string{}
	for batch := range slices.Chunk(sent, 60) {
		pynetdicom(t, func(line string) {
			if s, file, ok := strings.Cut(line, " "); ok {
				status[file] = s
			}
		}, append([]string{"store", r.port, "PYNETDICOM", "PELMILL"}, batch...)...)
	}
	got := stored(t, r.dir)
	held, _ := filepath.Glob(r.dir + "/target/.pelmill/quarantine/conflict/*.dcm")
	for _, file := range held {
		data, _ := os.ReadFile(file)
		got[dataset(t, data)]++
	}
	syntaxes := map[string]int{}
	accepted := 0
	for _, file := range sent {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := dataset(t, data)
		syntax, _, _ := strings.Cut(want, "\n")
		switch n := got[want]; {
		case status[file] == "0000" && n != 1:
			t.Errorf("%s was acknowledged and is there %d times", filepath.Base(file), n)
		case status[file] == "0000":
			accepted++
			syntaxes[syntax]++
		case n != 0:
			t.Errorf("%s was answered with %q and is there", filepath.Base(file), status[file])
		default:
			t.Logf("%s: %q", filepath.Base(file), status[file])
		}
	}
	t.Logf("%d of %d files in %d transfer syntaxes: %v", accepted, len(sent), len(syntaxes), syntaxes)
	if accepted < len(sent)*9/10 || len(syntaxes) < 3 {
		t.Errorf("%d of %d files were acknowledged", accepted, len(sent))
	}
}

// sendable reports whether a file has what a peer needs to send it: file meta information with UIDs.
func sendable(t *testing.T, file string) bool {
	data, err := os.ReadFile(file)
	if err != nil || len(data) < 200 || string(data[128:132]) != "DICM" {
		return false
	}
	head := string(data[132:min(len(data), 1000)])
	return strings.Contains(head, "\x02\x00\x02\x00UI") && strings.Contains(head, "\x02\x00\x03\x00UI") && strings.Contains(head, "\x02\x00\x10\x00UI") && !strings.Contains(head, "1.2.840.10008.1.3.10")
}

func TestStorescuStores(t *testing.T) {
	r := newRig(t, Options{}, nil, nil)
	names := files(t, 0, 10, 40)
	for range 2 { // the second time all are duplicates
		if out, ok := dcmtk(t, "storescu", append([]string{"127.0.0.1", r.port}, names...)...); !ok {
			t.Fatalf("storescu: %s", out)
		}
	}
	got := stored(t, r.dir)
	for i := range names {
		if n := got[dataset(t, faults.NewInstance(9, i, 40, 40, patient).Data)]; n != 1 {
			t.Errorf("instance %d is there %d times", i, n)
		}
	}
	if text := trail(t, r.dir); strings.Count(text, `"outcome":"stored"`) != 10 || strings.Count(text, `"outcome":"duplicate"`) != 10 || !strings.Contains(text, `"name":"STORESCU"`) || strings.Contains(text, "MARK") {
		t.Errorf("%s", text)
	}
}

// scale multiplies the counts of what is only worth its time in a benchmark.
func scale() int {
	n, _ := strconv.Atoi(os.Getenv("SCALE"))
	return max(n, 1)
}

// killedAtRandom sends instances with several peers at once until each was acknowledged, while the receiver is killed and
// started again, and checks that every acknowledged instance is there, byte for byte, and none twice.
func killedAtRandom(t testing.TB, p *process, peers []func(files []string, acknowledged func(file string)), names []string, kills int) {
	t.Helper()
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	over := make(chan struct{})
	var killing sync.WaitGroup
	killing.Go(func() {
		for range kills {
			select {
			case <-over:
				return
			case <-time.After(time.Duration(300+rand.IntN(700)) * time.Millisecond):
			}
			p.kill()
			p.start()
		}
	})
	limit := time.Now().Add(time.Duration(5+len(names)/50) * time.Minute)
	var sending sync.WaitGroup
	for i, peer := range peers {
		sending.Go(func() {
			for time.Now().Before(limit) {
				var left []string
				mu.Lock()
				for j, name := range names {
					if j%len(peers) == i && !acknowledged[name] {
						left = append(left, name)
					}
				}
				mu.Unlock()
				if len(left) == 0 {
					return
				}
				peer(left[:min(len(left), 200)], func(file string) {
					mu.Lock()
					acknowledged[file] = true
					mu.Unlock()
				})
			}
		})
	}
	sending.Wait()
	close(over)
	killing.Wait()
	if len(acknowledged) != len(names) {
		t.Errorf("%d of %d instances were acknowledged", len(acknowledged), len(names))
	}
}

func TestKilledAtRandom(t *testing.T) {
	count, kills := 40, 2
	if testing.Short() {
		count, kills = 20, 1
	}
	if n := scale(); n > 1 {
		count, kills = n, max(n/50, kills)
	}
	p := newProcess(t)
	names := files(t, 0, count, 32)
	killedAtRandom(t, p, []func([]string, func(string)){
		func(left []string, acknowledged func(string)) {
			pynetdicom(t, func(line string) {
				if file, ok := strings.CutPrefix(line, "0000 "); ok {
					acknowledged(file)
				}
			}, append([]string{"store", p.port, "PYNETDICOM", "PELMILL"}, left...)...)
		},
		func(left []string, acknowledged func(string)) {
			out, _ := dcmtk(t, "storescu", append([]string{"-v", "127.0.0.1", p.port}, left...)...)
			file := ""
			for line := range strings.Lines(out) {
				if _, name, ok := strings.Cut(line, "Sending file: "); ok {
					file = strings.TrimSpace(name)
				}
				if strings.Contains(line, "Received Store Response (Success)") && file != "" {
					acknowledged(file)
				}
			}
		},
	}, names, kills)
	got := stored(t, p.dir)
	for i := range count {
		if n := got[dataset(t, faults.NewInstance(9, i, 32, 32, patient).Data)]; n != 1 {
			t.Errorf("instance %d is there %d times", i, n)
		}
	}
	if len(got) != count {
		t.Errorf("%d files of %d instances", len(got), count)
	}
	if held, _ := filepath.Glob(p.dir + "/target/.pelmill/quarantine/*/*.dcm"); len(held) != 0 {
		t.Errorf("in quarantine: %q", held)
	}
	if !t.Failed() {
		t.Logf("%d instances, %d kills: all acknowledged, all there, none twice", count, kills)
	}
}

func TestStorageCommitment(t *testing.T) {
	own := fmt.Sprint(services.FreePort(t))
	r := newRig(t, Options{Peers: []Peer{{Title: "SAME"}, {Title: "OTHER", Host: "127.0.0.1", Port: own}}}, nil, nil)
	names := files(t, 0, 3, 16)
	pynetdicom(t, nil, append([]string{"store", r.port, "SAME", "PELMILL"}, names...)...)
	var uids []string
	for i := range names {
		uids = append(uids, faults.NewInstance(9, i, 16, 16, patient).UID)
	}
	for _, c := range []struct {
		title, port string
		uids        []string
		kind        int
		failed      map[string]int
	}{
		{"SAME", "0", uids, 1, map[string]int{}},
		{"SAME", "0", append(slices.Clone(uids), "1.2.3"), 2, map[string]int{"1.2.3": failedMissing}},
		{"OTHER", own, append(slices.Clone(uids), "1.2.3.4"), 2, map[string]int{"1.2.3.4": failedMissing}},
	} {
		out := pynetdicom(t, nil, append([]string{"commit", r.port, c.title, "PELMILL", c.port}, c.uids...)...)
		var got struct {
			Status  int
			Results []struct {
				Type        int
				Transaction string
				Safe        []string
				Failed      map[string]int
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || got.Status != 0 || len(got.Results) != 1 {
			t.Errorf("%s: %s", c.title, out)
			continue
		}
		if g := got.Results[0]; g.Type != c.kind || g.Transaction != "1.2.826.0.1.3680043.10.999.77" || !slices.Equal(g.Safe, uids) || fmt.Sprint(g.Failed) != fmt.Sprint(c.failed) {
			t.Errorf("%s: %s", c.title, out)
		}
	}
	faults.Until(t, time.Minute, "the audit trail", func() bool {
		text := trail(t, r.dir)
		return strings.Count(text, `"outcome":"committed"`) == 9 && strings.Count(text, `"outcome":"failed 0112"`) == 2 && strings.Count(text, `"reason":"reported"`) == 11
	})
}

// Orthanc sends what it has by C-STORE and asks for its commitment, with a UID that is not here; the answers come to it on
// associations of ours.
func TestOrthancSendsAndAsks(t *testing.T) {
	own := services.FreePort(t)
	orthanc := services.Orthanc(t, map[string]int{"PELMILL": own})
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(own)))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, Options{Title: "PELMILL", Listen: l, Peers: []Peer{{Title: "ORTHANC", Host: "127.0.0.1", Port: strconv.Itoa(orthanc.Port)}}}, nil, nil)
	ask := func(method, path string, body, answer any) {
		t.Helper()
		data, ok := body.([]byte)
		if !ok {
			if data, err = json.Marshal(body); err != nil {
				t.Fatal(err)
			}
		}
		request, err := http.NewRequestWithContext(t.Context(), method, orthanc.URL+path, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK || json.Unmarshal(text, answer) != nil {
			t.Fatalf("%s %s: %s, %v: %s\n%s", method, path, response.Status, err, text, orthanc.Output())
		}
	}
	var ids []string
	var references [][2]string
	for i := range 3 {
		in := faults.NewInstance(9, i, 16, 16, patient)
		var stored struct{ ID string }
		ask("POST", "/instances", in.Data, &stored)
		ids, references = append(ids, stored.ID), append(references, [2]string{faults.MRImageStorage, in.UID})
	}
	var sent struct{ InstancesCount, FailedInstancesCount int }
	ask("POST", "/modalities/PELMILL/store", ids, &sent)
	if got := stored(t, r.dir); sent.InstancesCount != 3 || sent.FailedInstancesCount != 0 || len(got) != 3 {
		t.Errorf("%+v, %d files", sent, len(got))
	}
	for kind, wanted := range map[string][][2]string{"Success": references, "Failure": append(slices.Clone(references), [2]string{faults.MRImageStorage, "1.2.3"})} {
		var asked struct{ ID string }
		ask("POST", "/modalities/PELMILL/storage-commitment", map[string]any{"DicomInstances": wanted}, &asked)
		var report struct {
			Status   string
			Success  []any
			Failures []struct{ SOPInstanceUID string }
		}
		faults.Until(t, time.Minute, "the report of "+kind, func() bool {
			report.Success, report.Failures = nil, nil
			ask("GET", "/storage-commitment/"+asked.ID, nil, &report)
			return report.Status != "Pending"
		})
		if report.Status != kind || len(report.Success) != 3 || len(report.Failures) != len(wanted)-3 {
			t.Errorf("want %s: %+v", kind, report)
		}
	}
}
