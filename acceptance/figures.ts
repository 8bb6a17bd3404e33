// Prints the figures that a run has measured.

/** Prints the greatest and the median of some times, and returns the greatest. */
export function tellTimes(what: string, times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  const max = sorted.at(-1) ?? 0;
  const p50 = sorted[Math.floor(sorted.length / 2)] ?? 0;
  tell(`${what}: max ${seconds(max)}, p50 ${seconds(p50)}, over ${sorted.length}`);
  return max;
}

export function tell(text: string): void {
  console.log(`figure: ${text}`);
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(3)} s`;
