// Prompts that contain the answers of the scripted model, as opencode understands them. kind-steps.ts has those of
// every kind.
/** One answer of the model. The scripted driver's script.ts describes the fields. */
export interface Step {
  reasoning?: string;
  text?: string;
  calls?: { tool: string; input: Record<string, unknown> }[];
  delayMs?: number;
  paceMs?: number;
  status?: number;
  retryAfterSeconds?: number;
  errorType?: string;
  cut?: boolean;
  times?: number;
  usage?: { input?: number; output?: number; cached?: number };
  headers?: Record<string, string>;
}

/** A prompt that contains the model's answers, one for each request to the model. */
export const scripted = (words: string, ...steps: Step[]) => `${words} @@${JSON.stringify(steps)}`;

/** An answer with a shell command. Under the default policy the agent has to request permission first. */
export const bash = (command: string): Step => ({
  calls: [{ tool: "bash", input: { command, description: "a step of the test" } }],
});

export const ask = (
  ...questions: { question: string; labels: string[]; multiple?: boolean }[]
) => ({
  calls: [
    {
      tool: "question",
      input: {
        questions: questions.map(({ question, labels, multiple = false }) => ({
          question,
          header: question.slice(0, 12),
          options: labels.map((label) => ({ label, description: `choose ${label}` })),
          multiple,
        })),
      },
    },
  ],
});
