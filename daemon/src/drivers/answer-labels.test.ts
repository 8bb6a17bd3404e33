// Labels of answers: one check for all kinds, which obeys what each kind says about its question.
import assert from "node:assert/strict";
import { test } from "node:test";
import { objectToAnswers } from "@hawser/host-protocol";
import { askedOf as askedOfClaudeCode } from "./claude-code/asked.ts";
import { readRequest } from "./codex/asked.ts";
import type { Asked } from "./driver.ts";
import { askedOf as askedOfOpencode } from "./opencode/asked.ts";

const question = "Which colour?";
const options = ["Red", "Blue"].map((label) => ({ label, description: "a colour" }));
const place = { directory: "/srv", root: "/srv" };

const opencode = (own: object): Asked => {
  const questions = [{ question, header: "Colour", options, ...own }];
  return askedOfOpencode({ id: "q1", sessionID: "s1", questions }, undefined, place);
};
const codex = (isOther: boolean): Asked => {
  const questions = [{ id: "colour", header: "Colour", question, options, isOther }];
  const params = { threadId: "t1", turnId: "t2", itemId: "i1", questions };
  return readRequest("item/tool/requestUserInput", params, undefined, "/srv")!.asked;
};

const claudeCode = askedOfClaudeCode({
  tool: "AskUserQuestion",
  input: { questions: [{ question, options, multiSelect: false }] },
  place: "",
});

for (const [kind, asked, freeText] of [
  // Claude Code and opencode offer a text of one's own beside the options.
  ["claude_code", claudeCode, true],
  ["opencode", opencode({}), true],
  ["opencode, options only", opencode({ custom: false }), false],
  ["codex", codex(false), false],
  ["codex, with another answer", codex(true), true],
] as const) {
  test(`${kind}: a label that is no option is ${freeText ? "a text of one's own" : "refused"}`, () => {
    assert.ok("questions" in asked);
    const objectTo = (...labels: string[]) => objectToAnswers(asked.questions, [labels]);
    assert.equal(objectTo("Blue"), undefined);
    assert.equal(
      objectTo("Green"),
      freeText ? undefined : "has a label that question 1 does not offer; it offers Red, Blue",
    );
    assert.equal(objectTo("Red", "Blue"), "must have one label for question 1");
    assert.equal(objectTo("  "), "must not have an empty label for question 1");
  });
}
