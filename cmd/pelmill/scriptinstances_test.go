package main

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pelmill/pelmill/internal/faults"
)

// marked is a patient whose texts may be nowhere but in instances.
var marked = faults.Patient{Name: "MARK^NAME", ID: "MARKID", Accession: "MARKACC"}

// instance FILE N writes DICOM instance N of a series of 8.
func instance(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: instance FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), faults.NewInstance(7, n, 96, 64, marked).Data, 0o666))
}

// sendInstances: stow STATUS ADDRESS FILE... sends files to a receiver, once that listens, and compares the status of its answer.
func sendInstances(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: stow STATUS ADDRESS FILE...")
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, name := range args[2:] {
		data, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/dicom"}})
		ts.Check(err)
		part.Write(data)
	}
	ts.Check(w.Close())
	media := fmt.Sprintf(`multipart/related; type="application/dicom"; boundary=%s`, w.Boundary())
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		at := args[1]
		if !strings.Contains(at, "/") {
			at += "/studies"
		}
		res, err := http.Post("http://"+at, media, bytes.NewReader(body.Bytes()))
		switch {
		case err == nil && strconv.Itoa(res.StatusCode) != args[0]:
			ts.Fatalf("status %s, want %s", res.Status, args[0])
		case err == nil:
			res.Body.Close()
			return
		case time.Since(start) > patience:
			ts.Fatalf("%v", err)
		}
	}
}

// metrics ADDRESS prints what is served there.
func metrics(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: metrics ADDRESS")
	}
	res, err := http.Get("http://" + args[0] + "/metrics")
	ts.Check(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	ts.Check(err)
	_, err = ts.Stdout().Write(text)
	ts.Check(err)
}
