# SPDX-License-Identifier: Apache-2.0
# The commands of this project; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: molecule scenarios e2e test-all
.PHONY: help venv crds rbac render docs docsite lint test demo demo-down demo-memcached bench compat faults cluster-up cluster-down
.PHONY: install uninstall deploy undeploy op-build op-push op-requirements bundle run

PYTHON := .venv/bin/python
NODE ?= fake
NAME ?= default
OPERATOR ?= deployment
TESTS ?= tests/e2e
IMG ?= matrixorigin/matrixone-ansible-operator:0.2.0
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/.collections
export PATH := $(CURDIR)/.venv/bin:$(PATH)

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: ## create .venv and .collections (also done by the other commands)
	@dev/setup.sh

crds: venv ## generate crds/, and the files in charts/, roles/ and docs/ that depend on crds/schema/
	@$(PYTHON) -m crds.generate

rbac: venv ## generate RBAC roles from deploy/rights.yaml, and the page of the chart values
	@$(PYTHON) -m deploy.generate

render: venv ## print every object that CR=<file> creates, without a cluster
	@$(PYTHON) dev/render.py $(CR)

cluster-up: venv ## start a test bed; NODE=fake|real NAME=<name>
	@$(PYTHON) -m testbed up --nodes $(NODE) --name $(NAME) $(if $(filter real,$(NODE)),--image matrixone)

cluster-down: venv ## delete the test bed NAME=<name>
	@$(PYTHON) -m testbed down --name $(NAME)

demo: venv ## run the demo: from a new machine to a MatrixOne that answers SQL queries, and a backup; S3=1 BACKUP=0 MATRIXONE= MO_SERVICE= MO_VERSION= select (README.md)
	@$(PYTHON) -m demo up

demo-down: venv ## remove everything that the demo has created
	@$(PYTHON) -m demo down

demo-memcached: venv ## run the tutorial operator of examples/memcached on fake nodes
	@$(PYTHON) -m demo.memcached

compat: venv ## play the operator in the folder OPERATOR, beside the Go runner GO_RUNNER if given (compat/README.md)
	@$(PYTHON) -m compat "$(OPERATOR)" $(if $(COLLECTIONS),--collections "$(COLLECTIONS)") $(if $(GO_RUNNER),--go-runner "$(GO_RUNNER)") $(foreach file,$(OBJECT),--object "$(file)")

bench: venv ## run the benchmarks; SCENARIOS= SIZES= PEERS= select (bench/README.md)
	@$(PYTHON) -m bench --scenarios "$(SCENARIOS)" --sizes "$(SIZES)" --peers "$(PEERS)" $(if $(SECONDS_EACH),--seconds $(SECONDS_EACH))

faults: venv ## make faults in the life of every kind; SEED= POINTS= METHODS= KINDS= POINT= select (faults/README.md); LIVE=1 with the real operator
	@$(PYTHON) -m faults$(if $(LIVE),.live) $(if $(SEED),--seed $(SEED)) $(if $(POINTS),--points $(POINTS)) $(if $(SECONDS_EACH),--seconds $(SECONDS_EACH)) $(foreach one,$(METHODS),--method $(one)) $(foreach one,$(KINDS),--kind $(one)) $(if $(POINT),--point '$(POINT)')

install: ## install the CRDs in the cluster in KUBECONFIG
	@deploy/operator.sh install

uninstall: ## delete the CRDs; refused while resources of their kinds exist
	@deploy/operator.sh uninstall

deploy: ## install CRDs and operator; IMG=<image> OVERLAY=default|namespaced|prometheus
	@deploy/operator.sh deploy $(IMG)

undeploy: ## uninstall the operator; refused while resources require it (FORCE=1 overrides)
	@deploy/operator.sh undeploy

op-build: venv ## build the operator's image IMG; BUILDER= PLATFORMS= BASE_IMAGE= ANSIBLE_CORE= (docs/install.md)
	@$(PYTHON) -m image build $(IMG) --builder "$(BUILDER)" --platforms "$(PLATFORMS)" --base "$(BASE_IMAGE)" --ansible-core "$(ANSIBLE_CORE)"

op-push: venv ## push the image IMG to the registry in its name
	@$(PYTHON) -m image push $(IMG) --builder "$(BUILDER)" --platforms "$(PLATFORMS)" --base "$(BASE_IMAGE)" --ansible-core "$(ANSIBLE_CORE)"

bundle: venv ## generate the bundle for the Operator Lifecycle Manager in build/bundle; IMG=<image>
	@$(PYTHON) -m deploy.generate.bundle build/bundle --image "$(IMG)"

op-requirements: venv ## update the pinned Python packages of the image, with their hashes
	@$(PYTHON) -m image requirements

run: venv ## run the operator in the foreground against KUBECONFIG
	@ANSIBLE_GATHERING=explicit ansible-operator run --watches-file watches.yaml --ansible-verbosity 0

docs: venv ## build the documentation into build/docs; warnings are errors
	@dev/docs.sh

docsite: venv ## build the pages of modules, filters and roles into build/docsite, as docs.ansible.com shows them
	@dev/docsite.sh

lint: venv ## run all linters
	@dev/lint.sh

molecule: venv ## run the Molecule scenarios that are supported here; SCENARIOS="default node"
	@dev/molecule.sh $(SCENARIOS)

e2e: venv ## run the end-to-end tests with the operator in the cluster; TESTS=<file> OPERATOR=process
	@$(PYTHON) -m image archive
	@OPERATOR=$(OPERATOR) pytest -m node $(TESTS)

scenarios: venv ## run all of `make e2e`, operator upgrades under traffic, and 200 clusters on fake nodes
	@$(PYTHON) -m dev.gate deployed scenarios wide

test: venv ## the gate: at most 30 minutes on two cores, and what the change touches; STAGES= for some
	@$(PYTHON) -m dev.gate $(STAGES)

test-all: venv ## everything that can run on this machine; SHARD=2/6 for a part of what `make test` does not always run
	@$(PYTHON) -m dev.gate --all $(if $(SHARD),--shard "$(SHARD)")
