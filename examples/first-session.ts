// Starts a session on the first host that is online, sends it a prompt, permits what its agent asks for, and
// prints each log entry and what the session changed. Usage: node first-session.ts PROMPT
import { createClient } from "@hawser/client";

const { HAWSER_URL: url = "", HAWSER_KEY: key = "" } = process.env;
const hawser = createClient({ url, key });
const text = process.argv[2] ?? "Say hello.";

const { instances } = await hawser.list_instances();
const { instanceId } = instances.find(({ status }) => status === "online")!;
const { roots } = await hawser.list_directories({ instanceId });
const directory = roots.flatMap(({ children }) => children)[0]!.path;

const { sessionId } = await hawser.start_session({ instanceId, directory });
const { turnId } = await hawser.send_prompt({ sessionId, text });
for await (const event of hawser.followSession({ sessionId })) {
  if (event.type !== "entry") continue;
  console.log(event.seq, event.update.sessionUpdate);
  if (event.update.sessionUpdate === "request_raised") {
    const { requestId } = event.update;
    await hawser.answer_permission({ requestId, answer: "once" });
  }
  if (event.update.sessionUpdate === "turn_finished" && event.turnId === turnId) break;
}

const { files } = await hawser.get_session_diff({ sessionId });
for (const { path, added, removed } of files) console.log(`${path} +${added} -${removed}`);
await hawser.end_session({ sessionId });
