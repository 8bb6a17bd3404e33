// Waiting for work that cannot be cancelled itself.

/**
 * Returns the result of the work, unless the signal is aborted first. Rejects with the signal's reason if
 * it was aborted before, and with `errorOf()` if it is aborted meanwhile. The work itself continues.
 */
export function abortable<Result>(
  signal: AbortSignal,
  work: Promise<Result>,
  errorOf = () => signal.reason as Error,
): Promise<Result> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(errorOf());
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
}
