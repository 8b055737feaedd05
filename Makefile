# pelmill: "make help" lists the targets. What tests need is installed into .tools/, which git ignores.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSITYGW := v1.8.0
FAKE_GCS  := v1.56.1
AZURITE   := 3.37.0
NATS      := v2.15.2
GOVULNCHECK := v1.9.0
IMAGECODECS := 2026.3.6
OPENHTJ2K := 0.4.2
PYDICOM   := 3.0.2
PILLOW    := 13.0.0
PYLIBJPEG_OPENJPEG := 2.5.0
PLAYWRIGHT := 1.65.1
AXE       := 4.14.1
SCHEMATHESIS := 4.32.0
MOTO         := 5.2.5
QPID_PROTON  := 0.40.0
PYNETDICOM := 3.0.4
PROMETHEUS := 2.42.0
ORTHANC   := 1.10.1
# Commands that tests run, each with the Debian package that brings it. Only what is missing is installed: a Node.js from
# elsewhere brings npm with it and conflicts with Debian's.
COMMANDS  := gdcmconv:libgdcm-tools clang-19:clang-19 redis-server:redis-server redis-cli:redis-tools node:nodejs npm:npm dwebp:webp cwebp:webp opj_compress:libopenjp2-tools opj_decompress:libopenjp2-tools xz:xz-utils \
             strace:strace pngtopnm:netpbm tiffcp:libtiff-tools identify:imagemagick pngquant:pngquant \
             djpeg:libjpeg-turbo-progs cjpeg:libjpeg-turbo-progs jpegtran:libjpeg-turbo-progs cjxl:libjxl-tools djxl:libjxl-tools gifbuild:giflib-tools chromium:chromium dcmdump:dcmtk storescu:dcmtk echoscu:dcmtk

TOOLS     := $(CURDIR)/.tools
# Packages where goroutines meet; they run once more under the race detector where a C compiler is there, with -short:
# every step and every concurrent path, but smaller images and fewer repetitions, because it makes codecs ten times
# slower. imageio starts no goroutine; one test there calls it from many.
RACE      := $(patsubst %,./%/...,$(wildcard codecs storage queue scheduler worker))
# go test shows why a test was left out with -v only.
TESTLOG   := go run ./internal/testlog
FUZZTIME  ?= 20s
# Packages whose tests mostly wait ask for more tests at once than there are cores, which fuzzing would take over.
FUZZCORES ?= $(shell getconf _NPROCESSORS_ONLN)
# What is instrumented for coverage. After each input all counters of the program are looked at: with those of the clients of
# object stores, which go test -fuzz instruments too, that takes most of the time.
FUZZED    := github.com/pelmill/pelmill/... encoding/... compress/... image/... mime/... net/textproto net/url go.yaml.in/... \
             golang.org/x/image/... github.com/klauspost/compress/... github.com/bmatcuk/doublestar/...
# Go's own engine has a process for each core and gives each input a test of its own. ENGINE=loop executes them in one process,
# seven to twelve times as many a second where a target takes a microsecond or two; it needs Linux.
ifeq ($(ENGINE),loop)
FUZZBUILD  = go run ./internal/fuzzlog overlay $$pkg bin/fuzz/loop && go test -c -tags fuzzloop$(CUDA:yes=,cuda) -overlay bin/fuzz/loop/overlay.json -ldflags=-checklinkname=0 \
             $(FUZZED:%=-gcflags=%=-d=libfuzzer) -gcflags=github.com/pelmill/pelmill/internal/fuzzloop= -o bin/fuzz/ $$pkg
FUZZRUN    = -test.run "^$$target\$$"
else
FUZZBUILD  = go test -c $(GOTAGS) $(FUZZED:%=-gcflags=%=-d=libfuzzer) -o bin/fuzz/ $$pkg
FUZZRUN    = -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzzminimizetime 20x -test.parallel $(FUZZCORES)
endif
BENCHTIME ?= 1s
BENCH     ?= .

# In CI a service that is missing is a failure, elsewhere the test says loudly that it did not run.
ifdef CI
export PELMILL_TEST ?= require
endif

# The client of Google's store comes with what gRPC needs for direct paths and their metrics, which its JSON API never uses: a seventh
# of the program, and a fifth of the time before it does anything.
LEAN      := disable_grpc_modules
GOTAGS    := -tags $(LEAN)

# With a C compiler the program is built with CUDA support, which needs neither a toolkit nor a driver: the
# declarations that gorgonia.org/cu compiles against are ours.
CC        := $(shell go env CC)
CUDA      := $(shell [[ "$$(go env CGO_ENABLED)" == 1 ]] && command -v $(CC) >/dev/null && echo yes)
ifdef CUDA
GOTAGS    := -tags cuda,$(LEAN)
# No flag names this folder, and the linker gives no build ID, which would have the folder in it: builds of one commit are equal
# wherever they are made.
export CGO_CFLAGS ?= -O2
export CPATH := $(CURDIR)/gpu/driver$(CPATH:%=:%)
endif

include deploy/tools.mk

# Packages with kernels, and those that have only benchmarks for cards.
CARDS     := $(patsubst %/,./%,$(sort $(dir $(wildcard gpu/*.cu codecs/*/*.cu internal/*/*.cu internal/container/*/*/*.cu))))
ONCARDS   := ./cmd/pelmill

.PHONY: help build sbom vulnerabilities kernels test test-deploy deploy-tools containers test-gpu gpu-bundle bench-gpu services commands check unit race bench bench-all fuzz chaos corpora clean sizes

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

build: ## bin/pelmill, with CUDA support where a C compiler is there
	go build $(GOTAGS) -trimpath -ldflags -buildid= -o bin/pelmill ./cmd/pelmill

kernels: ## compile the kernels to PTX with clang 19
	PELMILL_KERNELS=write go test -count 1 -run '^TestKernelsAreCompiled$$' $(CARDS)

test: services check unit race containers ## install what tests need, then check and run everything

check: ## format, vet, a build without CGO, and the licences of all modules
	@unformatted=$$(find . -path ./.tools -prune -o -path ./bin -prune -o -name '*.go' -exec gofmt -l {} +); \
	if [[ -n "$$unformatted" ]]; then echo "not in gofmt's format:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	CGO_ENABLED=0 go build ./...
	$(if $(CUDA),go vet $(GOTAGS) ./gpu/... ./codecs/... ./imageio/... ./internal/... ./cmd/...,@echo "NOT TESTED: CUDA support needs a C compiler")
	$(MAKE) sbom

sbom: ## bin/pelmill.cdx.json: what the program is made of, with licences, as a CycloneDX bill of materials
	go run ./internal/sbom cuda,$(LEAN) ./cmd/pelmill bin/pelmill.cdx.json

# It needs the database of vuln.go.dev, which not every machine reaches; so it is not a part of check.
vulnerabilities: ## ask govulncheck about everything that the program calls
	go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK) $(GOTAGS) ./...

# The tag changes the host side of cards, which runs here on a driver that is a fake, and leaves the CPU's code as it is.
# So the codecs' long tests are not run a second time: -short. On a card they run with "make test-gpu".
unit: export PELMILL_FUZZ ?= 20s
unit: ## all tests that need no card; whatever a missing server or program leaves out says so
	go test -json -p 2 -timeout 30m ./... | $(TESTLOG)
	$(if $(CUDA),go test -json $(GOTAGS) -short -p 2 -timeout 30m $(CARDS) ./gpu/begin ./gpu/gputest | $(TESTLOG))

race:
	@if [[ "$$(go env CGO_ENABLED)" == 1 ]] && command -v "$$(go env CC)" >/dev/null; then \
		echo go test -race -short $(RACE); \
		go test -json -race -short -skip '^TestKernelsAreCompiled$$' -p 2 -timeout 20m $(RACE) | $(TESTLOG); \
		go test -race -run '^TestAllFormatsAtOnce$$' ./imageio; \
		go test -race -short -tags cuda -timeout 20m ./gpu/...; \
	else echo "NOT TESTED: the race detector needs a C compiler"; fi

# Where no Docker daemon can run it says so, and does not fail. About five minutes on two cores at first, because the image
# is built from nothing; the rest of test-deploy takes too long for every run.
containers: services $(DEPLOY_DOCKER)
	PELMILL_DEPLOY=compose go test -json -count 1 -timeout 40m -run Compose ./deploy | $(TESTLOG)

deploy-tools: $(DEPLOY_CHECKS) $(DEPLOY_DOCKER) $(DEPLOY_SERVER) ## install what test-deploy starts: a Docker daemon, Compose, a Kubernetes API server

test-deploy: services deploy-tools ## build the images, run a job through docker-compose.yml, apply the manifests to a Kubernetes API server
	PELMILL_DEPLOY=compose,images,architectures,kubernetes go test -json -count 1 -timeout 60m ./deploy | $(TESTLOG)

test-gpu: ## run the tests that need a card, also under compute-sanitizer where it is installed
	PELMILL_GPU=require go test $(GOTAGS) -count 1 -p 1 -timeout 30m $(CARDS)
	@if command -v compute-sanitizer >/dev/null; then $(MAKE) gpu-bundle && bin/gpu-bundle/run sanitize; \
	else echo "NOT TESTED: compute-sanitizer is not installed"; fi

bench-gpu: ## run the benchmarks that need a card, the whole command among them (SCALE=1: 1,200 PNG; BEFORE=FILE: beside an earlier program)
	PELMILL_GPU=require go test $(GOTAGS) -run '^$$' -bench Card -benchtime $(BENCHTIME) -p 1 -timeout 60m $(CARDS) $(ONCARDS)

# The binaries run in folders like those of their packages, with the sources of kernels and what the tests read: the shared
# headers are made of structs and their comments.
gpu-bundle: ## bin/gpu-bundle.tar.gz: tests and benchmarks for a machine with a card and without Go
	@[[ -n "$(CUDA)" ]] || { echo "CUDA support needs a C compiler"; exit 1; }
	rm -rf bin/gpu-bundle
	@mkdir -p bin/gpu-bundle && echo 'module bundle' >bin/gpu-bundle/go.mod # so that ./... does not find the sources below
	@for dir in $(CARDS); do \
		mkdir -p bin/gpu-bundle/$$dir; \
		echo go test -c $(GOTAGS) $$dir; \
		go test -c $(GOTAGS) -ldflags '-s -w' -o bin/gpu-bundle/$$dir/$$(basename $$dir).test $$dir; \
		if grep -q 'func FuzzEncode(' $$dir/*_test.go; then \
			go test -c $(GOTAGS) -fuzz '^FuzzEncode$$' -ldflags '-s -w' -o bin/gpu-bundle/$$dir/$$(basename $$dir).fuzz $$dir; \
		fi; \
		for f in $$dir/testdata $$dir/include $$dir/*.go $$dir/*.cu $$dir/*.cuh $$dir/ptx; do \
			if [[ -e "$$f" ]]; then cp -r "$$f" bin/gpu-bundle/$$dir/; fi; \
		done; \
	done
	@for dir in $(ONCARDS); do \
		mkdir -p bin/gpu-bundle/$$dir; \
		echo go test -c $(GOTAGS) $$dir; \
		go test -c $(GOTAGS) -ldflags '-s -w' -o bin/gpu-bundle/$$dir/$$(basename $$dir).bench $$dir; \
	done
	go build $(GOTAGS) -ldflags '-s -w' -o bin/gpu-bundle/pelmill ./cmd/pelmill
	@for data in kodak graphics volumes; do \
		if [[ -d ../shared/data/$$data ]]; then mkdir -p bin/shared/data && cp -rn ../shared/data/$$data bin/shared/data/; fi; \
	done
	@if [[ -d ../shared/data/jpeg2000 ]]; then mkdir -p bin/shared/data/jpeg2000 && cp ../shared/data/jpeg2000/limits.csv bin/shared/data/jpeg2000/ && \
		xz -dc ../shared/data/jpeg2000/conformance.tar.xz >bin/shared/data/jpeg2000/conformance.tar; fi
	mkdir -p bin/gpu-bundle/testdata && cp -r testdata/images bin/gpu-bundle/testdata/
	install gpu/gputest/run-bundle bin/gpu-bundle/run
	tar -C bin -czf bin/gpu-bundle.tar.gz gpu-bundle $$([[ ! -d bin/shared ]] || echo shared)

services: commands $(TOOLS)/versitygw-$(VERSITYGW) $(TOOLS)/fake-gcs-server-$(FAKE_GCS) $(TOOLS)/azurite-$(AZURITE) $(TOOLS)/nats-server-$(NATS) $(TOOLS)/imagecodecs-$(IMAGECODECS) $(TOOLS)/openhtj2k-$(OPENHTJ2K) $(TOOLS)/pydicom-$(PYDICOM) $(TOOLS)/prometheus-$(PROMETHEUS) $(DEPLOY_CHECKS) $(TOOLS)/playwright-$(PLAYWRIGHT)-$(AXE) $(TOOLS)/schemathesis-$(SCHEMATHESIS) $(TOOLS)/moto-$(MOTO) $(TOOLS)/qpid-proton-$(QPID_PROTON) $(TOOLS)/pynetdicom-$(PYNETDICOM) $(TOOLS)/orthanc-$(ORTHANC) ## install the servers that tests start

commands:
	@missing=; packages=; for c in $(COMMANDS); do \
		command -v $${c%%:*} >/dev/null || { missing+=" $${c%%:*}"; packages+=" $${c##*:}"; }; done; \
	if [[ -z "$$missing" ]]; then exit 0; fi; \
	if [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then \
		export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1; \
		install="apt-get install -y --no-install-recommends$$packages"; \
		$$install || { apt-get update && $$install; }; \
	else \
		echo "missing:$$missing"; \
		echo "install them first; on Debian: sudo apt-get install$$packages"; \
		if [[ "$${PELMILL_TEST:-}" == require ]]; then exit 1; fi; \
	fi

$(TOOLS)/versitygw-$(VERSITYGW):
	CGO_ENABLED=0 GOBIN=$(TOOLS)/bin go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW)
	@rm -f $(TOOLS)/versitygw-*; touch $@

$(TOOLS)/fake-gcs-server-$(FAKE_GCS):
	CGO_ENABLED=0 GOBIN=$(TOOLS)/bin go install github.com/fsouza/fake-gcs-server@$(FAKE_GCS)
	@rm -f $(TOOLS)/fake-gcs-server-*; touch $@

$(TOOLS)/nats-server-$(NATS):
	CGO_ENABLED=0 GOBIN=$(TOOLS)/bin go install github.com/nats-io/nats-server/v2@$(NATS)
	@rm -f $(TOOLS)/nats-server-*; touch $@

$(TOOLS)/azurite-$(AZURITE):
	@if ! command -v npm >/dev/null; then echo "azurite not installed: no npm"; exit 0; fi; \
	npm --prefix $(TOOLS) install --no-audit --no-fund --loglevel error azurite@$(AZURITE) </dev/null; \
	rm -f $(TOOLS)/azurite-*; touch $@

# What drives the browser in tests of the status page, and what judges the page's accessibility.
$(TOOLS)/playwright-$(PLAYWRIGHT)-$(AXE):
	@if ! command -v npm >/dev/null; then echo "playwright-core not installed: no npm"; exit 0; fi; \
	npm --prefix $(TOOLS) install --no-audit --no-fund --loglevel error playwright-core@$(PLAYWRIGHT) axe-core@$(AXE) </dev/null; \
	rm -f $(TOOLS)/playwright-*; touch $@

# OpenJPH, for comparison, in a folder of Python's own.
$(TOOLS)/imagecodecs-$(IMAGECODECS):
	@python3 -m venv $(TOOLS)/imagecodecs && $(TOOLS)/imagecodecs/bin/pip install -q imagecodecs==$(IMAGECODECS) || \
		{ rm -rf $(TOOLS)/imagecodecs; echo "imagecodecs not installed: Python 3.11 or later with venv and pip is needed"; exit 0; }; \
	rm -f $(TOOLS)/imagecodecs-*; touch $@

# OpenHTJ2K's library, which the plugin blosc2-htj2k brings; the rest of the plugin is not used.
$(TOOLS)/openhtj2k-$(OPENHTJ2K): $(TOOLS)/imagecodecs-$(IMAGECODECS)
	@$(TOOLS)/imagecodecs/bin/pip install -q --no-deps blosc2-htj2k==$(OPENHTJ2K) || { echo "OpenHTJ2K not installed"; exit 0; }; \
	rm -f $(TOOLS)/openhtj2k-*; touch $@

# Decoders of what DICOM files hold, for comparison, in a folder of Python's own.
$(TOOLS)/pydicom-$(PYDICOM):
	@python3 -m venv $(TOOLS)/pydicom && $(TOOLS)/pydicom/bin/pip install -q pydicom==$(PYDICOM) numpy==2.4.6 pylibjpeg==2.1.0 \
		pylibjpeg-libjpeg==2.5.0 pylibjpeg-rle==2.2.0 pyjpegls==1.5.1 || \
		{ rm -rf $(TOOLS)/pydicom; echo "pydicom not installed: Python 3.11 or later with venv and pip is needed"; exit 0; }; \
	rm -f $(TOOLS)/pydicom-*; touch $@

# What pydicom reads JPEG 2000 and HTJ2K with.
services: $(TOOLS)/pylibjpeg-openjpeg-$(PYLIBJPEG_OPENJPEG)
$(TOOLS)/pylibjpeg-openjpeg-$(PYLIBJPEG_OPENJPEG): $(TOOLS)/pydicom-$(PYDICOM)
	@$(TOOLS)/pydicom/bin/pip install -q pylibjpeg-openjpeg==$(PYLIBJPEG_OPENJPEG) || { echo "pylibjpeg-openjpeg not installed"; exit 0; }; \
	rm -f $(TOOLS)/pylibjpeg-openjpeg-*; touch $@

# Debian's packages are unpacked, not installed: nothing of them is meant to run by itself.
$(TOOLS)/prometheus-$(PROMETHEUS):
	@if ! command -v apt-get >/dev/null; then echo "prometheus not installed: apt-get is needed"; exit 0; fi; \
	rm -rf $(TOOLS)/prometheus && mkdir -p $(TOOLS)/prometheus $(TOOLS)/bin && cd $(TOOLS)/prometheus; \
	download="apt-get download -q prometheus=$(PROMETHEUS)*"; \
	$$download || { [[ $$(id -u) != 0 ]] || apt-get update; $$download; } || { echo "prometheus $(PROMETHEUS) not installed"; exit 0; }; \
	dpkg -x prometheus_*.deb . && rm prometheus_*.deb; \
	ln -sf ../prometheus/usr/bin/prometheus ../prometheus/usr/bin/promtool $(TOOLS)/bin/; \
	rm -f $(TOOLS)/prometheus-*; touch $@

# Orthanc with those of its libraries that the system does not have, and a program of ours that finds them.
$(TOOLS)/orthanc-$(ORTHANC):
	@if ! command -v apt-get >/dev/null; then echo "orthanc not installed: apt-get is needed"; exit 0; fi; \
	rm -rf $(TOOLS)/orthanc && mkdir -p $(TOOLS)/orthanc $(TOOLS)/bin && cd $(TOOLS)/orthanc; \
	missing() { apt-get install -qq --print-uris --no-install-recommends "orthanc=$(ORTHANC)*" | sed -n 's/^[^ ]* \([^_ ]*\)_.*/\1/p'; }; \
	download() { packages=$$(missing) && apt-get download -q "orthanc=$(ORTHANC)*" $$(sed '/^orthanc$$/d' <<<"$$packages"); }; \
	download || { [[ $$(id -u) != 0 ]] || apt-get update; download; } || { echo "orthanc $(ORTHANC) not installed"; exit 0; }; \
	for package in *.deb; do dpkg -x $$package . && rm $$package; done; \
	printf '%s\n' '#!/bin/sh' 'dir=$$(dirname "$$(readlink -f "$$0")")/../orthanc' 'LD_LIBRARY_PATH=$$(echo "$$dir"/usr/lib/*-linux-gnu) exec "$$dir/usr/sbin/Orthanc" "$$@"' >$(TOOLS)/bin/orthanc; \
	chmod +x $(TOOLS)/bin/orthanc; rm -f $(TOOLS)/orthanc-*; touch $@

# What package corpora compares pictures with, in a folder of Python's own.
services: $(TOOLS)/pillow-$(PILLOW)
$(TOOLS)/pillow-$(PILLOW):
	@python3 -m venv $(TOOLS)/pillow && $(TOOLS)/pillow/bin/pip install -q pillow==$(PILLOW) || \
		{ rm -rf $(TOOLS)/pillow; echo "pillow not installed: Python 3.10 or later with venv and pip is needed"; exit 0; }; \
	rm -f $(TOOLS)/pillow-*; touch $@

# Requests made from the description of the HTTP API, in a folder of Python's own.
$(TOOLS)/schemathesis-$(SCHEMATHESIS):
	@python3 -m venv $(TOOLS)/schemathesis && $(TOOLS)/schemathesis/bin/pip install -q schemathesis==$(SCHEMATHESIS) || \
		{ rm -rf $(TOOLS)/schemathesis; echo "schemathesis not installed: Python 3.10 or later with venv and pip is needed"; exit 0; }; \
	rm -f $(TOOLS)/schemathesis-*; touch $@

# Amazon's queue, and AMQP for a stand-in of Azure's, in folders of Python's own.
$(TOOLS)/moto-$(MOTO):
	@python3 -m venv $(TOOLS)/moto && $(TOOLS)/moto/bin/pip install -q 'moto[server]==$(MOTO)' || \
		{ rm -rf $(TOOLS)/moto; echo "moto not installed: Python 3.10 or later with venv and pip is needed"; exit 0; }; \
	rm -f $(TOOLS)/moto-*; touch $@

$(TOOLS)/qpid-proton-$(QPID_PROTON):
	@python3 -m venv $(TOOLS)/qpid-proton && $(TOOLS)/qpid-proton/bin/pip install -q python-qpid-proton==$(QPID_PROTON) || \
		{ rm -rf $(TOOLS)/qpid-proton; echo "qpid-proton not installed: Python 3.9 or later with venv and pip is needed"; exit 0; }; \
	rm -f $(TOOLS)/qpid-proton-*; touch $@

# Peers that send DICOM instances, in a folder of Python's own.
$(TOOLS)/pynetdicom-$(PYNETDICOM):
	@python3 -m venv $(TOOLS)/pynetdicom && $(TOOLS)/pynetdicom/bin/pip install -q pynetdicom==$(PYNETDICOM) pydicom==$(PYDICOM) || \
		{ rm -rf $(TOOLS)/pynetdicom; echo "pynetdicom not installed: Python 3.10 or later with venv and pip is needed"; exit 0; }; \
	rm -f $(TOOLS)/pynetdicom-*; touch $@

# What the project promises in numbers, in the order of its parts. The large ones run once; they make their own data
# and compare both sides within one run. DICOM comes before those that delete many files: some file systems then take ten
# times as long to create one.
bench: services ## print the promised numbers: search, rate, sizes against cwebp and pngquant, reading against libpng and libjpeg-turbo, listing, JPEG archives against cjxl, pipeline, a million objects, idle nights, readers of the API, small objects on S3 (SCALE=1: 200,000)
	go test -run '^$$' -bench 'Search|Kodak' -benchtime $(BENCHTIME) -timeout 20m ./codecs/vq
	go test -run '^$$' -bench 'Pngquant|Graphics' -benchtime 1x -timeout 20m ./codecs/neuquant
	go test -run '^$$' -bench 'Libpng|Libjpeg|Copies' -benchtime 1x -timeout 20m ./imageio
	go test -run '^$$' -bench 'OpenJPEG|OpenJPH|Sizes' -benchtime 1x -timeout 20m ./codecs/jpeg2000
	go test -run '^$$' -bench Paper -benchtime 1x -timeout 20m ./codecs/jpeg2000/internal/volume
	go test -run '^$$' -bench 'Cwebp|Libwebp' -benchtime 1x -timeout 60m ./codecs/webp
	PELMILL_SIZES=1 go test -run 'Sizes' -v -timeout 20m ./codecs/pcwt
	PELMILL_SIZES=1 go test -run 'SetsOfTheFormat' -v -timeout 20m ./codecs/pcwt/internal/train
	go test -run '^$$' -bench Tables -benchtime 1x -timeout 20m ./codecs/pcwt
	go test -run '^$$' -bench OneCore -benchtime $(BENCHTIME) -timeout 20m ./codecs/pcwt
	go test -run '^$$' -bench DICOM -benchtime 3x -timeout 30m ./worker
	go test -run '^$$' -bench Peers -benchtime 1x -timeout 20m ./codecs/jpegxl
	go test -run '^$$' -bench JPEGArchive -benchtime 1x -timeout 40m ./cmd/pelmill
	go test -run '^$$' -bench Walk80k -benchtime 1x -timeout 20m ./storage
	go test -run '^$$' -bench 'Pipeline|TinyObjects' -benchtime 1x -timeout 30m ./worker
	go test -run '^$$' -bench Series -benchtime 1x -timeout 20m ./worker/series
	go test -run '^$$' -bench BenchmarkCompress -benchtime 1x -timeout 40m ./cmd/pelmill
	go test -run '^$$' -bench 'Million|SecondRun100k|IdleNights|ReportPage' -benchtime 1x -timeout 40m ./scheduler
	go test -run '^$$' -bench Readers -benchtime 1x -timeout 20m ./scheduler/api
	go test -run '^$$' -bench SmallObjects -benchtime 1x -timeout 180m ./cmd/pelmill
	go test -run '^$$' -bench IntakeListing -benchtime 1x -timeout 180m ./cmd/pelmill
	SCALE=1000 go test -run KilledAtRandom -v -timeout 30m ./scheduler/intake/dimse
	go test -run ClientsAtOnceAndKills -v -timeout 10m ./scheduler/intake/stow

sizes: ## print the size of the program as images have it, without each store and without all
	go test -run '^$$' -bench Size -benchtime 1x -timeout 60m ./deploy

bench-all: services ## run every benchmark; BENCH=regexp and BENCHTIME choose
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem -p 1 -timeout 60m ./...

# A target that fails does not keep the others from running; one that does not build, or that is killed, does not say FAIL itself.
# What was done is kept in FUZZ_STATE, ~/.cache/pelmill/fuzz.json by default, so that runs add up; the targets that had the least
# time are first.
fuzz: ## run fuzz targets for FUZZTIME each, print executions and new coverage, and go on where the last run was cut (FUZZ=regexp of "PACKAGE TARGET" FUZZCORES=n ENGINE=loop FUZZ_STATE=file)
	@mkdir -p bin/fuzz
	@go run ./internal/fuzzlog -state "$(FUZZ_STATE)" -only "$(FUZZ)" targets | ( \
		trap 'exit 130' INT; \
		while read -r pkg target; do \
			echo "$$pkg $$target"; \
			( $(FUZZBUILD) && cd "$${pkg#github.com/pelmill/pelmill/}" && \
				"$(CURDIR)/bin/fuzz/$${pkg##*/}.test" $(FUZZRUN) -test.fuzztime $(FUZZTIME) -test.fuzzcachedir "$$(go env GOCACHE)/fuzz/$$pkg" ) </dev/null 2>&1 || [ $$? = 130 ] || echo FAIL; \
		done ) | go run ./internal/fuzzlog -state "$(FUZZ_STATE)" report

# What was done is kept in CHAOS_STATE, ~/.cache/pelmill/chaos.json by default, so that runs add up.
chaos: services ## inject faults for hours, each printed, and go on where the last run ended (CHAOS=row,... SCALE=0.1 CHAOS_TIME=1h CHAOS_STATE=file PELMILL_SEED=n)
	PELMILL_CHAOS="$(or $(CHAOS),all)" SCALE="$(SCALE)" CHAOS_TIME="$(CHAOS_TIME)" CHAOS_STATE="$(CHAOS_STATE)" \
		go test -count 1 -timeout 0 -v -run '^TestChaos$$' ./internal/faults

# Nothing is downloaded but Pillow: the projects lie in FOLDER as owner+name or name, or are named and skipped.
corpora: $(TOOLS)/pillow-$(PILLOW) ## send images of other projects through every codec, and compare with Pillow (CORPORA=FOLDER EVERY=n)
	@[[ -d "$(CORPORA)" ]] || { echo "CORPORA=FOLDER names where the projects of internal/corpora/projects.go lie"; exit 1; }
	PELMILL_CORPORA="$(abspath $(CORPORA))" EVERY="$(EVERY)" go test -count 1 -timeout 0 -v -run '^TestCorpora$$' ./internal/corpora

clean: ## remove what was built and installed
	rm -rf bin $(TOOLS)
