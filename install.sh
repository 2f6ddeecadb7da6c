#!/bin/sh
# Installs git-cowork from a release: the program, its manual, and completions of bash, zsh and fish,
# below ~/.local. Compares what it downloads with the release's SHA256SUMS, and never needs root.
#
#   curl -fsSL https://github.com/git-cowork/git-cowork/releases/latest/download/install.sh | sh
#
#   --version VERSION   install this version [default: the latest release]
#   --prefix DIR        install below this folder [default: ~/.local]
#   --from DIR|URL      where the archives and SHA256SUMS are [default: the release]
set -eu

releases=https://github.com/git-cowork/git-cowork/releases

fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    for hint; do printf 'hint: %s\n' "$hint" >&2; done
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# The name that the archives give to this system.
target() {
    case $(uname -m) in
        x86_64 | amd64) cpu=x86_64 ;;
        aarch64 | arm64) cpu=aarch64 ;;
        *) cpu= ;;
    esac
    case ${cpu:+$(uname -s)} in
        Linux) echo "$cpu-unknown-linux-musl" ;;
        Darwin) echo "$cpu-apple-darwin" ;;
        *)
            fail "there is no archive for $(uname -s) on $(uname -m)" \
                "with a Rust toolchain, in a clone: cargo install --path . --locked"
            ;;
    esac
}

# Copies the file $1 of the release to the temporary folder.
fetch() {
    case $from in
        *://*)
            if has curl; then
                curl -fsSL -o "$temporary/$1" "$from/$1"
            elif has wget; then
                wget -q -O "$temporary/$1" "$from/$1"
            else
                fail "neither curl nor wget is installed, so nothing can be downloaded" \
                    "download $from/$1 in another way, too, then: sh install.sh --from FOLDER"
            fi
            ;;
        *) cp "$from/$1" "$temporary/$1" ;;
    esac || fail "$from/$1 could not be read" "the releases: $releases"
}

main() {
    version= prefix=${HOME:-}/.local from=
    while [ $# -gt 0 ]; do
        case $1 in
            --version | --prefix | --from) [ $# -gt 1 ] || fail "$1 needs a value" ;;
            *) fail "unknown argument '$1'" "sh install.sh [--version VERSION] [--prefix DIR] [--from DIR|URL]" ;;
        esac
        case $1 in
            --version) version=${2#v} ;;
            --prefix) prefix=$2 ;;
            --from) from=${2%/} ;;
        esac
        shift 2
    done
    if [ -z "$from" ]; then
        from=$releases/latest/download
        [ -z "$version" ] || from=$releases/download/v$version
    fi
    if has sha256sum; then
        sums=sha256sum
    elif has shasum; then
        sums='shasum -a 256'
    else
        fail "neither sha256sum nor shasum is installed, so no archive can be checked"
    fi
    target=$(target)
    temporary=$(mktemp -d)
    trap 'rm -rf "$temporary"' EXIT
    trap 'exit 1' HUP INT TERM

    fetch SHA256SUMS
    # A line is a sum, two characters, and a name.
    line=$(grep "  git-cowork-v${version:-[0-9][^ ]*}-$target\.tar\.gz\$" "$temporary/SHA256SUMS" | tail -n 1) ||
        line=
    [ -n "$line" ] || fail "$from has no archive of git-cowork ${version:+$version }for $target" "the releases: $releases"
    archive=${line##* }
    fetch "$archive"
    sum=$($sums <"$temporary/$archive")
    [ "${sum%% *}" = "${line%% *}" ] ||
        fail "$archive is damaged: its SHA-256 is not the one in SHA256SUMS; nothing was installed" "try again"
    tar -xzf "$temporary/$archive" -C "$temporary"
    unpacked=$temporary/${archive%.tar.gz}

    # Beside the old program, which may be running, until it is known that this one runs here.
    mkdir -p "$prefix/bin" "$prefix/share" || fail "$prefix cannot be written to" "sh install.sh --prefix FOLDER"
    prefix=$(cd "$prefix" && pwd)
    trap 'rm -rf "$temporary" "$prefix/bin/.git-cowork.new"' EXIT
    cp "$unpacked/bin/git-cowork" "$prefix/bin/.git-cowork.new"
    runs=$("$prefix/bin/.git-cowork.new" --version) || fail "$archive does not run on this system; nothing was installed"
    mv "$prefix/bin/.git-cowork.new" "$prefix/bin/git-cowork"
    cp -R "$unpacked/share/." "$prefix/share"

    echo "$runs is installed in $prefix/bin, its manual and completions in $prefix/share"
    case $(command -v git-cowork) in
        "$prefix/bin/git-cowork") ;;
        '') echo "to let git find it, add to your shell's startup file: export PATH=\"$prefix/bin:\$PATH\"" ;;
        *) echo "warning: $(command -v git-cowork) comes first in PATH" >&2 ;;
    esac
    case ${SHELL:-} in
        */zsh) echo "completion in zsh, before compinit: fpath=($prefix/share/zsh/site-functions \$fpath)" ;;
    esac
    has git || echo "warning: git is not installed; git-cowork needs git 2.34 or newer" >&2
    echo "try it: git cowork demo"
}

main "$@"
