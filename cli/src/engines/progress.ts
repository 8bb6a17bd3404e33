// Progress of long work as sentences: one at the start of the second second, then one each second, so that
// quick work prints nothing.
const everyMs = 1000;

export interface Progress extends Disposable {
  add: (bytes: number) => void;
}

export function reportProgress(
  title: string,
  totalBytes: number,
  onProgress: (sentence: string) => void,
): Progress {
  let done = 0;
  const timer = setInterval(() => {
    const percent = Math.min(100, Math.floor((100 * done) / totalBytes));
    onProgress(`${title}: ${percent} % of ${(totalBytes / 1e6).toFixed(1)} MB.`);
  }, everyMs);
  return {
    add: (bytes) => void (done += bytes),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
