// Notices when nothing happens for too long: a model that takes a request and never answers it.

export interface SilenceWatch {
  begin(): void;
  heard(): void;
  end(): void;
}

/** Calls back once, with the milliseconds of silence. Time in which `isWaiting` does not count. */
export function watchSilence(
  mostMs: number,
  isWaiting: () => boolean,
  onSilence: (quietMs: number) => void,
): SilenceWatch {
  let heardAt = 0;
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    if (isWaiting()) heardAt = Date.now();
    const quietMs = Date.now() - heardAt;
    if (quietMs >= mostMs) onSilence(quietMs);
    else timer = setTimeout(look, mostMs - quietMs).unref();
  };
  return {
    begin() {
      clearTimeout(timer);
      heardAt = Date.now();
      timer = setTimeout(look, mostMs).unref();
    },
    heard() {
      heardAt = Date.now();
    },
    end: () => clearTimeout(timer),
  };
}
