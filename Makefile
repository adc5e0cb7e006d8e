# SPDX-License-Identifier: Apache-2.0
# The commands of this project; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: molecule scenarios e2e test-all
.PHONY: help venv crds rbac render docs lint test demo demo-down demo-memcached bench cluster-up cluster-down
.PHONY: install uninstall deploy undeploy op-build op-push op-requirements bundle run

PYTHON := .venv/bin/python
NODE ?= fake
NAME ?= default
OPERATOR ?= deployment
TESTS ?= tests/e2e
IMG ?= matrixorigin/matrixone-operator:0.1.0
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/.collections
export PATH := $(CURDIR)/.venv/bin:$(PATH)

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: ## make .venv and .collections (done by the other commands too)
	@dev/setup.sh

crds: venv ## generate crds/, and all that follows from crds/schema/ in charts/, roles/ and docs/
	@$(PYTHON) -m crds.generate

rbac: venv ## generate the operator's roles and the chart's rules from deploy/rights.yaml, the page of its values, too
	@$(PYTHON) -m deploy.generate

render: venv ## print every object that CR=<file> leads to, without a cluster
	@$(PYTHON) dev/render.py $(CR)

cluster-up: venv ## start a test bed; NODE=fake|real NAME=<name>
	@$(PYTHON) -m testbed up --nodes $(NODE) --name $(NAME) $(if $(filter real,$(NODE)),--image matrixone)

cluster-down: venv ## stop the test bed NAME=<name>
	@$(PYTHON) -m testbed down --name $(NAME)

demo: venv ## from a fresh machine to a MatrixOne that answers SQL
	@$(PYTHON) -m demo up

demo-down: venv ## remove everything that the demo made
	@$(PYTHON) -m demo down

demo-memcached: venv ## the tutorial operator of examples/memcached on fake nodes, start to end
	@$(PYTHON) -m demo.memcached

bench: venv ## measure this runner and its peers; SCENARIOS= SIZES= PEERS= choose (bench/README.md)
	@$(PYTHON) -m bench --scenarios "$(SCENARIOS)" --sizes "$(SIZES)" --peers "$(PEERS)" $(if $(SECONDS_EACH),--seconds $(SECONDS_EACH))

install: ## apply the CRDs to the cluster that KUBECONFIG names
	@deploy/operator.sh install

uninstall: ## remove the CRDs; refused while there are resources of theirs
	@deploy/operator.sh uninstall

deploy: ## CRDs and operator into the cluster; IMG=<image> OVERLAY=default|namespaced|prometheus
	@deploy/operator.sh deploy $(IMG)

undeploy: ## the operator out of the cluster; refused while resources need it (FORCE=1 goes on)
	@deploy/operator.sh undeploy

op-build: venv ## build the operator's image IMG; BUILDER= PLATFORMS= BASE_IMAGE= (docs/install.md)
	@$(PYTHON) -m image build $(IMG) --builder "$(BUILDER)" --platforms "$(PLATFORMS)" --base "$(BASE_IMAGE)"

op-push: venv ## push the image IMG to the registry in its name
	@$(PYTHON) -m image push $(IMG) --builder "$(BUILDER)" --platforms "$(PLATFORMS)" --base "$(BASE_IMAGE)"

bundle: venv ## the bundle for the Operator Lifecycle Manager, in build/bundle; IMG=<image>
	@$(PYTHON) -m deploy.generate.bundle build/bundle --image "$(IMG)"

op-requirements: venv ## pin the image's Python packages anew, with their hashes
	@$(PYTHON) -m image requirements

run: venv ## run the operator in the foreground against KUBECONFIG
	@ANSIBLE_GATHERING=explicit ansible-operator run --watches-file watches.yaml --ansible-verbosity 0

docs: venv ## build the documentation into build/docs; warnings are errors
	@dev/docs.sh

lint: venv ## every linter
	@dev/lint.sh

molecule: venv ## the Molecule scenarios that run here; SCENARIOS="default node"
	@dev/molecule.sh $(SCENARIOS)

e2e: venv ## the end-to-end tests against the operator in the cluster; TESTS=<file> for some, OPERATOR=process for one on this machine
	@$(PYTHON) -m image archive
	@OPERATOR=$(OPERATOR) pytest -m node $(TESTS)

scenarios: venv ## all of `make e2e`, upgrades of the operator under traffic, and 200 clusters on fake nodes
	@$(PYTHON) -m dev.gate binaries deployed scenarios wide

test: venv ## the gate: at most 30 minutes on two cores, and what the change touches; STAGES= for some
	@$(PYTHON) -m dev.gate $(STAGES)

test-all: venv ## everything that can run on this machine
	@$(PYTHON) -m dev.gate --all
