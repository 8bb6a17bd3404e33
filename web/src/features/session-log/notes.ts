// The words of thin lines: one for each entry that is no message and no call. A word that this page does not know is a
// line too, with the entry inside.
import { clock, duration, money, size } from "../../words/figures.ts";
import { kindName } from "../../words/kinds.ts";
import { words, type WordId } from "../../words/words.ts";
import type { Note, NoteRow, TurnEnd } from "./row.ts";

export interface NoteText {
  text: string;
  /** rule: a line across, between turns. quiet: as a fold. bad: failed. */
  tone: "rule" | "quiet" | "bad";
  /** Shown when the line is opened. */
  detail?: string;
  /** Shown below the line at once: a reason is never cut. */
  reason?: string;
}

export function textOf({ note, at }: NoteRow): NoteText {
  switch (note.of) {
    case "turn":
      return turnText(note.end, at);
    case "request":
      return requestText(note);
    case "model":
      return { text: modelText(note), tone: "rule" };
    case "dropped":
      return {
        text: words(note.isRemoved ? "note.removed" : "note.dropped"),
        tone: "quiet",
        ...(note.text !== undefined && { detail: note.text }),
      };
    case "cut":
      return {
        text: words("note.cut", { size: size(note.size) }),
        tone: "quiet",
        ...(note.omitted !== undefined && { detail: note.omitted }),
      };
    case "unknown":
      return {
        text: words("note.unknown"),
        tone: "quiet",
        detail: JSON.stringify(note.update, null, 2),
      };
    default:
      return entryText(note, at);
  }
}

function turnText(end: TurnEnd, at: string): NoteText {
  const { outcome, reason, number, ms, costUsd, costIsEstimate } = end;
  const turn =
    number === undefined ? words("note.turn.unnumbered") : words("note.turn.number", { n: number });
  const values = { turn, time: clock(at) };
  const share = [
    ...(ms === undefined ? [] : [duration(ms)]),
    // A kind without prices reports no cost, which is not a cost of nothing.
    ...(costUsd === undefined || costUsd === 0 ? [] : [money(costUsd, costIsEstimate)]),
  ];
  const line = (text: string) => [text, ...share].join(", ");
  if (outcome === "completed")
    return { text: line(words("note.turn.completed", values)), tone: "rule" };
  if (outcome === "aborted")
    return { text: line(words("note.turn.aborted", values)), tone: "rule" };
  if (outcome === "interrupted") {
    return {
      text: words("note.turn.interrupted", values),
      tone: "bad",
      ...(reason !== null && { reason }),
    };
  }
  const text =
    outcome === "failed"
      ? words("note.turn.failed", values)
      : words("note.turn.other", { ...values, outcome });
  const goesOn = words("note.turn.goes_on");
  return {
    text: line(text),
    tone: "bad",
    reason: reason === null ? goesOn : `${reason} ${goesOn}`,
  };
}

/** A longer text does not fit into a line, so the line opens. */
const longestLine = 80;

function requestText(note: Note & { of: "request" }): NoteText {
  const { outcome, answer, answers, reason, permission, question } = note;
  const asked = permission?.detail ?? permission?.title ?? question;
  const labels = answers?.flat().join(", ");
  const what =
    outcome === "withdrawn"
      ? words("note.request.withdrawn")
      : answer === "once" || answer === "always" || (answer === "reject" && permission)
        ? words(`note.request.${answer}`)
        : labels
          ? words("note.request.answered")
          : words("note.request.dismissed");
  const about = [asked?.split("\n", 1)[0], labels].filter(Boolean).join(" ");
  const detail = [asked, labels, reason].filter(Boolean).join("\n\n");
  return {
    text: about ? words("note.with", { what, detail: about }) : what,
    tone: "quiet",
    // One line says it all, unless there is more than one.
    ...((detail.includes("\n") || detail.length > longestLine) && { detail }),
  };
}

function modelText({ model, agent }: Note & { of: "model" }): string {
  const parts = [
    ...(model === undefined ? [] : [words("note.model", { model })]),
    ...(agent === undefined
      ? []
      : [agent === "" ? words("note.agent.default") : words("note.agent", { agent })]),
  ];
  return parts.join(". ");
}

const plain: Partial<Record<string, WordId>> = {
  session_compacted: "note.compacted",
  journal_reset: "note.journal_reset",
  account_used: "note.account",
};

function entryText({ update }: Note & { of: "entry" }, at: string): NoteText {
  const rule = (text: string, detail?: string): NoteText => ({
    text,
    tone: "rule",
    ...(detail && { detail }),
  });
  const quiet = (text: string, detail?: string): NoteText => ({
    ...rule(text, detail),
    tone: "quiet",
  });
  const known = plain[update.sessionUpdate];
  if (known) return rule(words(known as "note.account"));
  switch (update.sessionUpdate) {
    case "session_status": {
      const reason = update.reason ?? words("note.error.unknown");
      if (update.status === "error") return { text: words("note.error", { reason }), tone: "bad" };
      if (update.status === "detached") return rule(words("note.detached", { reason }));
      const id = update.status === "ended" ? "note.ended" : "note.cleanup_failed";
      return { ...rule(words(id, { time: clock(at) })), ...(update.reason !== null && { reason }) };
    }
    case "mode_changed":
      return rule(words("note.mode", { mode: update.mode }), update.reason ?? undefined);
    case "config_ignored":
      return quiet(
        words("note.config_ignored", { n: update.paths.length }),
        update.paths.join("\n"),
      );
    case "config_trusted":
      return quiet(
        words("note.config_trusted", { n: update.paths.length }),
        [...update.paths, update.reason].filter(Boolean).join("\n"),
      );
    case "fallback_taken": {
      const reason = update.skipped.map(({ message }) => message).join(" ");
      return rule(words("note.fallback", { kind: kindName(update.kind), reason }));
    }
    case "session_shared":
      return rule(
        update.userIds === null
          ? words("note.shared.all")
          : words("note.shared", { n: update.userIds.length }),
      );
    case "session_forked":
      return quiet(
        words(update.isCut ? "note.forked.cut" : "note.forked"),
        update.summary ?? undefined,
      );
    case "turn_continued":
      return rule(words("note.continued", { kind: kindName(update.kind) }));
    case "rule_forgotten":
      return quiet(
        words("note.rule_forgotten", { rule: update.rule.split("\n", 1)[0]! }),
        update.rule,
      );
    case "call_decided":
      return quiet(words("call.refused", { rule: update.rule }));
    default:
      return quiet(words("note.unknown"), JSON.stringify(update, null, 2));
  }
}
