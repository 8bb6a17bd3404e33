// Fields that several requests around signing in have.
import { z } from "zod";

export const described = (description: string) => z.string().meta({ description });

/** Long enough that a thousand guesses a day find none, and without rules about its letters. */
export const NewPassword = z
  .string()
  .min(12, "must have at least 12 characters")
  .max(1000)
  .meta({ description: "At least 12 characters." });
