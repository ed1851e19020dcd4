# Sourced. private_apt FOLDER ARCHITECTURE binary|source sets the array apt_get to an apt-get that
# reads the machine's package sources for another architecture or for source packages, and keeps
# its lists in FOLDER, so that the machine's own apt stays as it is. Needs no root.
private_apt() {
  local folder=$1 architecture=$2 kind=$3 file
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/sources"
  : >"$folder/status"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    [ -f "$file" ] || continue
    if [ "$kind" = source ]; then
      sed -e 's/^deb /deb-src /' -e 's/^Types: .*/Types: deb-src/' "$file"
    else
      # What the machine says about its own architecture does not hold here.
      sed -e 's/^\(deb .*\[.*\)arch=[^] ]*/\1/' -e '/^Architectures:/d' "$file"
    fi >"$folder/sources/$(basename "$file")"
  done
  # As root apt would change to the user _apt, who may not enter a home directory.
  apt_get=(apt-get -q -y
    -o APT::Architecture="$architecture" -o APT::Architectures="$architecture"
    -o Dir::State::lists="$folder/lists" -o Dir::State::status="$folder/status"
    -o Dir::Cache="$folder/cache" -o Dir::Etc::sourcelist=/dev/null
    -o Dir::Etc::sourceparts="$folder/sources" -o APT::Sandbox::User=root
    -o Acquire::Retries=3)
}
