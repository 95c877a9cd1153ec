#!/usr/bin/env bash
# Installs the real servers that tests and measurements use, if they are
# missing: install.sh PROGRAM=PACKAGE …
# On Debian and Ubuntu as root it does so by itself; elsewhere it says what is
# missing and fails.
set -euo pipefail

# Servers are also where only administrators and packages look for them: the
# same places as in the Go files beside this one.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
for bin in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do
	PATH=$PATH:$bin
done

missing=()
for pair in "$@"; do
	command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}")
done
if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	echo "missing: ${missing[*]}" >&2
	echo "install them (on Debian: sudo apt-get install ${missing[*]}) and try again" >&2
	exit 1
fi

install() {
	# A package's own service must not start: tests start private servers.
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod +x "$policy"
		trap 'rm -f "$policy"' EXIT
	fi
	apt install -y -q --no-install-recommends "${missing[@]}"
}

# A fresh machine may be busy with upgrades of its own, which is waited for, and a
# mirror may not answer, which is tried again.
apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
		-o Acquire::Retries=3 -o Acquire::http::Timeout=60 -o Acquire::https::Timeout=60 "$@" </dev/null
}

# apt fails now and then for no reason of ours: fresh lists, and once more.
install || { apt update -q && install; }
