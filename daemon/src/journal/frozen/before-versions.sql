CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE commands (
    id TEXT PRIMARY KEY,
    command TEXT NOT NULL,
    begun_at INTEGER NOT NULL,
    finished_at INTEGER,
    outcome TEXT
  ) WITHOUT ROWID;
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    -- The last opening in which the control plane said how far it has the log; entries of later ones
    -- were never sent.
    introduced INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
CREATE TABLE entries (
    -- The order of writing, and so of sending.
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    -- Which opening of the journal wrote it.
    opening INTEGER NOT NULL,
    applied_at INTEGER,
    bytes INTEGER NOT NULL,
    entry TEXT NOT NULL,
    UNIQUE (session_id, seq)
  );
CREATE TABLE pending_blobs (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (session_id, seq)
  ) WITHOUT ROWID;
CREATE TABLE size (total INTEGER NOT NULL, unapplied INTEGER NOT NULL);
CREATE TABLE driven_sessions (
    session_id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    handle TEXT,
    cursor TEXT,
    ended_at INTEGER,
    -- What changes seldom, as JSON; null once it has ended.
    facts TEXT
  ) WITHOUT ROWID;
CREATE TABLE driven_prompts (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    prompt TEXT NOT NULL
  );
CREATE TABLE driven_requests (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    request_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    driver_key TEXT NOT NULL,
    shown_hash TEXT NOT NULL,
    state TEXT NOT NULL,
    asked TEXT NOT NULL,
    given TEXT
  );
CREATE TABLE remembered_rules (
    session_id TEXT NOT NULL,
    rule TEXT NOT NULL,
    PRIMARY KEY (session_id, rule)
  ) WITHOUT ROWID;
CREATE TABLE driven_messages (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    message_id TEXT NOT NULL UNIQUE,
    snapshot TEXT
  );
DELETE FROM sqlite_sequence;
INSERT INTO facts (name, value) VALUES ('journal_id', '4371c177-e50b-44fa-97ca-dede0437dc47');
INSERT INTO facts (name, value) VALUES ('opening', '1');
INSERT INTO counters (name, value) VALUES ('refresh_host_facts', 1);
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('00000000-0000-4000-8000-000000000001', 'clone_repository', 1794770375579, NULL, NULL);
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('10bee884-d0b8-4b1d-9585-e3390c762b27', 'start_session', 1794770376280, 1794770376456, '{"result":{"directory":"@folder@","worktreeBranch":null,"model":{"providerId":"scripted","modelId":"script-1"},"capabilities":["commands","questions","shell","subAgents","summarize"]}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('12ee7804-8a41-4eb4-b5bd-4c86aa2f985d', 'send_prompt', 1794770375798, 1794770375799, '{"result":{"turnId":"trn_01m7gad53qepnbgpdc3r8y46zy","messageId":"msg_01m7gad53qfr08ncwxq57wbj7n","queued":false,"model":{"providerId":"scripted","modelId":"script-1"}}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('1abf7215-4081-4ccd-86c8-a0e2f7af131e', 'run_shell', 1794770376277, 1794770376278, '{"result":{"shellId":"shl_01m7gad5jpfn8aa46xbhwxkqst"}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('4c04235b-b7dc-4478-94e2-0b9131de2457', 'refresh_host_facts', 1794770375570, 1794770375579, '{"result":{"runs":1,"facts":{"host":{"hostname":"host","os":"Debian GNU/Linux 12","arch":"x64"},"daemonVersion":"0.1.0","agents":[{"kind":"opencode","installed":false,"version":null,"ready":false,"problems":[]},{"kind":"claude_code","installed":false,"version":null,"ready":false,"problems":[]},{"kind":"codex","installed":false,"version":null,"ready":false,"problems":[]}],"roots":[],"codeHostingCli":null,"warnings":[],"operations":[]},"bootId":"f4572edc-6c39-4bc5-b7d8-fb238c617b1a"}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('6c9dcf21-9fec-4285-a13a-7beb1c19f0d2', 'answer_request', 1794770375780, 1794770375783, '{"result":{"status":"answered"}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('7bef70e1-56d2-46c9-ad5d-f10c946445fe', 'end_session', 1794770376900, 1794770377132, '{"result":{}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('8bba3b99-3926-451c-974b-79e8beefe5c6', 'start_session', 1794770376458, 1794770376899, '{"result":{"directory":"@repository@","worktreeBranch":"hawser/fix-the-bug-gmwqk4bcvz","model":{"providerId":"scripted","modelId":"script-1"},"capabilities":["commands","diff","questions","revert","shell","subAgents","summarize"]}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('8e8d7e1b-84b2-4734-8860-b9a2f250585f', 'send_prompt', 1794770375904, 1794770375904, '{"result":{"turnId":"trn_01m7gad570frzsw3qpp6pqwh18","messageId":"msg_01m7gad570fcz91f0f4bym7bry","queued":true,"model":{"providerId":"scripted","modelId":"script-1"}}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('92f82b26-7b23-407c-825e-516fd354a8fb', 'start_session', 1794770375580, 1794770375674, '{"result":{"directory":"@repository@","worktreeBranch":"hawser/fix-the-bug-xhfd1c7t6a","model":{"providerId":"scripted","modelId":"script-1"},"capabilities":["commands","diff","questions","revert","shell","subAgents","summarize"]}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('b74a527a-c68e-4a8c-b65c-b0a7db59e628', 'start_session', 1794770375910, 1794770375926, '{"result":{"directory":"@folder@","worktreeBranch":null,"model":{"providerId":"scripted","modelId":"script-1"},"capabilities":["commands","questions","shell","subAgents","summarize"]}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('cc9d4fc2-92c8-4f01-8dac-2c5c853dc6f6', 'run_shell', 1794770375927, 1794770375929, '{"result":{"shellId":"shl_01m7gad57rea6sr886gyx6n7t0"}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('cd924a1e-b13d-4b83-80cc-549ef59fc5ff', 'send_prompt', 1794770375675, 1794770375678, '{"result":{"turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","messageId":"msg_01m7gad4zxepsvap8fkcz08bkk","queued":false,"model":{"providerId":"scripted","modelId":"script-1"}}}');
INSERT INTO commands (id, command, begun_at, finished_at, outcome) VALUES ('eece9312-5cb0-428a-8812-b072f4a9b56a', 'rename_session', 1794770376456, 1794770376457, '{"result":{}}');
INSERT INTO sessions (session_id, last_seq, introduced) VALUES ('ses_0fc8rvt0ar81brynxhfd1c7t6a', 16, 1);
INSERT INTO sessions (session_id, last_seq, introduced) VALUES ('ses_6d9mb1xzhy9vxvq3z3v636p5df', 2, 1);
INSERT INTO sessions (session_id, last_seq, introduced) VALUES ('ses_6p5ksbkqpb82grw0n8n71sgt1z', 3, 1);
INSERT INTO sessions (session_id, last_seq, introduced) VALUES ('ses_7ngkbrrs889rhtb7gmwqk4bcvz', 2, 1);
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (1, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 1, 1, 1794770375905, 231, '{"seq":1,"at":"2026-11-15T19:19:35.673Z","turnId":null,"update":{"sessionUpdate":"session_status","status":"active","reason":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (2, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 2, 1, 1794770375905, 338, '{"seq":2,"at":"2026-11-15T19:19:35.679Z","turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","update":{"sessionUpdate":"turn_started","messageId":"msg_01m7gad4zxepsvap8fkcz08bkk","model":{"providerId":"scripted","modelId":"script-1"},"agent":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (3, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 3, 1, 1794770375905, 458, '{"seq":3,"at":"2026-11-15T19:19:35.679Z","turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","update":{"sessionUpdate":"user_message_chunk","messageId":"msg_01m7gad4zxepsvap8fkcz08bkk","content":{"type":"text","text":"go @@[{\"calls\":[{\"tool\":\"permission\",\"input\":{\"title\":\"Run a command\",\"detail\":\"ls\",\"rules\":[\"ls\"]}}]},{\"text\":\"Listed.\"}]"}}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (4, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 4, 1, 1794770375905, 426, '{"seq":4,"at":"2026-11-15T19:19:35.770Z","turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","update":{"sessionUpdate":"tool_call","toolCallId":"0e7bd5aa-6c4a-4312-a4a7-46057aec0221","title":"Run a command","kind":"other","status":"in_progress","rawInput":{"title":"Run a command","detail":"ls","rules":["ls"]},"parentToolCallId":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (5, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 5, 1, 1794770375905, 514, '{"seq":5,"at":"2026-11-15T19:19:35.772Z","turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","update":{"sessionUpdate":"request_raised","requestId":"req_01m7gad52wfrn9mfhm5380yscj","type":"permission","permission":{"title":"Run a command","detail":"ls","alwaysRules":["ls"]},"questions":null,"shownHash":"462515ae37d924ab01c060dce5ff90be5e3389dcfec9b85a7c85626cf0b99085","toolCallId":"0e7bd5aa-6c4a-4312-a4a7-46057aec0221"}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (6, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 6, 1, NULL, 341, '{"seq":6,"at":"2026-11-15T19:19:35.783Z","turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","update":{"sessionUpdate":"request_settled","requestId":"req_01m7gad52wfrn9mfhm5380yscj","outcome":"answered","answer":"always","answers":null,"reason":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (7, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 7, 1, NULL, 377, '{"seq":7,"at":"2026-11-15T19:19:35.784Z","turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","update":{"sessionUpdate":"tool_call_update","toolCallId":"0e7bd5aa-6c4a-4312-a4a7-46057aec0221","status":"completed","content":[{"type":"content","content":{"type":"text","text":"Allowed."}}]}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (8, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 8, 1, NULL, 354, '{"seq":8,"at":"2026-11-15T19:19:35.784Z","turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","update":{"sessionUpdate":"usage_update","usage":{"inputTokens":1000,"outputTokens":50,"cacheReadTokens":0,"cacheWriteTokens":0},"costUsd":0.00375,"costIsEstimate":false}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (9, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 9, 1, NULL, 350, '{"seq":9,"at":"2026-11-15T19:19:35.786Z","turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","update":{"sessionUpdate":"agent_message_chunk","messageId":"f554e536-dde4-420d-931d-9992947c9925","content":{"type":"text","text":"Listed."},"parentToolCallId":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (10, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 10, 1, NULL, 355, '{"seq":10,"at":"2026-11-15T19:19:35.786Z","turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","update":{"sessionUpdate":"usage_update","usage":{"inputTokens":2000,"outputTokens":100,"cacheReadTokens":0,"cacheWriteTokens":0},"costUsd":0.0075,"costIsEstimate":false}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (11, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 11, 1, NULL, 263, '{"seq":11,"at":"2026-11-15T19:19:35.788Z","turnId":"trn_01m7gad4zxe4tbv0rnakhtanyy","update":{"sessionUpdate":"turn_finished","outcome":"completed","reason":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (12, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 12, 1, NULL, 339, '{"seq":12,"at":"2026-11-15T19:19:35.812Z","turnId":"trn_01m7gad53qepnbgpdc3r8y46zy","update":{"sessionUpdate":"turn_started","messageId":"msg_01m7gad53qfr08ncwxq57wbj7n","model":{"providerId":"scripted","modelId":"script-1"},"agent":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (13, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 13, 1, NULL, 469, '{"seq":13,"at":"2026-11-15T19:19:35.812Z","turnId":"trn_01m7gad53qepnbgpdc3r8y46zy","update":{"sessionUpdate":"user_message_chunk","messageId":"msg_01m7gad53qfr08ncwxq57wbj7n","content":{"type":"text","text":"go @@[{\"calls\":[{\"tool\":\"permission\",\"input\":{\"title\":\"Run a command\",\"detail\":\"rm a.txt\",\"rules\":[\"rm a.txt\"]}}]},{\"text\":\"Gone.\"}]"}}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (14, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 14, 1, NULL, 439, '{"seq":14,"at":"2026-11-15T19:19:35.901Z","turnId":"trn_01m7gad53qepnbgpdc3r8y46zy","update":{"sessionUpdate":"tool_call","toolCallId":"b00cc1be-d73d-40e1-b9ed-54de7d9aad43","title":"Run a command","kind":"other","status":"in_progress","rawInput":{"title":"Run a command","detail":"rm a.txt","rules":["rm a.txt"]},"parentToolCallId":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (15, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 15, 1, NULL, 527, '{"seq":15,"at":"2026-11-15T19:19:35.902Z","turnId":"trn_01m7gad53qepnbgpdc3r8y46zy","update":{"sessionUpdate":"request_raised","requestId":"req_01m7gad56yeq6bdmst8ewmexva","type":"permission","permission":{"title":"Run a command","detail":"rm a.txt","alwaysRules":["rm a.txt"]},"questions":null,"shownHash":"f8ae53a5d297fd4e9687b3ff2b4d52e91440ee639e6be4e8153da322b0d376df","toolCallId":"b00cc1be-d73d-40e1-b9ed-54de7d9aad43"}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (16, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 16, 1, NULL, 356, '{"seq":16,"at":"2026-11-15T19:19:35.904Z","turnId":"trn_01m7gad570frzsw3qpp6pqwh18","update":{"sessionUpdate":"prompt_queued","turnId":"trn_01m7gad570frzsw3qpp6pqwh18","messageId":"msg_01m7gad570fcz91f0f4bym7bry","text":"later @@[{\"text\":\"Queued.\"}]"}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (17, 'ses_6p5ksbkqpb82grw0n8n71sgt1z', 1, 1, NULL, 231, '{"seq":1,"at":"2026-11-15T19:19:35.926Z","turnId":null,"update":{"sessionUpdate":"session_status","status":"active","reason":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (18, 'ses_6p5ksbkqpb82grw0n8n71sgt1z', 2, 1, NULL, 291, '{"seq":2,"at":"2026-11-15T19:19:36.243Z","turnId":null,"update":{"sessionUpdate":"shell","shellId":"shl_01m7gad57rea6sr886gyx6n7t0","exitCode":0,"output":"done\n","reason":null,"agent":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (19, 'ses_6p5ksbkqpb82grw0n8n71sgt1z', 3, 1, NULL, 33172, '{"seq":3,"at":"2026-11-15T19:19:36.253Z","turnId":null,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"@x*16384@\n… 167232 characters are left out here …\n@x*16384@"},"_meta":{"hawser/whole":{"size":200075,"sha256":"3b2bce065a4fe5962e5289f440f0702d9272fb8698a78438f9ed54254d8c7409"}}}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (20, 'ses_6d9mb1xzhy9vxvq3z3v636p5df', 1, 1, NULL, 231, '{"seq":1,"at":"2026-11-15T19:19:36.456Z","turnId":null,"update":{"sessionUpdate":"session_status","status":"active","reason":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (21, 'ses_6d9mb1xzhy9vxvq3z3v636p5df', 2, 1, NULL, 222, '{"seq":2,"at":"2026-11-15T19:19:36.457Z","turnId":null,"update":{"sessionUpdate":"session_info_update","title":"Renamed"}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (22, 'ses_7ngkbrrs889rhtb7gmwqk4bcvz', 1, 1, NULL, 231, '{"seq":1,"at":"2026-11-15T19:19:36.899Z","turnId":null,"update":{"sessionUpdate":"session_status","status":"active","reason":null}}');
INSERT INTO entries (position, session_id, seq, opening, applied_at, bytes, entry) VALUES (23, 'ses_7ngkbrrs889rhtb7gmwqk4bcvz', 2, 1, NULL, 230, '{"seq":2,"at":"2026-11-15T19:19:37.124Z","turnId":null,"update":{"sessionUpdate":"session_status","status":"ended","reason":null}}');
INSERT INTO pending_blobs (session_id, seq, sha256, bytes) VALUES ('ses_6p5ksbkqpb82grw0n8n71sgt1z', 3, '3b2bce065a4fe5962e5289f440f0702d9272fb8698a78438f9ed54254d8c7409', 200075);
INSERT INTO size (total, unapplied) VALUES (240820, 238853);
INSERT INTO driven_sessions (session_id, state, handle, cursor, ended_at, facts) VALUES ('ses_0fc8rvt0ar81brynxhfd1c7t6a', 'active', '5b6f1a59-5d1b-4528-b9f0-5a2b87224a99', '9', NULL, '{"kind":"opencode","directory":"@directory@/state/worktrees/ses_0fc8rvt0ar81brynxhfd1c7t6a","worktree":{"repository":"@repository@","branch":"hawser/fix-the-bug-xhfd1c7t6a","adminDirectory":"@repository@/.git/worktrees/ses_0fc8rvt0ar81brynxhfd1c7t6a","baseCommit":"@commit@"},"startedIn":"@repository@","baseCommit":null,"origin":null,"title":"Fix the bug","isTitledByCaller":true,"model":{"providerId":"scripted","modelId":"script-1"},"options":{},"policy":{"allowedCommands":[],"outsideWorktree":"ask"},"usage":{"inputTokens":2000,"outputTokens":100,"cacheReadTokens":0,"cacheWriteTokens":0},"costUsd":0.0075,"costIsEstimate":false,"snapshotCount":1}');
INSERT INTO driven_sessions (session_id, state, handle, cursor, ended_at, facts) VALUES ('ses_6d9mb1xzhy9vxvq3z3v636p5df', 'active', '54b1cf9b-d133-4ea7-bdaa-641a607c5b68', NULL, NULL, '{"kind":"opencode","directory":"@folder@","worktree":null,"startedIn":"@folder@","baseCommit":null,"title":"Renamed","isTitledByCaller":true,"model":{"providerId":"scripted","modelId":"script-1"},"options":{},"policy":{"allowedCommands":[],"outsideWorktree":"ask"},"usage":null,"costUsd":null,"costIsEstimate":false}');
INSERT INTO driven_sessions (session_id, state, handle, cursor, ended_at, facts) VALUES ('ses_6p5ksbkqpb82grw0n8n71sgt1z', 'active', 'e5411e45-3379-4f62-8ee3-a40126d3f468', NULL, NULL, '{"kind":"opencode","directory":"@folder@","worktree":null,"startedIn":"@folder@","baseCommit":null,"title":"In a folder","isTitledByCaller":true,"model":{"providerId":"scripted","modelId":"script-1"},"options":{},"policy":{"allowedCommands":[],"outsideWorktree":"ask"},"usage":null,"costUsd":null,"costIsEstimate":false,"shells":[{"shellId":"shl_01m7gad5jpfn8aa46xbhwxkqst","agent":null}],"untold":["<shell-output>\nThe user ran a shell command in the working directory. It ended with exit code 0. It wrote:\ndone\n\n</shell-output>"]}');
INSERT INTO driven_sessions (session_id, state, handle, cursor, ended_at, facts) VALUES ('ses_7ngkbrrs889rhtb7gmwqk4bcvz', 'ended', NULL, NULL, 1794770377125, NULL);
INSERT INTO driven_prompts (position, session_id, turn_id, state, prompt) VALUES (2, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 'trn_01m7gad53qepnbgpdc3r8y46zy', 'sent', '{"turnId":"trn_01m7gad53qepnbgpdc3r8y46zy","messageId":"msg_01m7gad53qfr08ncwxq57wbj7n","text":"go @@[{\"calls\":[{\"tool\":\"permission\",\"input\":{\"title\":\"Run a command\",\"detail\":\"rm a.txt\",\"rules\":[\"rm a.txt\"]}}]},{\"text\":\"Gone.\"}]","model":{"providerId":"scripted","modelId":"script-1"},"options":{},"agent":null,"task":{"type":"prompt"},"attachments":[]}');
INSERT INTO driven_prompts (position, session_id, turn_id, state, prompt) VALUES (3, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 'trn_01m7gad570frzsw3qpp6pqwh18', 'queued', '{"turnId":"trn_01m7gad570frzsw3qpp6pqwh18","messageId":"msg_01m7gad570fcz91f0f4bym7bry","text":"later @@[{\"text\":\"Queued.\"}]","model":{"providerId":"scripted","modelId":"script-1"},"options":{},"agent":null,"task":{"type":"prompt"},"attachments":[]}');
INSERT INTO driven_requests (position, request_id, session_id, driver_key, shown_hash, state, asked, given) VALUES (2, 'req_01m7gad56yeq6bdmst8ewmexva', 'ses_0fc8rvt0ar81brynxhfd1c7t6a', '1b515bc9-588f-4c7b-b9f7-93004de56767', 'f8ae53a5d297fd4e9687b3ff2b4d52e91440ee639e6be4e8153da322b0d376df', 'open', '{"permission":{"title":"Run a command","detail":"rm a.txt","alwaysRules":["rm a.txt"]}}', NULL);
INSERT INTO remembered_rules (session_id, rule) VALUES ('ses_0fc8rvt0ar81brynxhfd1c7t6a', 'ls');
INSERT INTO driven_messages (position, session_id, message_id, snapshot) VALUES (1, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 'msg_01m7gad4zxepsvap8fkcz08bkk', '{"commit":"af7cf50c5782bf1bdba3b495a676f8e55d5102a3","tree":"20e50a07feffafe7699bf38ff4027a606f406eaa","indexTree":"20e50a07feffafe7699bf38ff4027a606f406eaa","head":{"commit":"@commit@","ref":"refs/heads/hawser/fix-the-bug-xhfd1c7t6a"}}');
INSERT INTO driven_messages (position, session_id, message_id, snapshot) VALUES (2, 'ses_0fc8rvt0ar81brynxhfd1c7t6a', 'msg_01m7gad53qfr08ncwxq57wbj7n', '{"commit":"af7cf50c5782bf1bdba3b495a676f8e55d5102a3","tree":"20e50a07feffafe7699bf38ff4027a606f406eaa","indexTree":"20e50a07feffafe7699bf38ff4027a606f406eaa","head":{"commit":"@commit@","ref":"refs/heads/hawser/fix-the-bug-xhfd1c7t6a"}}');
INSERT INTO sqlite_sequence (name, seq) VALUES ('entries', 23);
INSERT INTO sqlite_sequence (name, seq) VALUES ('driven_prompts', 3);
INSERT INTO sqlite_sequence (name, seq) VALUES ('driven_messages', 2);
INSERT INTO sqlite_sequence (name, seq) VALUES ('driven_requests', 2);
CREATE INDEX entries_to_send ON entries (position) WHERE applied_at IS NULL;
CREATE INDEX entries_unapplied ON entries (session_id, seq) WHERE applied_at IS NULL;
CREATE INDEX entries_applied ON entries (session_id, seq) WHERE applied_at IS NOT NULL;
CREATE INDEX entries_to_drop ON entries (applied_at) WHERE applied_at IS NOT NULL;
CREATE TRIGGER pending_entry_removed AFTER DELETE ON entries BEGIN
    DELETE FROM pending_blobs WHERE session_id = OLD.session_id AND seq = OLD.seq;
  END;
CREATE TRIGGER pending_entry_marked AFTER UPDATE OF applied_at ON entries
    WHEN NEW.applied_at IS NOT NULL BEGIN
    DELETE FROM pending_blobs WHERE session_id = NEW.session_id AND seq = NEW.seq;
  END;
CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
    UPDATE size SET total = total + NEW.bytes,
      unapplied = unapplied + iif(NEW.applied_at IS NULL, NEW.bytes, 0);
  END;
CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
    UPDATE size SET total = total - OLD.bytes,
      unapplied = unapplied - iif(OLD.applied_at IS NULL, OLD.bytes, 0);
  END;
CREATE TRIGGER entry_marked AFTER UPDATE OF applied_at ON entries BEGIN
    UPDATE size SET unapplied = unapplied
      + iif(NEW.applied_at IS NULL, NEW.bytes, 0) - iif(OLD.applied_at IS NULL, OLD.bytes, 0);
  END;
CREATE TRIGGER blob_added AFTER INSERT ON pending_blobs BEGIN
    UPDATE size SET total = total + NEW.bytes, unapplied = unapplied + NEW.bytes;
  END;
CREATE TRIGGER blob_removed AFTER DELETE ON pending_blobs BEGIN
    UPDATE size SET total = total - OLD.bytes, unapplied = unapplied - OLD.bytes;
  END;
CREATE INDEX driven_sessions_live ON driven_sessions (state) WHERE state <> 'ended';
CREATE INDEX driven_prompts_of ON driven_prompts (session_id, position);
CREATE INDEX driven_requests_of ON driven_requests (session_id, driver_key);
CREATE INDEX driven_messages_of ON driven_messages (session_id, position);
CREATE TRIGGER session_with_messages_ended AFTER UPDATE OF state ON driven_sessions
    WHEN NEW.state = 'ended' BEGIN
    DELETE FROM driven_messages WHERE session_id = NEW.session_id;
  END;
CREATE TRIGGER session_with_messages_removed AFTER DELETE ON driven_sessions BEGIN
    DELETE FROM driven_messages WHERE session_id = OLD.session_id;
  END;
