# SPDX-License-Identifier: Apache-2.0
# The operator's image, and the image of the runner alone (`--target runner`), on which any Ansible
# operator can be built. The layout of /opt/ansible is that of operator-sdk's base image.
#
#   make op-build IMG=registry.example.com/matrixone-ansible-operator:0.2.0
#
# Python packages are pinned with their hashes. The base image is pinned by its tag; add the digest
# from your registry: BASE_IMAGE=debian:12.11-slim@sha256:… (this file contains no digest because
# no registry was reachable when it was written). The certificate authority of a proxy
# in front of PyPI is passed as the secret `ca`.
#
# The base can also be a Red Hat UBI 9, for projects that install packages with dnf or microdnf. It
# has no tini, which then comes from a Debian image:
#
#   docker build --target runner --build-arg BASE_IMAGE=registry.access.redhat.com/ubi9/ubi:9.6 \
#     --build-arg INIT_IMAGE=debian:12.11-slim -t registry.example.com/ansible-operator:0.2.0-ubi9 .
#
# The image has the ansible-core of the Go runner's image. A variant has a newer one, and is named by it:
#
#   make op-build ANSIBLE_CORE=2.19 IMG=…:0.2.0    builds …:0.2.0-ansible-core-2.19
#
# 2.20 and 2.21 require a base with Python 3.12 or newer: UBI 9, or debian:13.1-slim.
ARG BASE_IMAGE=debian:12.11-slim
ARG INIT_IMAGE=${BASE_IMAGE}

# --- the init process, linked statically
FROM ${INIT_IMAGE} AS init
COPY image/steps/packages.sh /build/steps/
RUN /build/steps/packages.sh init \
 && dpkg-query -W -f '${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n' tini >/build/init.packages

# --- Python packages, with everything that fetches and builds them
FROM ${BASE_IMAGE} AS python
ARG ANSIBLE_CORE=
COPY image/steps/packages.sh /build/steps/
RUN /build/steps/packages.sh build
COPY image/steps/requirements*.txt image/steps/collections.txt image/steps/python.sh /build/steps/
RUN --mount=type=secret,id=ca,target=/run/secrets/ca.crt /build/steps/python.sh "${ANSIBLE_CORE}"

# --- the runner's own package
FROM python AS wheel
COPY image/steps/wheel.sh /build/steps/
COPY pyproject.toml README.md LICENSE /build/runner/
COPY src/ /build/runner/src/
RUN /build/steps/wheel.sh

# --- the collection as released, and its dependency
FROM python AS collection
COPY image/steps/collection.sh image/steps/kubernetes_core.py /build/steps/
COPY . /build/collection/
RUN /build/steps/collection.sh

# --- the runner: base image of any Ansible operator
FROM ${BASE_IMAGE} AS runner
ARG VERSION=0.2.0
ARG REVISION=unknown
ARG ANSIBLE_CORE=
COPY image/steps/*.sh image/steps/sbom.py /build/steps/
RUN /build/steps/packages.sh run && /build/steps/layout.sh
COPY --from=init /usr/bin/tini-static /tini
COPY --from=init /build/init.packages /build/
COPY --from=python /opt/operator/ /opt/operator/
COPY --from=wheel /build/dist/ /build/dist/
RUN /build/steps/runner.sh "${VERSION}"
ENV HOME=/opt/ansible \
    USER_NAME=ansible \
    USER_UID=1001 \
    PATH=/opt/operator/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title="ansible-operator" \
      org.opencontainers.image.description="A fast, drop-in runner for Ansible operators" \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-3.0-or-later" \
      org.opencontainers.image.source="https://github.com/matrixorigin/matrixone-ansible" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      git_commit="${REVISION}" \
      ansible_core="${ANSIBLE_CORE:-2.18}"
WORKDIR /opt/ansible
USER 1001
EXPOSE 6789 8443
ENTRYPOINT ["/tini", "--", "/usr/local/bin/ansible-operator", "run", "--watches-file=./watches.yaml"]

# --- the operator
FROM runner AS operator
COPY --from=collection --chown=1001:0 /opt/ansible/.ansible/collections/ /opt/ansible/.ansible/collections/
COPY --chown=1001:0 watches.yaml /opt/ansible/watches.yaml
ENV ANSIBLE_GATHERING=explicit
LABEL org.opencontainers.image.title="matrixone-operator" \
      org.opencontainers.image.description="Runs the MatrixOne database on Kubernetes"
