// Every way in which single sign-on fails has a sentence.
import assert from "node:assert/strict";
import { test } from "node:test";
import { signInErrorCodes } from "@hawser/testkit/sign-in-errors.ts";
import { sentenceOfError, signInErrors } from "./sign-in-errors.ts";

test("the pages have a sentence for each code of the service, and for no other", () => {
  assert.deepEqual(Object.keys(signInErrors).toSorted(), signInErrorCodes.toSorted());
  const sentences = signInErrorCodes.map(sentenceOfError);
  assert.equal(new Set(sentences).size, sentences.length);
  for (const sentence of sentences) assert.match(sentence, /^[A-Z].*\.$/);
});

test("a code that the pages do not know is shown", () => {
  for (const code of ["of_later", "toString"])
    assert.match(sentenceOfError(code), new RegExp(code));
});
