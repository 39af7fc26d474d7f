#!/bin/sh
# Writes what packages and archives have besides the program: completions and the
# manual page, which the program makes of its flags.
set -eu
cd "$(dirname "$0")"
mkdir -p generated
go build -o generated/svcd ../../cmd/svcd
generated/svcd completion bash >generated/svcd.bash
generated/svcd completion zsh >generated/_svcd
generated/svcd completion fish >generated/svcd.fish
generated/svcd man >generated/svcd.1
rm generated/svcd
