#!/usr/bin/env bash
# Proves the parts of ./dev that need no build: its manners, its steps, its package lists.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
source_dir=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# expect WHAT PATTERN TEXT: the text holds the pattern.
expect() {
  if ! grep -qE -- "$2" <<<"$3"; then
    printf 'FAILED: %s: no "%s" in: %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

output_and_status() {
  local status=0
  "$@" 2>&1 || status=$?
  echo "status $status"
}

# Runs bash code in the scratch folder, with the functions of a file of tools/.
with_tools() {
  output_and_status env -C "$scratch" bash -euo pipefail -c "source '$source_dir/tools/$1'; $2"
}

said=$(output_and_status ./dev tset)
expect "an unknown verb is a usage error" "^status 2$" "$said"
expect "a near verb is suggested" "Did you mean './dev test'" "$said"
expect "help ends well" "^status 0$" "$(output_and_status ./dev help)"
expect "an unknown option is a usage error" "^status 2$" "$(output_and_status ./dev format --no)"
expect "lint knows its options, too" "^status 2$" "$(output_and_status ./dev lint --no)"

for verb in quickstart test gpu bench format lint nightly package; do
  said=$(output_and_status timeout 5 ./dev "$verb" --help)
  expect "$verb --help ends well" "^status 0$" "$said"
  expect "$verb --help tells of $verb" "^  $verb " "$said"
  expect "$verb --help tells of nothing else" "^1$" "$(grep -cE '^  [a-z]' <<<"$said")"
done
for verb in quickstart gpu nightly package; do
  said=$(output_and_status timeout 5 ./dev "$verb" --no)
  expect "$verb takes no argument" "^./dev: $verb takes no argument, found '--no'$" "$said"
  expect "an argument of $verb is a usage error" "^status 2$" "$said"
done

said=$(with_tools steps.sh 'begin_steps 2; step "One thing" true; step "Another" false; echo no')
expect "a step is announced" "^\[1/2\] One thing …$" "$said"
expect "a step's end says how long it took" "^\[1/2\] One thing: done in [0-9]+ s$" "$said"
expect "a failed step ends the run" "FAILED after.*$" "$said"
expect "a failed step's status is passed on" "^status 1$" "$said"
[[ $said != *$'\nno\n'* ]] || expect "nothing runs after a failed step" "never" "$said"

said=$(with_tools steps.sh 'two() { false; echo went on; }; begin_steps 1; step Two two')
[[ $said != *"went on"* ]] || expect "a step ends at its first failing command" "never" "$said"

said=$(with_tools packages.sh 'packages[x]="bash no-such-package"; missing_packages x')
expect "only what is missing is listed" "^no-such-package$" "$said"
[[ $said != bash* ]] || expect "an installed package is not listed" "never" "$said"
said=$(with_tools packages.sh 'packages[x]=bash; as_root() { echo ran "$@"; }; install_packages x')
expect "nothing is asked of the network when all is there" "^All packages are installed" "$said"

said=$(with_tools steps.sh "source '$source_dir/tools/nightly.sh'; begin_steps 2
  nightly_step Good echo fine; nightly_step Bad false; print_table; echo \$nightly_failures failures")
expect "a nightly check has a row with its last line" "^Good +ok +[0-9]+ s; fine$" "$said"
expect "a nightly check may fail without ending the others" "^Bad +FAILED " "$said"
expect "failures of nightly checks are counted" "^1 failures$" "$said"

announced=$(sed -n 's/^ *begin_steps //p' tools/quickstart.sh)
expect "quickstart announces as many steps as it makes" "^$announced$" \
  "$(grep -cE '^ *(shown_)?step "' tools/quickstart.sh)"

echo "$failures failures"
((failures == 0))
