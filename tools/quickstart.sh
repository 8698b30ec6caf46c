# shellcheck shell=bash
# ./dev quickstart: from a fresh machine to finished reports of the bundled traces.

quickstart_output=quickstart-output

analyze_samples() {
  local config
  for config in ctas_default ctas_16; do
    build/release/src/assay trace analyze "samples/traces-2gpu/$config" \
      -o "$quickstart_output/$config"
  done
}

compare_samples() {
  build/release/src/assay trace compare --all --labels "default,16 CTAs" \
    --baseline samples/traces-2gpu/ctas_default --test samples/traces-2gpu/ctas_16 \
    --output "$quickstart_output/comparison"
}

run_quickstart() {
  ask_for_root build
  lock_build
  begin_steps 4
  step "Installing system packages" install_packages build
  step "Building assay" build release assay
  mkdir -p "$quickstart_output"
  step "Analysing two runs on 2 GPUs each" analyze_samples
  shown_step "Comparing them" compare_samples
  printf '\nWorkbooks in %s/, each with its CSV and JSON twins:\n' "$quickstart_output"
  (cd "$quickstart_output" && find . -name '*.xlsx' -printf '  %P\n' | sort)
  printf 'Open %s/comparison/final_analysis_report.xlsx first.\n' "$quickstart_output"
}
