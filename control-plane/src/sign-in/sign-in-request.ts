// The shape of a request around signing in.
import type { z } from "zod";

export interface SignInRequest<Body extends z.ZodObject = z.ZodObject> {
  /** Below /api/sign-in. */
  path: string;
  summary: string;
  /** Programs send it, without a cookie. */
  isForPrograms?: true;
  body: Body;
  result: z.ZodObject;
}
