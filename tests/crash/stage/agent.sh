#!/bin/sh
# An agent: it looks whether it is alone in its session, does its work, and signals by its file.
text=$(cat)
exec 9>>"../sessions/$GATE_SESSION"
flock -n 9 || echo "two work in session $GATE_SESSION: $GATE_TURN" >>../violations
case $text in
*finish-it*) task=finish-it ;;
*way-2*) task=second-answer ;;
*way-1*) task=first-answer ;;
*) task=${text##*Your work now:?} && task=${task%%[!a-z-]*} ;;
esac
case $task in
make-a-plan | first-answer) signal='{"status": "NEEDS_HUMAN", "question": "Which way?"}' ;;
*) signal='{"status": "DONE", "summary": "'$task' is done"}' ;;
esac
echo "start $task $GATE_SESSION" >>../starts
echo "$GATE_HOST agent" >>../hosts
[ ! -e ../held ] || flock ../held true
[ -z "$CHAOS_SLOW" ] || sleep "$CHAOS_SLOW"
# What it did before it was interrupted, an agent sees from what is there.
grep -qx "$task" work.txt 2>/dev/null || echo "$task" >>work.txt
echo "$signal" >"$GATE_SIGNAL_FILE.part"
mv "$GATE_SIGNAL_FILE.part" "$GATE_SIGNAL_FILE"
echo "signalled $task $GATE_SESSION" >>../starts
