#!/usr/bin/env bash
# Installs the CUDA toolkit that the results were measured with, from NVIDIA's packages for Debian 12 on
# x86-64. As root. The driver stays the host's business.
set -euo pipefail
VERSION=13-0
KEYRING=cuda-keyring_1.1-1_all.deb
DIGEST=e7f219eab6fe4819cdb5c15b98233dc3420302d9c00883219cd3d896857cf48d  # all that follows is signed by its key

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends ca-certificates wget >/dev/null
wget -q -P /tmp "https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/$KEYRING"
sha256sum --check --quiet <<<"$DIGEST  /tmp/$KEYRING"
dpkg -i "/tmp/$KEYRING" >/dev/null
rm "/tmp/$KEYRING"
apt-get update -qq
apt-get install -y -qq --no-install-recommends "cuda-toolkit-$VERSION" >/dev/null
