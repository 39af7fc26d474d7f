#!/bin/sh
# The data stays until the package is purged.
set -e
if [ "$1" = purge ]; then
	rm -rf /var/lib/svcd /etc/svcd
	! getent passwd svcd >/dev/null || userdel svcd
fi
[ ! -d /run/systemd/system ] || systemctl daemon-reload
