#!/bin/sh
# Makes the user of the service and the directory of its data.
set -e
if ! getent passwd svcd >/dev/null; then
	if command -v useradd >/dev/null; then
		useradd --system --user-group --home-dir /var/lib/svcd --no-create-home --shell /usr/sbin/nologin svcd
	else
		addgroup -S svcd
		adduser -S -D -H -h /var/lib/svcd -s /sbin/nologin -G svcd svcd
	fi
fi
install -d -m 0700 -o svcd -g svcd /var/lib/svcd
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart svcd.service # where an older version runs
fi
