# What the tests of deploy/ start: a Docker daemon with Compose, and a Kubernetes API server. The Makefile includes this
# file. Everything goes into .tools/, nothing is installed system-wide.

COMPOSE             := v2.40.3
# The Kubernetes release of the API server, of kubectl and of the schemas; its staging modules are v0.x of the same x.
KUBERNETES          := v1.36.3
KUBERNETES_VALIDATE := 1.37.0
KUSTOMIZE           := v5.8.1
KUBECONFORM         := v0.8.0
# Modules that bring the definitions of custom resources, each with the folder in it.
KEDA                := v2.21.0
PROMETHEUS_OPERATOR := v0.85.0
CRDS := github.com/kedacore/keda/v2@$(KEDA):config/crd/bases \
        github.com/prometheus-operator/prometheus-operator@$(PROMETHEUS_OPERATOR):example/prometheus-operator-crd
# Debian's packages of the daemon and of what it calls, and of the API server's store.
DOCKER_PACKAGES     := docker.io containerd runc tini iptables libip4tc2 libip6tc2 libnftnl11 libmnl0 libnetfilter-conntrack3 libnfnetlink0 \
                       etcd-server debootstrap

# What tests need that start neither: rendering the manifests and checking them against schemas.
DEPLOY_CHECKS := $(TOOLS)/kustomize-$(KUSTOMIZE) $(TOOLS)/kubeconform-$(KUBECONFORM) $(TOOLS)/kubernetes-validate-$(KUBERNETES_VALIDATE) $(TOOLS)/crds-$(KEDA)-$(PROMETHEUS_OPERATOR)
DEPLOY_DOCKER := $(TOOLS)/docker-debian $(TOOLS)/debian-rootfs.tar $(TOOLS)/compose-$(COMPOSE)
DEPLOY_SERVER := $(TOOLS)/kubernetes-$(KUBERNETES)

$(TOOLS)/kustomize-$(KUSTOMIZE):
	CGO_ENABLED=0 GOBIN=$(TOOLS)/bin go install sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE)
	@rm -f $(TOOLS)/kustomize-*; touch $@

$(TOOLS)/kubeconform-$(KUBECONFORM):
	CGO_ENABLED=0 GOBIN=$(TOOLS)/bin go install github.com/yannh/kubeconform/cmd/kubeconform@$(KUBECONFORM)
	@rm -f $(TOOLS)/kubeconform-*; touch $@

$(TOOLS)/kubernetes-validate-$(KUBERNETES_VALIDATE):
	@python3 -m venv $(TOOLS)/kubernetes-validate && $(TOOLS)/kubernetes-validate/bin/pip install -q kubernetes-validate==$(KUBERNETES_VALIDATE) || \
		{ rm -rf $(TOOLS)/kubernetes-validate; echo "kubernetes-validate not installed: Python 3 with venv and pip is needed"; exit 0; }; \
	rm -f $(TOOLS)/kubernetes-validate-*; touch $@

$(TOOLS)/crds-$(KEDA)-$(PROMETHEUS_OPERATOR):
	@rm -rf $(TOOLS)/crds && mkdir -p $(TOOLS)/crds
	@for c in $(CRDS); do \
		dir=$$(cd $(TOOLS)/crds && go mod download -json $${c%%:*} | sed -n 's/^\t"Dir": "\(.*\)",$$/\1/p'); \
		cp "$$dir/$${c##*:}/"*.yaml $(TOOLS)/crds/; done
	@chmod -R u+w $(TOOLS)/crds; rm -f $(TOOLS)/crds-*; touch $@

# Unpacked, not installed: no service starts and the machine stays as it is.
$(TOOLS)/docker-debian:
	@command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "Docker daemon not installed: Debian's packages are needed"; exit 0; }; \
	rm -rf $(TOOLS)/docker && mkdir -p $(TOOLS)/docker/debs $(TOOLS)/docker/root && cd $(TOOLS)/docker/debs && \
	{ apt-get download -q $(DOCKER_PACKAGES) || { apt-get update -q && apt-get download -q $(DOCKER_PACKAGES); } || \
		{ echo "Docker daemon not installed: its packages cannot be had"; exit 0; }; } && \
	for d in *.deb; do dpkg -x $$d ../root; done && rm -r ../debs && \
	cd ../root/usr/sbin && for n in iptables ip6tables iptables-save iptables-restore; do ln -sf xtables-nft-multi $$n; done && \
	touch $@

# The module excludes versions, so that go install refuses it.
$(TOOLS)/compose-$(COMPOSE):
	@rm -rf $(TOOLS)/build-compose && mkdir -p $(TOOLS)/build-compose $(TOOLS)/docker-config/cli-plugins
	cd $(TOOLS)/build-compose && go mod init compose && go get github.com/docker/compose/v2/cmd@$(COMPOSE) && \
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w -X github.com/docker/compose/v2/internal.Version=$(COMPOSE)' \
		-o $(TOOLS)/docker-config/cli-plugins/docker-compose github.com/docker/compose/v2/cmd
	@rm -rf $(TOOLS)/build-compose $(TOOLS)/compose-*; touch $@

# kube-apiserver and kubectl of one release. k8s.io/kubernetes names its staging modules by folders beside it; the same
# are published under their own names.
KUBE_X := -X k8s.io/component-base/version.gitVersion=$(KUBERNETES) -X k8s.io/component-base/version.gitMajor=1 \
          -X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBERNETES)))
$(TOOLS)/kubernetes-$(KUBERNETES):
	@rm -rf $(TOOLS)/build-kubernetes && mkdir -p $(TOOLS)/build-kubernetes/apiserver $(TOOLS)/build-kubernetes/kubectl
	@cd $(TOOLS)/build-kubernetes && go mod init kubernetes && go mod edit -require k8s.io/kubernetes@$(KUBERNETES) && \
	go mod download k8s.io/kubernetes && \
	for m in $$(sed -n 's|^\t*\(k8s.io/[a-z0-9-]*\) => ./staging/.*|\1|p' "$$(go env GOMODCACHE)/cache/download/k8s.io/kubernetes/@v/$(KUBERNETES).mod"); do \
		go mod edit -replace $$m=$$m@$(KUBERNETES:v1.%=v0.%); done && \
	printf 'package main\n\nimport (\n\t"os"\n\n\t"k8s.io/component-base/cli"\n\t"k8s.io/kubernetes/cmd/kube-apiserver/app"\n)\n\nfunc main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }\n' >apiserver/main.go && \
	printf 'package main\n\nimport (\n\t"os"\n\n\t"k8s.io/component-base/cli"\n\t"k8s.io/kubectl/pkg/cmd"\n)\n\nfunc main() { os.Exit(cli.Run(cmd.NewDefaultKubectlCommand())) }\n' >kubectl/main.go && \
	go mod tidy
	cd $(TOOLS)/build-kubernetes && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w $(KUBE_X)' -o $(TOOLS)/bin/kube-apiserver ./apiserver
	cd $(TOOLS)/build-kubernetes && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w $(KUBE_X)' -o $(TOOLS)/bin/kubectl ./kubectl
	@rm -rf $(TOOLS)/build-kubernetes $(TOOLS)/kubernetes-v*; touch $@

# Debian with a C compiler, for the stand-in of the image golang:1.26-bookworm, which holds both.
$(TOOLS)/debian-rootfs.tar: $(TOOLS)/docker-debian
	@[[ -d $(TOOLS)/docker/root && $$(id -u) == 0 ]] || { echo "stand-in of Debian not made: root is needed"; exit 0; }; \
	site=$$(apt-get indextargets --format '$$(SITE)' 'Created-By: Packages' 'Codename: bookworm' | head -1); dir=$$(mktemp -d); \
	trap 'rm -rf --one-file-system "$$dir"' EXIT; \
	DEBOOTSTRAP_DIR=$(TOOLS)/docker/root/usr/share/debootstrap $(TOOLS)/docker/root/usr/sbin/debootstrap --variant=minbase \
		--include=ca-certificates,gcc,libc6-dev bookworm $$dir "$$site" >$(TOOLS)/debootstrap.log || { tail $(TOOLS)/debootstrap.log; exit 0; }; \
	rm -rf $$dir/var/cache/apt $$dir/var/lib/apt/lists $$dir/usr/share/doc; \
	tar -C $$dir --exclude ./dev --exclude ./proc --exclude ./sys -cf $@.part . && mv $@.part $@
