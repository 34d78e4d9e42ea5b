#!/bin/sh
# An agent in a slow tool, which has its effect only at its end.
cat >/dev/null
echo "start tool $GATE_SESSION" >>../starts
sh -c 'if [ -e ../held ]; then flock ../held true; else sleep 4; fi; echo "agent tool 0" >>../ledger'
echo '{"status": "DONE", "summary": "the tool is done"}' >"$GATE_SIGNAL_FILE.part"
mv "$GATE_SIGNAL_FILE.part" "$GATE_SIGNAL_FILE"
