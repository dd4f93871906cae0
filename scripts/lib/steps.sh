# The steps of scripts/setup and what the other scripts share. A script sources this file first, which makes the
# repository's root its working folder. A step that fails prints what failed, why, and how to fix it.

script=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
cache_dir=${XDG_CACHE_HOME:-$HOME/.cache}/attnscope/wheels
sysroot=$PWD/.deps/debian

say() { printf '%s\n' "$*" >&2; }

# help_for "$@": if the first argument is -h or --help, prints the comment at the top of the script and exits.
help_for() {
  case ${1-} in
    -h|--help) awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$script"; exit 0 ;;
  esac
}

# stop WHAT FIX: prints both as one line and exits.
stop() {
  say "$(basename "$0"): $1. $2."
  exit 1
}

# logged NAME WHAT FIX COMMAND...: runs COMMAND with its output in .deps/logs/NAME.log. If it fails, prints the last
# lines of the log and stops.
logged() {
  local name=$1 what=$2 fix=$3 log
  shift 3
  mkdir -p .deps/logs
  log=.deps/logs/$name.log
  if ! "$@" > "$log" 2>&1; then
    tail -n 15 "$log" >&2
    stop "$what failed (whole log: $log)" "$fix"
  fi
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo --preserve-env=DEBIAN_FRONTEND "$@"
  fi
}

# provided_without_root PACKAGE: succeeds if what the package provides is there, from whatever source.
provided_without_root() {
  case $1 in
    g++) command -v g++ >/dev/null ;;
    cmake) command -v cmake >/dev/null ;;
    ninja-build) command -v ninja >/dev/null ;;
    python3) command -v python3 >/dev/null ;;
    python3-pip) python3 -m pip --version >/dev/null 2>&1 ;;
    git) command -v git >/dev/null ;;
    ccache|ca-certificates) true ;;
    *-dev) [ -e "$sysroot/.have/$1" ] ;;
    *) false ;;
  esac
}

install_packages() {
  local root=$1
  shift
  if [ "$root" = no ]; then
    unpack_packages "$@"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || stop "these Debian packages are missing, and sudo is not installed: $*" \
      "Run scripts/setup as root, or with --headless --no-root"
    [ -t 0 ] || sudo -n true 2>/dev/null || stop "sudo asks for a password, but there is no terminal" \
      "Run scripts/setup from a terminal, as root, or with --headless --no-root"
  fi
  say "Installing $# Debian packages ..."
  export DEBIAN_FRONTEND=noninteractive
  logged apt-update "apt-get update" "Check the network and /etc/apt/sources.list" as_root apt-get update
  logged apt-install "apt-get install" "Check the free disk space (df -h /) and that no other apt is running, then repeat" \
    as_root apt-get install -y --no-install-recommends "$@"
}

# Without root: downloads packages with apt, using lists and a cache in .deps/apt, and unpacks them into .deps/debian.
# This works for libraries only; a compiler, CMake, Ninja and Python must be there already.
unpack_packages() {
  local package tools=()
  for package in "$@"; do
    case $package in
      qt6-*) stop "$package, which the window needs, cannot be installed without root" \
        "Add --headless to build only the command line, or ask an administrator to install the package" ;;
      *-dev) ;;
      *) tools+=("$package") ;;
    esac
  done
  [ ${#tools[@]} -eq 0 ] || stop "these programs cannot be installed without root: ${tools[*]}" \
    "Put them on PATH first (cmake and ninja are also on PyPI: python3 -m pip install --user cmake ninja; the compiler must be the system's)"
  local apt=$PWD/.deps/apt
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$sysroot/.have"
  local options=(-o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt" -o "Dir::Cache::archives=$apt/archives"
                 -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)")
  say "Unpacking $# Debian packages into .deps/debian ..."
  logged apt-update "apt-get update (without root)" "Check the network and /etc/apt/sources.list" \
    apt-get "${options[@]}" update
  local with_runtime=("$@")
  mapfile -t -O $# with_runtime < <(scripts/lib/packages runtime)
  (cd "$apt/archives" && logged_here apt-download apt-get "${options[@]}" download "${with_runtime[@]}") ||
    stop "downloading Debian packages failed" "Check the network; see .deps/logs/apt-download.log"
  for package in "$apt"/archives/*.deb; do
    dpkg-deb -x "$package" "$sysroot" || stop "unpacking $package failed" "Check the free disk space, then repeat"
  done
  for package in "$@"; do touch "$sysroot/.have/$package"; done
  rm -rf "$apt"
}

# logged_here NAME COMMAND...: as `logged`, in a folder that was entered from the root; returns 1 if COMMAND fails.
logged_here() {
  local log=$OLDPWD/.deps/logs/$1.log
  shift
  "$@" > "$log" 2>&1 || { tail -n 15 "$log" >&2; return 1; }
}

install_libtorch() {
  mkdir -p "$cache_dir"
  if ! wheels_are_cached; then
    say "Fetching LibTorch ..."
    local download="$cache_dir/download.$$"
    mkdir -p "$download"
    logged libtorch "fetching LibTorch" "Check the network and the free disk space (1 GB in $cache_dir), then repeat" \
      python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes --python-version 3.11 \
      --implementation cp --abi cp311 --abi none --platform manylinux_2_28_x86_64 \
      --platform manylinux_2_25_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
      --dest "$download" -r scripts/lib/libtorch.txt
    local wheel hash
    for wheel in "$download"/*.whl; do
      hash=$(sha256sum "$wheel" | cut -d' ' -f1)
      mv "$wheel" "$cache_dir/$hash.whl"
    done
    rmdir "$download"
  fi
  say "Unpacking LibTorch into .deps/ ..."
  logged libtorch-unpack "unpacking LibTorch" "Check the free disk space (0.6 GB here), then repeat" \
    python3 scripts/lib/unpack_libtorch.py scripts/lib/libtorch.txt "$cache_dir" .deps/libtorch "$1"
}

wheels_are_cached() {
  local hash
  for hash in $(sed -n 's/.*sha256://p' scripts/lib/libtorch.txt); do
    [ -f "$cache_dir/$hash.whl" ] || return 1
  done
}

build_preset() {
  local preset=$1 options=()
  shift
  command -v cmake >/dev/null || stop "cmake is not on PATH" "python3 -m pip install --user cmake ninja, or install it"
  [ ! -d "$sysroot" ] || options+=("-DCMAKE_PREFIX_PATH=$sysroot/usr")
  # A compiler job of a source that includes LibTorch takes about 0.7 GB.
  local jobs memory_gb
  jobs=$(nproc)
  memory_gb=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  [ "$jobs" -le $((memory_gb + 1)) ] || jobs=$((memory_gb + 1))
  logged "configure-$preset" "configuring the build" "The lines above show what is missing" \
    cmake --preset "$preset" "${options[@]}"
  if command -v nvcc >/dev/null && grep -q '^ATTNSCOPE_CUDA:.*=AUTO' "build/$preset/CMakeCache.txt" &&
     grep -q 'CUDA is left out' ".deps/logs/configure-$preset.log"; then
    say "nvcc is here but no GPU: CUDA is left out (cmake --preset $preset -DATTNSCOPE_CUDA=ON builds it for sm_80 and sm_90)."
  fi
  shown "build-$preset" "$preset, $jobs jobs" cmake --build --preset "$preset" -j "$jobs" --target "$@" ||
    stop "building failed (whole log: .deps/logs/build-$preset.log)" "If the compiler was killed, free some memory and repeat"
}

# shown NAME WHAT COMMAND...: runs a build with its log in .deps/logs/NAME.log and shows its progress (progress.py).
shown() {
  local name=$1 what=$2
  shift 2
  mkdir -p .deps/logs
  NINJA_STATUS='[%f/%t] ' "$@" 2>&1 | tee ".deps/logs/$name.log" | python3 scripts/lib/progress.py "$what" >&2
  return "${PIPESTATUS[0]}"
}

can_make_root() {
  [ "$(id -u)" -eq 0 ] || stop "only root can create a bare Debian" "Repeat with sudo"
  command -v debootstrap >/dev/null || stop "debootstrap is missing" "apt-get install debootstrap"
}

# make_root RELEASE ROOT: installs a bare Debian in the folder ROOT, with this machine's name servers and local
# certificate authorities.
make_root() {
  can_make_root
  mkdir -p "$2"
  say "Installing a bare $1 in $2 ..."
  logged "debootstrap-$1" "debootstrap" "Check the network; ATTNSCOPE_MIRROR sets another mirror" \
    debootstrap --variant=minbase "$1" "$2" "${ATTNSCOPE_MIRROR:-http://deb.debian.org/debian}"
  cp -L /etc/resolv.conf "$2/etc/"
  mkdir -p "$2/usr/local/share/ca-certificates"
  cp -rL /usr/local/share/ca-certificates "$2/usr/local/share/" 2>/dev/null || true
}

# in_root ROOT COMMAND...: runs COMMAND in ROOT, with none of this environment's variables. /proc, /sys and /dev stay
# mounted there until leave_root ROOT.
in_root() {
  local root=$1
  shift
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
  mountpoint -q "$root/sys" || mount -t sysfs -o ro sys "$root/sys"
  # Slurm 22.05 starts no job without control groups.
  mountpoint -q "$root/sys/fs/cgroup" || ! mountpoint -q /sys/fs/cgroup ||
    mount --rbind --make-rslave /sys/fs/cgroup "$root/sys/fs/cgroup"
  mountpoint -q "$root/dev" || mount --rbind --make-rslave /dev "$root/dev"
  chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PIP_CERT=/etc/ssl/certs/ca-certificates.crt "$@"
}
leave_root() {
  local folder
  for folder in dev sys proc; do
    ! mountpoint -q "$1/$folder" || umount -l "$1/$folder"
  done
}
