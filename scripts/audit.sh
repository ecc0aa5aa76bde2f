#!/usr/bin/env bash
# Checks the dependencies with cargo-deny against deny.toml: licences, bans and sources always,
# security advisories where a database can be had. Says plainly what was not checked.
#
# The database is looked for in this order:
#   1. ADVISORY_DB, a directory with an unpacked copy of the RustSec database
#   2. a snapshot ../shared/advisory-db/rustsec-YYYY-MM-DD.tar.gz beside the checkout
#   3. the network
set -euo pipefail
cd "$(dirname "$0")/.."

deny_version=0.20.2
database_url=https://github.com/RustSec/advisory-db
# cargo-deny looks in its db-path for a git repository of this name, made from the URL.
database_dir=target/advisory-db/advisory-db-3157b0e258782691

if ! command -v cargo-deny >/dev/null; then
    # A debug build of it took 1 min 31 s on two busy cores; a release build takes about 20 min.
    echo "audit: cargo-deny is absent; building version $deny_version"
    cargo install --debug --locked cargo-deny --version "$deny_version"
fi

# The graph covers every target, so packages that this one never builds are needed too.
cargo fetch --locked

# A fault found here does not keep the advisories from being looked at.
status=0
cargo deny --offline check licenses bans sources || status=1

# Makes the unpacked database in a directory the one cargo-deny reads.
use_database() {
    local fresh=$database_dir.fresh
    rm -rf "$fresh"
    mkdir -p "$fresh"
    cp -R "$1/crates" "$fresh"
    if [[ -d "$1/rust" ]]; then cp -R "$1/rust" "$fresh"; fi
    git -C "$fresh" init --quiet
    git -C "$fresh" add --all
    git -C "$fresh" -c user.name=audit -c user.email=audit@localhost -c commit.gpgsign=false \
        commit --quiet --no-verify --message "snapshot"
    rm -rf "$database_dir"
    mv "$fresh" "$database_dir"
}

newest_advisory() {
    grep -rhoE '^date = "[0-9]{4}-[0-9]{2}-[0-9]{2}"' "$database_dir/crates" | sort | tail -n 1 |
        cut -d '"' -f 2
}

# The newest snapshot: the names sort by date.
snapshot=
for file in ../shared/advisory-db/rustsec-*.tar.gz; do
    if [[ -f "$file" ]]; then snapshot=$file; fi
done

if [[ -n "${ADVISORY_DB:-}" ]]; then
    if [[ ! -d "$ADVISORY_DB/crates" ]]; then
        echo "audit: ADVISORY_DB=$ADVISORY_DB holds no database (no directory 'crates')" >&2
        exit 1
    fi
    use_database "$ADVISORY_DB"
    cargo deny --offline check advisories || status=1
    echo "advisories: checked against ADVISORY_DB, newest advisory of $(newest_advisory)"
elif [[ -n "$snapshot" ]]; then
    unpacked=$(mktemp -d)
    trap 'rm -rf "$unpacked"' EXIT
    tar -xzf "$snapshot" -C "$unpacked"
    root=$(dirname "$(find "$unpacked" -maxdepth 2 -type d -name crates | head -n 1)")
    use_database "$root"
    cargo deny --offline check advisories || status=1
    date=$(basename "$snapshot" .tar.gz)
    echo "advisories: checked against the snapshot of ${date#rustsec-}," \
        "newest advisory of $(newest_advisory); later ones are not known here"
elif GIT_TERMINAL_PROMPT=0 timeout 20 git ls-remote --quiet "$database_url" HEAD >/dev/null 2>&1; then
    rm -rf "$database_dir"
    cargo deny check advisories || status=1
    echo "advisories: checked against the database of today"
else
    echo "advisories: NOT checked (no database found)"
fi

exit "$status"
