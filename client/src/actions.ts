// The actions of Hawser as types. Generated from the contract by "npm run generate"; do not edit.

/** Options of every call. */
export interface CallOptions {
  /** Limits the call with all its attempts. */
  deadlineMs?: number | undefined;
  /** Identifies the effect, so that a later call with the same key repeats the answer. Default: random. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Every action, under the name that the interface gives it. */
export interface Actions {
  /** List the organization's hosts, ordered by name. At most 1,000; search_instances pages through all. */
  list_instances(body?: Record<string, never>, options?: CallOptions): Promise<{
    instances: Array<Instance>;
    /** The number of all hosts. */
    total: number;
    /** True if the list is incomplete. */
    truncated: boolean;
  }>;

  /** Show one host in detail: machine, agents, roots and active sessions. The answer never contains tokens or credentials. */
  get_instance(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<InstanceDetail>;

  /** List a host's roots and the projects directly below its folder roots. If the host is offline, the last answer is repeated with `live` false. */
  list_directories(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<{
    roots: Array<RootListing>;
    /** False if the host was offline and this is its last answer. */
    live: boolean;
    /** When the host answered; null if it never did. */
    takenAt: string | null;
  }>;

  /** List the directories inside a directory of a host. A path outside of all roots is not found, whether or not it exists. */
  browse_directory(body: {
    /** From list_instances. */
    instanceId: string;
    /** An absolute path on the host. */
    path: string;
  }, options?: CallOptions): Promise<{
    directories: Array<Directory>;
    /** True if the list is incomplete. */
    truncated: boolean;
  }>;

  /** List the hosted repositories that the host's own code-hosting client can reach. If the client is missing or logged out, the list is empty and `reason` says which. */
  list_github_repos(body: {
    /** From list_instances. */
    instanceId: string;
    /** A part of owner/name. */
    query?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    repositories: Array<Repository>;
    /** Why the list is empty; null if the client works. */
    reason: "cli_not_installed" | "not_logged_in" | null;
  }>;

  /** List the AI providers and models that an agent kind can use on a host. */
  list_models(body: {
    /** From list_instances. */
    instanceId: string;
    /** Default: the host's. */
    agentKind?: "opencode" | "claude_code" | "codex" | undefined;
  }, options?: CallOptions): Promise<ModelListing>;

  /** Show for each agent kind whether it is ready on a host, and what it can do. If the host is offline, the last answer is repeated with `live` false. */
  list_agent_kinds(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<{
    agentKinds: Array<AgentKind>;
    /** False if the host was offline and this is its last answer. */
    live: boolean;
    /** When the host answered; null if it never did. */
    takenAt: string | null;
  }>;

  /** Register a host and get the install command that pairs it. Token and command work once, within 15 minutes, and are shown only here. */
  create_instance(body: {
    /** A name for people. */
    name: string;
  }, options?: CallOptions): Promise<{
    instance: Instance;
    /** Pairs one host, once. */
    pairingToken: string;
    /** The one command to run on the host. */
    installCommand: string;
    /** 15 minutes after the call. */
    pairingTokenExpiresAt: string;
  }>;

  /** Make a new pairing token and install command for a host. The old token stops working at once. A paired host keeps working until another machine redeems the new token. */
  regenerate_pairing_token(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<{
    /** From list_instances. */
    instanceId: string;
    /** Pairs one host, once. */
    pairingToken: string;
    /** The one command to run on the host. */
    installCommand: string;
    /** 15 minutes after the call. */
    pairingTokenExpiresAt: string;
  }>;

  /** Rename a host's record. */
  update_instance(body: {
    /** From list_instances. */
    instanceId: string;
    /** A name for people. */
    name: string;
  }, options?: CallOptions): Promise<Instance>;

  /** Remove a host from the service, with its sessions' records and exposures. Its credential is revoked; a connected daemon deletes it and stops. Files on the host stay. */
  delete_instance(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<{
    /** From list_instances. */
    instanceId: string;
    /** Always true. */
    deleted: true;
  }>;

  /** Clone a repository into a folder root of a host, with the host's own credentials. Give exactly one of `repo` and `url`. An existing directory is never overwritten. A long clone is answered `in_progress`; the instance's `operations` show it. */
  clone_repository(body: {
    /** From list_instances. */
    instanceId: string;
    /** One of the instance's folder roots. */
    rootPath: string;
    /** Written owner/name. */
    repo?: string | undefined;
    /** https, ssh or git@host:path, without credentials. */
    url?: string | undefined;
    /** Its directory's name; default: the repository's. */
    name?: string | undefined;
  }, options?: CallOptions): Promise<Directory>;

  /** Make a host inspect itself again, and show the result. */
  refresh_instance(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<InstanceDetail>;

  /** Page through the organization's hosts, by name or status. */
  search_instances(body?: {
    /** Returns only hosts whose name begins with this text, in any case. */
    query?: string | undefined;
    /** pairing: no host has joined yet. online: connected. offline: not connected. */
    status?: "pairing" | "online" | "offline" | undefined;
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    instances: Array<Instance>;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** List the agent accounts the calling user has linked on a host. `all` also needs instances:edit. A key of the organization has no accounts of its own. If the host is offline, its last answer is repeated with `live` false. */
  list_agent_identities(body: {
    /** From list_instances. */
    instanceId: string;
    /** True lists every user's accounts. */
    all?: boolean | undefined;
  }, options?: CallOptions): Promise<{
    identities: Array<AgentIdentity>;
    /** Whether the host runs each account's agents as a Unix user of their own; null if unknown. */
    separated: boolean | null;
    /** Seals secrets for link_agent_identity; null if the host did not report it. */
    sealingKey: SealingKey | null;
    /** False if the host was offline and this is its last answer. */
    live: boolean;
    /** When the host answered; null if it never did. */
    takenAt: string | null;
  }>;

  /** Begin to link the calling user's agent account on a host, or to renew the link. Open `authorizationUrl` in a browser. With flow paste_code, send its code with submit_agent_login. With device_code, type `userCode` there and call poll_agent_login until it is done. Expires after 15 minutes. */
  start_agent_login(body: {
    /** From list_instances. */
    instanceId: string;
    /** The coding agent. */
    kind: "claude_code" | "codex";
    /** Prefilled in the login page; codex ignores it. */
    email?: string | undefined;
  }, options?: CallOptions): Promise<LoginAttempt>;

  /** Show the state of a login attempt of the calling user. */
  poll_agent_login(body: {
    /** From start_agent_login. */
    loginId: string;
  }, options?: CallOptions): Promise<LoginAttempt>;

  /** Complete a login attempt with the code from the browser. A wrong code ends the attempt; start a new one. */
  submit_agent_login(body: {
    /** From start_agent_login. */
    loginId: string;
    /** The code that the browser shows. */
    code: string;
  }, options?: CallOptions): Promise<LoginAttempt>;

  /** Link an API key, a gateway or a cloud account as the calling user's agent account on a host. `sealedSecret` is a compact JWE (RSA-OAEP-256, A256GCM) for `sealingKey` of list_agent_identities. Its plaintext is JSON with `userId`, `secret` and the other fields of this call but `instanceId`. Replaces the user's earlier account of this kind, and interrupts its turns. */
  link_agent_identity(body: {
    /** From list_instances. */
    instanceId: string;
    /** The coding agent. */
    kind: "claude_code" | "codex";
    /** api_key: a key of the agent's maker. gateway: an address with the maker's interface. vertex: claude_code only. */
    way: "api_key" | "gateway" | "bedrock" | "vertex";
    /** The sealed key or token; for vertex a sealed Google credentials file. */
    sealedSecret: string;
    /** For gateway: its address. claude_code adds /v1/messages, codex /responses. */
    baseUrl?: string | undefined;
    /** For bedrock and vertex. */
    region?: string | undefined;
    /** For vertex. */
    projectId?: string | undefined;
  }, options?: CallOptions): Promise<AgentIdentity>;

  /** Remove the calling user's agent account from a host. Deletes its directory on the host, with credentials and transcripts. Its live sessions stop with an error. */
  unlink_agent_identity(body: {
    /** From list_instances. */
    instanceId: string;
    /** The coding agent. */
    kind: "claude_code" | "codex";
  }, options?: CallOptions): Promise<{
    /** From list_instances. */
    instanceId: string;
    /** The coding agent. */
    kind: "claude_code" | "codex";
    /** False if no account was linked. */
    unlinked: boolean;
  }>;

  /** Restart the opencode server that the service runs on a host. Interrupts running turns; their sessions resume with the next prompt. */
  restart_opencode(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<RestartOutcome>;

  /** Update opencode on a host to the version the service ships. Answers when the host has accepted the order; list_agent_kinds shows the version. */
  update_opencode(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<InstallOutcome>;

  /** Update a host's daemon to the version the service publishes. The daemon restarts itself; opencode sessions continue meanwhile. */
  update_agent(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<InstallOutcome>;

  /** Install claude_code or codex on a host, in the version the service ships. Installs into the daemon's own directory. The answer for opencode is not_applicable. */
  install_agent_kind(body: {
    /** From list_instances. */
    instanceId: string;
    /** The coding agent. */
    kind: "opencode" | "claude_code" | "codex";
  }, options?: CallOptions): Promise<InstallOutcome>;

  /** Update claude_code or codex on a host to the version the service ships. The answer for opencode is not_applicable; use update_opencode and restart_opencode. */
  update_agent_kind(body: {
    /** From list_instances. */
    instanceId: string;
    /** The coding agent. */
    kind: "opencode" | "claude_code" | "codex";
  }, options?: CallOptions): Promise<InstallOutcome>;

  /** Restart an agent kind on a host; its sessions are detached. Interrupts running turns. Conversations are kept; sessions resume with the next prompt. */
  restart_agent_kind(body: {
    /** From list_instances. */
    instanceId: string;
    /** The coding agent. */
    kind: "opencode" | "claude_code" | "codex";
  }, options?: CallOptions): Promise<RestartOutcome>;

  /** Set which agent kinds a host's new sessions use, in order. A kind is skipped if it is not ready or if `threshold` percent of its quota are used. An empty chain switches fallback off. An omitted threshold is reset to 90. */
  set_fallback_chain(body: {
    /** From list_instances. */
    instanceId: string;
    /** The preferred kind first. */
    chain: Array<{
      /** The coding agent. */
      kind: "opencode" | "claude_code" | "codex";
      /** From list_models. */
      providerId?: string | null | undefined;
      /** From list_models. */
      modelId?: string | null | undefined;
    }>;
    /** Percent of a kind's quota. */
    threshold?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** From list_instances. */
    instanceId: string;
    /** Empty if fallback is off. */
    fallbackChain: Array<{
      /** The coding agent. */
      kind: "opencode" | "claude_code" | "codex";
      /** Null for the kind's default. */
      providerId: string | null;
      /** Null for the kind's default. */
      modelId: string | null;
    }>;
    /** Percent of a kind's quota. */
    fallbackThreshold: number;
  }>;

  /** List the sessions started through the service, the newest first. */
  list_sessions(body?: {
    /** From list_instances. */
    instanceId?: string | undefined;
    /** active, or detached until the next prompt: usable. error: `statusReason` says why. ended: over. cleanup_failed: over, its files are still on the host. */
    status?: "active" | "detached" | "error" | "ended" | "cleanup_failed" | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    sessions: Array<SessionListEntry>;
  }>;

  /** Show a session, with its present state on the host. */
  get_session_summary(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<SessionSummary>;

  /** List the files a session has changed, with lines added and removed. Compares with the commit at which the session began, including untracked files; without a commit, with a copy made at the start, unless it was too large. If the host is offline or the session has ended, repeats the last answer with `live` false. */
  get_session_diff(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<{
    files: Array<FileChange>;
    /** True if the list is incomplete. */
    truncated: boolean;
    /** False if the host was offline and this is its last answer. */
    live: boolean;
    /** When the host answered; null if it never did. */
    takenAt: string | null;
  }>;

  /** Start a session in a directory of a host, or in a new clone. Give exactly one of `directory` and `clone`. In the top directory of a git repository the session gets its own worktree and branch, unless `useWorktree` is false. If the kind is not ready, the host's fallback chain is used. */
  start_session(body: {
    /** From list_instances. */
    instanceId: string;
    /** An absolute path on the host. */
    directory?: string | undefined;
    /** Default: the agent's own. */
    title?: string | undefined;
    /** Default: true in a git repository. */
    useWorktree?: boolean | undefined;
    /** Default: the host's. */
    agentKind?: "opencode" | "claude_code" | "codex" | undefined;
    /** An AI provider of list_models. */
    providerId?: string | undefined;
    /** A model of `providerId`, or of the only provider that has it. */
    modelId?: string | undefined;
    /** Values by id, from list_agent_kinds. */
    options?: Record<string, string> | undefined;
    /** What to clone for the session: exactly one of `repo` and `url`. */
    clone?: {
      /** Written owner/name. */
      repo?: string | undefined;
      /** https, ssh or git@host:path, without credentials. */
      url?: string | undefined;
      /** Its directory's name; default: the repository's. */
      name?: string | undefined;
    } | undefined;
  }, options?: CallOptions): Promise<Session>;

  /** End a session: stop its turn and remove its worktree and branch from the host. The host parks the worktree with uncommitted changes and unpushed commits; restore_session restores them. If the host is offline, the status is cleanup_failed until it is back. A user's own directory is never touched. */
  end_session(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<Session>;

  /** End sessions where needed, and delete their records and requests. Give exactly one of `sessionId` and `sessionIds`. Each id is handled separately. Fails only if no session could be deleted. */
  delete_session(body: {
    /** From list_sessions. */
    sessionId?: string | undefined;
    /** Several sessions. */
    sessionIds?: Array<string> | undefined;
  }, options?: CallOptions): Promise<{
    /** The sessions that are gone. */
    deleted: Array<string>;
    /** The sessions that are still there. */
    failed: Array<{
      /** From list_sessions. */
      sessionId: string;
      /** Why it failed. */
      reason: string;
    }>;
  }>;

  /** Make a new session, of any ready kind, that continues an existing one. It gets a copy of the original's own worktree or clone, without ignored files, or works in the same directory. Its agent reads the newest 200 kB of the conversation, without the output of tools. The original may have ended. If `directory` is null, wait_for_session shows when it is ready. */
  fork_session(body: {
    /** From list_sessions. */
    sessionId: string;
    /** The coding agent. */
    agentKind: "opencode" | "claude_code" | "codex";
    /** full: the whole conversation. compress: a summary of it. */
    mode?: "full" | "compress" | undefined;
  }, options?: CallOptions): Promise<Session>;

  /** Change a session's title. */
  rename_session(body: {
    /** From list_sessions. */
    sessionId: string;
    /** The new title. */
    title: string;
  }, options?: CallOptions): Promise<Session>;

  /** Change what a session's agent may do without asking. Holds for the agent's next call, also while a turn runs. A request that is open stays open. */
  set_session_mode(body: {
    /** From list_sessions. */
    sessionId: string;
    /** How much an agent may do without asking a person. ask: a person decides about each call that no rule allows. auto: as ask, but commands inside the agent's own sandbox run at once. unattended: no person is asked, and a call that would need one is refused. */
    mode: "ask" | "auto" | "unattended";
  }, options?: CallOptions): Promise<Session>;

  /** Choose who may prompt a session that uses your agent account. Their prompts spend your quota. You alone allow its agent's calls, widen its mode and run shell commands. */
  share_session(body: {
    /** From list_sessions. */
    sessionId: string;
    /** Replaces the list. Empty: only you. Null: every member. */
    userIds: Array<string> | null;
  }, options?: CallOptions): Promise<Session>;

  /** Push a session's commits to origin and open a pull request for them. If a pull request is open already, it is returned. Only commits are pushed; uncommitted changes are counted and stay. Exactly one of `pullRequestUrl` and `pullRequestError` is set. */
  push_session(body: {
    /** From list_sessions. */
    sessionId: string;
    /** False only pushes. */
    openPr?: boolean | undefined;
    /** Default: the session's title. */
    title?: string | undefined;
    /** The pull request's text. */
    body?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** From list_sessions. */
    sessionId: string;
    /** The branch at origin. */
    branch: string;
    /** Files that were not pushed. */
    uncommittedChanges: number;
    /** The open pull request. */
    pullRequestUrl: string | null;
    /** Why there is no pull request, as a stable word. */
    pullRequestError: string | null;
    /** The same as a sentence. */
    pullRequestMessage: string | null;
    /** Address at which a person can open one; null for a remote without web pages. */
    compareUrl: string | null;
  }>;

  /** Revert a session to before a message: its conversation and its files. Only for kinds with the capability revert, and not while a turn runs. */
  revert_session(body: {
    /** From list_sessions. */
    sessionId: string;
    /** A `messageId` of the session's log. */
    messageId: string;
    /** Same effect as the message that contains it. */
    partId?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** From list_sessions. */
    sessionId: string;
    /** The first message that is undone. */
    messageId: string;
  }>;

  /** Page through sessions, the newest first, by text, host, person, kind or status. A page can be empty: go on until `nextCursor` is null. */
  search_sessions(body?: {
    /** A part of the title, branch or directory, in any case. */
    query?: string | undefined;
    /** From list_instances. */
    instanceId?: string | undefined;
    /** active, or detached until the next prompt: usable. error: `statusReason` says why. ended: over. cleanup_failed: over, its files are still on the host. */
    status?: "active" | "detached" | "error" | "ended" | "cleanup_failed" | undefined;
    /** The coding agent. */
    agentKind?: "opencode" | "claude_code" | "codex" | undefined;
    /** The `id` of `startedBy`. */
    startedBy?: string | undefined;
    /** waiting: for an answer. */
    group?: "waiting" | "running" | "idle" | "ended" | undefined;
    /** Fills `counts`. */
    withCounts?: boolean | undefined;
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    sessions: Array<SessionOverview>;
    /** Null on the last page. */
    nextCursor: string | null;
    counts: {
      /** Sessions that wait for an answer. */
      waiting: number;
      /** Other sessions at work. */
      running: number;
      /** Sessions at rest that accept prompts. */
      idle: number;
      /** Sessions that are over. */
      ended: number;
    } | null;
  }>;

  /** Record how far you have read a session's log. It is recorded for the person, in whatever browser or with whatever key they call, and never goes back. search_sessions shows it as `readSeq`. */
  mark_session_read(body: {
    /** From list_sessions. */
    sessionId: string;
    /** The last entry that was read. A larger one counts as the newest. */
    seq: number;
  }, options?: CallOptions): Promise<{
    /** From list_sessions. */
    sessionId: string;
    /** The last entry that was ever read. */
    readSeq: number;
  }>;

  /** Send a prompt to a session. Answers when the host has accepted the prompt. While a turn runs, prompts wait in order. `model` and `options` also apply to later prompts; `agent` does not. */
  send_prompt(body: {
    /** From list_sessions. */
    sessionId: string;
    /** What the agent is to do. */
    text: string;
    /** The model for this and later prompts. */
    model?: {
      /** A `providerId` of list_models. */
      providerID: string;
      /** A `modelId` of list_models. */
      modelID: string;
    } | undefined;
    /** Values by id, from list_agent_kinds. */
    options?: Record<string, string> | undefined;
    /** One of `modes` of list_agent_kinds. */
    agent?: string | undefined;
    /** Files for the agent. */
    attachments?: Array<{
      /** The media type. */
      mime: string;
      /** A file uploaded to POST /api/files. */
      fileId?: string | undefined;
      /** An https: or data: address. */
      url?: string | undefined;
      /** The name to show. */
      filename?: string | undefined;
    }> | undefined;
  }, options?: CallOptions): Promise<AcceptedTurn>;

  /** Stop a session's running turn and drop the prompts waiting behind it. Its shell commands are ended too. The session stays usable. No-op if nothing runs. */
  abort_session(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<{
    /** From list_sessions. */
    sessionId: string;
    /** Whether a turn or a shell command was running. */
    aborted: boolean;
    /** Waiting prompts that were dropped. */
    droppedPrompts: number;
  }>;

  /** Condense a session's history so that it fits the model's context again. Only for opencode. For other kinds call run_command with the command `compact`. */
  summarize_session(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<{
    /** From list_sessions. */
    sessionId: string;
    /** in_progress: the session's log shows the end. */
    status: "summarized" | "in_progress";
  }>;

  /** Run a shell command in a session's working directory, without the model. Answers when the host has accepted the command. The command's text is stored nowhere. Only for kinds with the capability shell. */
  run_shell(body: {
    /** From list_sessions. */
    sessionId: string;
    /** A command line for the host's shell. */
    command: string;
    /** One of `modes` of list_agent_kinds. */
    agent?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** From list_sessions. */
    sessionId: string;
    /** Identifies the output in the session's view. */
    shellId: string;
  }>;

  /** Run one of the agent's own slash commands in a session. Answers when the host has accepted the command. Only for kinds with the capability commands. */
  run_command(body: {
    /** From list_sessions. */
    sessionId: string;
    /** The command's name, without its slash. */
    command: string;
    /** The rest of the command line, as one text. */
    arguments?: string | undefined;
    /** One of `modes` of list_agent_kinds. */
    agent?: string | undefined;
  }, options?: CallOptions): Promise<AcceptedTurn>;

  /** List the slash commands that a session's agent has. At most 500. Commands of trusted configuration are missing while the session is detached. Only for kinds with the capability commands. */
  list_session_commands(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<{
    commands: Array<SessionCommand>;
  }>;

  /** Read a session's log, the oldest entries first. Entries are numbered 1, 2, 3 … without a gap. While `nextAfter` is not null, call again with it as `after`. With a filter, a page can be empty before the end. */
  list_session_events(body: {
    /** From list_sessions. */
    sessionId: string;
    /** Returns entries after this `seq`. */
    after?: number | undefined;
    /** Returns only entries of this turn. */
    turnId?: string | undefined;
    /** Returns only entries of these types. */
    types?: Array<"user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" | "tool_call" | "tool_call_update" | "plan" | "usage_update" | "session_info_update" | "prompt_queued" | "prompt_changed" | "prompt_moved" | "prompt_dropped" | "turn_started" | "turn_finished" | "turn_continued" | "request_raised" | "call_decided" | "request_settled" | "shell_started" | "shell" | "mode_changed" | "rule_forgotten" | "session_compacted" | "session_status" | "session_placed" | "fallback_taken" | "session_shared" | "account_used" | "session_forked" | "config_ignored" | "config_trusted" | "session_reverted" | "journal_reset" | "unknown"> | undefined;
    /** True returns the newest entries instead. */
    tail?: boolean | undefined;
    /** Page size. */
    limit?: number | undefined;
    /** Maximum size of the entries; one is always returned. */
    maxBytes?: number | undefined;
  }, options?: CallOptions): Promise<{
    events: Array<SessionEvent>;
    /** `seq` of the newest entry; 0 if there is none. */
    lastSeq: number;
    /** Whether `nextAfter` is not null. */
    hasMore: boolean;
    /** The `after` of the next page; null at the end, and with `tail`. */
    nextAfter: number | null;
  }>;

  /** Page through the turns of a session, the newest first. A call looks at 10,000 entries of the log at most, so a page can be empty: go on until `nextCursor` is null. */
  list_session_turns(body: {
    /** From list_sessions. */
    sessionId: string;
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    turns: Array<Turn>;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** Search a session's log for a text. Ignores case; the oldest entries first. A call looks at 2,000 entries at most, so a page can be empty: while `nextAfter` is not null, call again with it as `after`. */
  search_session_events(body: {
    /** From list_sessions. */
    sessionId: string;
    /** The text to find. */
    query: string;
    /** Looks at entries after this `seq`. */
    after?: number | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The entries that contain the text. */
    matches: Array<{
      /** The entry; list_session_events has it. */
      seq: number;
      /** When it happened, by the host's clock. */
      at: string;
      /** The turn it belongs to. */
      turnId: string | null;
      /** The type of the entry. */
      type: string;
      /** The found text with what surrounds it. */
      text: string;
    }>;
    /** The `after` of the next page; null at the end. */
    nextAfter: number | null;
  }>;

  /** Wait until nothing runs in a session, or until a request needs an answer. Answers at once if nothing runs. With `sinceSeq` it also waits for a later entry, and `lastMessage` is a later one. After the timeout, `timedOut` is true; call again to keep waiting. */
  wait_for_session(body: {
    /** From list_sessions. */
    sessionId: string;
    /** Maximum wait. */
    timeoutSeconds?: number | undefined;
    /** `seq` of the last entry that the caller has. */
    sinceSeq?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** From list_sessions. */
    sessionId: string;
    /** active, or detached until the next prompt: usable. error: `statusReason` says why. ended: over. cleanup_failed: over, its files are still on the host. */
    status: "active" | "detached" | "error" | "ended" | "cleanup_failed";
    /** Why it has this status, as a stable word; null if a caller caused it. */
    statusReason: string | null;
    /** The same as a sentence, if there is one. */
    statusMessage: string | null;
    /** Whether its host is connected. */
    reachable: boolean;
    /** running: a turn or a shell command. waiting: for an answer to a request. unknown: it was at work when its host's connection was lost. */
    activity: "starting" | "idle" | "running" | "waiting" | "unknown";
    /** The running turn, or the last one. */
    turnId: string | null;
    /** Null while the turn runs. */
    turnOutcome: "completed" | "aborted" | "failed" | "interrupted" | null;
    /** Why the turn did not complete, and which session continues it, if one does; null if it completed, or still runs. */
    turnReason: string | null;
    /** Turns of prompts that wait for the running one. */
    queuedTurnIds: Array<string>;
    /** Shell commands that run. */
    runningShellIds: Array<string>;
    pendingRequests: Array<Request>;
    /** What the agent said last; null if it said nothing. */
    lastMessage: {
      /** Its entry in the log. */
      seq: number;
      /** At most 4,000 characters. */
      text: string;
      /** True if the text is longer; list_session_events has the whole, after `seq` - 1. */
      isCut: boolean;
    } | null;
    /** `seq` of the newest entry. */
    lastSeq: number;
    /** Whether the timeout ended the wait. */
    timedOut: boolean;
  }>;

  /** Read a whole entry of a session's log, also one that was cut because it is large. An entry that was cut has `hawser/whole` in its `_meta`. The joined texts of all pages are the entry's `update` as JSON. */
  read_session_entry(body: {
    /** From list_sessions. */
    sessionId: string;
    /** The entry, as list_session_events numbers it. */
    seq: number;
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Maximum size of a page. */
    maxBytes?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The entry. */
    seq: number;
    /** Size of the whole `update`, in bytes. */
    size: number;
    /** Why the whole is not stored, as a stable word; the text is then the entry as it was cut. Null if it is stored. */
    omitted: string | null;
    /** A part of the `update` as JSON. */
    text: string;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** List the prompts of a session that wait for an earlier turn. An ended session has none. */
  list_queued_prompts(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<Queue>;

  /** Change the text of a prompt that waits. Ends the caller's hold_queued_prompt. The session's log keeps the text of before. Slash commands cannot be changed. */
  update_queued_prompt(body: {
    /** From list_sessions. */
    sessionId: string;
    /** A prompt of list_queued_prompts. */
    messageId: string;
    /** The new text. */
    text: string;
    /** The `version` of the queue that the caller read. If somebody has changed the text since, the call is refused. */
    version: number;
  }, options?: CallOptions): Promise<Queue>;

  /** Keep a prompt that waits from being run while you edit it. Holds for 60 seconds; call again to renew it. The prompts behind it wait too. Several users can hold the same prompt. */
  hold_queued_prompt(body: {
    /** From list_sessions. */
    sessionId: string;
    /** A prompt of list_queued_prompts. */
    messageId: string;
    /** False ends the caller's hold. */
    held?: boolean | undefined;
  }, options?: CallOptions): Promise<Queue>;

  /** Change the place of a prompt in a session's queue. */
  move_queued_prompt(body: {
    /** From list_sessions. */
    sessionId: string;
    /** A prompt of list_queued_prompts. */
    messageId: string;
    /** The waiting prompt before which it is to run; null: the end. */
    beforeMessageId: string | null;
  }, options?: CallOptions): Promise<Queue>;

  /** Remove a prompt that waits. It is not run. The session's log keeps its text. */
  remove_queued_prompt(body: {
    /** From list_sessions. */
    sessionId: string;
    /** A prompt of list_queued_prompts. */
    messageId: string;
  }, options?: CallOptions): Promise<Queue>;

  /** Stop a session's running turn and run a prompt that waits next. The other prompts stay in the queue, in their order. Shell commands run on. */
  send_queued_prompt_now(body: {
    /** From list_sessions. */
    sessionId: string;
    /** A prompt of list_queued_prompts. */
    messageId: string;
  }, options?: CallOptions): Promise<Queue>;

  /** List the rules that the answer `always` has stored in a session. Calls that they cover are allowed without a request. An ended session has none. */
  list_session_rules(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<SessionRules>;

  /** Forget a rule that the answer `always` has stored in a session. A person is asked again about the next call that it covered. No-op if the session does not have the rule. */
  forget_session_rule(body: {
    /** From list_sessions. */
    sessionId: string;
    /** A `rule` of list_session_rules. */
    rule: string;
  }, options?: CallOptions): Promise<SessionRules>;

  /** Show what a session has changed in one file, as a patch. Same comparison as get_session_diff, in pages. If the file changes between two pages, the cursor is refused; begin again. */
  get_session_file_diff(body: {
    /** From list_sessions. */
    sessionId: string;
    /** A path from get_session_diff. */
    path: string;
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Maximum size of a page. */
    maxBytes?: number | undefined;
  }, options?: CallOptions): Promise<{
    /** The file's path. */
    path: string;
    /** A part of the patch, in git's format; joined, the pages are the whole patch. */
    patch: string;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** Count what a session has committed, what is not pushed, and what is not committed. Nothing is fetched. If the host is offline or the session has ended, repeats the last answer with `live` false. */
  get_session_git(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<{
    /** The branch that push_session pushes to; null until it has a name. */
    branch: string | null;
    /** Null if there was no commit. */
    base: {
      /** The branch of the repository at which the session's worktree began; null if it has none, or it is not known. */
      branch: string | null;
      /** The commit at which it began. */
      commit: string;
      /** Commits on that branch, in the same repository, that the session's branch does not have; at most 10,000. */
      behind: number | null;
    } | null;
    /** Commits since the base; at most 10,000. Null if `takenAt` is. */
    commits: number | null;
    /** Those of them that push_session has not pushed, and that are in no branch of a remote as git knew it last. Null if `takenAt` is. */
    unpushedCommits: number | null;
    /** Files with changes that are in no commit, untracked ones among them. Null if `takenAt` is. */
    uncommittedFiles: number | null;
    /** The pull request that push_session opened or found last. */
    pullRequestUrl: string | null;
    /** False if the host was offline and this is its last answer. */
    live: boolean;
    /** When the host answered; null if it never did. */
    takenAt: string | null;
  }>;

  /** List the ended sessions whose worktree or clone the host has parked, the newest first. A host keeps them for 14 days; it removes the oldest earlier if they need more disk than its policy file allows. */
  list_parked_sessions(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<{
    parkedSessions: Array<ParkedSession>;
    /** True if the list is incomplete. */
    truncated: boolean;
  }>;

  /** Make a new session from an ended one, with its worktree and branch, or its clone, as they were. Works for deleted sessions too, as long as the host has the files. Agent kind, title and model are the old session's; the conversation is new. */
  restore_session(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<Session>;

  /** List the permissions and questions that agents have raised. */
  list_pending_requests(body?: {
    /** From list_sessions. */
    sessionId?: string | undefined;
    /** From list_instances. */
    instanceId?: string | undefined;
    /** Pending requests, resolved requests, or both. */
    scope?: "pending" | "resolved" | "all" | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    requests: Array<Request>;
  }>;

  /** Allow or refuse an action for which an agent asked permission. `once` allows this one action. `always` also stores the rules that the request shows, for this session, if the agent supports it. `reject` refuses it; the turn continues. `status` says if another answer was first. */
  answer_permission(body: {
    /** From list_pending_requests. */
    requestId: string;
    /** once: allow this call. always: also store the rules that the request shows. reject: refuse it. */
    answer: "once" | "always" | "reject";
  }, options?: CallOptions): Promise<{
    /** answered: the agent accepted it. already_resolved: another answer was first. undeliverable: stored, but the host could not be reached. */
    status: "answered" | "already_resolved" | "undeliverable";
  }>;

  /** Answer or dismiss an agent's question. Give either `answers`, one list of chosen labels per question in the order asked, or `reject` true. */
  answer_question(body: {
    /** From list_pending_requests. */
    requestId: string;
    /** For each question, the labels that are chosen. */
    answers?: Array<Array<string>> | undefined;
    /** True dismisses the question. */
    reject?: boolean | undefined;
  }, options?: CallOptions): Promise<{
    /** answered: the agent accepted it. already_resolved: another answer was first. undeliverable: stored, but the host could not be reached. */
    status: "answered" | "already_resolved" | "undeliverable";
  }>;

  /** Show a request of an agent. */
  get_request(body: {
    /** From list_pending_requests. */
    requestId: string;
  }, options?: CallOptions): Promise<Request>;

  /** Page through the requests of agents, the newest first, by text, session or host. A page can be empty: go on until `nextCursor` is null. */
  search_requests(body?: {
    /** A part of the title, detail or question, in any case. */
    query?: string | undefined;
    /** From list_sessions. */
    sessionId?: string | undefined;
    /** From list_instances. */
    instanceId?: string | undefined;
    /** Pending requests, resolved requests, or both. */
    scope?: "pending" | "resolved" | "all" | undefined;
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    requests: Array<Request>;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** List a host's exposures that are neither expired nor revoked. */
  list_exposures(body: {
    /** From list_instances. */
    instanceId: string;
  }, options?: CallOptions): Promise<{
    exposures: Array<Exposure>;
  }>;

  /** Open direct access to a host's opencode, or to one session of it, for a set time. For opencode's terminal client and web app. The password is shown only here. With it, anyone can prompt the agent, and so run commands as the host's user. */
  create_exposure(body: {
    /** From list_instances. */
    instanceId: string;
    /** Narrows the access to this session. */
    sessionId?: string | undefined;
    /** Lifetime in minutes. */
    ttlMinutes: 60 | 480 | 1440;
  }, options?: CallOptions): Promise<NewExposure>;

  /** List the ports on which a session's servers listen. */
  list_session_ports(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<{
    /** In order. */
    ports: Array<{
      /** The port on the host. */
      port: number;
      /** The program that listens; null if it cannot be read. */
      program: string | null;
    }>;
  }>;

  /** Open a web server that a session runs to a browser, for a set time. Works while a process of the session listens on the port. The password is shown only here. list_exposures lists it, revoke_exposure ends it. */
  create_preview(body: {
    /** From list_sessions. */
    sessionId: string;
    /** From list_session_ports. */
    port: number;
    /** Lifetime in minutes. */
    ttlMinutes: 60 | 480 | 1440;
  }, options?: CallOptions): Promise<NewPreview>;

  /** End an exposure and cut its open connections. */
  revoke_exposure(body: {
    /** From list_exposures. */
    exposureId: string;
  }, options?: CallOptions): Promise<{
    /** From list_exposures. */
    exposureId: string;
    /** Always true. */
    revoked: true;
  }>;

  /** List the organization's scheduled prompts. */
  list_scheduled_prompts(body?: Record<string, never>, options?: CallOptions): Promise<{
    schedules: Array<Schedule>;
  }>;

  /** Schedule a prompt that starts a new session each time it is due. Give exactly one of `directory`, `cloneRepo` and `cloneUrl`; each run has its own worktree or clone. A start in the past means the next regular time, or now for frequency never. Runs act with the calling key. */
  create_scheduled_prompt(body: {
    /** What each new session is asked to do. */
    prompt: string;
    /** Hosts; the first that is reachable runs it. */
    instanceIds: Array<string>;
    /** How often it runs after `startAt`; never: once. */
    frequency: "never" | "hourly" | "daily" | "weekly" | "monthly";
    /** ISO 8601; without an offset in the organization's time zone. */
    startAt: string;
    /** A name for people. */
    name?: string | undefined;
    directory?: string | null | undefined;
    cloneRepo?: string | null | undefined;
    cloneUrl?: string | null | undefined;
    /** Default: the host's. */
    agentKind?: "opencode" | "claude_code" | "codex" | undefined;
    /** From list_models. */
    providerId?: string | undefined;
    /** From list_models. */
    modelId?: string | undefined;
    /** Default: true in a git repository. */
    useWorktree?: boolean | undefined;
    /** Instead of the host's own. */
    fallbackChain?: Array<{
      /** The coding agent. */
      kind: "opencode" | "claude_code" | "codex";
      /** From list_models. */
      providerId?: string | null | undefined;
      /** From list_models. */
      modelId?: string | null | undefined;
    }> | undefined;
  }, options?: CallOptions): Promise<Schedule>;

  /** Change a scheduled prompt; omitted fields keep their value. A new target replaces the old one, and one target must remain. The next run is recomputed only if `frequency` or `startAt` is set. Later runs act with the calling key. */
  update_scheduled_prompt(body: {
    /** From list_scheduled_prompts. */
    scheduleId: string;
    name?: string | null | undefined;
    /** What each new session is asked to do. */
    prompt?: string | undefined;
    directory?: string | null | undefined;
    cloneRepo?: string | null | undefined;
    cloneUrl?: string | null | undefined;
    /** Hosts; the first that is reachable runs it. */
    instanceIds?: Array<string> | undefined;
    agentKind?: "opencode" | "claude_code" | "codex" | null | undefined;
    providerId?: string | null | undefined;
    modelId?: string | null | undefined;
    /** Default: true in a git repository. */
    useWorktree?: boolean | undefined;
    fallbackChain?: Array<{
      /** The coding agent. */
      kind: "opencode" | "claude_code" | "codex";
      /** From list_models. */
      providerId?: string | null | undefined;
      /** From list_models. */
      modelId?: string | null | undefined;
    }> | null | undefined;
    /** How often it runs after `startAt`; never: once. */
    frequency?: "never" | "hourly" | "daily" | "weekly" | "monthly" | undefined;
    /** ISO 8601; without an offset in the organization's time zone. */
    startAt?: string | undefined;
  }, options?: CallOptions): Promise<Schedule>;

  /** Pause a scheduled prompt, or resume it. Times that pass during the pause are left out. Resumed runs act with the calling key. */
  set_scheduled_prompt_enabled(body: {
    /** From list_scheduled_prompts. */
    scheduleId: string;
    /** False pauses it. */
    enabled: boolean;
  }, options?: CallOptions): Promise<Schedule>;

  /** Delete a scheduled prompt; the sessions it started stay. */
  delete_scheduled_prompt(body: {
    /** From list_scheduled_prompts. */
    scheduleId: string;
  }, options?: CallOptions): Promise<{
    /** From list_scheduled_prompts. */
    scheduleId: string;
    /** Always true. */
    deleted: true;
  }>;

  /** List the next ten times of a scheduled prompt, or of a frequency and a start. Give `scheduleId`, or `frequency` and `startAt`. A paused one is shown as if resumed now. */
  preview_scheduled_prompt(body: {
    /** From list_scheduled_prompts. */
    scheduleId?: string | undefined;
    /** How often it runs after `startAt`; never: once. */
    frequency?: "never" | "hourly" | "daily" | "weekly" | "monthly" | undefined;
    /** ISO 8601; without an offset in the organization's time zone. */
    startAt?: string | undefined;
  }, options?: CallOptions): Promise<{
    /** The organization's, in which days are counted. */
    timeZone: string;
    /** At most ten; empty if it has finished. */
    runs: Array<string>;
  }>;

  /** Run a scheduled prompt once, now, even if it is paused. Acts with the calling key. The next regular time stays. list_schedule_runs shows how the run ends. */
  run_scheduled_prompt_now(body: {
    /** From list_scheduled_prompts. */
    scheduleId: string;
  }, options?: CallOptions): Promise<ScheduleRun>;

  /** Page through the runs of a scheduled prompt or trigger, the newest first. Give `scheduleId` or `triggerId`. */
  list_schedule_runs(body: {
    /** From list_scheduled_prompts. */
    scheduleId?: string | undefined;
    /** From list_triggers. */
    triggerId?: string | undefined;
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    runs: Array<ScheduleRun>;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** List the organization's triggers. */
  list_triggers(body?: Record<string, never>, options?: CallOptions): Promise<{
    triggers: Array<Trigger>;
  }>;

  /** Make an address where events of GitHub or other systems start sessions. Give exactly one of `directory`, `cloneRepo` and `cloneUrl`. Sessions run unattended; the sender's text is marked as untrusted. Runs act with the calling key. */
  create_trigger(body: {
    /** What each new session is asked to do. */
    prompt: string;
    /** Hosts; the first that is reachable runs it. */
    instanceIds: Array<string>;
    /** github: its webhooks. json: any Standard Webhooks. */
    source: "github" | "json";
    /** For github; default: comment. */
    events?: Array<"issue_opened" | "issue_labeled" | "comment" | "review" | "check_failed"> | undefined;
    /** Begins a line of the comment; default: /hawser. */
    commandWord?: string | undefined;
    /** A name for people. */
    name?: string | undefined;
    directory?: string | null | undefined;
    cloneRepo?: string | null | undefined;
    cloneUrl?: string | null | undefined;
    /** Default: the host's. */
    agentKind?: "opencode" | "claude_code" | "codex" | undefined;
    /** From list_models. */
    providerId?: string | undefined;
    /** From list_models. */
    modelId?: string | undefined;
    /** Default: true in a git repository. */
    useWorktree?: boolean | undefined;
    /** Instead of the host's own. */
    fallbackChain?: Array<{
      /** The coding agent. */
      kind: "opencode" | "claude_code" | "codex";
      /** From list_models. */
      providerId?: string | null | undefined;
      /** From list_models. */
      modelId?: string | null | undefined;
    }> | undefined;
  }, options?: CallOptions): Promise<{
    trigger: Trigger;
    /** For the sender's settings, shown only here. */
    secret: string;
  }>;

  /** Change, pause or resume a trigger, or make a new secret. The former secret is valid for 24 hours. Later runs act with the calling key, unless it only pauses. */
  update_trigger(body: {
    /** From list_triggers. */
    triggerId: string;
    name?: string | null | undefined;
    /** What each new session is asked to do. */
    prompt?: string | undefined;
    /** For github; default: comment. */
    events?: Array<"issue_opened" | "issue_labeled" | "comment" | "review" | "check_failed"> | undefined;
    /** Begins a line of the comment; default: /hawser. */
    commandWord?: string | undefined;
    /** False pauses it. */
    enabled?: boolean | undefined;
    /** True makes a new secret. */
    rotateSecret?: boolean | undefined;
  }, options?: CallOptions): Promise<{
    trigger: Trigger;
    /** The new secret, shown only here; null if it was kept. */
    secret: string | null;
  }>;

  /** Delete a trigger; the sessions it started stay. */
  delete_trigger(body: {
    /** From list_triggers. */
    triggerId: string;
  }, options?: CallOptions): Promise<{
    /** From list_triggers. */
    triggerId: string;
    /** Always true. */
    deleted: true;
  }>;

  /** List the organization's webhooks. */
  list_webhooks(body?: Record<string, never>, options?: CallOptions): Promise<{
    webhooks: Array<Webhook>;
  }>;

  /** Send events to an https address, signed with a secret. Needs permission to view the events, at each delivery too. */
  create_webhook(body: {
    /** An https:// address that accepts POST. */
    url: string;
    /** Events to send. */
    events: Array<"turn_finished" | "request_raised" | "request_settled" | "session_status" | "host_status" | "schedule_run_ended">;
    /** A name for people. */
    name?: string | undefined;
  }, options?: CallOptions): Promise<{
    webhook: Webhook;
    /** The signing secret, shown only here. */
    secret: string;
  }>;

  /** Change a webhook, switch it off or on, or rotate its secret. Later deliveries act with the calling key. */
  update_webhook(body: {
    /** From list_webhooks. */
    webhookId: string;
    name?: string | null | undefined;
    /** An https:// address that accepts POST. */
    url?: string | undefined;
    /** Events to send. */
    events?: Array<"turn_finished" | "request_raised" | "request_settled" | "session_status" | "host_status" | "schedule_run_ended"> | undefined;
    /** False switches it off. */
    enabled?: boolean | undefined;
    /** Makes a new secret; the old one signs too for a day. */
    rotateSecret?: boolean | undefined;
  }, options?: CallOptions): Promise<{
    webhook: Webhook;
    /** The new secret; null unless rotated. */
    secret: string | null;
  }>;

  /** Delete a webhook; what it has not sent is dropped. */
  delete_webhook(body: {
    /** From list_webhooks. */
    webhookId: string;
  }, options?: CallOptions): Promise<{
    /** From list_webhooks. */
    webhookId: string;
    /** Always true. */
    deleted: true;
  }>;

  /** Send a test event to a webhook. */
  test_webhook(body: {
    /** From list_webhooks. */
    webhookId: string;
  }, options?: CallOptions): Promise<WebhookDelivery>;

  /** Page through the deliveries of a webhook, the newest first. */
  list_webhook_deliveries(body: {
    /** From list_webhooks. */
    webhookId: string;
    /** failed: it is not tried again. */
    state?: "waiting" | "sending" | "delivered" | "failed" | undefined;
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    deliveries: Array<WebhookDelivery>;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** Send a delivery again with the same id, after earlier ones of its session. */
  redeliver_webhook(body: {
    /** From list_webhook_deliveries. */
    deliveryId: string;
  }, options?: CallOptions): Promise<WebhookDelivery>;

  /** Show who calls, and what the caller may do. */
  whoami(body?: Record<string, never>, options?: CallOptions): Promise<{
    organization: Organization;
    /** Null for a signed-in person. */
    apiKeyId: string | null;
    /** Null for a key. */
    signInId: string | null;
    /** Whom the key speaks for. An agent key is bound to one session. */
    scope: "user" | "organization" | "agent";
    /** Null if the key belongs to no user. */
    user: {
      /** From list_members. */
      userId: string;
      /** The user's name. */
      name: string;
    } | null;
    /** What the key may do. */
    permissions: Array<"instances:view" | "instances:edit" | "instances:delete" | "settings:edit" | "sessions:view" | "sessions:edit" | "access:view" | "access:edit">;
  }>;

  /** Page through the organization's API keys, the newest first, without their secrets. */
  list_api_keys(body?: {
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    apiKeys: Array<ApiKey>;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** Make an API key for a user, the organization, or the agent of a session. The key is shown only here. It has no permission that the caller or its user lacks. Only the user can create a user's key, except a new member's first. With `sessionId` it is an agent key: it may read, and start and prompt sessions. */
  create_api_key(body: {
    /** A name for people. */
    name: string;
    /** Whom the key speaks for. */
    scope: "user" | "organization";
    /** In the scope user: whose key it is; default: the caller's. */
    userId?: string | undefined;
    /** Binds the key to this session. */
    sessionId?: string | undefined;
    /** What the key may do; can be empty. */
    permissions: Array<"instances:view" | "instances:edit" | "instances:delete" | "settings:edit" | "sessions:view" | "sessions:edit" | "access:view" | "access:edit">;
    /** ISO 8601 with an offset; if omitted, the key does not expire. */
    expiresAt?: string | undefined;
  }, options?: CallOptions): Promise<{
    apiKey: ApiKey;
    /** The key itself, shown only here. */
    key: string;
  }>;

  /** Replace an API key's secret; the old one stays valid for a while. Only the user can rotate a user's key. The calling key needs every permission of the key; a key can always rotate itself. */
  rotate_api_key(body: {
    /** From list_api_keys. */
    apiKeyId: string;
    /** How long the old secret stays valid. */
    overlapMinutes?: number | undefined;
  }, options?: CallOptions): Promise<{
    apiKey: ApiKey;
    /** The new secret, shown only here. */
    key: string;
    /** When the old secret stops working. */
    previousExpiresAt: string;
  }>;

  /** Revoke an API key, at once and for good. The calling key needs every permission of the key; a key can always revoke itself. */
  revoke_api_key(body: {
    /** From list_api_keys. */
    apiKeyId: string;
  }, options?: CallOptions): Promise<ApiKey>;

  /** Page through the organization's members, by e-mail address. */
  list_members(body?: {
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    members: Array<Member>;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** Add a user to the organization. */
  add_member(body: {
    /** The user's e-mail address. */
    email: string;
    /** The user's name. */
    name?: string | undefined;
    /** owner, member, viewer, or a role of list_roles. */
    role: string;
  }, options?: CallOptions): Promise<Member>;

  /** Change a member's role. The member's keys never exceed the new role. Organization keys that the member created are revoked if they do. */
  update_member(body: {
    /** From list_members. */
    userId: string;
    /** owner, member, viewer, or a role of list_roles. */
    role: string;
  }, options?: CallOptions): Promise<Member>;

  /** Remove a member; their keys stop working and their schedules are paused. Keys that the member created for the organization or for others are revoked too, and those created with them. */
  remove_member(body: {
    /** From list_members. */
    userId: string;
  }, options?: CallOptions): Promise<{
    /** From list_members. */
    userId: string;
    /** Always true. */
    removed: true;
    /** The keys that no longer work. */
    revokedApiKeyIds: Array<string>;
  }>;

  /** Show the organization's settings. */
  get_settings(body?: Record<string, never>, options?: CallOptions): Promise<Settings>;

  /** Change the organization's settings; omitted fields keep their value. */
  update_settings(body?: {
    /** A name for people. */
    name?: string | undefined;
    /** A time zone of the IANA database, such as Europe/Berlin. */
    timeZone?: string | undefined;
    /** Counted from a session's end. */
    logRetentionDays?: number | undefined;
    /** How long audit entries are kept. */
    auditRetentionDays?: number | undefined;
    /** What agents may do without a request. */
    defaultAgentPolicy?: {
      /** Commands that an agent may run without a request. */
      allowedCommands: Array<string>;
      /** If an agent wants to read or write outside its worktree. */
      outsideWorktree: "ask" | "refuse";
    } | undefined;
    /** Mode that sessions begin in, unless highestMode is narrower. */
    defaultMode?: "ask" | "auto" | "unattended" | undefined;
    /** The widest mode of sessions, from their next prompt on. */
    highestMode?: "ask" | "auto" | "unattended" | undefined;
    /** Repositories whose configuration later sessions may use. Replaces the list. */
    trustedRepositories?: Array<{
      /** Such as `github.com/acme/app`, with the host in lower case. */
      origin: string;
      /** The parts of its configuration that agents may use. */
      parts: Array<"skills" | "commands" | "mcp_servers" | "hooks">;
    }> | undefined;
    /** How members may link their own accounts. Replaces the list. */
    allowedLogins?: Array<"subscription" | "api_key" | "gateway" | "cloud"> | undefined;
    /** Whether the next kind continues a turn whose quota is used up. */
    fallbackMidTurn?: boolean | undefined;
  }, options?: CallOptions): Promise<Settings>;

  /** Page through the audit trail, the newest entry first. */
  list_audit_entries(body?: {
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    entries: Array<AuditEntry>;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** List the roles that members can have, the built-in ones first. */
  list_roles(body?: Record<string, never>, options?: CallOptions): Promise<{
    roles: Array<Role>;
  }>;

  /** Define a role of the organization. The calling key needs every permission of the role. */
  create_role(body: {
    /** The name of the organization's own role. */
    name: string;
    /** What members with the role may do; can be empty. */
    permissions: Array<"instances:view" | "instances:edit" | "instances:delete" | "settings:edit" | "sessions:view" | "sessions:edit" | "access:view" | "access:edit">;
  }, options?: CallOptions): Promise<Role>;

  /** Replace the permissions of a role of the organization. The calling key needs every permission that the role has before and after. The keys of members with the role never exceed it. Organization keys that they created are revoked if they do. */
  update_role(body: {
    /** The name of the organization's own role. */
    name: string;
    /** What members with the role may do; can be empty. */
    permissions: Array<"instances:view" | "instances:edit" | "instances:delete" | "settings:edit" | "sessions:view" | "sessions:edit" | "access:view" | "access:edit">;
  }, options?: CallOptions): Promise<Role>;

  /** Delete a role of the organization that no member has. The calling key needs every permission of the role. */
  delete_role(body: {
    /** The name of the organization's own role. */
    name: string;
  }, options?: CallOptions): Promise<{
    /** The name of the organization's own role. */
    name: string;
    /** Always true. */
    deleted: true;
  }>;

  /** Make a link with which a person can join the organization and sign in. Hand the link to the person; no mail is sent. It works once, for 72 hours, for an account with this e-mail address. A member who has no sign-in yet gets one, and keeps their role. An organization can make 1,000 invitations in four days. */
  create_invitation(body: {
    /** The person's e-mail address. */
    email: string;
    /** The person's name. */
    name?: string | undefined;
    /** owner, member, viewer, or a role of list_roles. */
    role: string;
  }, options?: CallOptions): Promise<{
    invitation: Invitation;
    /** The link, shown only here. */
    url: string;
  }>;

  /** Page through the open invitations, the newest first. */
  list_invitations(body?: {
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    invitations: Array<Invitation>;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** Withdraw an invitation: its link stops working at once. */
  revoke_invitation(body: {
    /** From list_invitations. */
    invitationId: string;
  }, options?: CallOptions): Promise<Invitation>;

  /** List the browsers in which you are signed in, the newest sign-in first. Needs no permission. Lists at most 200. */
  list_sign_ins(body?: Record<string, never>, options?: CallOptions): Promise<{
    signIns: Array<SignIn>;
  }>;

  /** Sign out of one of your browsers. Needs no permission. The browser's open streams end within five seconds. */
  revoke_sign_in(body: {
    /** From list_sign_ins. */
    signInId: string;
  }, options?: CallOptions): Promise<{
    /** From list_sign_ins. */
    signInId: string;
    /** Always true. */
    revoked: true;
  }>;

  /** Show the organization's identity provider, and whether signing in with it is required. */
  get_sign_in_settings(body?: Record<string, never>, options?: CallOptions): Promise<SignInSettings>;

  /** Change the organization's identity provider; omitted fields keep their value. The caller needs every permission. Asks the provider for its discovery document. A changed issuer, client or secret ends the sign-ins that were made with the former one. Requiring the provider needs a sign-in with it first, and an excepted owner who has a password or a passkey. */
  update_sign_in_settings(body?: {
    /** The provider's address, as its discovery document names it; null removes the provider. */
    issuer?: string | null | undefined;
    /** The name of this service at the provider. */
    clientId?: string | undefined;
    /** Needed for the first time, and with another issuer or client. */
    clientSecret?: string | undefined;
    /** The claim that lists a person's groups; null: groups are not used. */
    groupsClaim?: string | null | undefined;
    /** The first entry whose group a person has decides. */
    groupRoles?: Array<{
      /** A group, as the claim names it. */
      group: string;
      /** owner, member, viewer, or a role of list_roles. */
      role: string;
    }> | undefined;
    /** Whether other ways of signing in do not reach the organization. */
    required?: boolean | undefined;
    /** Owners who may sign in otherwise. Replaces the list. */
    exceptUserIds?: Array<string> | undefined;
  }, options?: CallOptions): Promise<SignInSettings>;

  /** Page through the people of identity providers who are connected to members. Also shows those of former providers. */
  list_connected_identities(body?: {
    /** Only this member's. */
    userId?: string | undefined;
    /** `nextCursor` of the previous page. */
    cursor?: string | undefined;
    /** Page size. */
    limit?: number | undefined;
  }, options?: CallOptions): Promise<{
    identities: Array<ConnectedIdentity>;
    /** Null on the last page. */
    nextCursor: string | null;
  }>;

  /** Let a person of an identity provider no longer sign in as a member. The caller needs every permission of the member's role. Ends the sign-ins that were made with it. The member stays a member. */
  remove_connected_identity(body: {
    /** From list_members. */
    userId: string;
    /** From list_connected_identities. */
    issuer: string;
    /** From list_connected_identities. */
    subject: string;
  }, options?: CallOptions): Promise<{
    /** From list_members. */
    userId: string;
    /** Always true. */
    removed: true;
  }>;

  /** Make a link with which you sign in on your phone. Needs no permission, and a browser in which you are signed in. The link works once, for two minutes, and replaces the one before. The phone that opens it shows four digits for confirm_device_sign_in. */
  create_device_sign_in(body?: Record<string, never>, options?: CallOptions): Promise<{
    /** The link, shown only here. */
    url: string;
    /** Until when a phone can open it. */
    expiresAt: string;
  }>;

  /** Let the phone in that shows these digits. Needs no permission, and the browser that made the link. After three wrong digits, make another link. */
  confirm_device_sign_in(body: {
    /** What the phone shows. */
    digits: string;
  }, options?: CallOptions): Promise<{
    /** not_opened: no phone has opened the link yet. over: there is no link, it is too old, or was used. */
    state: "confirmed" | "wrong" | "not_opened" | "over";
    /** How often digits can still be typed. */
    triesLeft: number;
    /** Only if confirmed: the phone, as it calls itself. */
    device: string | null;
  }>;

  /** Let a member see, answer or prompt one session, whatever the member's role. Replaces the level that the member had, but no grant by link. The calling key needs sessions:view too. */
  grant_session(body: {
    /** From list_sessions. */
    sessionId: string;
    /** From list_members. */
    userId: string;
    /** view: see the session. answer: also answer its requests. edit: also prompt, abort and rename it. */
    level: "view" | "answer" | "edit";
  }, options?: CallOptions): Promise<SessionGrant>;

  /** List the grants and links of a session. */
  list_session_grants(body: {
    /** From list_sessions. */
    sessionId: string;
  }, options?: CallOptions): Promise<{
    grants: Array<SessionGrant>;
    links: Array<SessionLink>;
  }>;

  /** Revoke what a member was granted on a session, by a caller or by links. No-op if nothing was granted. A link that is not revoked can be opened again. */
  revoke_session_grant(body: {
    /** From list_sessions. */
    sessionId: string;
    /** From list_members. */
    userId: string;
  }, options?: CallOptions): Promise<{
    /** From list_sessions. */
    sessionId: string;
    /** From list_members. */
    userId: string;
    /** Always true. */
    revoked: true;
  }>;

  /** Make a link that grants a level on a session to every member who opens it. A session has one link of each level at most. The token is shown only here. The calling key needs sessions:view too. */
  create_session_link(body: {
    /** From list_sessions. */
    sessionId: string;
    /** view: see the session. answer: also answer its requests. edit: also prompt, abort and rename it. */
    level: "view" | "answer" | "edit";
  }, options?: CallOptions): Promise<{
    link: SessionLink;
    /** What open_session_link takes, shown only here. */
    token: string;
  }>;

  /** Revoke a session's link of a level, with every grant that was got by opening it. No-op if there is no such link. */
  revoke_session_link(body: {
    /** From list_sessions. */
    sessionId: string;
    /** view: see the session. answer: also answer its requests. edit: also prompt, abort and rename it. */
    level: "view" | "answer" | "edit";
  }, options?: CallOptions): Promise<{
    /** From list_sessions. */
    sessionId: string;
    /** view: see the session. answer: also answer its requests. edit: also prompt, abort and rename it. */
    level: "view" | "answer" | "edit";
    /** Always true. */
    revoked: true;
  }>;

  /** Get what a link to a session grants to members of the organization. */
  open_session_link(body: {
    /** The token of create_session_link. */
    token: string;
  }, options?: CallOptions): Promise<{
    /** From list_sessions. */
    sessionId: string;
    /** view: see the session. answer: also answer its requests. edit: also prompt, abort and rename it. */
    level: "view" | "answer" | "edit";
  }>;
}

/** The service's record of a host. */
export type Instance = {
  /** From list_instances. */
  instanceId: string;
  /** The name that callers gave it. */
  name: string;
  /** pairing: no host has joined yet. online: connected. offline: not connected. */
  status: "pairing" | "online" | "offline";
  /** Why it has this status; null if it is online without restriction. */
  statusReason: "never_paired" | "link_lost" | "daemon_stopped" | "daemon_stalled" | "moving" | "revoked" | "duplicate_host" | "draining" | null;
  /** The machine; null before pairing. */
  host: {
    /** The machine's own name. */
    hostname: string;
    /** Its operating system. */
    os: string;
    /** Its processor architecture. */
    arch: string;
  } | null;
  /** Null before pairing. */
  daemonVersion: string | null;
  /** Empty before pairing. */
  agents: Array<{
    /** The coding agent. */
    kind: "opencode" | "claude_code" | "codex";
    /** Whether the host has it. */
    installed: boolean;
    /** Null if it is not installed. */
    version: string | null;
    /** Whether a session can be started with it now. */
    ready: boolean;
    /** Why it cannot be used. */
    problems: Array<{
      /** A stable word, such as not_installed. */
      code: string;
      /** What is wrong, and what to do. */
      message: string;
    }>;
  }>;
  /** Sessions that have not ended. */
  activeSessionCount: number;
  /** When its host was last seen; at most about five minutes ago while it is online. */
  lastSeenAt: string | null;
  /** When it was created. */
  createdAt: string;
};

/** An instance with all facts of its host. */
export type InstanceDetail = {
  /** From list_instances. */
  instanceId: string;
  /** The name that callers gave it. */
  name: string;
  /** pairing: no host has joined yet. online: connected. offline: not connected. */
  status: "pairing" | "online" | "offline";
  /** Why it has this status; null if it is online without restriction. */
  statusReason: "never_paired" | "link_lost" | "daemon_stopped" | "daemon_stalled" | "moving" | "revoked" | "duplicate_host" | "draining" | null;
  /** The machine; null before pairing. */
  host: {
    /** The machine's own name. */
    hostname: string;
    /** Its operating system. */
    os: string;
    /** Its processor architecture. */
    arch: string;
  } | null;
  /** Null before pairing. */
  daemonVersion: string | null;
  /** Empty before pairing. */
  agents: Array<{
    /** The coding agent. */
    kind: "opencode" | "claude_code" | "codex";
    /** Whether the host has it. */
    installed: boolean;
    /** Null if it is not installed. */
    version: string | null;
    /** Whether a session can be started with it now. */
    ready: boolean;
    /** Why it cannot be used. */
    problems: Array<{
      /** A stable word, such as not_installed. */
      code: string;
      /** What is wrong, and what to do. */
      message: string;
    }>;
  }>;
  /** Sessions that have not ended. */
  activeSessionCount: number;
  /** When its host was last seen; at most about five minutes ago while it is online. */
  lastSeenAt: string | null;
  /** When it was created. */
  createdAt: string;
  /** When its present machine was paired, which is before it first connects; null before that. */
  pairedAt: string | null;
  roots: Array<Root>;
  /** The host's own code-hosting client; null before pairing. */
  codeHostingCli: {
    /** Whether the host has it. */
    installed: boolean;
    /** Whether it has an account. */
    loggedIn: boolean;
    /** Null if it is logged out. */
    account: string | null;
  } | null;
  /** Problems that the host's owner should solve. */
  warnings: Array<{
    /** A stable word, such as git_outdated. */
    code: string;
    /** What is wrong, and what to do. */
    message: string;
  }>;
  /** Operations that run, or that ended within the last ten minutes. */
  operations: Array<HostOperation>;
  activeSessions: Array<SessionListEntry>;
  /** Empty if fallback is off. */
  fallbackChain: Array<{
    /** The coding agent. */
    kind: "opencode" | "claude_code" | "codex";
    /** Null for the kind's default. */
    providerId: string | null;
    /** Null for the kind's default. */
    modelId: string | null;
  }>;
  /** Percent of its quota from which a kind is skipped. */
  fallbackThreshold: number;
};

/** A directory that the host's owner opened to the service. */
export type Root = {
  /** Its absolute path on the host. */
  path: string;
  /** Whether it is a git repository. */
  isGitRepository: boolean;
  /** The checked-out branch. */
  branch: string | null;
  /** The address of its remote, without credentials. */
  remote: string | null;
  /** A folder contains projects; a repository is a project itself. */
  type: "folder" | "repository";
};

/** A long operation on a host. */
export type HostOperation = {
  /** Identifies the operation on this host. */
  operationId: string;
  /** What the host is doing. */
  type: "clone_repository" | "install_agent" | "update_daemon";
  /** Its subject, such as opencode 1.18.33. */
  subject: string;
  /** How far it is. */
  state: "running" | "done" | "failed";
  /** The present step, or why it failed. */
  step: string;
  /** Null if unknown. */
  percent: number | null;
  /** When it began. */
  startedAt: string;
};

/** A session, as lists show it. */
export type SessionListEntry = {
  /** From list_sessions. */
  sessionId: string;
  /** From list_instances. */
  instanceId: string;
  /** Null until the caller or the agent has set one. */
  title: string | null;
  /** The kind that runs it, after fallback. */
  agentKind: "opencode" | "claude_code" | "codex";
  /** The directory it was started in; null until a clone is complete. Its agent works in a worktree of it if `worktreeBranch` is set. */
  directory: string | null;
  /** The branch of its own worktree; null if it has none. */
  worktreeBranch: string | null;
  /** active, or detached until the next prompt: usable. error: `statusReason` says why. ended: over. cleanup_failed: over, its files are still on the host. */
  status: "active" | "detached" | "error" | "ended" | "cleanup_failed";
  /** Why it has this status, as a stable word; null if a caller caused it. */
  statusReason: string | null;
  /** The same as a sentence, if there is one. */
  statusMessage: string | null;
  /** Whether its host is connected. */
  reachable: boolean;
  /** US dollars so far; null if unknown. */
  cost: number | null;
  /** True if computed from a price table instead of reported by the agent. */
  costIsEstimate: boolean;
  /** Who started it: a user, a key of the organization, a schedule, or a trigger. */
  startedBy: {
    /** What started it. */
    type: "user" | "organization_key" | "schedule" | "trigger";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** The session it was forked from. */
  forkedFrom: string | null;
  /** When it was created. */
  createdAt: string;
  /** Null while it has not ended. */
  endedAt: string | null;
};

/** A root with the projects directly below it. */
export type RootListing = {
  /** Its absolute path on the host. */
  path: string;
  /** Whether it is a git repository. */
  isGitRepository: boolean;
  /** The checked-out branch. */
  branch: string | null;
  /** The address of its remote, without credentials. */
  remote: string | null;
  /** A folder contains projects; a repository is a project itself. */
  type: "folder" | "repository";
  children: Array<Directory>;
  /** True if the list is incomplete. */
  truncated: boolean;
};

/** A directory on a host. */
export type Directory = {
  /** Its absolute path on the host. */
  path: string;
  /** Whether it is a git repository. */
  isGitRepository: boolean;
  /** The checked-out branch. */
  branch: string | null;
  /** The address of its remote, without credentials. */
  remote: string | null;
};

/** A repository the host's account can reach. */
export type Repository = {
  /** Written owner/name. */
  name: string;
  /** Whether only some accounts can see it. */
  private: boolean;
  /** Null if it has no commit. */
  defaultBranch: string | null;
};

/** The models one agent kind can use on one host. */
export type ModelListing = {
  /** The coding agent. */
  agentKind: "opencode" | "claude_code" | "codex";
  /** The AI providers that it can use. */
  providers: Array<{
    /** Use it as `providerId`. */
    providerId: string;
    /** The provider's models. */
    models: Array<{
      /** Use it as `modelId`. */
      modelId: string;
      /** Variants of the model, such as levels of reasoning. */
      variants: Array<string>;
    }>;
  }>;
  /** Used if none is chosen. */
  defaultModel: {
    /** The AI provider. */
    providerId: string;
    /** One of the provider's models. */
    modelId: string;
  } | null;
};

/** An agent kind on one host. */
export type AgentKind = {
  /** The coding agent. */
  kind: "opencode" | "claude_code" | "codex";
  /** Whether the host has it. */
  installed: boolean;
  /** Null if it is not installed. */
  version: string | null;
  /** Whether this caller could start a session with it now. */
  authenticated: boolean;
  /** Why it cannot be used; empty if it can. */
  problems: Array<{
    /** A stable word, such as not_installed. */
    code: string;
    /** What is wrong, and what to do. */
    message: string;
  }>;
  /** What it can do beside prompts. */
  capabilities: Array<"commands" | "diff" | "fork" | "questions" | "revert" | "shell" | "subAgents" | "summarize">;
  /** Model parameters that `options` may set. */
  options: Array<{
    /** The key to use in `options`. */
    id: string;
    /** A name for people. */
    name: string;
    /** All values that the option accepts. */
    values: Array<string>;
    /** Null if the agent decides. */
    default: string | null;
  }>;
  /** The models with variants, such as levels of reasoning. */
  variants: Array<{
    /** The model's provider. */
    providerId: string;
    /** A model that has variants. */
    modelId: string;
    /** Its variants; one of `options` chooses among them. */
    variants: Array<string>;
  }>;
  /** Modes and sub-agents that `agent` may name. Without `agent` the first is used, unless the host's user has set another default. */
  modes: Array<string>;
  /** Slash commands for run_command, without the slash; a repository may add some. */
  commands: Array<string>;
};

/** A user's agent account on one host. */
export type AgentIdentity = {
  /** A user of the organization. */
  user: {
    /** From list_members. */
    userId: string;
    /** The user's name. */
    name: string;
  };
  /** The coding agent. */
  kind: "claude_code" | "codex";
  /** subscription: by start_agent_login. The others: by link_agent_identity. Null if the host's daemon is too old to report it. */
  way: "subscription" | "api_key" | "gateway" | "bedrock" | "vertex" | null;
  /** Whether the login is valid now. For a linked secret: whether the host has it. */
  authenticated: boolean;
  /** The account's name, if the agent reports it. For a linked secret: the gateway's host, or the secret's last characters. */
  account: string | null;
  /** The subscription, if the agent reports it. */
  plan: string | null;
  /** When the login expires. */
  expiresAt: string | null;
  /** When the agent reported `utilization`. */
  utilizationAt: string | null;
  /** How much of the account's quota is used, in percent. */
  utilization: number | null;
  /** What to do if the login has expired or expires within three days. */
  warning: string | null;
};

/** A JSON Web Key: only the host can open what it seals. */
export type SealingKey = {
  /** The type of the key. */
  kty: "RSA";
  /** The algorithm that it is for. */
  alg: "RSA-OAEP-256";
  /** Encryption. */
  use: "enc";
  /** The modulus. */
  n: string;
  /** The exponent. */
  e: string;
};

/** An attempt to link an agent account to a host. */
export type LoginAttempt = {
  /** From start_agent_login. */
  loginId: string;
  /** From list_instances. */
  instanceId: string;
  /** The coding agent. */
  kind: "claude_code" | "codex";
  /** paste_code: hand the code the browser shows to submit_agent_login. device_code: type `userCode` into the page and poll. */
  flow: "paste_code" | "device_code";
  /** The page to open in a browser. */
  authorizationUrl: string;
  /** Set in the device_code flow only. */
  userCode: string | null;
  /** How far the attempt is. */
  status: "pending" | "done" | "error";
  /** Why it failed. */
  error: string | null;
  /** The linked account, when done. */
  account: string | null;
  /** When the account's login expires. */
  expiresAt: string | null;
};

/** The sessions a restart has detached. */
export type RestartOutcome = {
  /** From list_instances. */
  instanceId: string;
  /** The coding agent. */
  kind: "opencode" | "claude_code" | "codex";
  /** They resume with their next prompt. */
  detachedSessionIds: Array<string>;
};

/** Result of an install or update. */
export type InstallOutcome = {
  /** From list_instances. */
  instanceId: string;
  /** installed: the host has `version`. in_progress: the host has accepted the order. */
  status: "installed" | "in_progress" | "not_applicable";
  /** The version that is or will be installed. */
  version: string | null;
  /** What to know about it. */
  message: string | null;
};

/** A session with its present state on the host. */
export type SessionSummary = {
  /** From list_sessions. */
  sessionId: string;
  /** From list_instances. */
  instanceId: string;
  /** Null until the caller or the agent has set one. */
  title: string | null;
  /** The kind that runs it, after fallback. */
  agentKind: "opencode" | "claude_code" | "codex";
  /** The directory it was started in; null until a clone is complete. Its agent works in a worktree of it if `worktreeBranch` is set. */
  directory: string | null;
  /** The branch of its own worktree; null if it has none. */
  worktreeBranch: string | null;
  /** active, or detached until the next prompt: usable. error: `statusReason` says why. ended: over. cleanup_failed: over, its files are still on the host. */
  status: "active" | "detached" | "error" | "ended" | "cleanup_failed";
  /** Why it has this status, as a stable word; null if a caller caused it. */
  statusReason: string | null;
  /** The same as a sentence, if there is one. */
  statusMessage: string | null;
  /** Whether its host is connected. */
  reachable: boolean;
  /** US dollars so far; null if unknown. */
  cost: number | null;
  /** True if computed from a price table instead of reported by the agent. */
  costIsEstimate: boolean;
  /** Who started it: a user, a key of the organization, a schedule, or a trigger. */
  startedBy: {
    /** What started it. */
    type: "user" | "organization_key" | "schedule" | "trigger";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** The session it was forked from. */
  forkedFrom: string | null;
  /** When it was created. */
  createdAt: string;
  /** Null while it has not ended. */
  endedAt: string | null;
  /** How much an agent may do without asking a person. ask: a person decides about each call that no rule allows. auto: as ask, but commands inside the agent's own sandbox run at once. unattended: no person is asked, and a call that would need one is refused. */
  mode: "ask" | "auto" | "unattended";
  model: {
    /** The AI provider. */
    providerId: string;
    /** One of the provider's models. */
    modelId: string;
  } | null;
  usage: {
    /** Tokens read by the model. */
    inputTokens: number;
    /** Tokens written by the model. */
    outputTokens: number;
    /** Tokens read from the provider's cache. */
    cacheReadTokens: number;
    /** Tokens written to the provider's cache. */
    cacheWriteTokens: number;
  } | null;
  /** What its agent can do beside prompts. */
  capabilities: Array<"commands" | "diff" | "fork" | "questions" | "revert" | "shell" | "subAgents" | "summarize">;
  /** Why it runs with another kind than the preferred one; null if it does not. */
  fallback: {
    /** The kind that was asked for or preferred. */
    preferredKind: "opencode" | "claude_code" | "codex";
    /** The kinds that were skipped, in order. */
    skipped: Array<{
      /** The coding agent. */
      kind: "opencode" | "claude_code" | "codex";
      /** A stable word: `quota`, or the code of the kind's problem, such as not_installed. */
      reason: string;
      /** The same as a sentence. */
      message: string;
      /** Percent of the quota that were used; null if unknown. */
      utilization: number | null;
    }>;
    /** Options of the caller that the kind does not have. */
    droppedOptions: Array<string>;
  } | null;
  /** Parts of the repository's own configuration that its agent uses, because the organization trusts them. */
  trustedParts: Array<"skills" | "commands" | "mcp_servers" | "hooks">;
  /** Whose agent account it uses; null: the host's own. */
  accountOf: {
    /** From list_members. */
    userId: string;
    /** The user's name. */
    name: string;
  } | null;
  /** Members who may prompt it besides the owner of its account; null: every member. */
  sharedWith: Array<{
    /** From list_members. */
    userId: string;
    /** The user's name. */
    name: string;
  }> | null;
  /** What became of a turn that a used-up quota ended; null if there is none, or it is not decided yet. Only one turn of a session is continued. */
  continuation: {
    /** The turn that failed. */
    turnId: string;
    /** The fork that continues it. */
    sessionId: string | null;
    /** Why it is not continued. */
    problem: string | null;
  } | null;
  /** Null while the host is not connected. */
  live: {
    /** The title on the host. */
    title: string | null;
    /** `waiting`: for an answer. `stopped`: no agent process serves it. */
    status: "starting" | "idle" | "running" | "waiting" | "stopped";
    model: {
      /** The AI provider. */
      providerId: string;
      /** One of the provider's models. */
      modelId: string;
    } | null;
    usage: {
      /** Tokens read by the model. */
      inputTokens: number;
      /** Tokens written by the model. */
      outputTokens: number;
      /** Tokens read from the provider's cache. */
      cacheReadTokens: number;
      /** Tokens written to the provider's cache. */
      cacheWriteTokens: number;
    } | null;
  } | null;
};

/** A file changed by a session. */
export type FileChange = {
  /** Relative to the session's working directory. */
  path: string;
  /** Lines added; 0 for a binary file. */
  added: number;
  /** Lines removed; 0 for a binary file. */
  removed: number;
  /** Null if the host's daemon is too old to report it. */
  status: "added" | "modified" | "deleted" | "renamed" | null;
  /** Where a renamed file was; null for any other. */
  previousPath: string | null;
  /** Null if the host's daemon is too old to report it. */
  isBinary: boolean | null;
};

/** An agent at work in a directory of a host. */
export type Session = {
  /** From list_sessions. */
  sessionId: string;
  /** From list_instances. */
  instanceId: string;
  /** Null until the caller or the agent has set one. */
  title: string | null;
  /** The kind that runs it, after fallback. */
  agentKind: "opencode" | "claude_code" | "codex";
  /** The directory it was started in; null until a clone is complete. Its agent works in a worktree of it if `worktreeBranch` is set. */
  directory: string | null;
  /** The branch of its own worktree; null if it has none. */
  worktreeBranch: string | null;
  /** active, or detached until the next prompt: usable. error: `statusReason` says why. ended: over. cleanup_failed: over, its files are still on the host. */
  status: "active" | "detached" | "error" | "ended" | "cleanup_failed";
  /** Why it has this status, as a stable word; null if a caller caused it. */
  statusReason: string | null;
  /** The same as a sentence, if there is one. */
  statusMessage: string | null;
  /** Whether its host is connected. */
  reachable: boolean;
  /** US dollars so far; null if unknown. */
  cost: number | null;
  /** True if computed from a price table instead of reported by the agent. */
  costIsEstimate: boolean;
  /** Who started it: a user, a key of the organization, a schedule, or a trigger. */
  startedBy: {
    /** What started it. */
    type: "user" | "organization_key" | "schedule" | "trigger";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** The session it was forked from. */
  forkedFrom: string | null;
  /** When it was created. */
  createdAt: string;
  /** Null while it has not ended. */
  endedAt: string | null;
  /** How much an agent may do without asking a person. ask: a person decides about each call that no rule allows. auto: as ask, but commands inside the agent's own sandbox run at once. unattended: no person is asked, and a call that would need one is refused. */
  mode: "ask" | "auto" | "unattended";
  model: {
    /** The AI provider. */
    providerId: string;
    /** One of the provider's models. */
    modelId: string;
  } | null;
  usage: {
    /** Tokens read by the model. */
    inputTokens: number;
    /** Tokens written by the model. */
    outputTokens: number;
    /** Tokens read from the provider's cache. */
    cacheReadTokens: number;
    /** Tokens written to the provider's cache. */
    cacheWriteTokens: number;
  } | null;
  /** What its agent can do beside prompts. */
  capabilities: Array<"commands" | "diff" | "fork" | "questions" | "revert" | "shell" | "subAgents" | "summarize">;
  /** Why it runs with another kind than the preferred one; null if it does not. */
  fallback: {
    /** The kind that was asked for or preferred. */
    preferredKind: "opencode" | "claude_code" | "codex";
    /** The kinds that were skipped, in order. */
    skipped: Array<{
      /** The coding agent. */
      kind: "opencode" | "claude_code" | "codex";
      /** A stable word: `quota`, or the code of the kind's problem, such as not_installed. */
      reason: string;
      /** The same as a sentence. */
      message: string;
      /** Percent of the quota that were used; null if unknown. */
      utilization: number | null;
    }>;
    /** Options of the caller that the kind does not have. */
    droppedOptions: Array<string>;
  } | null;
  /** Parts of the repository's own configuration that its agent uses, because the organization trusts them. */
  trustedParts: Array<"skills" | "commands" | "mcp_servers" | "hooks">;
  /** Whose agent account it uses; null: the host's own. */
  accountOf: {
    /** From list_members. */
    userId: string;
    /** The user's name. */
    name: string;
  } | null;
  /** Members who may prompt it besides the owner of its account; null: every member. */
  sharedWith: Array<{
    /** From list_members. */
    userId: string;
    /** The user's name. */
    name: string;
  }> | null;
  /** What became of a turn that a used-up quota ended; null if there is none, or it is not decided yet. Only one turn of a session is continued. */
  continuation: {
    /** The turn that failed. */
    turnId: string;
    /** The fork that continues it. */
    sessionId: string | null;
    /** Why it is not continued. */
    problem: string | null;
  } | null;
};

/** A session with what it does, what it waits for, and what the caller has read. */
export type SessionOverview = {
  /** From list_sessions. */
  sessionId: string;
  /** From list_instances. */
  instanceId: string;
  /** Null until the caller or the agent has set one. */
  title: string | null;
  /** The kind that runs it, after fallback. */
  agentKind: "opencode" | "claude_code" | "codex";
  /** The directory it was started in; null until a clone is complete. Its agent works in a worktree of it if `worktreeBranch` is set. */
  directory: string | null;
  /** The branch of its own worktree; null if it has none. */
  worktreeBranch: string | null;
  /** active, or detached until the next prompt: usable. error: `statusReason` says why. ended: over. cleanup_failed: over, its files are still on the host. */
  status: "active" | "detached" | "error" | "ended" | "cleanup_failed";
  /** Why it has this status, as a stable word; null if a caller caused it. */
  statusReason: string | null;
  /** The same as a sentence, if there is one. */
  statusMessage: string | null;
  /** Whether its host is connected. */
  reachable: boolean;
  /** US dollars so far; null if unknown. */
  cost: number | null;
  /** True if computed from a price table instead of reported by the agent. */
  costIsEstimate: boolean;
  /** Who started it: a user, a key of the organization, a schedule, or a trigger. */
  startedBy: {
    /** What started it. */
    type: "user" | "organization_key" | "schedule" | "trigger";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** The session it was forked from. */
  forkedFrom: string | null;
  /** When it was created. */
  createdAt: string;
  /** Null while it has not ended. */
  endedAt: string | null;
  /** running: a turn or a shell command. waiting: for an answer to a request. unknown: it was at work when its host's connection was lost. */
  activity: "starting" | "idle" | "running" | "waiting" | "unknown";
  /** When the running turn, or else the last one, began; null if it is not known. */
  turnStartedAt: string | null;
  /** When its state last changed, such as at the end of a turn, by the host's clock; null if it is not known. */
  lastActivityAt: string | null;
  /** `seq` of the newest entry of its log; 0 if there is none. */
  lastSeq: number;
  /** How the last turn ended; null while a turn runs, and before the first. */
  lastOutcome: "completed" | "aborted" | "failed" | "interrupted" | null;
  /** The entry that reports `lastOutcome`. A person whose `readSeq` is smaller has not seen it. */
  lastOutcomeSeq: number | null;
  /** Its requests that can be answered; 100 means at least that many. */
  openRequestCount: number;
  /** The oldest of these requests; null if there is none. */
  oldestRequest: {
    /** From list_pending_requests. */
    requestId: string;
    /** What the agent asks for. */
    type: "permission" | "question";
    /** Its title or first question, at most 200 characters. */
    title: string | null;
    /** When the agent asked. */
    raisedAt: string;
  } | null;
  /** Prompts that wait for the running turn. */
  queuedPrompts: number;
  /** How far the caller has read its log, by mark_session_read; null for a key that belongs to no person. */
  readSeq: number | null;
  /** Differs if get_session_summary shows another record. */
  version: string;
};

/** A turn that the host has accepted. */
export type AcceptedTurn = {
  /** From list_sessions. */
  sessionId: string;
  /** The turn, as the session's log names it. */
  turnId: string;
  /** The prompt's message; pass it to revert_session. */
  messageId: string;
  /** True if it waits for an earlier turn. */
  queued: boolean;
};

/** One of the slash commands of a session's agent. */
export type SessionCommand = {
  /** The name for run_command, without the slash. */
  name: string;
  /** What it does, at most 200 characters; null if the agent does not say. */
  description: string | null;
  /** Whether the agent says that it uses `arguments`. */
  takesArguments: boolean;
};

/** An entry of a session's log. */
export type SessionEvent = {
  /** 1, 2, 3 … in each session. */
  seq: number;
  /** When it happened, by the host's clock. */
  at: string;
  /** The turn it belongs to. */
  turnId: string | null;
  /** What happened. `sessionUpdate` is the type of the entry, in terms of the Agent Client Protocol where it has one; docs/reference/log-entries.md and SessionUpdate in the OpenAPI document list the types. New types can be added. */
  update: Record<string, unknown>;
};

/** The work on one accepted prompt. */
export type Turn = {
  /** The turn, as the session's log names it. */
  turnId: string;
  /** The prompt's message; pass it to revert_session. */
  messageId: string | null;
  /** The entry with which it began. */
  firstSeq: number;
  /** The entry with which it ended; null while it runs, or if that is not known. */
  lastSeq: number | null;
  /** The prompt's first 200 characters; null if the turn is a command. */
  prompt: string | null;
  /** Who sent the prompt; null if no user did, or if it is not known. */
  by: {
    /** From list_members. */
    userId: string;
    /** The user's name. */
    name: string;
  } | null;
  /** When it began, by the host's clock. */
  startedAt: string;
  /** Null as `lastSeq` is. */
  outcome: "completed" | "aborted" | "failed" | "interrupted" | null;
  /** US dollars; null if unknown. */
  costUsd: number | null;
};

/** A permission or a question raised by an agent. */
export type Request = {
  /** From list_pending_requests. */
  requestId: string;
  /** What the agent asks for. */
  type: "permission" | "question";
  /** From list_sessions. */
  sessionId: string;
  /** From list_instances. */
  instanceId: string;
  /** Whether an answer can still take effect. */
  answerable: boolean;
  /** undeliverable: answered, but the host was not reached yet. withdrawn: the agent no longer asks. expired: its turn is over. */
  status: "pending" | "answered" | "undeliverable" | "withdrawn" | "expired";
  /** Set for a permission. */
  permission: {
    /** What the agent wants to do. */
    title: string;
    /** The exact command or change, if there is one. */
    detail: string | null;
    /** The exact rules that `always` would store; empty if there are none. */
    alwaysRules: Array<string>;
  } | null;
  /** Set for a question. */
  questions: Array<{
    /** The question's text. */
    question: string;
    /** The answers to choose from. */
    options: Array<{
      /** The text to answer with. */
      label: string;
      /** What the choice means. */
      description: string | null;
    }>;
    /** Whether several labels may be chosen. */
    multiple: boolean;
    /** Whether an answer may be other than a label. */
    freeText: boolean;
  }> | null;
  /** Why a person is asked, if known. */
  rule: string | null;
  /** The stored decision; `reject` also for a dismissed question. */
  answer: "once" | "always" | "reject" | null;
  /** The stored labels. */
  answers: Array<Array<string>> | null;
  /** Null if answered on the host itself. */
  answeredBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  } | null;
  /** When the agent asked. */
  raisedAt: string;
  /** Null while it is pending. */
  resolvedAt: string | null;
};

/** The prompts of a session that wait for an earlier turn. */
export type Queue = {
  /** From list_sessions. */
  sessionId: string;
  /** The newest entry of the session's log when the queue was read. Later entries say what has changed since. */
  version: number;
  /** In the order in which they run. */
  prompts: Array<{
    /** The prompt's message. */
    messageId: string;
    /** The turn that it will begin. */
    turnId: string;
    /** command: a slash command of the agent. summarize: a summary of the session. */
    type: "prompt" | "command" | "summarize";
    /** Its text; empty for a summary. */
    text: string;
    /** True if `text` is only the beginning: its first 8,192 characters. */
    isCut: boolean;
    /** Who sent it; null if no user did. */
    by: {
      /** From list_members. */
      userId: string;
      /** The user's name. */
      name: string;
    } | null;
    /** Those who edit it. It is not run meanwhile. */
    holds: Array<{
      /** Who edits it; null if no user does. */
      by: {
        /** From list_members. */
        userId: string;
        /** The user's name. */
        name: string;
      } | null;
      /** When the hold ends, by the host's clock. */
      until: string;
    }>;
  }>;
};

/** The rules that `always` has stored in a session. */
export type SessionRules = {
  /** From list_sessions. */
  sessionId: string;
  /** The newest first; at most 200. */
  rules: Array<{
    /** The exact rule, as the request showed it. */
    rule: string;
    /** Who answered `always`; null if no user did, or if it is not known. */
    by: {
      /** From list_members. */
      userId: string;
      /** The user's name. */
      name: string;
    } | null;
    /** When, by the host's clock; null if not known. */
    at: string | null;
    /** How many calls it has allowed since. */
    uses: number;
  }>;
  /** True if older rules are missing here. */
  truncated: boolean;
};

/** An ended session whose worktree or clone the host has parked. */
export type ParkedSession = {
  /** From list_sessions. */
  sessionId: string;
  /** The session's title. */
  title: string | null;
  /** Null for a session in a clone. */
  branch: string | null;
  /** When the session ended. */
  parkedAt: string;
  /** Size on the host's disk. */
  sizeBytes: number;
  /** The host may remove it earlier, if its limit is reached. */
  expiresAt: string;
};

/** Direct access to a host or one session, for a limited time. */
export type Exposure = {
  /** From list_exposures. */
  exposureId: string;
  /** From list_instances. */
  instanceId: string;
  /** The whole host, or one session. */
  scope: "instance" | "session";
  /** The one session it gives access to; null for the whole host. */
  sessionId: string | null;
  /** For a preview: the port of the session's server; null for opencode. */
  port: number | null;
  /** A user, or a key of the organization. */
  createdBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** When it was created. */
  createdAt: string;
  /** When the access ends. */
  expiresAt: string;
  /** Null if it was never used. */
  lastUsedAt: string | null;
};

/** An exposure with its credentials, shown once. */
export type NewExposure = {
  /** From list_exposures. */
  exposureId: string;
  /** From list_instances. */
  instanceId: string;
  /** The whole host, or one session. */
  scope: "instance" | "session";
  /** The one session it gives access to; null for the whole host. */
  sessionId: string | null;
  /** For a preview: the port of the session's server; null for opencode. */
  port: number | null;
  /** A user, or a key of the organization. */
  createdBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** When it was created. */
  createdAt: string;
  /** When the access ends. */
  expiresAt: string;
  /** Null if it was never used. */
  lastUsedAt: string | null;
  /** The address to open in a browser. */
  url: string;
  /** The user name to log in with. */
  username: string;
  /** Shown only here. */
  password: string;
  /** Connects an opencode terminal client. */
  attachCommand: string;
};

/** A preview with its credentials, shown once. */
export type NewPreview = {
  /** From list_exposures. */
  exposureId: string;
  /** From list_instances. */
  instanceId: string;
  /** The whole host, or one session. */
  scope: "instance" | "session";
  /** The one session it gives access to; null for the whole host. */
  sessionId: string | null;
  /** The port of the session's server. */
  port: number;
  /** A user, or a key of the organization. */
  createdBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** When it was created. */
  createdAt: string;
  /** When the access ends. */
  expiresAt: string;
  /** Null if it was never used. */
  lastUsedAt: string | null;
  /** The address to open in a browser. */
  url: string;
  /** The user name to log in with. */
  username: string;
  /** Shown only here. */
  password: string;
};

/** A prompt that starts new sessions at set times. */
export type Schedule = {
  /** From list_scheduled_prompts. */
  scheduleId: string;
  /** A name for people. */
  name: string | null;
  /** What each new session is asked to do. */
  prompt: string;
  /** The directory to work in. */
  directory: string | null;
  /** The hosted repository to clone. */
  cloneRepo: string | null;
  /** The address to clone from. */
  cloneUrl: string | null;
  /** Hosts, the preferred one first. */
  instanceIds: Array<string>;
  /** Null for the chosen host's default. */
  agentKind: "opencode" | "claude_code" | "codex" | null;
  /** Null for the kind's default. */
  providerId: string | null;
  /** Null for the kind's default. */
  modelId: string | null;
  /** Null for a worktree if the target is a git repository. */
  useWorktree: boolean | null;
  /** Null for the chosen host's own chain. */
  fallbackChain: Array<{
    /** The coding agent. */
    kind: "opencode" | "claude_code" | "codex";
    /** Null for the kind's default. */
    providerId: string | null;
    /** Null for the kind's default. */
    modelId: string | null;
  }> | null;
  /** How often it runs after `startAt`; never: once. */
  frequency: "never" | "hourly" | "daily" | "weekly" | "monthly";
  /** The time of the first run. */
  startAt: string;
  /** Null while paused and when finished. */
  nextRunAt: string | null;
  /** False while it is paused. */
  enabled: boolean;
  /** finished: it will not run again. */
  status: "scheduled" | "paused" | "finished";
  /** Why the service paused it; null if it did not. */
  pauseReason: string | null;
  /** Null if it never ran. */
  lastRun: ScheduleRun | null;
  /** Number of sessions it has started. */
  sessionCount: number;
  /** Who created, changed or resumed it last. Its runs act with the key of that call, and with the permissions that the key has at the time of the run. */
  actsAs: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** A user, or a key of the organization. */
  createdBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** When it was created. */
  createdAt: string;
};

/** One run of a scheduled prompt or trigger. */
export type ScheduleRun = {
  /** From list_schedule_runs. */
  runId: string;
  /** When it was due, or when the event arrived. */
  runAt: string;
  /** needs_answer: its session waits for someone to answer a request. missed: it was due while nothing could start it. skipped: an earlier run had not ended, or it was paused before the run started. */
  outcome: "running" | "succeeded" | "failed" | "needs_answer" | "missed" | "skipped";
  /** The session it started, if any. */
  sessionId: string | null;
  /** Why it failed, why nothing was started, or what it waits for. */
  failure: string | null;
  /** Hosts that could not run it, in the order tried. */
  passedOver: Array<{
    /** From list_instances. */
    instanceId: string;
    /** Why it was not used. */
    reason: string;
  }>;
  /** Why its session has another kind than the preferred one; null if it does not. */
  fallback: {
    /** The kind that was asked for or preferred. */
    preferredKind: "opencode" | "claude_code" | "codex";
    /** The kinds that were skipped, in order. */
    skipped: Array<{
      /** The coding agent. */
      kind: "opencode" | "claude_code" | "codex";
      /** A stable word: `quota`, or the code of the kind's problem, such as not_installed. */
      reason: string;
      /** The same as a sentence. */
      message: string;
      /** Percent of the quota that were used; null if unknown. */
      utilization: number | null;
    }>;
    /** Options of the caller that the kind does not have. */
    droppedOptions: Array<string>;
  } | null;
  /** When its session was started. */
  startedAt: string | null;
  /** Null while it has not ended. */
  endedAt: string | null;
  /** From startedAt to endedAt; null if either is null. */
  durationMs: number | null;
  /** What its session has cost, in US dollars; null if unknown. */
  costUsd: number | null;
};

/** A prompt that starts a new session for each event. */
export type Trigger = {
  /** From list_triggers. */
  triggerId: string;
  /** github: its webhooks. json: any Standard Webhooks. */
  source: "github" | "json";
  /** Events that start a run; empty for json, where every one does. */
  events: Array<"issue_opened" | "issue_labeled" | "comment" | "review" | "check_failed">;
  /** How a line of a comment must begin; null for json. */
  commandWord: string | null;
  /** Where the sender posts events. */
  address: string;
  /** A name for people. */
  name: string | null;
  /** What each new session is asked to do. */
  prompt: string;
  /** The directory to work in. */
  directory: string | null;
  /** The hosted repository to clone. */
  cloneRepo: string | null;
  /** The address to clone from. */
  cloneUrl: string | null;
  /** Hosts, the preferred one first. */
  instanceIds: Array<string>;
  /** Null for the chosen host's default. */
  agentKind: "opencode" | "claude_code" | "codex" | null;
  /** Null for the kind's default. */
  providerId: string | null;
  /** Null for the kind's default. */
  modelId: string | null;
  /** Null for a worktree if the target is a git repository. */
  useWorktree: boolean | null;
  /** Null for the chosen host's own chain. */
  fallbackChain: Array<{
    /** The coding agent. */
    kind: "opencode" | "claude_code" | "codex";
    /** Null for the kind's default. */
    providerId: string | null;
    /** Null for the kind's default. */
    modelId: string | null;
  }> | null;
  /** False while it is paused. */
  enabled: boolean;
  /** Why the service paused it; null if it did not. */
  pauseReason: string | null;
  /** Null if it never ran. */
  lastRun: ScheduleRun | null;
  /** Number of sessions it has started. */
  sessionCount: number;
  /** Who created, changed or resumed it last. Its runs act with the key of that call, and with the permissions that the key has at the time of the run. */
  actsAs: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** A user, or a key of the organization. */
  createdBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** When it was created. */
  createdAt: string;
};

/** An address that events are sent to. */
export type Webhook = {
  /** From list_webhooks. */
  webhookId: string;
  /** A name for people. */
  name: string | null;
  /** Where events are sent. */
  url: string;
  /** Which events are sent. */
  events: Array<"turn_finished" | "request_raised" | "request_settled" | "session_status" | "host_status" | "schedule_run_ended">;
  /** False while it is switched off. */
  enabled: boolean;
  /** Why the service switched it off; null if it did not. */
  disabledReason: string | null;
  /** The first failure since the last success, or since `enabled` or `url` was last set; null if there was none. */
  failingSince: string | null;
  /** Who created or changed it last. Events are sent as long as the key of that call may see them. */
  actsAs: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** A user, or a key of the organization. */
  createdBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** When it was created. */
  createdAt: string;
};

/** One event on its way to a webhook. */
export type WebhookDelivery = {
  /** The webhook-id header of the message. */
  deliveryId: string;
  /** What has happened. */
  event: "turn_finished" | "request_raised" | "request_settled" | "session_status" | "host_status" | "schedule_run_ended" | "test";
  /** failed: it is not tried again. */
  state: "waiting" | "sending" | "delivered" | "failed";
  /** Attempts that have ended. redeliver_webhook starts the count again. */
  attempts: number;
  /** HTTP status of the last attempt; null if there was no answer. */
  lastStatus: number | null;
  /** Why the last attempt failed; null if it succeeded, or if there was none. */
  lastError: "address_not_allowed" | "name_not_found" | "connection_failed" | "tls_failed" | "timeout" | "redirected" | "bad_status" | null;
  /** When it may be tried next. An earlier delivery of the same session, or a webhook that is switched off, delays it further. Null if it is not waiting, or is held behind an earlier delivery. */
  nextTryAt: string | null;
  /** When it was created. */
  createdAt: string;
  /** When it was delivered or given up. */
  endedAt: string | null;
};

/** The organization a key belongs to. */
export type Organization = {
  /** From whoami. */
  organizationId: string;
  /** The organization's name. */
  name: string;
};

/** An API key, without its secret. */
export type ApiKey = {
  /** From list_api_keys. */
  apiKeyId: string;
  /** A name for people. */
  name: string;
  /** Whom the key speaks for. An agent key is bound to one session. */
  scope: "user" | "organization" | "agent";
  /** Whose key it is; null if it belongs to no user. */
  user: {
    /** From list_members. */
    userId: string;
    /** The user's name. */
    name: string;
  } | null;
  /** The session of an agent key. */
  sessionId: string | null;
  /** What the key may do. */
  permissions: Array<"instances:view" | "instances:edit" | "instances:delete" | "settings:edit" | "sessions:view" | "sessions:edit" | "access:view" | "access:edit">;
  /** Null if made by bootstrap. */
  createdBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  } | null;
  /** When it was created. */
  createdAt: string;
  /** Null if it does not expire. */
  expiresAt: string | null;
  /** Null if it was never used. */
  lastUsedAt: string | null;
  /** Null if it is not revoked. */
  revokedAt: string | null;
};

/** A user of the organization. */
export type Member = {
  /** From list_members. */
  userId: string;
  /** The user's e-mail address. */
  email: string;
  /** Null if none was set. */
  name: string | null;
  /** The name of the member's role. */
  role: string;
  /** When it was created. */
  createdAt: string;
};

/** The organization's settings. */
export type Settings = {
  /** The organization's name. */
  name: string;
  /** A time zone of the IANA database. */
  timeZone: string;
  /** How long a session's log is kept, counted from its end. */
  logRetentionDays: number;
  /** How long audit entries are kept. */
  auditRetentionDays: number;
  /** What agents may do without a request. */
  defaultAgentPolicy: {
    /** Commands that an agent may run without a request. */
    allowedCommands: Array<string>;
    /** If an agent wants to read or write outside its worktree. */
    outsideWorktree: "ask" | "refuse";
  };
  /** How much an agent may do without asking a person. ask: a person decides about each call that no rule allows. auto: as ask, but commands inside the agent's own sandbox run at once. unattended: no person is asked, and a call that would need one is refused. */
  defaultMode: "ask" | "auto" | "unattended";
  /** How much an agent may do without asking a person. ask: a person decides about each call that no rule allows. auto: as ask, but commands inside the agent's own sandbox run at once. unattended: no person is asked, and a call that would need one is refused. */
  highestMode: "ask" | "auto" | "unattended";
  /** Repositories whose own configuration agents may use. */
  trustedRepositories: Array<{
    /** Such as `github.com/acme/app`, with the host in lower case. */
    origin: string;
    /** The parts of its configuration that agents may use. */
    parts: Array<"skills" | "commands" | "mcp_servers" | "hooks">;
  }>;
  /** How members may use accounts of their own on hosts; empty: not at all. */
  allowedLogins: Array<"subscription" | "api_key" | "gateway" | "cloud">;
  /** Whether the next kind continues a turn whose quota is used up. */
  fallbackMidTurn: boolean;
};

/** A call that changed something, or tried to. */
export type AuditEntry = {
  /** From list_audit_entries. */
  auditId: string;
  /** When the call was made. */
  at: string;
  /** The action, or the path of another route. */
  action: string;
  /** `done`; the code of the refusal; or `accepted`, when a host was asked and a later entry records the outcome. */
  outcome: string;
  /** Who made the call. */
  actor: {
    /** What the actor is. `sender` has sent an event to a trigger. */
    type: "user" | "organization_key" | "agent_key" | "host" | "sender";
    /** The id of the user, the key, or the session of the agent; empty for a host or sender. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  apiKeyId: string | null;
  /** Null unless a signed-in person called. */
  signInId: string | null;
  /** The other member whose agent account the call uses; null if it uses none. */
  accountOf: {
    /** From list_members. */
    userId: string;
    /** The user's name. */
    name: string;
  } | null;
  /** The input; secrets are omitted, and long texts replaced by their length. */
  input: Record<string, unknown>;
  /** Ids of the records that the call created or changed. */
  records: Record<string, string>;
  /** Identifies the call in the service's logs. */
  callId: string;
};

/** A named set of permissions. */
export type Role = {
  /** The role's name. */
  name: string;
  /** Whether every organization has it. */
  builtIn: boolean;
  /** What its members may do. */
  permissions: Array<"instances:view" | "instances:edit" | "instances:delete" | "settings:edit" | "sessions:view" | "sessions:edit" | "access:view" | "access:edit">;
  /** How many members have it. */
  memberCount: number;
};

/** An invitation that nobody has accepted yet. */
export type Invitation = {
  /** From list_invitations. */
  invitationId: string;
  /** Whom it invites. */
  email: string;
  /** Null if none was set. */
  name: string | null;
  /** owner, member, viewer, or a role of list_roles. */
  role: string;
  /** A user, or a key of the organization. */
  createdBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** When it was created. */
  createdAt: string;
  /** When its link stops working. */
  expiresAt: string;
};

/** A browser in which a person is signed in. */
export type SignIn = {
  /** From list_sign_ins. */
  signInId: string;
  /** How the person signed in. invitation: by accepting one. provider: with single sign-on. device: with a code that another browser showed. link: with an operator's link. */
  way: "password" | "passkey" | "invitation" | "provider" | "device" | "link";
  /** The browser, as it calls itself. */
  device: string;
  /** Whether this call was made with it. */
  isCurrent: boolean;
  /** When it was created. */
  createdAt: string;
  /** To within five minutes. */
  lastUsedAt: string;
  /** When the person has to sign in again. */
  expiresAt: string;
};

/** How people of an organization sign in. */
export type SignInSettings = {
  /** Null if there is no provider. */
  issuer: string | null;
  /** The name of this service at the provider. */
  clientId: string | null;
  /** The address to register at the provider for this service. */
  redirectUri: string;
  /** The claim that lists groups. */
  groupsClaim: string | null;
  /** The roles that groups give. */
  groupRoles: Array<{
    /** A group, as the claim names it. */
    group: string;
    /** owner, member, viewer, or a role of list_roles. */
    role: string;
  }>;
  /** Whether other ways of signing in do not reach the organization. */
  required: boolean;
  /** Owners who may sign in otherwise although it is required. */
  exceptUserIds: Array<string>;
  /** When somebody last signed in with this provider; null: not yet. */
  testedAt: string | null;
};

/** A person of an identity provider who signs in as a member. */
export type ConnectedIdentity = {
  /** From list_members. */
  userId: string;
  /** The provider, as it names itself. */
  issuer: string;
  /** The person, as the provider names them. */
  subject: string;
  /** The role that a group of the person gave most recently; null if none did. */
  groupRole: string | null;
  /** When the person first signed in with it. */
  connectedAt: string;
};

/** What a member may do with one session. */
export type SessionGrant = {
  /** From list_sessions. */
  sessionId: string;
  /** The member who has the grant. */
  user: {
    /** From list_members. */
    userId: string;
    /** The user's name. */
    name: string;
  };
  /** view: see the session. answer: also answer its requests. edit: also prompt, abort and rename it. */
  level: "view" | "answer" | "edit";
  /** Whether the member got it by opening a link. */
  byLink: boolean;
  /** Who gave the grant, or made the link. */
  grantedBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** When it was created. */
  createdAt: string;
};

/** A link that members can open, without its token. */
export type SessionLink = {
  /** From list_sessions. */
  sessionId: string;
  /** view: see the session. answer: also answer its requests. edit: also prompt, abort and rename it. */
  level: "view" | "answer" | "edit";
  /** A user, or a key of the organization. */
  createdBy: {
    /** What the caller is. */
    type: "user" | "organization_key";
    /** The id of the user, the key, the schedule or the trigger. */
    id: string;
    /** Its name, to show to people. */
    name: string;
  };
  /** When it was created. */
  createdAt: string;
};

/** An entry of a session's log. Later versions can add types. */
export type SessionUpdate =
  /** A prompt, as it was sent to the agent. */
  | {
    /** Identifies the message in this session. */
    messageId: string;
    /** Its text. */
    content: {
      /** Always text. */
      type: "text";
      /** The whole text. */
      text: string;
    };
    /** Who sent it; null if no user did. Older daemons do not send it. */
    by?: string | null | undefined;
    /** The files sent with it. */
    attachments?: Array<{
      /** GET /api/files/{fileId} has its bytes until it was unused for seven days; null if the host read it elsewhere. */
      fileId: string | null;
      /** The name to show. */
      filename: string | null;
      /** The media type as its sender named it. */
      mime: string;
      /** In bytes; null if not known. */
      size: number | null;
    }> | undefined;
    sessionUpdate: "user_message_chunk";
  }
  /** A whole message of the agent. */
  | {
    /** Identifies the message in this session. */
    messageId: string;
    /** Its text. */
    content: {
      /** Always text. */
      type: "text";
      /** The whole text. */
      text: string;
    };
    /** The tool call whose sub-agent wrote it; null for the session's own agent. */
    parentToolCallId: string | null;
    sessionUpdate: "agent_message_chunk";
  }
  /** What the agent thought, if its model shows that. */
  | {
    /** Identifies the message in this session. */
    messageId: string;
    /** Its text. */
    content: {
      /** Always text. */
      type: "text";
      /** The whole text. */
      text: string;
    };
    /** The tool call whose sub-agent wrote it; null for the session's own agent. */
    parentToolCallId: string | null;
    sessionUpdate: "agent_thought_chunk";
  }
  /** A tool call begins. */
  | {
    /** Identifies the call in this session. */
    toolCallId: string;
    /** What the call does. */
    title: string;
    /** What kind of work it is. */
    kind: "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";
    /** pending: not begun. */
    status: "pending" | "in_progress";
    /** The agent's own description of the call. */
    rawInput: unknown;
    /** The tool call whose sub-agent wrote it; null for the session's own agent. */
    parentToolCallId: string | null;
    sessionUpdate: "tool_call";
  }
  /** A tool call has ended. */
  | {
    /** The `toolCallId` of its tool_call. */
    toolCallId: string;
    /** A better title, if there is one. */
    title?: string | undefined;
    /** How the call ended. */
    status: "completed" | "failed";
    /** Its output. */
    content: Array<{
      type: "content";
      content: {
        /** Always text. */
        type: "text";
        /** The whole text. */
        text: string;
      };
    } | {
      type: "patch";
      path: string;
      patch: string;
      added: number;
      removed: number;
    }>;
    /** How the command ended, if the agent reports it. */
    exitCode?: number | undefined;
    sessionUpdate: "tool_call_update";
  }
  /** The agent's plan, which replaces the one before. */
  | {
    /** The steps, in their order. */
    entries: Array<{
      /** What is to be done. */
      content: string;
      /** How urgent it is. */
      priority: "high" | "medium" | "low";
      /** How far it is. */
      status: "pending" | "in_progress" | "completed";
    }>;
    sessionUpdate: "plan";
  }
  /** The session's totals so far. */
  | {
    /** Tokens used so far. */
    usage: {
      /** Tokens read by the model. */
      inputTokens: number;
      /** Tokens written by the model. */
      outputTokens: number;
      /** Tokens read from the provider's cache. */
      cacheReadTokens: number;
      /** Tokens written to the provider's cache. */
      cacheWriteTokens: number;
    };
    /** US dollars; null if unknown. */
    costUsd: number | null;
    /** True if computed from a price table. */
    costIsEstimate: boolean;
    /** How full the model's context is, if the agent reports it. */
    context?: {
      /** Tokens of the newest model call. */
      usedTokens: number;
      /** How many the model can read. */
      windowTokens: number;
    } | undefined;
    sessionUpdate: "usage_update";
  }
  /** The agent has named the session. */
  | {
    /** The agent's title. */
    title: string | null;
    sessionUpdate: "session_info_update";
  }
  /** A prompt waits for an earlier turn. */
  | {
    /** The turn that the prompt would begin. */
    turnId: string;
    /** The prompt's message. */
    messageId: string;
    /** The prompt. */
    text: string;
    sessionUpdate: "prompt_queued";
  }
  /** A prompt that waits has another text. */
  | {
    /** The turn that the prompt would begin. */
    turnId: string;
    /** The prompt's message. */
    messageId: string;
    /** Its new text. */
    text: string;
    sessionUpdate: "prompt_changed";
  }
  /** A prompt that waits has another place in the queue. */
  | {
    /** The turn that the prompt would begin. */
    turnId: string;
    /** The prompt's message. */
    messageId: string;
    /** The waiting prompt before which it now runs; null: the last. */
    beforeMessageId: string | null;
    sessionUpdate: "prompt_moved";
  }
  /** A prompt is not run, because it was removed or because the turn before it was stopped. */
  | {
    /** The turn that the prompt would begin. */
    turnId: string;
    /** The prompt's message. */
    messageId: string;
    /** Why. */
    reason: string;
    /** Why, as a stable word. `removed`: a caller removed it. */
    cause?: string | undefined;
    sessionUpdate: "prompt_dropped";
  }
  /** A turn begins. */
  | {
    /** The prompt's message. */
    messageId: string;
    /** Null if the agent decides. */
    model: {
      /** The AI provider. */
      providerId: string;
      /** One of the provider's models. */
      modelId: string;
    } | null;
    /** The agent's mode; null for its default. */
    agent: string | null;
    sessionUpdate: "turn_started";
  }
  /** A turn has ended. */
  | {
    /** completed: the agent finished. aborted: somebody stopped it. failed: the agent or its model gave up. interrupted: the agent's process or the daemon went away; it is never run again. */
    outcome: "completed" | "aborted" | "failed" | "interrupted";
    /** Why it did not complete. */
    reason: string | null;
    /** Why it failed, as a stable word. `quota`: the account's is used up. */
    cause?: string | undefined;
    sessionUpdate: "turn_finished";
  }
  /** The turn failed because the quota of its account is used up, and a fork of the session continues it. */
  | {
    /** The session that continues it. */
    sessionId: string;
    /** The coding agent. */
    kind: "opencode" | "claude_code" | "codex";
    sessionUpdate: "turn_continued";
  }
  /** The agent waits for a permission or an answer. */
  | {
    /** From list_pending_requests. */
    requestId: string;
    /** What the agent asks for. */
    type: "permission" | "question";
    /** Set for a permission. */
    permission: {
      /** What the agent wants to do. */
      title: string;
      /** The exact command or change, if there is one. */
      detail: string | null;
      /** The exact rules that `always` would store; empty if there are none. */
      alwaysRules: Array<string>;
    } | null;
    /** Set for a question. */
    questions: Array<{
      /** The question's text. */
      question: string;
      /** The answers to choose from. */
      options: Array<{
        /** The text to answer with. */
        label: string;
        /** What the choice means. */
        description: string | null;
      }>;
      /** Whether several labels may be chosen. */
      multiple: boolean;
      /** Whether an answer may be other than a label. */
      freeText: boolean;
    }> | null;
    /** Hash of the request as shown. An answer contains it, so it cannot apply to another request. */
    shownHash: string;
    /** The call that it is about. */
    toolCallId: string | null;
    /** Why a person is asked. */
    rule?: string | undefined;
    sessionUpdate: "request_raised";
  }
  /** A call of the agent was allowed or denied without asking anybody. */
  | {
    /** The call that it is about. */
    toolCallId: string | null;
    /** What was decided. */
    answer: "allow" | "deny";
    /** The rule that decided. */
    rule: string;
    /** How much an agent may do without asking a person. ask: a person decides about each call that no rule allows. auto: as ask, but commands inside the agent's own sandbox run at once. unattended: no person is asked, and a call that would need one is refused. */
    mode: "ask" | "auto" | "unattended";
    sessionUpdate: "call_decided";
  }
  /** A request was answered, or the agent no longer asks. */
  | {
    /** From list_pending_requests. */
    requestId: string;
    /** How it was settled. */
    outcome: "answered" | "withdrawn";
    /** Set for a permission. */
    answer: "once" | "always" | "reject" | null;
    /** Set for a question: the labels of each answer. */
    answers: Array<Array<string>> | null;
    /** Why it was withdrawn. */
    reason: string | null;
    sessionUpdate: "request_settled";
  }
  /** A caller's shell command begins. Its text is stored nowhere. */
  | {
    /** As run_shell returned it. */
    shellId: string;
    /** The mode that it was run for; null for the session's own. */
    agent: string | null;
    sessionUpdate: "shell_started";
  }
  /** A caller's shell command has ended. */
  | {
    /** As run_shell returned it. */
    shellId: string;
    /** The mode that it was run for; null for the session's own. */
    agent: string | null;
    /** Null if the command did not end by itself. */
    exitCode: number | null;
    /** What it wrote, up to 4 MiB. */
    output: string;
    /** Why it did not end by itself. */
    reason: string | null;
    sessionUpdate: "shell";
  }
  /** The session has another mode. */
  | {
    /** How much an agent may do without asking a person. ask: a person decides about each call that no rule allows. auto: as ask, but commands inside the agent's own sandbox run at once. unattended: no person is asked, and a call that would need one is refused. */
    mode: "ask" | "auto" | "unattended";
    /** Why, if no caller set the mode. */
    reason: string | null;
    sessionUpdate: "mode_changed";
  }
  /** A rule that the answer `always` had stored no longer applies. */
  | {
    /** The rule. */
    rule: string;
    /** Who forgot it; null if no user did. */
    by: string | null;
    sessionUpdate: "rule_forgotten";
  }
  /** The agent replaced the earlier conversation by a summary. The log keeps all of it. */
  | {
    sessionUpdate: "session_compacted";
  }
  /** The session has another status. */
  | {
    /** active, or detached until the next prompt: usable. error: `statusReason` says why. ended: over. cleanup_failed: over, its files are still on the host. */
    status: "active" | "detached" | "error" | "ended" | "cleanup_failed";
    /** Why, as a sentence. */
    reason: string | null;
    /** Why, as a stable word; daemons before it do not send it. */
    code?: string | null | undefined;
    sessionUpdate: "session_status";
  }
  /** A session whose clone or fork took longer than its caller waited is ready. */
  | {
    /** The session's directory. */
    directory: string;
    /** The branch of its own worktree; null if it has none. */
    worktreeBranch: string | null;
    /** Null if the agent decides. */
    model: {
      /** The AI provider. */
      providerId: string;
      /** One of the provider's models. */
      modelId: string;
    } | null;
    /** What its agent can do. */
    capabilities: Array<"commands" | "diff" | "fork" | "questions" | "revert" | "shell" | "subAgents" | "summarize">;
    sessionUpdate: "session_placed";
  }
  /** The session runs with another kind than the preferred one. */
  | {
    /** The coding agent. */
    kind: "opencode" | "claude_code" | "codex";
    /** The kind that was asked for or preferred. */
    preferredKind: "opencode" | "claude_code" | "codex";
    /** The kinds that were skipped, in order. */
    skipped: Array<{
      /** The coding agent. */
      kind: "opencode" | "claude_code" | "codex";
      /** A stable word: `quota`, or the code of the kind's problem, such as not_installed. */
      reason: string;
      /** The same as a sentence. */
      message: string;
      /** Percent of the quota that were used; null if unknown. */
      utilization: number | null;
    }>;
    /** Options of the caller that the kind does not have. */
    droppedOptions: Array<string>;
    sessionUpdate: "fallback_taken";
  }
  /** The owner of the session's account has changed who may prompt it. */
  | {
    /** Members who may prompt it; null: every member. */
    userIds: Array<string> | null;
    sessionUpdate: "session_shared";
  }
  /** The session uses a person's own agent account. */
  | {
    /** Whose account it is. */
    userId: string;
    sessionUpdate: "account_used";
  }
  /** The session continues another one. Its agent reads the earlier conversation with its first prompt. */
  | {
    /** The original. */
    fromSessionId: string;
    /** full: the conversation itself. compress: a summary of it. */
    mode: "full" | "compress";
    /** True if the conversation was too long. */
    isCut: boolean;
    /** False if the host no longer had the original's files. */
    hasFiles: boolean;
    /** The summary; null if the agent reads the conversation itself. */
    summary: string | null;
    sessionUpdate: "session_forked";
  }
  /** Configuration files in the repository that the agent does not use. If `config_trusted` lists a file too, the agent uses the version of the origin's default branch. */
  | {
    /** Files and directories. */
    paths: Array<string>;
    sessionUpdate: "config_ignored";
  }
  /** Which trusted parts of the repository's configuration the agent uses, and why others are not used. */
  | {
    /** Where the repository comes from. */
    origin: string;
    /** The parts in use. */
    parts: Array<"skills" | "commands" | "mcp_servers" | "hooks">;
    /** The files, at most 100 of them. */
    paths: Array<string>;
    /** Why a trusted part is not used; otherwise null. */
    reason: string | null;
    sessionUpdate: "config_trusted";
  }
  /** Conversation and files are as before a message. */
  | {
    /** The first message that no longer applies. */
    messageId: string;
    sessionUpdate: "session_reverted";
  }
  /** The host has a new journal. What it had not reported before is lost. */
  | {
    sessionUpdate: "journal_reset";
  }
  /** An event of the agent that has no equivalent here. */
  | {
    /** The event, unchanged. */
    raw: unknown;
    sessionUpdate: "unknown";
  }
;

/** Every code of a refusal. */
export type RefusalCode =
  /** The body does not match the action's schema; `fields` names each wrong field. */
  | "invalid_input"
  /** The API key is missing, unknown, altered, expired or revoked. */
  | "unauthenticated"
  /** The key is valid but lacks the permission that the action needs. */
  | "forbidden"
  /** No action has this name. */
  | "unknown_action"
  /** There is nothing at this path. */
  | "unknown_path"
  /** No record of the caller's organization has this id. */
  | "not_found"
  /** The path exists but not for this HTTP method. */
  | "method_not_allowed"
  /** The body is larger than 8 MiB, a file larger than 16 MiB, or a host's blob larger than 64 MiB. */
  | "payload_too_large"
  /** The key made too many calls; `retryAfterMs` says how long to wait. */
  | "rate_limited"
  /** The key or its organization has too much open at once: streams, or bytes of unanswered calls. Close some streams, or wait for answers. */
  | "concurrency_limited"
  /** The organization and its hosts have used up their daily quota of bytes; `retryAfterMs` says when the next day begins. */
  | "quota_exceeded"
  /** The service failed; `incidentId` finds the cause in its logs. */
  | "internal"
  /** A part that the service depends on, such as its database, does not answer. */
  | "unavailable"
  /** A page of the dashboard belongs to another person than the one who is signed in with the browser now, so nothing was done. Reload the page, or sign in again as its person. */
  | "other_person"
  /** The idempotency key was used before with another body. */
  | "idempotency_mismatch"
  /** It is not known yet whether the call takes effect: the host has not answered, or an earlier call with the same idempotency key is not finished. The message says whether to call again, or which action shows the effect. */
  | "in_progress"
  /** The action needs a sign-in of the last five minutes. Confirm who you are, then call again. */
  | "sign_in_again"
  /** Only the person of an account can do this, in a browser. Sign in there, then try again. */
  | "sign_in_first"
  /** Browsers make no passkeys for this service, because its address is an IP address. */
  | "passkeys_unavailable"
  /** The organization's identity provider does not answer, or not as it has to; the message says why. */
  | "provider_failed"
  /** Single sign-on can be required only after somebody has signed in with these settings of the provider. */
  | "provider_untested"
  /** The invitation was accepted, so it cannot be withdrawn. */
  | "already_accepted"
  /** The action acts for a user, and this key belongs to an organization. */
  | "user_key_required"
  /** An organization must have at least one owner, and one who can sign in if its identity provider fails. */
  | "last_owner"
  /** Members have the role; give them another one first. */
  | "role_in_use"
  /** Something with this name or path exists already. */
  | "already_exists"
  /** The organization has the maximum of what the call would add; the message says how many. */
  | "limit_reached"
  /** An earlier run of the scheduled prompt has not ended. */
  | "schedule_running"
  /** The webhook is switched off. Switch it on with update_webhook. */
  | "webhook_disabled"
  /** The instance's host is not connected. */
  | "host_offline"
  /** The host's policy or state forbids it; the message says why. */
  | "host_refused"
  /** The host's daemon is too old to know this command; update it. */
  | "daemon_outdated"
  /** The agent kind is not installed, not logged in or over its quota, and no fallback is left. */
  | "agent_not_ready"
  /** The session's agent kind cannot do this. */
  | "capability_missing"
  /** The directory is not a git repository. For a diff: the session has neither a commit nor a copy to compare with; the message says why. */
  | "not_a_repository"
  /** The directory contains configuration of an agent or of git that would run a program without a request. */
  | "project_config_present"
  /** The organization's `highestMode` or the host's policy file allows only a narrower mode; the message says which, and who can change it. */
  | "mode_not_allowed"
  /** The session has ended and accepts no further work. */
  | "session_ended"
  /** A turn is running; wait until it has finished, or stop it. */
  | "turn_running"
  /** The session has the maximum number of waiting prompts. Wait until one has started, or discard all of them with abort_session. */
  | "queue_full"
  /** The prompt was changed since the caller read it, so the new text was not saved. Read it again with list_queued_prompts. */
  | "prompt_changed"
  /** Somebody else edits the prompt; wait until they have finished. */
  | "prompt_held"
  /** The host's journal is full; it accepts work again when its entries are applied. */
  | "journal_full"
  /** None of the sessions could be deleted; `fields` has the reason for each. */
  | "nothing_deleted"
  /** The request is a question but was answered as a permission, or the reverse. */
  | "wrong_request_type"
  /** The session uses the agent account of another user, and the call needs that user; the message says what can be shared. fork_session continues its conversation with an account of your own. */
  | "account_not_yours"
  /** The organization's setting `allowedLogins` does not allow this login, or somebody else may have a key of the user's; the message says which. */
  | "login_not_allowed"
  /** The login attempt failed; start a new one. */
  | "login_failed"
  /** This login attempt needs no code; the host completes it by itself. */
  | "wrong_login_flow"
;

export const actionNames = [
  "list_instances",
  "get_instance",
  "list_directories",
  "browse_directory",
  "list_github_repos",
  "list_models",
  "list_agent_kinds",
  "create_instance",
  "regenerate_pairing_token",
  "update_instance",
  "delete_instance",
  "clone_repository",
  "refresh_instance",
  "search_instances",
  "list_agent_identities",
  "start_agent_login",
  "poll_agent_login",
  "submit_agent_login",
  "link_agent_identity",
  "unlink_agent_identity",
  "restart_opencode",
  "update_opencode",
  "update_agent",
  "install_agent_kind",
  "update_agent_kind",
  "restart_agent_kind",
  "set_fallback_chain",
  "list_sessions",
  "get_session_summary",
  "get_session_diff",
  "start_session",
  "end_session",
  "delete_session",
  "fork_session",
  "rename_session",
  "set_session_mode",
  "share_session",
  "push_session",
  "revert_session",
  "search_sessions",
  "mark_session_read",
  "send_prompt",
  "abort_session",
  "summarize_session",
  "run_shell",
  "run_command",
  "list_session_commands",
  "list_session_events",
  "list_session_turns",
  "search_session_events",
  "wait_for_session",
  "read_session_entry",
  "list_queued_prompts",
  "update_queued_prompt",
  "hold_queued_prompt",
  "move_queued_prompt",
  "remove_queued_prompt",
  "send_queued_prompt_now",
  "list_session_rules",
  "forget_session_rule",
  "get_session_file_diff",
  "get_session_git",
  "list_parked_sessions",
  "restore_session",
  "list_pending_requests",
  "answer_permission",
  "answer_question",
  "get_request",
  "search_requests",
  "list_exposures",
  "create_exposure",
  "list_session_ports",
  "create_preview",
  "revoke_exposure",
  "list_scheduled_prompts",
  "create_scheduled_prompt",
  "update_scheduled_prompt",
  "set_scheduled_prompt_enabled",
  "delete_scheduled_prompt",
  "preview_scheduled_prompt",
  "run_scheduled_prompt_now",
  "list_schedule_runs",
  "list_triggers",
  "create_trigger",
  "update_trigger",
  "delete_trigger",
  "list_webhooks",
  "create_webhook",
  "update_webhook",
  "delete_webhook",
  "test_webhook",
  "list_webhook_deliveries",
  "redeliver_webhook",
  "whoami",
  "list_api_keys",
  "create_api_key",
  "rotate_api_key",
  "revoke_api_key",
  "list_members",
  "add_member",
  "update_member",
  "remove_member",
  "get_settings",
  "update_settings",
  "list_audit_entries",
  "list_roles",
  "create_role",
  "update_role",
  "delete_role",
  "create_invitation",
  "list_invitations",
  "revoke_invitation",
  "list_sign_ins",
  "revoke_sign_in",
  "get_sign_in_settings",
  "update_sign_in_settings",
  "list_connected_identities",
  "remove_connected_identity",
  "create_device_sign_in",
  "confirm_device_sign_in",
  "grant_session",
  "list_session_grants",
  "revoke_session_grant",
  "create_session_link",
  "revoke_session_link",
  "open_session_link",
] as const satisfies readonly (keyof Actions)[];
