// The signals that stop `hawser up`.

/** The first signal stops in order; the second ends this process at once, and the keepers end the parts. */
export function onSignals(stop: () => void): void {
  let count = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (count > 0 && signal !== "SIGHUP") process.exit(1);
      // A closed terminal sends SIGHUP to this process, and a launcher hands it on.
      if (count++ === 0) stop();
    });
  }
}
