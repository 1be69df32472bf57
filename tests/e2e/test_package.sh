# SPDX-License-Identifier: BSD-3-Clause
# cpack: a tarball that runs where it is unpacked, and a Debian package whose files are where they belong.
. "$(dirname "$0")/common.sh"
[ -z "${E2E_SANITIZE:-}" ] || skip "sanitized libraries are not packed"

cd "$build" || exit 1
seconds=240 # for one of them, on a busy machine
expect 0 cpack -G TGZ -B "$work/pack"
mkdir "$work/tree"
expect 0 tar -xzf "$work"/pack/weft-*.tar.gz -C "$work/tree" --strip-components=1
expect 0 "$work/tree/bin/all_reduce_perf" -P 2 -b 8 -e 8 -n 2
all_right 1
cmp "$source_dir/LICENSE" "$work/tree/share/doc/weft/copyright" || die "the tarball has no licence"
[ -x "$work/tree/bin/weft-conformance-net" ] || die "the tarball has no conformance kit"

# An absolute folder would be written to on this machine.
expect 0 cmake -S "$source_dir" -B "$work/absolute" -DWEFT_CUDA=OFF -DWEFT_TESTS=OFF \
    -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON -DCMAKE_INSTALL_INCLUDEDIR="$work/written"
(cd "$work/absolute" && expect 1 cpack -G TGZ -B "$work/pack-absolute") || exit 1
says err 'ABSOLUTE path INSTALL DESTINATION forbidden'
[ ! -e "$work/written" ] || die "cpack wrote into the machine"

command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null ||
    skip "no dpkg: the tarball is right, the Debian package was not made"
expect 0 cpack -G DEB -B "$work/pack"
deb=$(echo "$work"/pack/weft_*.deb)
expect 0 dpkg-deb --field "$deb" Depends
says out 'libsodium'
expect 0 dpkg-deb --contents "$deb"
says out ' \./usr/bin/weft$'
says out ' \./usr/share/doc/weft/conf/weft.ini$'
! grep -q ' \./\(usr/\)\?etc/.' "$work/out" || die "a configuration, which weft would not read or need"
says out ' \./usr/share/doc/weft/configuration.md$'
says out ' \./usr/share/doc/weft/copyright$'
expect 0 dpkg-deb --extract "$deb" "$work/root"
expect 0 "$work/root/usr/bin/all_reduce_perf" -P 2 -b 8 -e 8 -n 2
all_right 1
