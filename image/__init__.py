# SPDX-License-Identifier: Apache-2.0
"""Building and pushing the operator's image: ``python -m image``.

Docker, podman and buildah all follow the one Dockerfile of the repository. Where there is no
registry to take the base image from, ``BASE_IMAGE=debootstrap`` makes one of Debian's packages.
"""
