# shellcheck shell=bash
# Numbered steps with progress: begin_steps COUNT, then step TITLE COMMAND... for each.
# A step's output goes to build/logs/; its end is shown when the step fails.

step_number=0
step_count=0
step_log=
ticker_pid=

begin_steps() {
  step_count=$1
  mkdir -p build/logs
  trap stop_ticker EXIT
}

# Shows that a step is alive: each second on a terminal, each minute in a log.
tick() {
  local label=$1 start=$SECONDS next_report_s=60 elapsed last_line
  # Redirected, so that a sleep that outlives us holds nobody's pipe open.
  while sleep 1 >/dev/null 2>&1; do
    elapsed=$((SECONDS - start))
    if [[ -t 2 ]]; then
      last_line=$(tail -n 1 "$step_log" | tr -d '\r' | cut -c "1-$((${COLUMNS:-80} / 2))")
      # A build counts what it has done: [done/all].
      [[ ! $last_line =~ ^\[[0-9]+/[0-9]+\] ]] || last_line=${BASH_REMATCH[0]}
      printf '\r\033[K%s … %d s  %s' "$label" $elapsed "$last_line" >&2
    elif ((elapsed >= next_report_s)); then
      next_report_s=$((elapsed + 60))
      printf '%s … still at it after %d s\n' "$label" $elapsed >&2
    fi
  done
}

stop_ticker() {
  [[ -n $ticker_pid ]] || return 0
  kill "$ticker_pid" 2>/dev/null
  wait "$ticker_pid" 2>/dev/null
  ticker_pid=
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

next_label() {
  step_number=$((step_number + 1))
  label="[$step_number/$step_count] $1"
}

# Runs one step and leaves its exit status in step_status. Not to be called in a condition: there
# the shell would go on after a failing command of a function.
try_step() {
  local title=$1 start=$SECONDS
  local label
  shift
  next_label "$title"
  step_log=build/logs/$step_number-$(tr -cs 'A-Za-z0-9' '-' <<<"${title,,}" | sed 's/-*$//').log
  [[ -t 2 ]] || printf '%s …\n' "$label" >&2
  : >"$step_log"
  tick "$label" &
  ticker_pid=$!
  set +e
  (set -e && "$@") >"$step_log" 2>&1
  step_status=$?
  stop_ticker
  set -e
  if ((step_status == 0)); then
    printf '%s: done in %d s\n' "$label" $((SECONDS - start)) >&2
  else
    printf '%s: FAILED after %d s; the end of %s:\n' "$label" $((SECONDS - start)) "$step_log" >&2
    tail -n 200 "$step_log" >&2
  fi
}

step() {
  try_step "$@"
  ((step_status == 0)) || exit 1
}

# A quick step whose output is what the user came for.
shown_step() {
  local label
  next_label "$1"
  printf '%s …\n' "$label" >&2
  shift
  "$@"
}
