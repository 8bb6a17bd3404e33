# Two shell functions that the guides use. Set HAWSER_URL and HAWSER_KEY, then run: . docs/guide/call.sh

# call ACTION BODY: calls an action over REST and prints the answer. Fails if the action is refused.
call() {
  : "${HAWSER_URL:?is not set. Set it to the address of the service}" "${HAWSER_KEY:?is not set. Set it to a key}"
  curl -sS --fail-with-body "$HAWSER_URL/api/rest/actions/$1" -H "Authorization: Bearer $HAWSER_KEY" \
    -H 'Content-Type: application/json' -d "$2"
  local code=$?
  echo
  return $code
}

# … | pick FIELD: prints the first text or number of a field in a JSON answer. Fails if there is none.
pick() {
  awk -F'"' -v field="$1" \
    '{ for (i = 1; i < NF; i++) if ($i == field) {
         if ($(i + 1) == ":") { print $(i + 2); exit }
         if (match($(i + 1), /^:[0-9]+/)) { print substr($(i + 1), 2, RLENGTH - 1); exit }
     } } END { if (i >= NF) exit 1 }'
}
