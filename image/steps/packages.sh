#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the packages of a purpose into the image that is being built, and nothing else, with the
# package manager of the base image: that of Debian, or dnf or microdnf of a Red Hat UBI 9.
# Usage: packages.sh build|run|init
set -eu

install_deb() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  apt-get -qq install -y --no-install-recommends "$@" >/dev/null
  apt-get clean
  rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt
}

install_rpm() {
  manager=$(command -v dnf || command -v microdnf)
  "$manager" install -y --nodocs --setopt=install_weak_deps=0 "$@"
  "$manager" clean all
  rm -rf /var/cache/dnf /var/cache/yum /var/log/dnf* /var/log/hawkey.log
}

if command -v apt-get >/dev/null; then
  case $1 in
    build) install_deb python3-venv ca-certificates ;;
    run) install_deb python3 ca-certificates ;;
    init) install_deb tini ;;
    *) exit 2 ;;
  esac
elif command -v dnf >/dev/null || command -v microdnf >/dev/null; then
  case $1 in
    build) install_rpm python3.12 python3.12-pip ca-certificates ;;
    run) install_rpm python3.12 ca-certificates ;;
    init) # UBI has no package of it
      echo "packages.sh: there is no tini in UBI; build with --build-arg INIT_IMAGE=debian:12.11-slim" >&2
      exit 1
      ;;
    *) exit 2 ;;
  esac
else
  echo "packages.sh: the base image has neither apt-get nor dnf nor microdnf" >&2
  exit 1
fi
