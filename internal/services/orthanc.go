package services

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// OrthancServer is an Orthanc: a DICOM server of a hospital that shares nothing with us.
type OrthancServer struct {
	*process
	URL  string // of its REST API
	Port int    // of its associations; its AE title is ORTHANC
}

// Orthanc starts an Orthanc that stores what it is sent as it is. It answers to loopback only: STORESCU may send to it, and
// peers, by name as TITLE and port, are those that it may send to.
func Orthanc(t testing.TB, peers map[string]int) *OrthancServer {
	t.Helper()
	path, dir := program(t, "orthanc"), t.TempDir()
	web, port := FreePort(t), FreePort(t)
	modalities := map[string][]any{"sender": {"STORESCU", "127.0.0.1", port}}
	for title, at := range peers {
		modalities[title] = []any{title, "127.0.0.1", at}
	}
	config, err := json.Marshal(map[string]any{
		"StorageDirectory": filepath.Join(dir, "data"), "IndexDirectory": filepath.Join(dir, "data"), "Plugins": []string{},
		"HttpPort": web, "DicomPort": port, "RemoteAccessAllowed": false, "AuthenticationEnabled": false,
		"DicomAlwaysAllowEcho": false, "DicomAlwaysAllowStore": false, "DicomCheckModalityHost": true, "DicomModalities": modalities,
		"OverwriteInstances": true, "TranscodeDicomProtocol": false,
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "orthanc.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	o := &OrthancServer{URL: "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(web)), Port: port}
	ready := func() error {
		response, err := http.Get(o.URL + "/system")
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%w: %s", errNotReady, response.Status)
		}
		return nil
	}
	o.process = newProcess(t, path, dir, ready, file)
	o.Start()
	return o
}
