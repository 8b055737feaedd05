package services

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sys/unix"
)

// Store is a server that speaks a cloud store's protocol.
type Store struct {
	*process
	Endpoint string   // http://127.0.0.1:port
	Env      []string // NAME=value, what a process needs to use URL
	Root     string   // VersityGW: the folder whose sub-folders are the buckets

	url    func(bucket string) string
	create func(bucket string) error
}

// S3 is a Store whose Root holds the objects as files.
type S3 = Store

// URL returns the gocloud URL of a bucket.
func (s *Store) URL(bucket string) string { return s.url(bucket) }

// NewBucket creates a bucket and returns its URL.
func (s *Store) NewBucket(name string) string {
	s.t.Helper()
	if err := s.create(name); err != nil {
		s.t.Fatalf("services: create bucket %s: %v", name, err)
	}
	return s.url(name)
}

func (s *Store) setenv(t testing.TB) {
	for _, e := range s.Env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
}

const (
	s3Key    = "pelmilltest"
	s3Secret = "pelmilltestsecret"
)

// VersityGW starts an S3 server on a folder of the test. A proxy in front of it is reached with S3URL.
func VersityGW(t testing.TB) *S3 {
	t.Helper()
	return VersityGWWith(t)
}

// VersityGWWith is VersityGW with more arguments, such as "--event-webhook-url", "http://127.0.0.1:9400".
func VersityGWWith(t testing.TB, more ...string) *S3 {
	t.Helper()
	path := program(t, "versitygw")
	dir, port := t.TempDir(), FreePort(t)
	addr := "127.0.0.1:" + strconv.Itoa(port)
	args := []string{"--port", addr, "--access", s3Key, "--secret", s3Secret, "--region", "us-east-1", "--quiet", "--health", "/healthz"}
	args = append(append(args, more...), "posix")
	if err := unix.Setxattr(dir, "user.pelmill", []byte("1"), 0); err != nil {
		args = append(args, "--sidecar", t.TempDir())
	}
	s := &Store{Endpoint: "http://" + addr, Root: dir}
	s.Env = []string{"AWS_ACCESS_KEY_ID=" + s3Key, "AWS_SECRET_ACCESS_KEY=" + s3Secret, "AWS_SESSION_TOKEN=", "AWS_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + filepath.Join(dir, ".none"), "AWS_SHARED_CREDENTIALS_FILE=" + filepath.Join(dir, ".none")}
	s.url = func(bucket string) string { return S3URL(s.Endpoint, bucket) }
	s.create = func(bucket string) error {
		c := s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &s.Endpoint, UsePathStyle: true,
			Credentials: credentials.NewStaticCredentialsProvider(s3Key, s3Secret, "")})
		_, err := c.CreateBucket(context.Background(), &s3.CreateBucketInput{Bucket: aws.String(bucket)})
		return err
	}
	s.process = newProcess(t, path, dir, func() error { return answers(s.Endpoint + "/healthz") }, append(args, dir)...)
	s.setenv(t)
	s.Start()
	return s
}

// S3URL returns the gocloud URL of a bucket at an endpoint such as that of a proxy in front of a Store.
func S3URL(endpoint, bucket string) string {
	q := url.Values{"endpoint": {endpoint}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	return "s3://" + bucket + "?" + q.Encode()
}

// FakeGCS starts a server with the protocol of Google Cloud Storage that keeps its objects in memory.
func FakeGCS(t testing.TB) *Store {
	t.Helper()
	path := program(t, "fake-gcs-server")
	addr := "127.0.0.1:" + strconv.Itoa(FreePort(t))
	_, port, _ := strings.Cut(addr, ":")
	s := &Store{Endpoint: "http://" + addr, Env: []string{"STORAGE_EMULATOR_HOST=" + addr}}
	s.url = func(bucket string) string { return "gs://" + bucket }
	s.create = func(bucket string) error {
		body, _ := json.Marshal(map[string]string{"name": bucket})
		resp, err := http.Post(s.Endpoint+"/storage/v1/b?project=pelmill", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(resp.Body)
			return fmt.Errorf("%s: %s", resp.Status, text)
		}
		return nil
	}
	s.process = newProcess(t, path, t.TempDir(), func() error { return answers(s.Endpoint + "/_internal/healthcheck") },
		"-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory", "-public-host", addr, "-external-url", s.Endpoint, "-log-level", "error")
	s.setenv(t)
	s.Start()
	return s
}

// Azurite's account is the same everywhere and public.
const (
	azureAccount = "devstoreaccount1"
	azureKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Azurite starts Microsoft's emulator of Azure Blob Storage with its objects in memory.
func Azurite(t testing.TB) *Store {
	t.Helper()
	path := program(t, "azurite-blob")
	if _, err := exec.LookPath("node"); err != nil {
		Missing(t, "azurite needs node: %v", err)
	}
	port := strconv.Itoa(FreePort(t))
	addr := "127.0.0.1:" + port
	s := &Store{Endpoint: "http://" + addr, Env: []string{"AZURE_STORAGE_ACCOUNT=" + azureAccount, "AZURE_STORAGE_KEY=" + azureKey,
		"AZURE_STORAGE_SAS_TOKEN=", "AZURE_STORAGE_CONNECTION_STRING=", "AZURE_STORAGEBLOB_CONNECTIONSTRING="}}
	s.url = func(bucket string) string {
		q := url.Values{"protocol": {"http"}, "domain": {addr}, "localemu": {"true"}, "storage_account": {azureAccount}}
		return "azblob://" + bucket + "?" + q.Encode()
	}
	s.create = func(bucket string) error {
		cred, err := azblob.NewSharedKeyCredential(azureAccount, azureKey)
		if err != nil {
			return err
		}
		c, err := azblob.NewClientWithSharedKeyCredential(s.Endpoint+"/"+azureAccount, cred, nil)
		if err != nil {
			return err
		}
		_, err = c.CreateContainer(context.Background(), bucket, nil)
		return err
	}
	s.process = newProcess(t, path, t.TempDir(), listening(addr), "--blobHost", "127.0.0.1", "--blobPort", port, "--inMemoryPersistence",
		"--skipApiVersionCheck", "--disableTelemetry", "--silent")
	s.setenv(t)
	s.Start()
	return s
}

// answers reports an error until url is served with success.
func answers(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}
