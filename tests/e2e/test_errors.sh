# SPDX-License-Identifier: BSD-3-Clause
# Mistakes of a user get one clear line and the right exit code.
. "$(dirname "$0")/common.sh"

expect 6 "$weft" perf all_reduc
says err "^weft: unknown collective 'all_reduc'; did you mean all_reduce\?$"
expect 6 "$weft" pref all_reduce
says err 'did you mean perf'
expect 6 "$weft" perf all_reduce --itters 4
says err 'did you mean --iters\?$'
expect 6 "$weft" perf -- all_reduce
says err '^weft: unknown option --; --help lists them$'
expect 6 "$weft" perf all_reduce -b 8 -e 4
says err 'larger than --maxbytes'
"$weft" run --help >"$work/help"
[ "$(grep -o '^  .\{32\}  [^ ]' "$work/help" | wc -l)" -eq "$(grep -c '^  [- ]' "$work/help")" ] ||
    die "the help of weft run is out of line: $(cat "$work/help")"
expect 6 "$weft" perf all_reduce -t 1024 -g 1024
says err '1048576 ranks, at most 65536 can be started$'
expect 6 "$weft" perf all_reduce -d flaot
says err 'did you mean float'
expect 6 "$weft" perf all_reduce -b 8Q
says err '8Q'
expect 6 "$weft" perf all_to_all_v --pattern zip
says err "unknown pattern 'zip'; did you mean zipf\?$"
expect 3 "$weft" perf all_to_all -P 2 --algo algo-ring
says err 'all_to_all on 2 ranks is served by no algorithm in use.*would serve it:.*algo-direct'
expect 5 env NCCL_TESTS_ALLTOALLV_SPREAD=1 "$weft" perf all_to_all_v -P 2
says err 'takes --pattern'
expect 6 "$weft" perf broadcast -P 2 -r 2
says err 'ranks are 0 to 1'
# Each rank of a launcher would fork a job of its own.
for command in "perf all_reduce -b 8 -e 8" "tune all_reduce -O $work/rules.ini" "why all_reduce" "info --memory"; do
    # shellcheck disable=SC2086
    expect 6 env RANK=1 WORLD_SIZE=2 "$weft" $command -P 2
    says err '^weft: -P is for one machine without a launcher, and this is rank 1 of 2 of torchrun$'
done
expect 6 "$weft" plan all_reduce broadcast -n 4
says err "^weft: 'broadcast' is one name too many$"
expect 5 "$weft" perf all_reduce -G 1
says err 'needs a kernel whose device has streams'
expect 7 "$weft" perf all_reduce -t 2 -b 8 -e 8 -n 2 --min-bw 1e9
says out '^# Avg bus bandwidth .*FAILED$'

# Mistakes in the configuration.
printf '[core]\nlgo = debug\n' >"$work/bad.ini"
expect 3 "$weft" config --conf "$work/bad.ini"
says err 'bad\.ini:2.*lgo.*did you mean log'
[ "$(wc -l <"$work/err")" -eq 1 ] || die "more than one error line"
expect 3 "$weft" perf all_reduce -P 2 -b 8 -e 8 --conf "$work/bad.ini"
says err 'bad\.ini:2'
expect 3 "$weft" config --set core.net=net-nothing
says err 'net-nothing'
expect 3 "$weft" config --set core.net=shm
says err 'did you mean net-shm\?'
expect 3 env WEFT_LOG=info "$weft" config
says err 'did you mean WEFT_CORE_LOG\?'
# Variables that are no options.
for pair in CONFIG:CONF UNIQUEID:UNIQUE_ID NRNAKS:NRANKS RNAK:RANK; do
    expect 3 env "WEFT_${pair%:*}=1" "$weft" config
    says err "did you mean WEFT_${pair#*:}\?"
done
expect 3 "$weft" config --set core.log=INFO
says err 'did you mean info\?'
