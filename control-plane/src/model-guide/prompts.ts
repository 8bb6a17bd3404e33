// Prompts that a person starts in their MCP client.
import type { GuidePrompt } from "../transports/mcp/guide.ts";

const sessionId = { name: "sessionId", description: "From list_sessions.", required: true };

export const prompts: readonly GuidePrompt[] = [
  {
    name: "delegate_task",
    title: "Delegate a task",
    description: "Have an agent on a host do a task, and report what it did.",
    arguments: [
      { name: "task", description: "What is to be done.", required: true },
      { name: "directory", description: "Where, as a path on the host.", required: false },
      { name: "host", description: "The name of the host.", required: false },
    ],
    needs: ["start_session", "send_prompt", "wait_for_session"],
    text: ({ task, directory, host }) =>
      [
        "Delegate this task to a coding agent with the tools of Hawser:",
        "",
        task,
        "",
        host
          ? `Use the host ${host}.`
          : "Choose a host whose status is online with list_instances; if there are several, ask me.",
        directory
          ? `Work in ${directory}.`
          : "Choose the directory with list_directories; if it is not obvious, ask me.",
        "Start a session, send the task as one prompt with everything the agent needs to know, and wait with wait_for_session until it is done. Show me each request of the agent, and answer it as I say.",
        "Then read the diff, and report: what was changed, whether it was tested, what is open, and the sessionId. Do not push and do not end the session before I have seen that.",
      ].join("\n"),
  },
  {
    name: "review_session",
    title: "Review a session",
    description: "Review what an agent did in a session: its log and its changes.",
    arguments: [sessionId],
    needs: [
      "get_session_summary",
      "list_session_events",
      "get_session_diff",
      "get_session_file_diff",
    ],
    text: (values) =>
      [
        `Review the session ${values["sessionId"]} with the tools of Hawser.`,
        "Read get_session_summary, the log with list_session_events (types user_message_chunk, agent_message_chunk and turn_finished first), get_session_diff, and the patches of the files that matter with get_session_file_diff.",
        "Report: what was asked, what was done, where the two differ, defects in the changes with file and line, and what is missing. Change nothing.",
      ].join("\n"),
  },
  {
    name: "triage_requests",
    title: "Triage open requests",
    description: "Go through the requests of agents that wait for an answer.",
    arguments: [],
    needs: ["search_requests", "list_session_events", "answer_permission", "answer_question"],
    text: () =>
      [
        "Go through the open requests of agents with search_requests. Read all pages first: while nextCursor is not null, call again with it as cursor.",
        "For each one, the oldest first (the last page has them): say which session and host it belongs to, what the agent wants to do and why (read the last entries of its log with list_session_events and tail), what could go wrong, and what you would answer.",
        "Answer nothing by yourself. Wait for my decision on each one, then call answer_permission or answer_question.",
      ].join("\n"),
  },
];
