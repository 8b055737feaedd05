package stow

import (
	"encoding/json"
	"net/http"

	"github.com/pelmill/pelmill/scheduler/intake/instances"
)

// Failure reasons (0008,1197) of PS3.18, I.2.2.
const (
	reasonProcessing = 0x0110 // 272: the store has failed, or the part is of another kind
	reasonNoSpace    = 0xA700 // 42752: out of resources
	reasonOther      = 0xA900 // 43264: not what was announced, or over a limit
	reasonUnreadable = 0xC000 // 49152: cannot be understood
)

// answer collects what became of the instances of a request.
type answer struct {
	stored []instances.Receipt
	failed []failure
}

type failure struct {
	instances.Receipt
	reason int
}

func (a *answer) fail(rec instances.Receipt, reason int) {
	a.failed = append(a.failed, failure{rec, reason})
}

// attribute is an element in the DICOM JSON model (PS3.18, F.2).
type attribute struct {
	VR    string `json:"vr"`
	Value []any  `json:"Value,omitempty"`
}

type dataset map[string]attribute

// uid is an attribute of VR UI.
func uid(text string) attribute {
	if text == "" {
		return attribute{VR: "UI"}
	}
	return attribute{"UI", []any{text}}
}

// write answers with the Store Instances Response Module (PS3.18, I.2).
func (a *answer) write(rw http.ResponseWriter) {
	status := http.StatusAccepted
	switch {
	case len(a.failed) == 0:
		status = http.StatusOK
	case len(a.stored) == 0:
		status = http.StatusConflict
	}
	all := dataset{"00081190": {VR: "UR"}} // nothing is retrieved from here
	var stored, failed []any
	for _, r := range a.stored {
		stored = append(stored, dataset{"00081150": uid(r.Class), "00081155": uid(r.Instance), "00081190": {VR: "UR"}})
	}
	for _, f := range a.failed {
		failed = append(failed, dataset{"00081150": uid(f.Class), "00081155": uid(f.Instance), "00081197": {"US", []any{f.reason}}})
	}
	if stored != nil {
		all["00081199"] = attribute{"SQ", stored}
	}
	if failed != nil {
		all["00081198"] = attribute{"SQ", failed}
	}
	body, err := json.Marshal(all)
	if err != nil {
		http.Error(rw, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/dicom+json")
	rw.WriteHeader(status)
	rw.Write(body)
}
