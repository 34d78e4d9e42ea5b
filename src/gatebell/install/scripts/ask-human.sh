#!/usr/bin/env bash
# shellcheck disable=SC2015 # A && B || C is intended: C runs if A or B fails
# Asks a person and prints the answer: through `gate`, or through plain files if there is no gate.
# For bash 3.2 and later with GNU, BSD or busybox tools; `gate init` puts it into projects.

# Some agents run `sh scripts/ask-human.sh`.
if [ -z "${BASH_VERSION:-}" ]; then exec bash "$0" "$@"; fi
# In POSIX mode a failed redirection of exec would end the shell. The other options may be set by
# `bash -eu` or SHELLOPTS.
set +euf +o posix
umask 077
unset CDPATH
set -o pipefail
started=$SECONDS
newline=$'\n'
# Reset: the environment must not set these, because some of them name files to remove.
question_file='' own_answer='' original_answer='' answer_file='' draft='' pipe='' gate_failed='' parent_name='' parent_pid='' agent_name=''

# No here-documents and no here-strings: they need a writable /tmp, which a sandbox may not have.
usage() {
    printf '%s\n' 'Ask a person and wait for the answer. Only the answer goes to stdout.

  ask-human.sh QUESTION [text|yesno|select] [A,B,C]
  ask-human.sh QUESTION -o "An option, with a comma" -o B
  ask-human.sh --wait ID        continue to wait for a question that was sent before

  -o, --option A       an option of a select question, as often as needed
  --priority P         normal, high or urgent
  --timeout SECONDS    how long the question stays open; GATE_TIMEOUT or 300 by default
  --require-listener   do not queue the question if no listener runs
  --help               this text
  --                   the next word is the question, even if it begins with a dash

Exit codes: 0 answered, 1 unexpected failure, 2 usage, 3 timed out, 4 cancelled, 5 not found,
7 refused, 8 files cannot be written, 9 no listener, 11 not answered yet (stdout has the command to continue).'
}

say() { printf '%s\n' "$*" >&2; }

fail() {
    local code=$1
    shift
    say "ask-human: $*"
    exit "$code"
}

is_number() { case $1 in '' | *[!0-9]* | 0?* | ???????????*) return 1 ;; esac; }

# ---- arguments ----

add_options() {
    local rest="$1," option
    while [ -n "$rest" ]; do
        option=${rest%%,*}
        rest=${rest#*,}
        option=${option#"${option%%[![:space:]]*}"}
        option=${option%"${option##*[![:space:]]}"}
        [ -z "$option" ] || options+=("$option")
    done
}

read_arguments() {
    local words=() plain=
    options=() priority=normal timeout='' waited='' require_listener=
    while [ $# -gt 0 ]; do
        if [ -n "$plain" ]; then
            words+=("$1")
            shift
            continue
        fi
        case $1 in
        --option=* | --priority=* | --timeout=* | --wait=*)
            set -- "${1%%=*}" "${1#*=}" "${@:2}"
            ;;
        esac
        case $1 in
        -o | --option | --priority | --timeout | --wait)
            [ $# -gt 1 ] || fail 2 "$1 needs a value; see --help"
            case $1 in
            -o | --option) options+=("$2") ;;
            --priority) priority=$2 ;;
            --timeout) timeout=$2 ;;
            --wait) waited=$2 ;;
            esac
            shift
            ;;
        --require-listener) require_listener=1 ;;
        -h | --help)
            usage
            exit 0
            ;;
        --) plain=1 ;;
        -*[[:space:]]*) words+=("$1") ;; # no option contains a space
        -?*) fail 2 "unknown option $1; put -- before a question that begins with a dash" ;;
        *) words+=("$1") ;;
        esac
        shift
    done
    question=${words[0]} kind=${words[1]}
    add_options "${words[2]}"
    check_arguments "${#words[@]}"
}

check_arguments() {
    local limit
    if [ -n "$timeout" ] || [ -z "$waited" ]; then
        timeout=${timeout:-${GATE_TIMEOUT:-300}}
        is_number "$timeout" && [ "$timeout" -gt 0 ] ||
            fail 2 "expected a timeout in whole seconds, got '$timeout'"
    fi
    patience=${GATE_AGENT_WAIT_SECONDS:-100}
    patience=${patience%%.*}
    is_number "$patience" || fail 2 "expected a number of seconds in GATE_AGENT_WAIT_SECONDS, got '$patience'"
    # The person's own limit for a shell command may be shorter.
    for limit in "${BASH_DEFAULT_TIMEOUT_MS:-}" "${BASH_MAX_TIMEOUT_MS:-}"; do
        if is_number "$limit" && [ "$limit" -gt 0 ] && [ $((limit * 9 / 10000)) -lt "$patience" ]; then
            patience=$((limit * 9 / 10000))
        fi
    done
    if [ -n "$waited" ]; then
        [ "$1" -eq 0 ] || fail 2 "--wait continues a question that was sent; do not give another question"
        return
    fi
    case $question in *[![:space:]]*) ;; *) usage >&2 && fail 2 "the question is missing" ;; esac
    [ "$1" -le 3 ] || fail 2 "too many arguments; put the question into quotes"
    [ -n "$kind" ] || { [ ${#options[@]} -gt 0 ] && kind=select; } || kind=text
    case $kind in
    text | yesno) [ ${#options[@]} -eq 0 ] || fail 2 "options are for the type select" ;;
    select) [ ${#options[@]} -gt 0 ] || fail 2 "select needs options: A,B,C or -o A -o B" ;;
    *) fail 2 "expected the type text, yesno or select, got '$kind'" ;;
    esac
    case $priority in normal | high | urgent) ;; *) fail 2 "expected the priority normal, high or urgent, got '$priority'" ;; esac
}

# ---- through gate ----

through_gate() {
    # Returns if the question must go through the files.
    [ -z "${GATE_ASK_FILES:-}" ] || return
    if ! command -v gate >/dev/null; then
        [ -z "${GATE_SERVER:-}" ] || say "ask-human: GATE_SERVER is set, but gate is not installed here, so the question is sent through files. Install it: pip install gatebell"
        return
    fi
    local words option code gate_folder gate_pid
    [ -z "$require_listener" ] || (find_project && check_listener) || exit
    identify
    case $waited in
    '')
        words=(ask --from "$agent_name" --timeout "${timeout}s" --priority "$priority")
        [ "$kind" != yesno ] || words+=(--option=yes --option=no)
        for option in ${options[@]+"${options[@]}"}; do words+=("--option=$option"); done
        words+=(-- "$question")
        ;;
    a-*)
        words=(wait)
        [ -z "$timeout" ] || words+=(--timeout "${timeout}s")
        words+=(-- "$waited")
        ;;
    *) return ;;
    esac
    find_gate_folder
    # Before gate starts, so that a signal never ends the script alone.
    trap 'end_gate 130' INT
    trap 'end_gate 143' TERM
    trap 'end_gate 129' HUP
    # In the background: otherwise bash would handle a signal only after gate has ended.
    run_gate "${words[@]}" <&0 &
    gate_pid=$!
    wait "$gate_pid"
    code=$?
    trap - INT TERM HUP
    case $code in 8 | 126 | 127) ;; *) exit $code ;; esac
    say "ask-human: gate does not work here, so the question is sent through files"
    gate_failed=1
}

find_gate_folder() {
    # gate uses the project of its working folder. The caller's folder may be in another project.
    local own here=$PWD
    gate_folder=
    locate_project
    own=$folder
    [ -e "$own/.helpers" ] || return
    while [ -n "$here" ] && [ ! -e "$here/.git" ] && [ ! -e "$here/.gate" ]; do here=${here%/*}; done
    set_up_at "$here"
    [ "$folder" -ef "$own" ] || gate_folder=$own
}

run_gate() {
    { [ -z "$gate_folder" ] || cd -P "$gate_folder/"; } && GATE_HIL_NAME=$agent_name exec gate "$@"
}

end_gate() {
    trap '' INT TERM HUP
    # A signal may come before gate_pid is set.
    gate_pid=${!-}
    kill -TERM "$gate_pid" 2>/dev/null
    wait "$gate_pid" 2>/dev/null
    # After Ctrl+C gate has printed how to continue.
    [ $? -ne 11 ] || [ "$1" -ne 130 ] || exit 11
    exit "$1"
}

# ---- the project and its folders ----

locate_project() {
    # Next to this file, next to a link to it, or above the working directory.
    local file=${BASH_SOURCE[0]} target here=$PWD
    case $file in */*) ;; *) file=./$file ;; esac
    while ! set_up_at "${file%/*}/.."; do
        if [ ! -L "$file" ]; then
            while ! set_up_at "$here" && [ -n "$here" ]; do here=${here%/*}; done
            break
        fi
        target=$(readlink "$file" && printf .)
        target=${target%??}
        case $target in /*) file=$target ;; *) file=${file%/*}/$target ;; esac
    done
    if [ ! -e "$folder/.helpers/questions" ] && [ -f "$folder/.helpers/project" ]; then
        # A worktree: it has no folders of its own, only the path of its project.
        IFS= read -r folder <"$folder/.helpers/project"
    fi
}

set_up_at() {
    # Sets folder to $1, or to the set-up project that has $1 as a plain worktree.
    local line='' common=''
    folder=$1
    [ ! -e "$1/.helpers" ] && [ ! -L "$1/.helpers" ] || return 0
    [ -f "$1/.git" ] && IFS= read -r line 2>/dev/null <"$1/.git"
    case $line in 'gitdir: /'*) line=${line#gitdir: } ;; 'gitdir: '*) line=$1/${line#gitdir: } ;; *) return 1 ;; esac
    IFS= read -r common 2>/dev/null <"$line/commondir"
    case $common in '') return 1 ;; /*) ;; *) common=$line/$common ;; esac
    [ -e "$common/../.helpers" ] || return
    folder=$common/..
}

find_project() {
    working_dir=$PWD
    locate_project
    if [ ! -e "$folder/.helpers" ] && [ ! -L "$folder/.helpers" ]; then
        fail "$((gate_failed ? 8 : 2))" "this project is not set up for questions. In its main folder, run: gate init"
    fi
    cd -P "$folder/" 2>/dev/null || fail 8 "$folder cannot be entered"
    project=$PWD
    [ ! -L .helpers ] || fail 8 "$project/.helpers is a link, which is not followed. Remove it and run: gate init"
    # From here on all paths are relative: later moves and links cannot lead elsewhere.
    make_private .helpers
    cd -P .helpers 2>/dev/null || fail 8 "$project/.helpers cannot be entered. Run: gate init"
    make_private questions
    make_private answers
}

make_private() {
    local path=$PWD/$1
    [ ! -L "$1" ] || fail 8 "$path is a link, which is not followed. Remove it and run: gate init"
    [ -e "$1" ] || mkdir "$1" 2>/dev/null || fail 8 "$path cannot be created: check that you may write there"
    [ -d "$1" ] || fail 8 "$path is not a folder. Remove it and run: gate init"
    [ -O "$1" ] || fail 8 "$path belongs to another user. Remove it and run: gate init"
    case $(ls -ld "$1") in
    drwx------* | drwx--S---*) ;;
    *) chmod 700 "$1" 2>/dev/null && say "ask-human: $path is now private (mode 0700)" ;;
    esac
    [ -w "$1" ] && [ -x "$1" ] ||
        fail 8 "$path cannot be written: check that it is not read-only or outside of your sandbox"
}

# ---- the asker ----

learn_ancestors() {
    # The nearest ancestor that is not a shell: agents start a new shell for each command.
    local pid=$PPID name parent key value steps=0
    parent_name=unknown parent_pid=$PPID
    while is_number "$pid" && [ "$pid" -gt 1 ] && [ $steps -lt 32 ]; do
        name='' parent='' steps=$((steps + 1))
        if [ -r "/proc/$pid/status" ]; then
            while read -r key value; do
                case $key in Name:) name=$value ;; PPid:) parent=$value && break ;; esac
            done 2>/dev/null <"/proc/$pid/status"
        else
            name=$(ps -p "$pid" -o comm= 2>/dev/null)
            parent=$(ps -p "$pid" -o ppid= 2>/dev/null)
            parent=${parent//[[:space:]]/}
        fi
        # `tmux: server` is tmux.
        name=${name%%:*}
        name=${name##*/}
        name=${name#-}
        case $name in claude | codex | gemini | opencode | copilot) agent_cli=${agent_cli:-$name} ;; esac
        case $parent_name in
        unknown | sh | bash | dash | zsh | fish | ksh | ash | busybox | timeout | env | sudo)
            [ -z "$name" ] || { parent_name=$name && parent_pid=$pid; }
            ;;
        esac
        pid=$parent
    done
}

terminal() {
    local name
    name=$(ps -p $$ -o tty= 2>/dev/null)
    name=${name//[[:space:]]/}
    case $name in
    *[0-9]*) printf '%s' "$name" ;;
    *) name=$(tty 2>/dev/null) && printf '%s' "${name#/dev/}" ;;
    esac
}

identify() {
    local session short
    agent_cli='' in_agent_shell=
    session=${CLAUDE_CODE_SESSION_ID:-${CODEX_THREAD_ID:-${CODEX_SESSION_ID:-${GATE_TURN:-}}}}
    session=${session:-${COPILOT_AGENT_SESSION_ID:-}}
    if [ -n "$session${CLAUDECODE:-}${CODEX_TOOL_CALL_ID:-}${AI_AGENT:-}" ]; then in_agent_shell=1; fi
    if [ -n "${GEMINI_CLI:-}${OPENCODE:-}${OPENCODE_PID:-}${COPILOT_CLI:-}${CURSOR_AGENT:-}" ]; then in_agent_shell=1; fi
    if [ -n "${CLAUDECODE:-}${CLAUDE_CODE_SESSION_ID:-}" ]; then
        agent_cli=claude
    elif [ -n "${CODEX_THREAD_ID:-}${CODEX_SESSION_ID:-}${CODEX_TOOL_CALL_ID:-}" ]; then
        agent_cli=codex
    elif [ -n "${GEMINI_CLI:-}" ]; then
        agent_cli=gemini
    elif [ -n "${OPENCODE:-}${OPENCODE_PID:-}" ]; then
        agent_cli=opencode
    elif [ -n "${COPILOT_CLI:-}${COPILOT_AGENT_SESSION_ID:-}" ]; then
        agent_cli=copilot
    elif [ -n "${CURSOR_AGENT:-}" ]; then
        agent_cli=cursor
    else
        learn_ancestors
        [ -z "$agent_cli" ] || in_agent_shell=1
    fi
    short=$session
    if [ -z "$session" ]; then
        session=$(terminal)
        short=$session
    fi
    if [ -z "$session" ]; then
        [ -n "$parent_pid" ] || learn_ancestors
        session=$parent_name-$parent_pid short=$parent_pid
    fi
    session=${session//[!A-Za-z0-9.-]/-}
    short=${short//[!A-Za-z0-9.-]/-}
    parent_name=${agent_cli:-${parent_name:-unknown}}
    parent_name=${parent_name//[!A-Za-z0-9.-]/-}
    agent_id=agent_${session:0:64}
    case $parent_name in
    *claude*) agent_name=Claude-${short:0:8} ;;
    *) agent_name=Agent-${parent_name:0:32}-${short:0:8} ;;
    esac
}

# ---- JSON, with jq, python3 or awk ----

python3_is_there() {
    local path
    path=$(command -v python3) || return
    # On macOS without developer tools, python3 only opens a window that offers them.
    [ "$path" != /usr/bin/python3 ] || [ ! -x /usr/bin/xcode-select ] || xcode-select -p >/dev/null 2>&1
}

# Quotes its arguments as JSON strings, one per line; invalid UTF-8 becomes U+FFFD.
quote() {
    quoted=$(quote_by_jq "$@") || quoted=$(quote_by_python3 "$@") || quoted=$(quote_by_awk "$@")
}

quote_by_jq() {
    local text
    command -v jq >/dev/null || return
    for text; do jq -n --arg text "$text" '$text' || return; done 2>/dev/null
}

quote_by_python3() {
    python3_is_there && python3 -I -c '
import json, os, sys
for text in sys.argv[1:]:
    print(json.dumps(os.fsencode(text).decode("utf-8", "replace")))
' "$@" 2>/dev/null
}

quote_by_awk() {
    local text
    # awk gets numbers only: implementations treat bytes, NUL and locales differently.
    for text; do
        printf '%s' "$text" | od -An -v -tu1 | awk '
function unit(code) { printf "\\u%04x", code }
function put(code) {
    if (code == 34 || code == 92) printf "\\%c", code
    else if (code >= 32 && code < 127) printf "%c", code
    else if (code < 65536) unit(code)
    else { unit(55296 + int((code - 65536) / 1024)); unit(56320 + code % 1024) }
}
function start(byte) {
    low = 128; high = 191
    if (byte < 128) put(byte)
    else if (byte >= 194 && byte <= 223) { missing = 1; code = byte - 192 }
    else if (byte >= 224 && byte <= 239) {
        missing = 2; code = byte - 224
        if (byte == 224) low = 160
        if (byte == 237) high = 159
    } else if (byte >= 240 && byte <= 244) {
        missing = 3; code = byte - 240
        if (byte == 240) low = 144
        if (byte == 244) high = 143
    } else put(65533)
}
function take(byte) {
    if (missing && (byte < low || byte > high)) { put(65533); missing = 0 }
    else if (missing) {
        code = code * 64 + byte - 128; low = 128; high = 191
        if (--missing == 0) put(code)
        return
    }
    start(byte)
}
BEGIN { printf "\"" }
{ for (i = 1; i <= NF; i++) take($i + 0) }
END { if (missing) put(65533); print "\"" }' || return
    done
}

# Parses the answer file $1 to the question $2 into a line with the status, the text for `printf %b`, and
# a dot. Fails if it is not a complete answer to this question. The original listener writes exactly five
# fields without a status, and null for a closed window.
parse() {
    parsed=$(parse_by_jq "$@") && [ -n "$parsed" ] ||
        parsed=$(parse_by_python3 "$@") || parsed=$(parse_by_awk "$@")
}

parse_by_jq() {
    command -v jq >/dev/null && jq -rs --arg id "$2" '
select(length == 1) | .[0] | select(type == "object" and .type == "answer" and .id == $id)
| (if keys != ["agent_id", "content", "id", "timestamp", "type"] then .status
  elif .content == null or .content == "" then "cancelled" else "answered" end) as $status
| select(["answered", "timed_out", "cancelled", "refused"] | index($status))
| (if $status == "answered" then .content else (.reason | strings) // "" end) | select(type == "string")
| $status + "\n" + (split("\\") | join("\\\\") | split("\u0000") | join("\\0000")) + "."
' <"$1" 2>/dev/null
}

parse_by_python3() {
    python3_is_there && python3 -I -c '
import json, sys
answer = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
if answer.keys() != {"id", "agent_id", "timestamp", "type", "content"}:
    status = answer["status"]
else:
    status = "cancelled" if answer["content"] in (None, "") else "answered"
if answer["type"] != "answer" or answer["id"] != sys.argv[1]:
    sys.exit(1)
if status not in ("answered", "timed_out", "cancelled", "refused"):
    sys.exit(1)
text = answer.get("content" if status == "answered" else "reason")
text = text if status == "answered" or isinstance(text, str) else ""
text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
text = text.replace("\\", "\\\\").replace("\0", "\\0000")
sys.stdout.buffer.write(f"{status}\n{text}.".encode())
' "$2" <"$1" 2>/dev/null
}

parse_by_awk() {
    od -An -v -tu1 <"$1" | awk -v id="$2" '
function hex(byte) {
    if (byte >= 48 && byte <= 57) return byte - 48
    if (byte >= 65 && byte <= 70) return byte - 55
    return (byte >= 97 && byte <= 102) ? byte - 87 : -1
}
function space() { while (at <= n && index(" 9 10 13 32 ", " " b[at] " ")) at++ }
function expect(byte) { if (b[at] != byte) exit 1; at++ }
function string(   i) {
    expect(34)
    from = at
    while (b[at] != 34) {
        if (at > n || b[at] < 32) exit 1
        if (b[at] == 92) {
            at++
            if (b[at] == 117) { for (i = 1; i <= 4; i++) if (hex(b[++at]) < 0) exit 1 }
            else if (!(b[at] in escape)) exit 1
        }
        at++
    }
    end = at++
}
function word(   text) {
    while (at <= n && b[at] > 32 && !index(" 44 93 125 ", " " b[at] " ") && length(text) < 400)
        text = text sprintf("%c", b[at++])
    if (text !~ /^(true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?)$/) exit 1
}
function list(depth, close_at, keyed,   key, begin) {
    at++; space()
    if (b[at] == close_at) { at++; return }
    while (1) {
        space()
        if (keyed) {
            string(); key = (end - from < 40) ? decoded(from, end) : ""
            space(); expect(58); space()
        }
        is_text = b[at] == 34; begin = b[at]
        value(depth + 1)
        if (depth == 1 && keyed) {
            first[key] = is_text ? from : 0; last[key] = end
            is_empty[key] = begin == 110 || (is_text && from == end)
        }
        space()
        if (b[at] == close_at) { at++; return }
        expect(44)
    }
}
function value(depth) {
    if (depth > 40) exit 1
    if (b[at] == 34) string()
    else if (b[at] == 123) { list(depth, 125, 1); is_text = 0 }
    else if (b[at] == 91) { list(depth, 93, 0); is_text = 0 }
    else word()
}
function raw(byte) {
    if (byte == 92) return "\\\\"
    return (byte >= 32 && byte < 127) ? sprintf("%c", byte) : sprintf("\\0%03o", byte)
}
function four(at,   i, code) { for (i = 0; i < 4; i++) code = code * 16 + hex(b[at + i]); return code }
function utf8(code) {
    if (code < 128) return raw(code)
    if (code < 2048) return raw(192 + int(code / 64)) raw(128 + code % 64)
    if (code < 65536) return raw(224 + int(code / 4096)) raw(128 + int(code / 64) % 64) raw(128 + code % 64)
    return raw(240 + int(code / 262144)) raw(128 + int(code / 4096) % 64) raw(128 + int(code / 64) % 64) raw(128 + code % 64)
}
# Returns one character at `here` and moves `here` behind it.
function character(   code, second) {
    if (b[here] != 92) return raw(b[here++])
    if (b[here + 1] != 117) { here += 2; return raw(escape[b[here - 1]]) }
    code = four(here + 2); here += 6
    if (code < 55296 || code > 57343) return utf8(code)
    if (code < 56320 && b[here] == 92 && b[here + 1] == 117) {
        second = four(here + 2)
        if (second >= 56320 && second <= 57343) {
            here += 6
            return utf8(65536 + (code - 55296) * 1024 + second - 56320)
        }
    }
    return utf8(65533)
}
function decoded(begin, stop,   text) { for (here = begin; here < stop;) text = text character(); return text }
function is_original(   key, count) {
    for (key in first) { if (key !~ /^(id|agent_id|timestamp|type|content)$/) return 0; count++ }
    return count == 5
}
function field(key) { return (first[key] && last[key] - first[key] < 400) ? decoded(first[key], last[key]) : "" }
BEGIN {
    escape[34] = 34; escape[92] = 92; escape[47] = 47; escape[98] = 8
    escape[102] = 12; escape[110] = 10; escape[114] = 13; escape[116] = 9
}
{ for (i = 1; i <= NF; i++) b[++n] = $i + 0 }
END {
    at = 1; space()
    if (b[at] != 123) exit 1
    value(1); space()
    original = is_original()
    if (at <= n || field("type") != "answer" || field("id") != id) exit 1
    status = original ? (is_empty["content"] ? "cancelled" : "answered") : field("status")
    if (status !~ /^(answered|timed_out|cancelled|refused)$/) exit 1
    text = status == "answered" ? "content" : "reason"
    if (status == "answered" && !first[text]) exit 1
    print status
    if (first[text]) for (here = first[text]; here < last[text];) printf "%s", character()
    printf "."
}' 2>/dev/null
}

# ---- asking and waiting ----

listener_lives() {
    local pid='' known='' start=''
    [ -f .listener.pid ] && [ ! -L .listener.pid ] && read -r pid 2>/dev/null <.listener.pid
    case $pid in [1-9]*) is_number "$pid" ;; *) false ;; esac || return
    # Another process may have its number now. The original listener does not write this file.
    if [ -f .listener.start ] && [ ! -L .listener.start ]; then
        read -r known start 2>/dev/null <.listener.start
        [ "$known" != "$pid" ] || started_at "$pid" "$start" || lock_is_held || return
    fi
    # A sandbox may forbid even this signal to a process of the same user.
    kill -0 "$pid" 2>/dev/null || [ -O "/proc/$pid" ] || lock_is_held
}

started_at() {
    # Whether the process $1 began at $2; true also if that is unknown.
    local found='' begun=$2
    if [ -d /proc/self ]; then
        read -r -d '' found 2>/dev/null <"/proc/$1/stat"
        # The name of the program is in brackets and may contain brackets and spaces.
        # shellcheck disable=SC2086 # split into its fields
        set -- ${found##*)}
        found=${20}
    else
        # shellcheck disable=SC2046 # split into its words
        set -- $(LC_ALL=C ps -p "$1" -o lstart= 2>/dev/null)
        found=$*
        found=${found// /_}
    fi
    [ -z "$found" ] || [ "$found" = "$begun" ]
}

lock_is_held() {
    # In a sandbox with its own process numbers, only the listener's lock shows it.
    command -v flock >/dev/null && [ -f .listener.lock ] && [ ! -L .listener.lock ] || return
    flock -n -s .listener.lock true 2>/dev/null
    [ $? -eq 1 ]
}

check_listener() {
    listened=
    if listener_lives; then
        listened=1
    elif [ -n "$require_listener" ]; then
        fail 9 "no listener runs. In the project's main folder, run: gate listen"
    else
        say "[HIL:$agent_name] No listener seems to run; the question waits in the queue. A person can run: gate listen"
    fi
}

make_id() {
    id=$(od -An -v -N16 -tx1 /dev/urandom 2>/dev/null)
    id=${id//[!0-9a-f]/}
    [ ${#id} -eq 32 ] || id=$(printf '%08x%04x%04x%04x%04x' $$ $RANDOM $RANDOM $RANDOM $RANDOM)
}

read_clock() {
    now=$(date +%s)
    is_number "$now" || fail 1 "date +%s does not print the time"
}

withdraw() { rm -f "$question_file" "$draft" "$pipe"; }

send() {
    local quoted folder content listed
    [ -n "$parent_pid" ] || learn_ancestors
    make_id
    read_clock
    sent_at=$now asked=$SECONDS
    name_files
    # The question is quoted separately: bash needs seconds to find a line in a long text.
    quote "$question" && content=$quoted && quote "$working_dir" ${options[@]+"${options[@]}"} ||
        fail 1 "jq, python3 and awk all failed: install one of them"
    folder=${quoted%%"$newline"*}
    listed=${quoted:$((${#folder} + 1))}
    draft=questions/.tmp.$id
    {
        printf '{\n"id": "%s",\n"agent_id": "%s",\n"agent_name": "%s",\n' "$id" "$agent_id" "$agent_name"
        printf '"pid": %s,\n' "${parent_pid:-null}"
        printf '"working_dir": %s,\n"timestamp": %s,\n"type": "%s",\n' "$folder" "$sent_at" "$kind"
        printf '"content": %s,\n' "$content"
        [ -z "$listed" ] || printf '"options": [%s],\n' "${listed//"$newline"/, }"
        printf '"priority": "%s",\n"answered": false,\n"timeout": %s\n}\n' "$priority" "$timeout"
    } 2>/dev/null >"$draft" && publish || {
        withdraw
        fail 8 "$project/.helpers/questions cannot be written: check that the disk is not full or read-only"
    }
}

publish() {
    # A watcher for new files sees a new link, with its whole content. It does not see a rename in a folder.
    if ln "$draft" "$question_file" 2>/dev/null; then
        rm -f "$draft"
    else
        mv -f "$draft" "$question_file" 2>/dev/null
    fi
}

name_files() {
    question_file=questions/q_${agent_id}_${sent_at}_$id.json
    own_answer=answers/a_${agent_id}_${sent_at}_$id.json
    original_answer=answers/a_${agent_id}_$id.json
}

find_question() {
    # Reads the question $waited, which an earlier call has sent.
    local file key value
    case $waited in *[!A-Za-z0-9-]*) fail 5 "there is no question $waited" ;; esac
    id=$waited draft=
    for file in questions/q_agent_*_*_"$id".json answers/a_agent_*_*_"$id".json; do
        [ -e "$file" ] && break
    done
    [ -f "$file" ] && [ ! -L "$file" ] || fail 5 "question $id is gone: it was answered, withdrawn or timed out"
    file=${file#*/[qa]_}
    file=${file%_"$id".json}
    agent_id=${file%_*} sent_at=${file##*_}
    is_number "$sent_at" || fail 5 "there is no question $id"
    name_files
    read_clock
    asked=$((SECONDS - now + sent_at))
    stop_after=$timeout timeout=300
    # `send` writes each field on its own line.
    while read -r key value; do
        [ "$key" != '"timeout":' ] || ! is_number "$value" || timeout=$value
    done 2>/dev/null <"$question_file"
}

take_any_answer() {
    # gate and the original listener use different file names.
    for answer_file in "$own_answer" "$original_answer"; do take_answer; done
    [ ! -e "$own_answer" ] || answer_file=$own_answer
}

take_answer() {
    # Returns if this is not the answer, or not yet.
    local parsed status text
    [ -f "$answer_file" ] && [ ! -L "$answer_file" ] && [ -O "$answer_file" ] || return
    parse "$answer_file" "$id" || return
    status=${parsed%%"$newline"*} text=${parsed#*"$newline"}
    text=${text%.}
    [ "$status" != answered ] || [ -n "$text" ] || return
    trap '' INT TERM HUP PIPE
    if [ "$status" = answered ]; then
        print_answer "$text" || fail 1 "the answer could not be printed. Get it again: $(again)"
    fi
    # In this order: a missing answer file means taken, a missing question file means withdrawn.
    rm -f "$answer_file" "$question_file"
    text=$(printf '%b' "$text" | tr -d '\000-\037\177')
    case $status in
    answered) exit 0 ;;
    timed_out) fail 3 "no person answered in time${text:+: $text}" ;;
    cancelled) fail 4 "the question was cancelled${text:+: $text}" ;;
    refused) fail 7 "the question was refused${text:+: $text}" ;;
    esac
}

print_answer() {
    if [ -t 1 ]; then
        # Control characters could command the terminal.
        printf '%b\n' "$1" | tr -d '\000-\010\013-\037\177'
    else
        printf '%b\n' "$1"
    fi
}

again() {
    # Prints the command that continues the wait, for the caller's folder.
    if [ "$working_dir" = "$project" ] && [ -x ../scripts/ask-human.sh ]; then
        printf 'scripts/ask-human.sh --wait %s' "$id"
    else
        case $0 in */*) printf '%q --wait %s' "$0" "$id" ;; *) printf './%q --wait %s' "$0" "$id" ;; esac
    fi
}

open_ticker() {
    # `read` with a timeout costs a tenth of starting `sleep`. Before bash 4 it allows whole seconds only.
    ticker='' pipe=.tmp.tick-$id
    if [ "${BASH_VERSINFO[0]}" -ge 4 ] && mkfifo "$pipe" 2>/dev/null; then
        # A starting listener may remove the pipe: then this opens a plain file, which cannot wait.
        { exec 9<>"$pipe"; } 2>/dev/null && [ -p /dev/fd/9 ] && ticker=1
        rm -f "$pipe"
    fi
}

tick() {
    local rest
    if [ -z "$ticker" ]; then
        sleep 0.25 2>/dev/null || sleep 1
    elif [ "$elapsed" -lt 10 ]; then
        read -r -t 0.05 -u 9 rest
    else
        read -r -t 0.2 -u 9 rest
    fi
}

look_around() {
    # Checks that are needed only once a second.
    if [ -n "$listened" ] && ! listener_lives; then
        listened=
        say "[HIL:$agent_name] The listener has ended; the question stays. A person can run: gate listen"
    fi
    if [ "$elapsed" -ge "$next_report" ]; then
        say "[HIL:$agent_name] Still waiting... (${elapsed}s elapsed)"
        next_report=$((elapsed - elapsed % 60 + 60))
    fi
}

wait_for_answer() {
    local elapsed=$((SECONDS - asked)) next_report look_again=0 odd_reported='' looked_at=
    next_report=$((elapsed - elapsed % 60 + 60))
    open_ticker
    while :; do
        # A network file system shows new files in a folder only after the folder was opened.
        true 2>/dev/null <answers
        if [ -e "$own_answer" ] || [ -e "$original_answer" ]; then
            if [ "$SECONDS" -ge "$look_again" ]; then
                take_any_answer
                look_again=$((SECONDS + 1))
                [ -n "$odd_reported" ] || say "[HIL:$agent_name] $answer_file is not (or not yet) the answer to this question"
                odd_reported=1
            fi
        elif [ ! -e "$question_file" ]; then
            fail 4 "the question's file is gone: it was withdrawn, or its answer was taken elsewhere"
        fi
        elapsed=$((SECONDS - asked))
        if [ "$looked_at" != "$SECONDS" ]; then
            looked_at=$SECONDS
            look_around
        fi
        # SECONDS may be ahead by a part of a second, and a question must not end early.
        if [ "$elapsed" -gt "$timeout" ]; then
            withdraw
            take_any_answer
            fail 3 "timeout waiting for response (${timeout}s); the question was withdrawn"
        fi
        if [ -n "$stop_after" ] && [ $((SECONDS - started)) -ge "$stop_after" ]; then
            printf 'NOT ANSWERED YET: run: %s\n' "$(again)"
            exit 11
        fi
        tick
    done
}

main() {
    read_arguments "$@"
    through_gate
    export LC_ALL=C
    find_project
    identify
    stop_after=
    if [ -n "$waited" ]; then find_question; fi
    if [ -n "$in_agent_shell" ]; then
        # The host moves a longer command to the background and does not trust its late output.
        [ -n "$stop_after" ] && [ "$stop_after" -lt "$patience" ] || stop_after=$patience
    fi
    check_listener
    trap 'withdraw; exit 130' INT
    trap 'withdraw; exit 143' TERM
    trap 'withdraw; exit 129' HUP
    if [ -z "$waited" ]; then
        send
        say "[HIL:$agent_name] Question sent, waiting for response..."
    fi
    wait_for_answer
}

main "$@"
