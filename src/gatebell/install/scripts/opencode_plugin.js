// gatebell: begin
// Holds each call that a gate matches until a person has decided. If anything fails, the call is blocked.
import { spawn } from "node:child_process"

const GATE = @GATE@
const TOOLS = @TOOLS@
const LIMIT_SECONDS = @LIMIT_SECONDS@

function ask(event) {
  return new Promise((resolve) => {
    let said = ""
    let complaint = ""
    const block = (why) =>
      resolve({ decision: "deny", reason: `gatebell could not check this, so it is blocked: ${why}` })
    const hook = spawn(GATE, ["hook", "opencode", "--guarded", "--limit", `${LIMIT_SECONDS}`])
    const late = setTimeout(() => {
      block("it took too long")
      hook.kill("SIGKILL")
    }, LIMIT_SECONDS * 950)
    hook.on("error", (error) => block(error.message))
    hook.stdin.on("error", () => {})
    hook.stdout.on("data", (part) => (said += part))
    hook.stderr.on("data", (part) => (complaint += part))
    hook.on("close", (code) => {
      clearTimeout(late)
      // Only a whole object has the tab at its end.
      if (code !== 0 || !said.endsWith("}\t\n")) return block(complaint.trim() || `exit code ${code}`)
      try {
        resolve(JSON.parse(said))
      } catch (error) {
        block(error.message)
      }
    })
    hook.stdin.end(JSON.stringify(event))
  })
}

export const Gatebell = async ({ directory }) => ({
  config: async (config) => {
    // With this rule opencode asks by itself, in case that this plugin is not loaded.
    if (config.permission?.bash?.gatebell) delete config.permission.bash
  },
  "tool.execute.before": async (input, output) => {
    if (TOOLS.length && !TOOLS.includes(input.tool)) return
    const said = await ask({
      hook_event_name: "tool.execute.before",
      session_id: input.sessionID,
      tool_use_id: input.callID,
      cwd: directory,
      tool_name: input.tool,
      tool_input: output.args,
    })
    if (said?.decision !== "allow") throw new Error(said?.reason ?? "gatebell blocked this")
  },
})
// gatebell: end
