#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs Debian packages into the image that is being built, and nothing else.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq install -y --no-install-recommends "$@" >/dev/null
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt
