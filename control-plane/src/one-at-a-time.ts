// Work that must not overlap with itself. Callers that arrive during a run share one further run.

/** Each call resolves with the result of a run that started after the call. */
export function oneAtATime<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  return () => {
    next ??= running.then(
      () => start(),
      () => start(),
    );
    return next;
  };

  function start(): Promise<Result> {
    next = undefined;
    const run = work();
    running = run;
    return run;
  }
}
