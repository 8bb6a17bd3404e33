import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  ActionName,
  InputOf,
  RefusalCode,
  ResultOf,
  SessionUpdate,
  ErrorBody,
  registry,
} from "@hawser/contract";
import { actionNames as contractNames } from "@hawser/contract";
import {
  actionNames,
  type Client,
  type RefusalBody,
  type RefusalCode as ClientCode,
  type SessionUpdate as ClientUpdate,
} from "@hawser/client";

type Body<Name extends ActionName> = NonNullable<Parameters<Client[Name]>[0]>;
type Answer<Name extends ActionName> = Awaited<ReturnType<Client[Name]>>;

/** Assignable in both directions. */
type IsSame<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type OtherBody = {
  [N in ActionName]: IsSame<Body<N>, InputOf<(typeof registry)[N]>> extends true ? never : N;
}[ActionName];
type OtherAnswer = {
  [N in ActionName]: IsSame<Answer<N>, ResultOf<(typeof registry)[N]>> extends true ? never : N;
}[ActionName];

test("the client has the contract's actions, bodies, answers, log entries and refusals", () => {
  assert.deepEqual([...actionNames], contractNames);
  // The compiler compares. Its complaint names the actions that differ.
  const otherBodies: OtherBody[] = [];
  const otherAnswers: OtherAnswer[] = [];
  assert.deepEqual(otherBodies satisfies never[], otherAnswers satisfies never[]);
  const isSameUpdate: IsSame<SessionUpdate, ClientUpdate> = true;
  const isSameCode: IsSame<RefusalCode, ClientCode> = true;
  const isSameRefusal: IsSame<ErrorBody["error"], RefusalBody> = true;
  assert.ok(isSameUpdate && isSameCode && isSameRefusal);
});
