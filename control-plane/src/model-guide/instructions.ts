// What a model reads first when it connects: how a session goes, from the start to the end.

export const instructions = `Hawser runs coding agents (opencode, claude_code, codex) on an organization's own hosts. A session is one agent at work in one directory of a host.
1. list_instances shows the hosts; use one whose status is online. list_directories shows where it can work.
2. start_session begins a session. In the top directory of a git repository it gets its own worktree and branch. Keep the sessionId of the result. list_agent_kinds and list_models list what you can choose.
3. send_prompt gives the agent a task and answers as soon as the host has accepted it. Prompts wait in order.
4. wait_for_session waits until nothing runs or a request needs an answer. If timedOut is true, call it again. lastMessage is what the agent said last; turnOutcome says how the turn ended, turnReason why it did not complete.
5. If pendingRequests is not empty, the agent waits: ask your user, then call answer_permission or answer_question. Keys of agents that run in a session cannot answer. set_session_mode changes what needs an answer.
6. list_session_events has the details: filter by turnId and types, or use tail for the newest entries.
7. get_session_diff lists the changed files; get_session_file_diff shows the patch of one.
8. push_session pushes the commits and opens a pull request. Uncommitted changes are not pushed; ask the agent to commit first.
9. end_session removes the worktree and the branch; the host parks them for 14 days, and restore_session restores them.
10. A refusal has a code, and retry: never, later (the same call may pass after a while) or changed (only after the state that it names has changed). If reachable is false, the session's host is not connected.`;
